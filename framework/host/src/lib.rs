//! Finds, checks and loads plugins
