//! The device: identical servers over one queue.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use iodyno_plugin::random::{Random, derive};
use iodyno_plugin::{DeviceModel, Error, Finish, Op, Request, Result};

use crate::settings::{Distribution, Settings};

/// A device of some servers. A request is taken by the server that is free first, at once or in the order of
/// submission, and keeps it for its service time. One that fails takes as long as another.
///
/// Stalls stop all servers. So everything is reckoned in *working time*, which stands still in a stall, and
/// turned back into time at the end.
pub(crate) struct ServersModel {
    settings: Settings,
    /// When each server is free, ns of working time; the first one on top.
    free: BinaryHeap<Reverse<u64>>,
    now_ns: u64,
    service: Random,
    /// Apart from the service times, which are the same whatever fails.
    failures: Random,
}

impl ServersModel {
    pub(crate) fn new(settings: Settings, seed: u64) -> Self {
        ServersModel {
            settings,
            free: vec![Reverse(0); settings.servers].into(),
            now_ns: 0,
            service: Random::new(derive(seed, 0)),
            failures: Random::new(derive(seed, 1)),
        }
    }

    fn service_ns(&mut self, op: u8) -> u64 {
        let write = op == Op::Write as u8;
        let mean = if write { self.settings.write_service_ns } else { self.settings.service_ns };
        match self.settings.distribution {
            Distribution::Constant => mean,
            Distribution::Exponential => (mean as f64 * self.service.exponential() + 0.5) as u64,
        }
    }

    fn serve(&mut self, request: &Request) -> Finish {
        let stalls = self.settings.stalls;
        let arrival = stalls.map_or(self.now_ns, |stalls| stalls.working(self.now_ns));
        let service = self.service_ns(request.op);
        let mut server = self.free.peek_mut().expect("there is a server");
        server.0 = server.0.max(arrival).saturating_add(service);
        let finish = stalls.map_or(server.0, |stalls| stalls.time(server.0));
        let fails = self.failures.unit() < self.settings.failing_share;
        Finish {
            // Nothing ends before it has come, not even what takes no time and comes in a stall.
            finish_ns: finish.max(self.now_ns),
            errno: if fails { self.settings.errno } else { 0 },
            bytes: if fails { 0 } else { request.len },
        }
    }
}

impl DeviceModel for ServersModel {
    fn submit(&mut self, now_ns: u64, requests: &[Request], out: &mut [Finish]) -> Result<()> {
        if now_ns < self.now_ns {
            let text = format!("submitted at {now_ns} ns, after what was submitted at {} ns", self.now_ns);
            return Err(Error::contract(text));
        }
        self.now_ns = now_ns;
        for (request, finish) in requests.iter().zip(out) {
            *finish = self.serve(request);
        }
        Ok(())
    }
}
