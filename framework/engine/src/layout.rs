//! Who drives what: the lanes of a step's streams and the workers that they live on.
//!
//! Outstanding I/O is limited by *pools*. An independent stream has a pool of its own; streams that share
//! have one together. A pool is cut into as many lanes as its load asks for workers (the most that one of its
//! streams asks for), or more where a queue does not hold a lane's share, and the outstanding I/O is divided as
//! evenly as possible. Lane j goes to worker j, or to the first one after it whose queue has room; where there
//! is none, another worker starts.
//!
//! So an asynchronous target has one worker unless more are asked for, each with a lane of every stream; and a
//! target whose queues hold one I/O has one worker for each outstanding I/O.

use iodyno_plugin::{OpSet, TargetInfo, WorkloadInfo};
use iodyno_record::{Op, Sharing, StepSpec};

use crate::Parts;
use crate::admission::Multiple;

/// Longest interval, 19 hours: its sums of outstanding I/O times ns stay within 64 bits.
const INTERVAL_MAX_NS: u64 = 1 << 46;

/// One lane's share of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// The streams, by their index in the spec.
    pub(crate) streams: Vec<usize>,
    pub(crate) lane: u32,
    pub(crate) lanes: u32,
    pub(crate) outstanding: u32,
}

/// A stream as the engine sees it.
#[derive(Clone, Debug)]
pub(crate) struct StreamFacts {
    /// For messages: workload and stream.
    pub(crate) title: String,
    pub(crate) info: WorkloadInfo,
    /// Cells of its operations by operation code.
    pub(crate) cells: [Option<u16>; Op::ALL.len()],
}

/// A step laid out.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) target: TargetInfo,
    pub(crate) streams: Vec<StreamFacts>,
    /// Stream and operation of each cell: one for each operation that a stream declares.
    pub(crate) cells: Vec<(u32, Op)>,
    /// The shares of each worker.
    pub(crate) workers: Vec<Vec<Share>>,
    /// Outstanding I/O asked for, all streams.
    pub(crate) asked: u32,
}

impl Layout {
    /// Lays a step out.
    ///
    /// # Errors
    /// What cannot work, before anything runs.
    pub(crate) fn new(spec: &StepSpec, parts: &Parts) -> Result<Self, String> {
        let target = parts.target.info();
        if spec.streams.is_empty() || spec.streams.len() != parts.workloads.len() {
            let (streams, workloads) = (spec.streams.len(), parts.workloads.len());
            return Err(format!("the step has {streams} streams and {workloads} workloads"));
        }
        if !(1..=INTERVAL_MAX_NS).contains(&spec.interval_ns) {
            let interval_ns = spec.interval_ns;
            return Err(format!(
                "an interval of {interval_ns} ns is not possible: 1 to {INTERVAL_MAX_NS} are"
            ));
        }
        if target.max_depth == 0 || target.granule == 0 {
            let TargetInfo { max_depth, granule, .. } = target;
            return Err(format!(
                "the target holds {max_depth} I/O in multiples of {granule} bytes; neither may be 0"
            ));
        }
        let (mut streams, mut cells) = (Vec::new(), Vec::new());
        for index in 0..spec.streams.len() {
            streams.push(stream_facts(spec, parts, &target, index, &mut cells)?);
        }
        let pools = pools(spec)?;
        let asked = pools.iter().map(|p| p.outstanding).fold(0, u32::saturating_add);
        let mut workers = place(&pools, target.max_depth);
        if target.simulated {
            workers = vec![workers.concat()];
        }
        if workers.iter().any(|shares| shares.len() > usize::from(u16::MAX)) {
            return Err(format!(
                "{asked} outstanding I/O are too many lanes for a simulated target; give it more depth"
            ));
        }
        Ok(Layout { target, streams, cells, workers, asked })
    }

    /// The cells of a stream.
    pub(crate) fn of_stream(&self, stream: u32) -> impl Iterator<Item = usize> {
        self.cells.iter().enumerate().filter(move |(_, (s, _))| *s == stream).map(|(cell, _)| cell)
    }
}

