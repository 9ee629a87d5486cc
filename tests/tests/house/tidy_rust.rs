//! What Rust files must look like, beyond what the compiler and clippy can say.

use crate::rust_text::{code_only, snake, words};
use crate::tidy::{EMPTY_NAMES, Rule};
use crate::tree::{self, Fault, File};

pub(crate) const RULES: &[Rule] = &[
    Rule {
        name: "purpose",
        check: purpose,
        bad: || vec![File::new("x/src/a.rs", "use std::fs;\n")],
        good: || vec![File::new("x/src/a.rs", "//! Reads.\n"), File::new("a.toml", "x = 1\n")],
    },
    Rule {
        name: "type names",
        check: type_names,
        bad: || {
            let bad = [
                "pub struct FileManager;",
                "enum IoUtils {}",
                "trait TestHelper {}",
                "mod utils;",
                "mod common;",
            ];
            bad.map(|code| File::new("a.rs", format!("//! x\n{code}\n"))).into()
        },
        good: || {
            vec![File::new("a.rs", "struct Manage; struct Managers2; struct Common; // struct FileManager\n")]
        },
    },
    Rule {
        name: "lint exceptions",
        check: lint_exceptions,
        bad: || {
            let bad = [
                "#[allow(dead_code)]",
                "#![allow(unused)]",
                "#[expect(dead_code)]",
                "#[expect(\n    dead_code\n)]",
            ];
            bad.map(|code| File::new("a.rs", code)).into()
        },
        good: || {
            let good = [
                "#[expect(dead_code, reason = \"because (x)\")]",
                "x.expect(\"it holds\")",
                "// #[allow(x)]",
            ];
            good.map(|code| File::new("a.rs", code)).into()
        },
    },
    Rule {
        name: "public JSON",
        check: public_json,
        bad: || {
            let bad = [
                "pub fn f(a: u8,\n    b: serde_json::Value) {}",
                "pub a: Vec<serde_json::Value>,",
                "use serde_json::Value;",
                "use serde_json::{Map, Value};",
            ];
            bad.map(|code| File::new("framework/x/src/a.rs", code)).into()
        },
        good: || {
            let code = "pub fn f() -> u8 { let v: serde_json::Value = g(); }\nuse serde_json::json;\npub(crate) a: serde_json::Value,\n";
            vec![File::new("framework/x/src/a.rs", code), File::new("tests/a.rs", "use serde_json::Value;")]
        },
    },
    Rule {
        name: "ioctl",
        check: ioctl,
        bad: || vec![File::new("framework/engine/src/a.rs", "rustix::ioctl::ioctl(fd, x)")],
        good: || {
            let (inside, comment) = ("rustix::ioctl::ioctl(fd, x)", "// no ioctl here");
            vec![
                File::new("framework/device/src/a.rs", inside),
                File::new("framework/engine/src/a.rs", comment),
            ]
        },
    },
];

fn is_rust(file: &File) -> bool {
    file.extension() == "rs"
}

/// The line, from 1, of the byte `at`.
fn line_of(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count() + 1
}

fn purpose(file: &File) -> Vec<Fault> {
    let fault = || Fault::new(file, 1, "must start with `//!`: what is this file for?");
    (is_rust(file) && file.name() != "tests.rs" && !file.text.starts_with("//! "))
        .then(fault)
        .into_iter()
        .collect()
}

/// Names that do say what they are: the kernel's helper threads.
const SAYING: &[&str] = &["Helpers"];

fn type_names(file: &File) -> Vec<Fault> {
    if !is_rust(file) {
        return Vec::new();
    }
    let mut faults = Vec::new();
    for (i, line) in code_only(&file.text).lines().enumerate() {
        let mut before = "";
        for word in words(line) {
            let named = matches!(before, "struct" | "enum" | "trait" | "type" | "mod");
            let snake = snake(word);
            let last = snake.rsplit('_').next().unwrap_or("");
            // A type may well be what is common to others; a module of common things is a drawer.
            let means_it = SAYING.contains(&word) || last == "common" && before != "mod";
            if named && EMPTY_NAMES.contains(&last) && !means_it {
                faults.push(Fault::new(file, i + 1, format!("`{word}` says nothing: name what it is")));
            }
            before = word;
        }
    }
    faults
}

