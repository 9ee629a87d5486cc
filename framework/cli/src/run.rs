//! `iodyno run`.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use iodyno_host::Registry;
use iodyno_record::Plan;
use iodyno_runner::{Control, Finished, Grants, OutputRequest, RunRequest, Watchers};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::args::RunArguments;
use crate::exit::Exit;
use crate::progress::Display;
use crate::report::{requests, show};
use crate::suites::{self, Planned};
use crate::{dry_run, fail, log, print, tell};

/// Plans and runs a suite, or tells what it would do.
pub(crate) fn run(arguments: &RunArguments, registry: &Registry, quiet: bool) -> Exit {
    let outputs = match requests(&arguments.output, 1)
        .and_then(|o| iodyno_runner::split(o, registry).map_err(|e| e.to_string()))
    {
        Ok(outputs) => outputs,
        Err(e) => return fail(Exit::Usage, e),
    };
    let planned = match suites::plan(&arguments.suite, registry, !arguments.dry_run) {
        Ok(planned) => planned,
        Err(exit) => return exit,
    };
    let grants = Grants {
        allow_destroy: arguments.allow_destroy.clone(),
        wipe_signatures: arguments.wipe_signature.clone(),
    };
    if arguments.dry_run {
        return print(&dry_run::text(&planned, &grants));
    }
    match go(arguments, &planned, &grants, registry, &outputs, quiet) {
        Ok(exit) | Err(exit) => exit,
    }
}

type Outputs = (Vec<OutputRequest>, Vec<OutputRequest>);

fn go(
    arguments: &RunArguments,
    planned: &Planned,
    grants: &Grants,
    registry: &Registry,
    (observing, documents): &Outputs,
    quiet: bool,
) -> Result<Exit, Exit> {
    let control = Control::default();
    stop_on_signals(&control).map_err(|e| fail(Exit::Unexpected, format!("cannot handle signals: {e}")))?;
    let watchers = RefCell::new(Ok(Watchers::default()));
    let mut display = Display::new(arguments.progress, quiet, planned_times(&planned.plan));
    let request = RunRequest {
        plan: &planned.plan,
        suite: &planned.text,
        runs: &arguments.runs,
        command: std::env::args().collect(),
        grants,
        registry,
        control: &control,
    };
    display.targets(&planned.plan);
    let mut started = |folder: &Path| {
        log::keep(&folder.join(iodyno_runner::names::LOG));
        *watchers.borrow_mut() = Watchers::start(observing, registry, folder);
    };
    let finished = iodyno_runner::run(&request, &mut started, &mut |envelope| {
        display.event(envelope);
        if let Ok(watchers) = &*watchers.borrow() {
            watchers.event(envelope);
        }
    });
    drop(display);
    let Finished { folder, outcome } = finished.map_err(|e| fail(Exit::from(&e), e))?;
    let loaded = iodyno_runner::load(&folder).map_err(|e| fail(Exit::from(&e), e))?;
    let loaded = Arc::new(loaded);
    let watched = watchers.into_inner().and_then(|w| w.finish(&loaded));
    let shown = show(std::slice::from_ref(&*loaded), documents, registry);
    if !quiet {
        tell(&format!("{:>12} {}", "run folder", folder.display()));
    }
    // A test that failed says more than a reporter that did.
    let exit = Exit::from(outcome);
    if exit != Exit::Passed {
        return Ok(exit);
    }
    watched.map_err(|e| fail(Exit::from(&e), e))?;
    shown.map(|_| exit)
}

fn planned_times(plan: &Plan) -> Vec<Option<u64>> {
    plan.items.iter().map(|i| if i.not_run.is_some() { Some(0) } else { i.bounds.time_ns }).collect()
}

/// The first signal stops the run and keeps all; the second ends the program at once.
fn stop_on_signals(control: &Control) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let control = control.clone();
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for _ in signals.forever() {
            if control.stopped() {
                signal_hook::low_level::exit(i32::from(Exit::Interrupted as u8));
            }
            tell("\nstopping: waiting for i/o in flight; once more to leave at once");
            control.stop();
        }
    })?;
    Ok(())
}
