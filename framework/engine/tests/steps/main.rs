//! Whole steps, through the public interface, with fake plugins: what they should come to is known exactly.
#![expect(clippy::unwrap_used, reason = "a test may panic, also in what its functions share")]

mod buffers;
mod content;
mod fakes;
mod faults;
mod outcome;
mod phases;
mod plans;
mod real;
mod sharing;
