//! Whole steps, through the public interface, with fake plugins: what they should come to is known exactly.

mod content;
mod fakes;
mod faults;
mod outcome;
mod phases;
mod plans;
mod real;
mod sharing;