fn stream_facts(
    spec: &StepSpec,
    parts: &Parts,
    target: &TargetInfo,
    index: usize,
    cells: &mut Vec<(u32, Op)>,
) -> Result<StreamFacts, String> {
    let stream = &spec.streams[index];
    let info = parts.workloads[index].info();
    let title = format!("workload `{}` of stream `{}`", stream.workload.plugin, stream.name);
    let refused = OpSet(info.ops.0 & !target.ops.0);
    if refused != OpSet::EMPTY {
        let words = OpSet(refused.0 & OpSet::ALL.0).iter().map(|op| op.name()).collect::<Vec<_>>().join(", ");
        return Err(format!(
            "{title} declares operations that target `{}` does not take: {words}",
            spec.target.label
        ));
    }
    let granule = Multiple::of(u64::from(target.granule));
    if !granule.divides(u64::from(info.granule)) || !granule.divides(stream.region_offset_bytes) {
        let (asked, offset, granule) = (info.granule, stream.region_offset_bytes, target.granule);
        return Err(format!(
            "{title} works in multiples of {asked} bytes from {offset} on; target `{}` needs multiples of {granule}",
            spec.target.label
        ));
    }
    if info.max_len > target.max_len {
        return Err(format!(
            "{title} asks for {} bytes at once; the target takes {}",
            info.max_len, target.max_len
        ));
    }
    if !(stream.weight.is_finite() && stream.weight > 0.0) {
        return Err(format!(
            "the weight of stream `{}` is {}; it must be above 0",
            stream.name, stream.weight
        ));
    }
    let end = stream.region_offset_bytes.checked_add(stream.region_len_bytes);
    if end.is_none_or(|end| end > spec.target.size_bytes) {
        return Err(format!("the region of stream `{}` reaches beyond the target's end", stream.name));
    }
    let mut own = [None; Op::ALL.len()];
    for op in Op::ALL.into_iter().filter(|op| info.ops.0 & (1 << *op as u32) != 0) {
        own[op as usize] = Some(u16::try_from(cells.len()).map_err(|_| "too many streams".to_owned())?);
        cells.push((index as u32, op));
    }
    Ok(StreamFacts { title, info, cells: own })
}

struct Pool {
    streams: Vec<usize>,
    outstanding: u32,
    workers: u32,
}

fn pools(spec: &StepSpec) -> Result<Vec<Pool>, String> {
    let pools: Vec<Pool> = match spec.sharing {
        Sharing::Shared => vec![Pool {
            streams: (0..spec.streams.len()).collect(),
            outstanding: spec.outstanding,
            workers: spec.streams.iter().map(|s| s.load.workers).max().unwrap_or(1),
        }],
        Sharing::Independent => {
            let pool = |(i, s): (usize, &iodyno_record::StreamPlan)| Pool {
                streams: vec![i],
                outstanding: s.load.outstanding,
                workers: s.load.workers,
            };
            spec.streams.iter().enumerate().map(pool).collect()
        }
    };
    match pools.iter().find(|p| p.outstanding == 0) {
        Some(pool) => {
            Err(format!("stream `{}` asks for 0 outstanding I/O", spec.streams[pool.streams[0]].name))
        }
        None => Ok(pools),
    }
}

fn place(pools: &[Pool], max_depth: u32) -> Vec<Vec<Share>> {
    let mut workers: Vec<(u32, Vec<Share>)> = Vec::new();
    for pool in pools {
        let lanes = pool.workers.clamp(1, pool.outstanding).max(pool.outstanding.div_ceil(max_depth));
        for lane in 0..lanes {
            let outstanding = pool.outstanding / lanes + u32::from(lane < pool.outstanding % lanes);
            let share = Share { streams: pool.streams.clone(), lane, lanes, outstanding };
            let with_room = |(depth, _): &(u32, Vec<Share>)| *depth <= max_depth - outstanding;
            let worker = (lane as usize..workers.len()).find(|w| with_room(&workers[*w]));
            let worker = worker.unwrap_or_else(|| {
                workers.push((0, Vec::new()));
                workers.len() - 1
            });
            workers[worker].0 += outstanding;
            workers[worker].1.push(share);
        }
    }
    workers.into_iter().map(|(_, shares)| shares).collect()
}

