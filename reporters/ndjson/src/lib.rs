//! Reporter ndjson
