//! The binary as people and programs use it: what it takes, says, writes and returns.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod examples;
mod exits;
mod full;
mod grants;
mod killed;
mod outputs;
mod place;
mod refused;
mod schema;
mod stopped;
mod targets;
mod terminal;

use std::path::Path;

use iodyno_record::ResultsFile;
use iodyno_tests::Folder;

/// A suite that reads its target, shortly. It has no target of its own.
const READS: &str = r#"
    schema = 1
    [suite]
    name = "reads"
    [defaults]
    phases   = { warmup = "20ms", measure = "300ms" }
    interval = "50ms"
    load     = { outstanding = 4 }
    [[test]]
    name     = "read"
    workload = { plugin = "synthetic", mix = { read = 100 }, block_size = "4k", pattern = "random" }
"#;

/// A suite that writes to its target, shortly.
fn writes() -> String {
    READS.replace("reads", "writes").replace("\"read\"", "\"write\"").replace("read = 100", "write = 100")
}

/// An hour of a simulated device, in a moment; `more` goes into the one test.
fn simulated(more: &str) -> String {
    format!(
        r#"
    schema = 1
    [suite]
    name = "simulated"
    [[target]]
    label = "servers"
    size  = "1TiB"
    [defaults]
    backend  = {{ plugin = "sim", servers = 4, service = "1ms", distribution = "exponential" }}
    phases   = {{ warmup = "10s", measure = "60s" }}
    [[test]]
    name     = "mixed"
    workload = {{ plugin = "synthetic", mix = {{ read = 70, write = 30 }}, block_size = "4k", pattern = "random" }}
    load     = {{ outstanding = 8 }}
    {more}
"#
    )
}

/// A folder with the suites `reads.toml`, `writes.toml` and `simulated.toml`.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("reads.toml", READS);
    folder.file("writes.toml", &writes());
    folder.file("simulated.toml", &simulated(""));
    folder
}

/// The document that the json reporter left.
#[track_caller]
fn results(path: &Path) -> ResultsFile {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
