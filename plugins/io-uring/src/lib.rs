//! Backend io_uring
