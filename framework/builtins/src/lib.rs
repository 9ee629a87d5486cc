//! Names every shipped plugin crate: one that is only in a Cargo.toml and never named in code is left out by
//! the linker, and its registration with it. The binary and every test of the whole say
//! `use iodyno_builtins as _;`.

use iodyno_console as _;
use iodyno_csv as _;
use iodyno_html as _;
use iodyno_io_uring as _;
use iodyno_json as _;
use iodyno_ndjson as _;
use iodyno_null as _;
use iodyno_sim as _;
use iodyno_sync as _;
use iodyno_synthetic as _;

#[cfg(test)]
mod tests {
    use iodyno_host::Registry;

    #[test]
    fn all_shipped_plugins_are_registered() {
        let names: Vec<String> =
            Registry::load().unwrap().facts().iter().map(|p| format!("{} {}", p.kind, p.name)).collect();
        assert_eq!(
            names,
            [
                "workload synthetic",
                "backend io_uring",
                "backend null",
                "backend sim",
                "backend sync",
                "reporter console",
                "reporter csv",
                "reporter html",
                "reporter json",
                "reporter ndjson",
            ]
        );
    }
}
