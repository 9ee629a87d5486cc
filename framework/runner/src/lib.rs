//! Runs a plan and keeps its record
