//! Reporter html
