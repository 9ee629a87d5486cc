//! The `iodyno` binary: arguments, terminal, exit codes. Everything else is in the crates below it.

mod args;
mod dry_run;
mod exit;
mod list;
mod log;
mod progress;
mod report;
mod run;
mod suites;

// Without this line the linker leaves every built-in plugin out.
use iodyno_builtins as _;

use std::fmt::Display;
use std::io::Write as _;

use anstyle::AnsiColor;
use clap::Parser as _;
use iodyno_host::Registry;

use crate::args::{Arguments, Color, SchemaOf, Verb};
use crate::exit::Exit;

fn main() -> std::process::ExitCode {
    let arguments = Arguments::parse();
    match arguments.common.color {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
    log::start(arguments.common.verbose);
    // What panicked was told by the panic itself.
    let exit = std::panic::catch_unwind(|| verb(arguments)).unwrap_or(Exit::Unexpected);
    std::process::ExitCode::from(exit as u8)
}

fn verb(arguments: Arguments) -> Exit {
    let registry = match Registry::load() {
        Ok(registry) => registry,
        Err(e) => return fail(Exit::Plugin, e),
    };
    match arguments.verb {
        Verb::Run(run) => run::run(&run, &registry, &arguments.common),
        Verb::Check(suite) => suites::check(&suite, &registry),
        Verb::Report(report) => report::report(&report, &registry, arguments.common.quiet),
        Verb::List(list) => list::list(&list, &registry),
        Verb::Schema { what } => print(&match what {
            SchemaOf::Suite => iodyno_suite::suite_schema(&registry),
            SchemaOf::Results => iodyno_suite::results_schema(),
        }),
    }
}

/// Prints to standard output. A reader that has gone away had enough.
fn print(text: &str) -> Exit {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Exit::Passed,
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Exit::Passed,
        Err(e) => fail(Exit::Unusable, format!("cannot write to standard output: {e}")),
    }
}

/// Tells an error and how the program ends.
fn fail(exit: Exit, error: impl Display) -> Exit {
    let style = AnsiColor::Red.on_default().bold();
    let error = error.to_string();
    let advice = iodyno_runner::open_files_advice(&error);
    let _ = writeln!(anstream::stderr(), "{style}error{style:#}: {error}{advice}");
    exit
}

/// Tells something that people should know.
fn tell(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}
