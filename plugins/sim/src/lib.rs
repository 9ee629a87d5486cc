//! The backend `sim`: a simulated device. Time is virtual: every I/O is answered at once with the time at
//! which it will be over, so an hour is simulated in seconds, and the same seed always gives the same result.
//!
//! - `settings.rs`: the options.
//! - `model.rs`: the device itself, a [`DeviceModel`] that knows nothing of queues.
//!
//! No data is kept: writes go nowhere and reads leave the buffers, which may be missing, as they are.
#![expect(unsafe_code, reason = "implements `turn`, whose caller answers for the buffers")]

mod model;
mod settings;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use iodyno_plugin::{
    Backend, Buffers, Completion, CompletionStyle, DeviceModel, Error, Factory, Finish, OpSet, Plugin, Queue,
    QueueSpec, Request, Result, Submission, Target, TargetInfo, TargetKind, TargetSpec, Turn, Wait, register,
};

use crate::model::ServersModel;
use crate::settings::Settings;

register! {
    Plugin {
        name: "sim",
        version: env!("CARGO_PKG_VERSION"),
        summary: "a simulated device on a virtual clock: servers with service times, stalls and errors",
        options: settings::OPTIONS,
        factory: Factory::Backend {
            create: |options| Ok(Arc::new(Sim { settings: Settings::read(options)? })),
            auto_rank: None,
            drives: &[TargetKind::Virtual],
        },
    }
}

struct Sim {
    settings: Settings,
}

impl Backend for Sim {
    fn open(&self, target: &TargetSpec<'_>, _inner: Option<Box<dyn Target>>) -> Result<Box<dyn Target>> {
        if target.kind != TargetKind::Virtual {
            let text = format!("sim does no i/o and `{}` is a real target: give a size only", target.label);
            return Err(Error::unsupported(text));
        }
        let (settings, seed) = (self.settings, target.seed);
        Ok(Box::new(SimTarget { settings, seed, granule: target.granule, device: Mutex::default() }))
    }
}

type Device = Mutex<Box<dyn DeviceModel>>;

struct SimTarget {
    settings: Settings,
    seed: u64,
    granule: u32,
    /// All queues that are there at a time are queues of one device. It goes with the last of them: a step
    /// begins with an idle device at time 0, whatever was before.
    device: Mutex<Weak<Device>>,
}

impl Target for SimTarget {
    fn info(&self) -> TargetInfo {
        TargetInfo {
            ops: OpSet::ALL,
            granule: self.granule,
            max_len: 1 << 30,
            max_depth: 1 << 20,
            simulated: true,
            completion: CompletionStyle::Interrupt,
        }
    }

    fn queue(&self, _: &QueueSpec, _: &Buffers) -> Result<Box<dyn Queue>> {
        let mut current = lock(&self.device);
        let device = current.upgrade().unwrap_or_else(|| {
            let device: Arc<Device> =
                Arc::new(Mutex::new(Box::new(ServersModel::new(self.settings, self.seed))));
            *current = Arc::downgrade(&device);
            device
        });
        Ok(Box::new(SimQueue { device }))
    }
}

/// One thread runs all queues of a simulated target, so nobody ever waits here, and a panic ends the step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct SimQueue {
    device: Arc<Device>,
}

impl Queue for SimQueue {
    unsafe fn turn(&mut self, sub: &[Submission], done: &mut [Completion], _: Wait) -> Result<Turn> {
        let n = sub.len().min(done.len()) as u32;
        let mut device = lock(&self.device);
        for (s, completion) in sub.iter().zip(done) {
            let request =
                Request { op: s.op, len: s.len, offset: s.offset, hint: s.hint, ..Request::default() };
            let mut finish = Finish::default();
            device.submit(s.at_ns, &[request], std::slice::from_mut(&mut finish))?;
            let Finish { finish_ns, errno, bytes } = finish;
            *completion = Completion { slot: s.slot, errno, bytes, finish_ns, ..Completion::default() };
        }
        Ok(Turn { accepted: n, completed: n })
    }
}
