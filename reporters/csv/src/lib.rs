//! Reporter csv
