//! Tests that could go on for ever; see `iodyno_tests::long`. `cargo test` runs few cases, always the same;
//! `tests/long` another sample each day.

mod damage;
mod sums;
