//! Backend sync: one blocking system call an I/O
