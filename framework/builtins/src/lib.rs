//! Names every shipped plugin, so that the binary contains it
