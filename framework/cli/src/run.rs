//! `iodyno run`.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use iodyno_host::Registry;
use iodyno_record::Plan;
use iodyno_runner::{Control, Finished, Grants, OutputRequest, RunRequest, Watchers};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::args::{Common, Progress, RunArguments};
use crate::exit::Exit;
use crate::progress::Display;
use crate::report::{requests, show};
use crate::suites::{self, Planned};
use crate::{dry_run, fail, log, print, tell};

/// Plans and runs a suite, or tells what it would do.
pub(crate) fn run(arguments: &RunArguments, registry: &Registry, common: &Common) -> Exit {
    let outputs = match requests(&arguments.output, 1).map(|o| iodyno_runner::split(o, registry)) {
        Ok(Ok(outputs)) => outputs,
        Ok(Err(e)) => return fail(Exit::from(&e), e),
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
    match go(arguments, &planned, &grants, registry, &outputs, common) {
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
    &Common { quiet, verbose, .. }: &Common,
) -> Result<Exit, Exit> {
    let control = Control::default();
    stop_on_signals(&control, quiet)
        .map_err(|e| fail(Exit::Unexpected, format!("cannot handle signals: {e}")))?;
    let watchers = RefCell::new(Ok(Watchers::default()));
    let mut record = None;
    // Lines of the log would run into a line that renews itself.
    let progress = match arguments.progress {
        Progress::Auto if verbose > 0 => Progress::Line,
        progress => progress,
    };
    let mut display = Display::new(progress, quiet, planned_times(&planned.plan));
    let request = RunRequest {
        plan: &planned.plan,
        suite: &planned.text,
        runs: &arguments.runs,
        command: std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
        grants,
        registry,
        control: &control,
    };
    display.targets(&planned.plan);
    let mut started = |folder: &Path| {
        record = Some(folder.to_owned());
        log::keep(&folder.join(iodyno_runner::names::LOG));
        *watchers.borrow_mut() = Watchers::start(observing, registry, &planned.plan, folder);
    };
    let finished = iodyno_runner::run(&request, &mut started, &mut |envelope| {
        display.event(envelope);
        if let Ok(watchers) = &*watchers.borrow() {
            watchers.event(envelope);
        }
    });
    drop(display);
    let Finished { folder, outcome } = finished.map_err(|e| {
        let exit = fail(Exit::from(&e), e);
        if let Some(folder) = record {
            let folder = folder.display();
            tell(&format!("what was recorded: iodyno report {folder} -o html=FILE"));
        }
        exit
    })?;
    if !quiet {
        tell(&format!("{:>12} {}", "run folder", folder.display()));
    }
    let loaded = Arc::new(iodyno_runner::load(&folder).map_err(|e| fail(Exit::from(&e), e))?);
    let watched = watchers.into_inner().and_then(|w| w.finish(&loaded));
    let watched = watched.map_or_else(|e| fail(Exit::from(&e), e), |()| Exit::Passed);
    let shown = show(std::slice::from_ref(&*loaded), documents, registry, quiet);
    // A test that failed says more than a reporter that did.
    let exits = [Exit::from(outcome), watched, shown];
    Ok(exits.into_iter().find(|exit| *exit != Exit::Passed).unwrap_or(Exit::Passed))
}

fn planned_times(plan: &Plan) -> Vec<Option<u64>> {
    plan.items.iter().map(|i| if i.not_run.is_some() { Some(0) } else { i.bounds.time_ns }).collect()
}

/// The first signal stops the run and keeps all; the second ends the program at once.
fn stop_on_signals(control: &Control, quiet: bool) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let control = control.clone();
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for _ in signals.forever() {
            if control.stopped() {
                signal_hook::low_level::exit(i32::from(Exit::Interrupted as u8));
            }
            if !quiet {
                tell("\nstopping: waiting for i/o in flight; once more to leave at once");
            }
            control.stop();
        }
    })?;
    Ok(())
}
