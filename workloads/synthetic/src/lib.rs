//! The workload `synthetic`: a mix of reads, writes and flushes in blocks of one or several sizes, placed
//! sequentially, in strides or at random.
//!
//! - **Mix and sizes** are drawn anew for each request from the percentages and weights.
//! - **Random** places start at multiples of `align`: the block size, or with several sizes their greatest
//!   common divisor. Each place where the request fits is equally likely, or with `zipf` the place of rank k
//!   is `k^theta` times rarer than the first. Which rank lies where is a fixed shuffle of the region: the hot
//!   spots stay where they are whatever the seed.
//! - **Sequential** requests follow one another; the last one of a pass is cut to what is left, so a pass
//!   covers the whole region. The lanes of a stream share one cursor.
//! - **Strided** requests start `stride` bytes apart; at the end of the region the next round begins one block
//!   further on, so a pass covers the whole region here, too.
//!
//! The sequence depends on nothing but seed, lane, number of lanes, region and options (golden tests hold it
//! fast), except that lanes with a shared cursor divide up the places as they come.

mod ask;
mod choice;
mod permutation;
mod place;
mod settings;
mod walk;
mod zipf;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use iodyno_plugin::random::{Random, derive};
use iodyno_plugin::{
    Error, Errors, Factory, Filled, More, Options, Plugin, Request, Result, Stream, StreamSpec, Workload,
    WorkloadInfo, register,
};

use crate::ask::Ask;
use crate::place::{Budget, RandomPlaces};
use crate::settings::{Distribution, Pattern, Settings};
use crate::walk::{Region, Walk};
use crate::zipf::Zipf;

register! {
    Plugin {
        name: "synthetic",
        version: env!("CARGO_PKG_VERSION"),
        summary: "reads, writes and flushes in a mix: sequential, strided or random, uniform or zipf",
        options: settings::OPTIONS,
        factory: Factory::Workload(|options| Ok(Arc::new(Synthetic::new(options)?))),
    }
}

/// The workload with its options, for one stream of one step.
struct Synthetic {
    settings: Settings,
    /// The place that all lanes share, unless each has a slice.
    cursor: Arc<AtomicU64>,
    /// The table made last: all lanes of a stream need the same one.
    zipf: Mutex<Option<Arc<Zipf>>>,
}

impl Synthetic {
    fn new(options: &Options) -> Result<Self> {
        Ok(Synthetic { settings: Settings::read(options)?, cursor: Arc::default(), zipf: Mutex::default() })
    }

    /// The part of the region that a lane works in.
    fn region(&self, spec: &StreamSpec) -> Result<Region> {
        let settings = &self.settings;
        let block = u64::from(settings.max_len());
        let len = spec.region_len - spec.region_len % u64::from(spec.granule.max(1));
        let region = Region { start: 0, len, passes: settings.passes };
        if len < block {
            let text = format!(
                "a block of {block} bytes does not fit into the region of {len} bytes: use smaller blocks or a \
                 larger region"
            );
            return Err(Error::option("block_size", text));
        }
        if !settings.slices {
            return Ok(region);
        }
        let blocks = len.div_ceil(block);
        let edge = |lane: u32| {
            let share = u128::from(blocks) * u128::from(lane) / u128::from(spec.lanes);
            (share as u64 * block).min(len)
        };
        let (start, end) = (edge(spec.lane), edge(spec.lane + 1));
        if end - start < block {
            let text = format!(
                "the region of {len} bytes holds too few blocks of {block} bytes to give each of {} workers \
                 a slice: use fewer workers, a larger region, or slices = false",
                spec.lanes
            );
            return Err(Error::option("slices", text));
        }
        Ok(Region { start, len: end - start, ..region })
    }

