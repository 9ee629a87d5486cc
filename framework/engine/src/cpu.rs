//! CPU time: of the calling thread, and of the kernel threads that work for a worker.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read;

use crate::clock::thread_cpu_ns;

/// CPU time of a thread since it began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ThreadCpu {
    /// Exact.
    total_ns: u64,
    /// In clock ticks, as the kernel tells them: good for the share of each.
    user_ticks: u64,
    system_ticks: u64,
}

/// CPU time between two moments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuSpan {
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
}

impl ThreadCpu {
    /// Of the calling thread. Does not allocate.
    pub(crate) fn now() -> Self {
        let mut text = [0; 1024];
        let len =
            fs::File::open("/proc/thread-self/stat").and_then(|mut file| file.read(&mut text)).unwrap_or(0);
        let (user_ticks, system_ticks) = ticks(&text[..len]).unwrap_or((0, 0));
        ThreadCpu { total_ns: thread_cpu_ns(), user_ticks, system_ticks }
    }

    /// From `start` to here. The total is exact. The kernel splits it by ticks; a time too short for one is
    /// counted as user time.
    pub(crate) fn since(self, start: ThreadCpu) -> CpuSpan {
        let total_ns = self.total_ns.saturating_sub(start.total_ns);
        let user = self.user_ticks.saturating_sub(start.user_ticks);
        let system = self.system_ticks.saturating_sub(start.system_ticks);
        let system_ns = u128::from(total_ns) * u128::from(system) / u128::from((user + system).max(1));
        let system_ns = system_ns as u64;
        CpuSpan { user_ns: total_ns - system_ns, system_ns }
    }
}

/// Fields 14 and 15 of a `stat` file. The second field is a name in parentheses that may hold anything.
fn ticks(stat: &[u8]) -> Option<(u64, u64)> {
    let name_end = stat.iter().rposition(|b| *b == b')')?;
    let mut fields = stat[name_end + 1..].split(|b| *b == b' ').filter(|f| !f.is_empty()).skip(11);
    let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse().ok();
    Some((number()?, number()?))
}

/// Kernel threads that io_uring starts for requests it cannot do at once: `iou-wrk-<thread>`, by the thread
/// that submitted. They come and go, so they are looked at from time to time; of one that went the last look
/// counts.
pub(crate) struct Helpers {
    /// CPU time so far by kernel thread: whom it works for, ns.
    seen: HashMap<u32, (u32, u64)>,
    /// Threads that are none.
    others: HashSet<u32>,
}

impl Helpers {
    pub(crate) fn new() -> Self {
        Helpers { seen: HashMap::new(), others: HashSet::new() }
    }

    /// Looks at all threads of this process.
    pub(crate) fn look(&mut self) {
        let Ok(tasks) = fs::read_dir("/proc/self/task") else { return };
        let tids = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse::<u32>().ok());
        let tids: HashSet<u32> = tids.collect();
        self.others.retain(|tid| tids.contains(tid));
        for tid in tids {
            if self.others.contains(&tid) {
                continue;
            }
            let read = |file| fs::read_to_string(format!("/proc/self/task/{tid}/{file}")).unwrap_or_default();
            let served = read("comm").trim_end().strip_prefix("iou-wrk-").and_then(|t| t.parse().ok());
            match served {
                Some(served) => {
                    let ns = read("schedstat").split(' ').next().and_then(|ns| ns.parse().ok());
                    let seen = self.seen.entry(tid).or_insert((served, 0));
                    seen.1 = seen.1.max(ns.unwrap_or(0));
                }
                None => {
                    self.others.insert(tid);
                }
            }
        }
    }

    /// The number by which the kernel calls a thread of this process in the names of its helpers: not the one
    /// that the thread knows itself by where the process lives in a container.
    pub(crate) fn name_of(tid: u32) -> u32 {
        let line = fs::read_to_string(format!("/proc/self/task/{tid}/sched")).unwrap_or_default();
        // "NAME (NUMBER, #threads: 1)", and a name may hold anything.
        let number = line.lines().next().and_then(|l| l.rsplit_once(" (")?.1.split(',').next()?.parse().ok());
        number.unwrap_or(tid)
    }

    /// CPU time so far on behalf of the thread that the kernel calls `tid`, ns.
    pub(crate) fn on_behalf_of(&self, tid: u32) -> u64 {
        self.seen.values().filter(|(served, _)| *served == tid).map(|(_, ns)| ns).sum()
    }

    /// Whether there is any.
    pub(crate) fn any(&self) -> bool {
        !self.seen.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_found_behind_any_name() {
        let stat = b"7 (a) b (c) S 1 2 3 0 -1 4 5 6 7 8 123 45 0 0 20 0 1 0\n";
        assert_eq!(ticks(stat), Some((123, 45)));
        assert_eq!(ticks(b"7 (x"), None);
        assert_eq!(ticks(b""), None);
    }

    #[test]
    fn the_kernel_s_number_of_a_thread_is_found() {
        // In the outermost container both are the same; a machine without the file gives the thread's own.
        let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let name = Helpers::name_of(own);
        assert!(name == own || fs::read_to_string("/proc/1/comm").is_ok() && name > 0);
        assert_eq!(Helpers::name_of(u32::MAX), u32::MAX);
    }

    #[test]
    fn the_split_keeps_the_total() {
        let start = ThreadCpu { total_ns: 1000, user_ticks: 5, system_ticks: 1 };
        let end = ThreadCpu { total_ns: 41_001_000, user_ticks: 6, system_ticks: 4 };
        assert_eq!(end.since(start), CpuSpan { user_ns: 10_250_000, system_ns: 30_750_000 });
        let short = ThreadCpu { total_ns: 1500, ..start };
        assert_eq!(short.since(start), CpuSpan { user_ns: 500, system_ns: 0 });
    }

    /// A thread with the name that the kernel would give stands for one of its own.
    #[test]
    fn kernel_threads_are_counted_for_those_they_work_for() {
        let (name, me) = (format!("iou-wrk-{}", 4_000_001), 4_000_001);
        let mut helpers = Helpers::new();
        let (done, worked) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            let start = thread_cpu_ns();
            while thread_cpu_ns() < start + 20_000_000 {}
            done.send(()).unwrap();
            ended.recv().unwrap();
        });
        worked.recv().unwrap();
        helpers.look();
        let seen = helpers.on_behalf_of(me);
        assert!(helpers.any() && seen >= 15_000_000, "{seen}");
        assert_eq!(helpers.on_behalf_of(me + 1), 0);
        end.send(()).unwrap();
        thread.unwrap().join().unwrap();
        helpers.look();
        assert!(helpers.on_behalf_of(me) >= seen, "what is gone still counts");
    }

    #[test]
    fn work_takes_cpu_time_and_sleep_does_not() {
        let start = ThreadCpu::now();
        let mut x = 1_u64;
        while ThreadCpu::now().total_ns < start.total_ns + 30_000_000 {
            (0..10_000).for_each(|i| x = std::hint::black_box(x.rotate_left(7) ^ i));
        }
        let worked = ThreadCpu::now();
        std::thread::sleep(std::time::Duration::from_millis(30));
        let slept = ThreadCpu::now().since(worked);
        assert!(worked.since(start).user_ns + worked.since(start).system_ns >= 30_000_000);
        assert!(slept.user_ns + slept.system_ns < 20_000_000, "{slept:?}");
    }
}
