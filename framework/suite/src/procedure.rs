//! Procedures: how an item walks through steps. A pure function of the item and the results so far, so that a
//! run can be taken up again by replaying its record.

use iodyno_record::{Item, Procedure, StepResult, StepSpec};

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Run this step.
    Run(Box<StepSpec>),
    /// The item is done.
    Done,
}

/// What an item does after these results.
pub fn next(item: &Item, results: &[StepResult]) -> Next {
    match item.procedure {
        Procedure::Fixed if item.not_run.is_none() && results.is_empty() => {
            Next::Run(Box::new(item.step.clone()))
        }
        Procedure::Fixed => Next::Done,
    }
}
