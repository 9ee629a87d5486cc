//! The `iodyno` binary.

fn main() {}
