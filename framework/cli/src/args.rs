//! The command line as it is typed. What it means is decided by the verbs.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Puts storage devices on a dynamometer: runs suites of I/O tests and reports what a drive does.
#[derive(Debug, Parser)]
#[command(name = "iodyno", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    #[command(flatten)]
    pub(crate) common: Common,
}

const EXIT_CODES: &str = "\
Exit codes:
  0 passed, 1 unexpected failure, 2 wrong usage or suite, 3 target or environment unusable,
  4 nothing was run, 6 plugin missing or failed, 99 an expectation did not hold, 100 a test failed,
  130 interrupted (results kept)";

/// For every verb.
#[derive(Args, Debug)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Common {
    /// Says more on standard error; repeat for more.
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    pub(crate) verbose: u8,
    /// Says nothing on standard error but errors.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// When to colour.
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub(crate) color: Color,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Runs a suite on a target.
    Run(RunArguments),
    /// Reads a suite and tells all that is wrong with it. Looks at no target.
    Check(SuiteArguments),
    /// Makes reports from run folders.
    Report(ReportArguments),
    /// Lists plugins, suites or profiles.
    List(ListArguments),
    /// Prints a JSON Schema.
    Schema {
        /// Of which document.
        what: SchemaOf,
    },
}

/// A suite and what overrides it.
#[derive(Args, Debug)]
pub(crate) struct SuiteArguments {
    /// The suite: a TOML file, or the name of one that comes with iodyno.
    pub(crate) suite: PathBuf,
    /// The target: a file or block device; LABEL=PATH gives the path of one of the suite's targets.
    #[arg(short, long, value_name = "[LABEL=]PATH")]
    pub(crate) target: Vec<String>,
    /// Size of the scratch file or simulated target, for example 4GiB.
    #[arg(long)]
    pub(crate) size: Option<String>,
    /// A profile of the suite.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Sets a value of the suite, for example test.NAME.load.outstanding=8; may repeat.
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seed of everything random, below 2^53; drawn and printed when not given.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
}

/// For `run`.
#[derive(Args, Debug)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) suite: SuiteArguments,
    /// Prints every step, its time and writes, and what would be destroyed; touches nothing.
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
    /// Allows this target to be overwritten. Everything on it will be lost.
    #[arg(long, value_name = "TARGET")]
    pub(crate) allow_destroy: Vec<PathBuf>,
    /// Allows a file system or partition table of this name to be overwritten, as the refusal names it.
    #[arg(long, value_name = "NAME")]
    pub(crate) wipe_signature: Vec<String>,
    /// Where run folders go.
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub(crate) runs: PathBuf,
    /// A reporter and where its file goes, if not into the run folder; `-` is standard output; may repeat
    /// [default: html].
    #[arg(short, long, value_name = "NAME[=FILE]")]
    pub(crate) output: Vec<String>,
    /// How to show progress.
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub(crate) progress: Progress,
}

/// How to show progress on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Progress {
    /// A line that renews itself on a terminal, else plain lines.
    Auto,
    /// A line that renews itself.
    Bar,
    /// Plain lines.
    Line,
    /// No progress, only what each step came to.
    None,
}

/// For `report`.
#[derive(Args, Debug)]
pub(crate) struct ReportArguments {
    /// Run folders.
    #[arg(required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// A reporter and where its file goes, if not into the run folder; `-` is standard output; may repeat
    /// [default: html, for one run].
    #[arg(short, long, value_name = "NAME[=FILE]")]
    pub(crate) output: Vec<String>,
}

/// For `list`.
#[derive(Args, Debug)]
pub(crate) struct ListArguments {
    /// What to list.
    #[arg(default_value = "plugins")]
    pub(crate) what: Listed,
    /// The suite whose profiles to list.
    pub(crate) suite: Option<PathBuf>,
    /// For people or for programs.
    #[arg(long, default_value = "human")]
    pub(crate) format: Format,
}

/// What to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// Plugins with their options.
    Plugins,
    /// Suites that come with iodyno.
    Suites,
    /// Profiles of a suite.
    Profiles,
}

/// For people or for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text.
    Human,
    /// JSON.
    Json,
}

/// Which schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// Of suite files.
    Suite,
    /// Of the results document.
    Results,
}