    /// What the lane may ask for must be what the target takes.
    fn check(&self, spec: &StreamSpec) -> Result<()> {
        let (info, mut errors) = (self.info(), Errors::default());
        if let Some(op) = info.ops.iter().find(|op| !spec.ops.has(*op)) {
            let text = format!("this target takes no {}: leave it out", op.name());
            errors.keep(Err(Error::option("mix", text)), ());
        }
        if info.max_len > spec.max_len {
            let text = format!(
                "{} bytes are more than the {} that one request may have: use smaller blocks",
                info.max_len, spec.max_len
            );
            errors.keep(Err(Error::option("block_size", text)), ());
        }
        if !info.granule.is_multiple_of(spec.granule.max(1)) {
            let text = format!(
                "blocks start and end at multiples of {} bytes, the target needs multiples of {}: choose sizes, \
                 and `align` where it is set, that are such",
                info.granule, spec.granule
            );
            errors.keep(Err(Error::option("block_size", text)), ());
        }
        errors.end()
    }

    /// The table for `n` places; lanes share it.
    fn zipf(&self, n: u64, theta: f64) -> Arc<Zipf> {
        // A table is either whole or not there, so a lane that panicked left nothing broken.
        let mut kept = self.zipf.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some(table) if table.len() == n => Arc::clone(table),
            _ => Arc::clone(kept.insert(Arc::new(Zipf::new(n, theta)))),
        }
    }

    fn places(&self, spec: &StreamSpec, region: Region, rng: Random) -> Places {
        let settings = &self.settings;
        let cursor = || if settings.slices { Arc::default() } else { Arc::clone(&self.cursor) };
        match settings.pattern {
            Pattern::Sequential => Places::Ordered(Walk::sequential(region, cursor())),
            Pattern::Strided { stride } => {
                Places::Ordered(Walk::strided(region, settings.max_len(), stride, cursor()))
            }
            Pattern::Random => {
                let budget = Budget::new(region, if settings.slices { 1 } else { spec.lanes });
                let uniform = RandomPlaces::new(rng, region, settings.align, &settings.lens, budget);
                Places::Random(match settings.distribution {
                    Distribution::Uniform => uniform,
                    Distribution::Zipf { theta } => uniform.with_zipf(|n| self.zipf(n, theta)),
                })
            }
        }
    }
}

impl Workload for Synthetic {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            ops: self.settings.ops(),
            max_len: self.settings.max_len(),
            granule: self.settings.granule(),
            wants_completions: false,
            passes: self.settings.passes,
        }
    }

    fn stream(&self, spec: &StreamSpec) -> Result<Box<dyn Stream>> {
        let mut errors = Errors::default();
        errors.keep(self.check(spec), ());
        let region = errors.keep(self.region(spec), Region::default());
        errors.end()?;
        let rng = |part| Random::new(derive(derive(spec.seed, u64::from(spec.lane)), part));
        let (ask, places) = (Ask::new(&self.settings, rng(0)), self.places(spec, region, rng(1)));
        Ok(Box::new(Lane { ask, places }))
    }
}

/// The generator of one lane. What is asked for and where it goes are drawn apart, each a batch at a time, so
/// that the choice of pattern is made once a batch and not once a request.
struct Lane {
    ask: Ask,
    places: Places,
}

enum Places {
    Ordered(Walk),
    Random(RandomPlaces),
}

impl Places {
    /// Gives places to requests whose length is set, and says how many got one before the end.
    fn place(&mut self, out: &mut [Request]) -> usize {
        match self {
            Places::Ordered(walk) => walk.place(out),
            Places::Random(places) => places.place(out),
        }
    }
}

impl Stream for Lane {
    fn fill(&mut self, out: &mut [Request]) -> Result<Filled> {
        let n = match (&mut self.ask, &mut self.places) {
            (Ask::Always(request), Places::Random(places)) if places.is_plain() && request.len > 0 => {
                places.fill(*request, out);
                out.len()
            }
            (ask, places) => {
                ask.fill(out);
                places.place(out)
            }
        };
        Ok(Filled { n, more: if n < out.len() { More::Done } else { More::More } })
    }
}
