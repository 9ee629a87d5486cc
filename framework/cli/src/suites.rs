//! From a suite file and the command line to a plan.

use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;

use iodyno_host::Registry;
use iodyno_record::Plan;
use iodyno_runner::RunError;
use iodyno_suite::{Diagnostics, Overrides, Sourced, Suite};

use crate::args::SuiteArguments;
use crate::exit::Exit;
use crate::{fail, print};

/// A suite that comes with iodyno.
pub(crate) struct Shipped {
    /// Name.
    pub(crate) name: &'static str,
    /// What it does.
    pub(crate) summary: &'static str,
    /// Its text.
    pub(crate) text: &'static str,
}

/// Every suite that comes with iodyno, runnable by name.
pub(crate) const SHIPPED: &[Shipped] = &[Shipped {
    name: "quick",
    summary: "Four patterns on a scratch file, under a minute",
    text: include_str!("../../../examples/quick.toml"),
}];

/// A plan with what belongs to it.
pub(crate) struct Planned {
    /// The plan.
    pub(crate) plan: Plan,
    /// The suite's text.
    pub(crate) text: String,
    /// Every value and where it comes from.
    pub(crate) sources: Vec<Sourced>,
}

/// Plans the suite of a command line. Looks at its target; writes nothing, unless `make` is set: then a
/// scratch file that is not there is made once the plan is known to be sound.
pub(crate) fn plan(arguments: &SuiteArguments, registry: &Registry, make: bool) -> Result<Planned, Exit> {
    let (suite, text) = parse(&arguments.suite)?;
    let overrides = overrides(arguments);
    let requests = iodyno_suite::targets(&suite, &overrides, registry).map_err(|d| wrong(&d))?;
    let seed = overrides.seed.unwrap_or_else(draw_seed);
    let unusable = |e: RunError| fail(Exit::from(&e), e);
    let plan = || {
        let facts = iodyno_runner::resolve(&requests).map_err(unusable)?;
        iodyno_suite::plan(&suite, &overrides, &facts, registry, seed).map_err(|d| wrong(&d))
    };
    let mut planned = plan()?;
    if make {
        iodyno_runner::make_scratch(&requests).map_err(unusable)?;
        planned = plan()?;
    }
    planned.notes.extend(iodyno_runner::scratch_notes(&requests));
    let sources = iodyno_suite::sources(&suite, &overrides, registry);
    Ok(Planned { plan: planned, text, sources })
}

/// `iodyno check`: all that is wrong with a suite, without looking at any target.
pub(crate) fn check(arguments: &SuiteArguments, registry: &Registry) -> Exit {
    let checked = parse(&arguments.suite).and_then(|(suite, _)| {
        iodyno_suite::check(&suite, &overrides(arguments), registry).map_err(|d| wrong(&d))
    });
    match checked {
        Ok(()) => print(&format!("{} is a valid suite\n", arguments.suite.display())),
        Err(exit) => exit,
    }
}

/// The profiles of a suite.
pub(crate) fn profiles(path: &Path) -> Result<Vec<String>, Exit> {
    parse(path).map(|(suite, _)| suite.profiles())
}

fn parse(path: &Path) -> Result<(Suite, String), Exit> {
    let shipped = path.to_str().and_then(|name| SHIPPED.iter().find(|s| s.name == name));
    let text = match (std::fs::read_to_string(path), shipped) {
        (Ok(text), _) => text,
        (Err(_), Some(suite)) => suite.text.to_owned(),
        (Err(e), None) => {
            let names = SHIPPED.iter().map(|suite| suite.name);
            let near = path.to_str().and_then(|name| iodyno_suite::nearest(name, names));
            let near = near.map_or(String::new(), |name| format!("did you mean `{name}`? "));
            let advice = format!("{near}`iodyno list suites` prints those that come with iodyno");
            return Err(fail(Exit::Usage, format!("cannot read suite {}: {e}; {advice}", path.display())));
        }
    };
    let suite = Suite::parse(&path.display().to_string(), &text).map_err(|d| wrong(&d))?;
    Ok((suite, text))
}

fn overrides(arguments: &SuiteArguments) -> Overrides {
    Overrides {
        set: arguments.set.clone(),
        profile: arguments.profile.clone(),
        targets: arguments.target.clone(),
        size: arguments.size.clone(),
        seed: arguments.seed,
    }
}

fn wrong(diagnostics: &Diagnostics) -> Exit {
    // The stream strips colours where they are not wanted.
    crate::tell(diagnostics.render(true).trim_end());
    Exit::Usage
}

/// A seed that is short enough to be typed again.
fn draw_seed() -> u64 {
    RandomState::new().hash_one(()) >> 32
}
