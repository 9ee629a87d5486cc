//! The options, and what they mean.

use iodyno_plugin::{Default, Error, OptionKind, OptionSpec, Options, Result};

const HOUR_NS: u64 = 3600 * 1_000_000_000;
const TIME: OptionKind = OptionKind::Duration { min_ns: 1, max_ns: HOUR_NS };

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "servers",
        kind: OptionKind::Int { min: 1, max: 65536 },
        default: Default::Is("1"),
        doc: "how many requests the device works on at a time",
    },
    OptionSpec {
        name: "service",
        kind: TIME,
        default: Default::Is("\"100us\""),
        doc: "how long a server works on a request; the mean, where times are drawn",
    },
    OptionSpec {
        name: "write_service",
        kind: TIME,
        default: Default::Absent,
        doc: "the same for writes, where they take another time",
    },
    OptionSpec {
        name: "distribution",
        kind: OptionKind::Enum(&["constant", "exponential"]),
        default: Default::Is("\"constant\""),
        doc: "whether service times are all the same or drawn",
    },
    OptionSpec {
        name: "stall_every",
        kind: TIME,
        default: Default::Absent,
        doc: "the time from the start of one stall to that of the next; the first comes after it",
    },
    OptionSpec {
        name: "stall",
        kind: TIME,
        default: Default::Absent,
        doc: "how long nothing is worked on in each stall",
    },
    OptionSpec {
        name: "error_rate",
        kind: OptionKind::Percent,
        default: Default::Is("0"),
        doc: "how many of the requests fail",
    },
    OptionSpec {
        name: "errno",
        kind: OptionKind::Int { min: 1, max: 4095 },
        default: Default::Is("5"),
        doc: "with which error they fail, by the kernel's number; 5 is EIO",
    },
];

/// What is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Settings {
    pub(crate) servers: usize,
    pub(crate) service_ns: u64,
    pub(crate) write_service_ns: u64,
    pub(crate) distribution: Distribution,
    pub(crate) stalls: Option<Stalls>,
    /// 0 to 1.
    pub(crate) failing_share: f64,
    pub(crate) errno: i32,
}

/// How service times are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distribution {
    Constant,
    Exponential,
}

impl Settings {
    pub(crate) fn read(options: &Options) -> Result<Self> {
        let service_ns = options.duration_ns("service")?;
        Ok(Settings {
            servers: options.int("servers")? as usize,
            service_ns,
            write_service_ns: optional_ns(options, "write_service")?.unwrap_or(service_ns),
            distribution: match options.text("distribution")? {
                "exponential" => Distribution::Exponential,
                _ => Distribution::Constant,
            },
            stalls: Stalls::read(options)?,
            failing_share: options.float("error_rate")? / 100.0,
            errno: options.int("errno")? as i32,
        })
    }
}

fn optional_ns(options: &Options, name: &str) -> Result<Option<u64>> {
    options.get(name).map(|_| options.duration_ns(name)).transpose()
}

/// Pauses at equal distances: `[k * every, k * every + stall)` for k = 1, 2, ...
///
/// *Working time* is the time that is not in a stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stalls {
    pub(crate) every_ns: u64,
    pub(crate) stall_ns: u64,
}

impl Stalls {
    fn read(options: &Options) -> Result<Option<Self>> {
        match (optional_ns(options, "stall_every")?, optional_ns(options, "stall")?) {
            (None, None) => Ok(None),
            (Some(_), None) => Err(Error::option("stall_every", "needs `stall`: how long each one is")),
            (None, Some(_)) => Err(Error::option("stall", "needs `stall_every`: when they come")),
            (Some(every_ns), Some(stall_ns)) if stall_ns >= every_ns => {
                let text = format!(
                    "a stall of {stall_ns} ns every {every_ns} ns leaves no time to work: make it shorter \
                     than `stall_every`"
                );
                Err(Error::option("stall", text))
            }
            (Some(every_ns), Some(stall_ns)) => Ok(Some(Stalls { every_ns, stall_ns })),
        }
    }

    /// Working time from 0 to `time`.
    pub(crate) fn working(self, time: u64) -> u64 {
        let begun = time / self.every_ns;
        if begun == 0 {
            return time;
        }
        let since = time % self.every_ns;
        time - (begun - 1) * self.stall_ns - since.min(self.stall_ns)
    }

    /// The first time at which the working time is `working`.
    pub(crate) fn time(self, working: u64) -> u64 {
        // The first stretch of work is as long as the distance, the others are what stalls leave of it.
        let stalls = working.saturating_sub(self.every_ns).div_ceil(self.every_ns - self.stall_ns);
        working.saturating_add(stalls.saturating_mul(self.stall_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn working_time_stands_still_in_stalls() {
        for (every_ns, stall_ns) in [(1000, 1), (10, 9), (7, 3), (2, 1)] {
            let stalls = Stalls { every_ns, stall_ns };
            let mut working = 0;
            for time in 0..5000 {
                assert_eq!(stalls.working(time), working, "{stalls:?} at {time}");
                let stalled = time >= every_ns && time % every_ns < stall_ns;
                if !stalled {
                    working += 1;
                    // What ends with this step of work ends at its end, though a stall may begin there.
                    assert_eq!(stalls.time(working), time + 1, "{stalls:?} at {working}");
                }
            }
        }
    }
}
