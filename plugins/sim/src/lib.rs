//! Backend sim: a simulated device on a virtual clock