fn lint_exceptions(file: &File) -> Vec<Fault> {
    if !is_rust(file) {
        return Vec::new();
    }
    let code = code_only(&file.text);
    let mut faults = Vec::new();
    for start in ["#[allow(", "#![allow(", "#[expect(", "#![expect("] {
        for (at, _) in code.match_indices(start) {
            let end = code[at..].find(")]").map_or(code.len(), |length| at + length);
            if !code[at..end].contains("reason") {
                faults.push(Fault::new(file, line_of(&code, at), "a lint is silenced without a reason"));
            }
        }
    }
    faults
}

/// Untyped JSON must not cross a border inside the framework: a reader could not know what is in it.
fn public_json(file: &File) -> Vec<Fault> {
    if !is_rust(file) || !file.path.starts_with("framework/") || !file.path.contains("/src/") {
        return Vec::new();
    }
    let code = code_only(&file.text);
    let mut faults = Vec::new();
    for (at, _) in code.match_indices("use serde_json::") {
        if words(code[at..].split(';').next().unwrap_or("")).any(|word| word == "Value") {
            faults.push(Fault::new(
                file,
                line_of(&code, at),
                "write `serde_json::Value` out, so that it is seen",
            ));
        }
    }
    for (at, _) in code.match_indices("pub ") {
        if declaration(&code[at..]).contains("serde_json::Value") {
            faults.push(Fault::new(
                file,
                line_of(&code, at),
                "untyped JSON in a public interface: make a type",
            ));
        }
    }
    faults
}

/// The declaration at the front of `code`: up to its body, its value, or the next field.
fn declaration(code: &str) -> &str {
    let (mut depth, mut before) = (0, ' ');
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' | '<' => depth += 1,
            ')' | ']' => depth -= 1,
            '>' if before != '-' => depth -= 1,
            '{' | ';' | '=' | ',' | '}' if depth <= 0 => return &code[..at],
            _ => {}
        }
        before = c;
    }
    code
}

fn ioctl(file: &File) -> Vec<Fault> {
    let room = ["framework/device/", "plugins/nvme/"].iter().any(|room| file.path.starts_with(room));
    if !is_rust(file) || room || file.path.starts_with("tests/tests/house/") {
        return Vec::new();
    }
    let code = code_only(&file.text);
    let lines = code.lines().enumerate().filter(|(_, line)| line.contains("ioctl"));
    lines.map(|(i, _)| Fault::new(file, i + 1, "an ioctl outside framework/device")).collect()
}

/// Every file with `unsafe` code. A new one is a decision: ring, buffers, system calls, plugin loading.
const UNSAFE: &[&str] = &[
    // System calls and memory that only the kernel checks.
    "framework/device/src/kernel.rs",
    "framework/engine/src/memory.rs",
    "plugins/io-uring/src/ring.rs",
    // The call of a queue, whose buffers the caller vouches for: its declaration, its callers, and the backends.
    "framework/plugin/src/backend.rs",
    "framework/plugin/src/conformance/queue.rs",
    "framework/engine/src/queue.rs",
    "plugins/null/src/lib.rs",
    "plugins/sim/src/lib.rs",
    "plugins/sync/src/lib.rs",
    // Tests: backends of their own, an allocator that counts, a filter of system calls.
    "framework/engine/examples/loop_cost.rs",
    "framework/engine/tests/allocation.rs",
    "framework/engine/tests/steps/buffers.rs",
    "framework/engine/tests/steps/fakes.rs",
    "framework/plugin/src/conformance/tests.rs",
    "plugins/io-uring/tests/confined.rs",
    "tests/src/confined.rs",
];

#[test]
fn unsafe_code_is_where_it_is_said_to_be() {
    assert!(has_unsafe("x\nunsafe { y() }") && !has_unsafe("// unsafe\n#![deny(unsafe_code)] \"unsafe\""));
    let mut faults = Vec::new();
    for file in tree::files().iter().filter(|file| is_rust(file)) {
        let listed = UNSAFE.contains(&file.path.as_str());
        match (has_unsafe(&file.text), listed) {
            (true, false) => faults.push(Fault::new(file, 0, "`unsafe` in a file that is not listed for it")),
            (false, true) => faults.push(Fault::new(file, 0, "listed for `unsafe`, but has none")),
            _ => {}
        }
    }
    for path in UNSAFE {
        assert!(
            tree::files().iter().any(|f| f.path == *path),
            "{path} is listed for `unsafe`, but is not there"
        );
    }
    tree::no_faults(&faults);
}

fn has_unsafe(text: &str) -> bool {
    words(&code_only(text)).any(|word| word == "unsafe")
}