#[cfg(test)]
mod tests {
    use iodyno_plugin::random::Random;

    use super::*;

    fn pool(stream: usize, outstanding: u32, workers: u32) -> Pool {
        Pool { streams: vec![stream], outstanding, workers }
    }

    /// Of each worker: stream, lane, lanes and outstanding of each share.
    fn placed(pools: &[Pool], max_depth: u32) -> Vec<Vec<(usize, u32, u32, u32)>> {
        let short = |s: &Share| (s.streams[0], s.lane, s.lanes, s.outstanding);
        place(pools, max_depth).iter().map(|w| w.iter().map(short).collect()).collect()
    }

    #[test]
    fn asynchronous_worker_j_drives_lane_j_of_every_stream() {
        assert_eq!(placed(&[pool(0, 128, 1)], 4096), [[(0, 0, 1, 128)]]);
        assert_eq!(
            placed(&[pool(0, 34, 2), pool(1, 1, 1), pool(2, 3, 2)], 4096),
            [vec![(0, 0, 2, 17), (1, 0, 1, 1), (2, 0, 2, 2)], vec![(0, 1, 2, 17), (2, 1, 2, 1)]]
        );
    }

    #[test]
    fn a_queue_of_one_has_a_worker_for_each_outstanding_io() {
        let sync = placed(&[pool(0, 3, 1), pool(1, 1, 1), pool(2, 2, 8)], 1);
        let expected: Vec<Vec<_>> =
            [(0, 0, 3, 1), (0, 1, 3, 1), (0, 2, 3, 1), (1, 0, 1, 1), (2, 0, 2, 1), (2, 1, 2, 1)]
                .map(|share| vec![share])
                .into();
        assert_eq!(sync, expected);
    }

    #[test]
    fn what_a_queue_does_not_hold_goes_to_more_workers() {
        assert_eq!(
            placed(&[pool(0, 100, 1), pool(1, 8, 1)], 64),
            [vec![(0, 0, 2, 50), (1, 0, 1, 8)], vec![(0, 1, 2, 50)]]
        );
        assert_eq!(placed(&[pool(0, 64, 1), pool(1, 8, 1)], 64), [[(0, 0, 1, 64)], [(1, 0, 1, 8)]]);
    }

    #[test]
    fn nothing_is_lost_and_no_queue_is_overfull() {
        let mut random = Random::new(11);
        for round in 0..2000 {
            let mut draw = |n| 1 + random.below(n) as u32;
            let max_depth = draw(64);
            let pools: Vec<Pool> = (0..draw(5) as usize).map(|i| pool(i, draw(300), draw(20))).collect();
            let workers = place(&pools, max_depth);
            let depth = |w: &Vec<Share>| w.iter().map(|s| s.outstanding).sum::<u32>();
            assert!(workers.iter().all(|w| (1..=max_depth).contains(&depth(w))), "round {round}");
            for pool in &pools {
                let shares: Vec<&Share> =
                    workers.iter().flatten().filter(|s| s.streams == pool.streams).collect();
                assert_eq!(
                    shares.iter().map(|s| s.outstanding).sum::<u32>(),
                    pool.outstanding,
                    "round {round}"
                );
                let outstanding = shares.iter().map(|s| s.outstanding);
                assert!(
                    outstanding.clone().max().unwrap() - outstanding.min().unwrap() <= 1,
                    "round {round}"
                );
                let mut lanes: Vec<u32> = shares.iter().map(|s| s.lane).collect();
                lanes.sort_unstable();
                assert_eq!(lanes, (0..shares[0].lanes).collect::<Vec<_>>(), "round {round}");
                assert!(shares.len() as u32 >= pool.workers.min(pool.outstanding), "round {round}");
            }
        }
    }
}
