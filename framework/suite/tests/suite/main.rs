//! The suite crate from outside: from text to errors, plans and verdicts, with made-up plugins.

mod catalog;
mod damage;
mod errors;
mod plans;
mod schema;
mod verdicts;
