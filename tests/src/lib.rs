//! Tests of the whole: the binary, the house rules, the published formats.
