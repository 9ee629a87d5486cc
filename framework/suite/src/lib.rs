//! The TOML suite: from text to a plan
