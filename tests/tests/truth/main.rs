//! Whether the numbers are true: each test holds a result against something that does not come from iodyno: a
//! law, a formula, the kernel's own count, the bytes on the disk. What was measured is printed.

#![expect(clippy::print_stdout, reason = "tests tell what they measured")]

mod content;
mod cpu;
mod fallback;
mod little;
mod loop_device;
mod simulated;
mod stamps;
mod sums;

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use iodyno_tests::{Folder, Record};

static MACHINE: RwLock<()> = RwLock::new(());

/// The machine for this test alone: others of this file that work hard wait.
fn alone() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write().unwrap_or_else(PoisonError::into_inner)
}

/// The machine together with others that measure no time.
fn beside_others() -> RwLockReadGuard<'static, ()> {
    MACHINE.read().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `suite` in `folder` with these further words of the command line; it must pass. Gives its record.
#[track_caller]
fn run(folder: &Folder, suite: &str, line: &str) -> Record {
    folder.file("suite.toml", suite);
    let before = folder.runs();
    folder.run(&format!("run suite.toml --progress none -o json=results.json {line}")).exits(0);
    let mut new = folder.runs();
    new.retain(|run| !before.contains(run));
    assert_eq!(new.len(), 1, "a run leaves one folder");
    Record::read(&new[0])
}

/// What others do on the machine may spoil a measurement, so one of five must hold. `measure` prints what it
/// measured.
fn one_of_five(mut measure: impl FnMut() -> bool) {
    let held = (1..=5).any(|attempt| {
        println!("measurement {attempt}");
        measure()
    });
    assert!(held, "none of five measurements holds");
}

/// Whether two numbers differ by at most this share of the second.
fn within(share: f64, number: f64, of: f64) -> bool {
    (number - of).abs() <= share * of.abs()
}
