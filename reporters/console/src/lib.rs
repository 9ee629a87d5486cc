//! Reporter console
