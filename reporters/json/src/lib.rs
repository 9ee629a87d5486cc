//! Reporter json
