//! The rules of the house, as tests: which crate may see which, what a file may look like, that generated
//! files are current, and that sizes grow only on purpose.
//!
//! Every rule is a pure function over text or plain data and is tested with something that it must refuse.
//! `tests/bless` brings generated files and ratchets up to date.

mod abi;
mod crates;
mod documents;
mod generated;
mod manifests;
mod options;
mod published;
mod ratchets;
mod rust_text;
mod tidy;
mod tidy_rust;
mod tree;
mod words;
