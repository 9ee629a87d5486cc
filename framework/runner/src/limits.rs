//! What a step asks of the machine, before it is asked.

use iodyno_engine::Parts;
use iodyno_record::{HostFacts, StepSpec, units};

use crate::error::RunError;

/// Most threads of a step. The kernel's limit on memory maps (`vm.max_map_count`) ends a process that starts
/// some ten thousand.
const WORKERS_MAX: u64 = 8192;
/// Share of the machine's memory that buffers may take.
const MEMORY_SHARE: f64 = 0.75;

/// Refuses a step for which the machine has too little memory or too few threads: running out of either would
/// end the process, and perhaps others.
pub(crate) fn check_limits(spec: &StepSpec, parts: &Parts, host: &HostFacts) -> Result<(), RunError> {
    let info = parts.target.info();
    if info.simulated {
        return Ok(());
    }
    let outstanding: u64 = spec.streams.iter().map(|s| u64::from(s.load.outstanding)).sum();
    let workers = outstanding / u64::from(info.max_depth.max(1));
    if workers > WORKERS_MAX {
        let (name, backend) = (&spec.name, &parts.backend);
        return Err(RunError::Target(format!(
            "`{name}` needs {workers} threads for {outstanding} outstanding i/o on backend `{backend}`, at most \
             {WORKERS_MAX} are possible: ask for less outstanding, or take an asynchronous backend"
        )));
    }
    let buffers =
        |(stream, workload): (&iodyno_record::StreamPlan, &std::sync::Arc<dyn iodyno_plugin::Workload>)| {
            u64::from(stream.load.outstanding) * u64::from(workload.info().max_len)
        };
    let needed: u64 = spec.streams.iter().zip(&parts.workloads).map(buffers).sum();
    let Some(memory) = host.memory_bytes else { return Ok(()) };
    if needed as f64 > memory as f64 * MEMORY_SHARE {
        let (name, needed, memory) = (&spec.name, units::amount(needed as f64), units::amount(memory as f64));
        return Err(RunError::Target(format!(
            "`{name}` needs {needed} for its buffers (outstanding x largest block), this machine has {memory}: ask \
             for less outstanding or smaller blocks"
        )));
    }
    Ok(())
}
