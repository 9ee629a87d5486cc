//! The backend `io_uring` on files, devices and pipes.

#[path = "../../../sync/tests/storage/files.rs"]
mod files;
mod pipes;
#[path = "../../../sync/tests/storage/place.rs"]
mod place;

use std::sync::Arc;

use iodyno_io_uring as _;
use iodyno_plugin::conformance::{self, CheckedQueue, Io};
use iodyno_plugin::{Backend, CompletionStyle, Op, Options, Value, Wait};

use crate::place::{Place, disk, tmpfs};

fn backend() -> Arc<dyn Backend> {
    with_registered(true)
}

/// The backend with every option on or off.
fn with_registered(all: bool) -> Arc<dyn Backend> {
    let names = ["registered_buffers", "registered_file", "registered_ring"];
    let options = names.iter().fold(Options::default(), |o, name| o.with(name, Value::Bool(all)));
    conformance::backend("io_uring", &options).expect("the options are complete")
}

fn facts(queue: &CheckedQueue) -> Vec<(String, String, Option<String>)> {
    queue.facts().into_iter().map(|fact| (fact.name, fact.value, fact.fallback)).collect()
}

#[test]
fn facts_say_what_is_in_use() {
    let place = Place::file(disk(), 1 << 20, true);
    for (all, value) in [(true, "yes"), (false, "no")] {
        let target = with_registered(all).open(&place.spec(), None).unwrap();
        let facts = facts(&CheckedQueue::new(&*target, 128, 4096));
        assert_eq!(facts[0].0, "ring_setup");
        assert!(facts[0].1.contains("submit_all"), "{facts:?}");
        for (fact, name) in
            facts[1..].iter().zip(["registered_file", "registered_buffers", "registered_ring"])
        {
            assert_eq!((fact.0.as_str(), fact.1.as_str(), &fact.2), (name, value, &None));
        }
    }
}

#[test]
fn direct_io_completes_by_interrupt_and_the_page_cache_inline() {
    let style = |direct| Place::file(disk(), 1 << 20, direct).target().info().completion;
    assert_eq!((style(true), style(false)), (CompletionStyle::Interrupt, CompletionStyle::Inline));
}

#[test]
fn a_plain_ring_keeps_the_data_too() {
    for folder in [disk(), tmpfs()] {
        let place = Place::file(folder, 8 << 20, folder == disk());
        conformance::check_storage(&*with_registered(false).open(&place.spec(), None).unwrap(), place.len);
    }
}

/// The device goes on with what it has begun, and a queue must not go before that is over.
#[test]
fn a_dropped_queue_leaves_nothing_that_writes_to_its_buffers() {
    const LEN: u32 = 1 << 20;
    let place = Place::file(disk(), LEN.into(), true);
    for all in [false, true] {
        let target = with_registered(all).open(&place.spec(), None).unwrap();
        let mut queue = CheckedQueue::new(&*target, 32, LEN as usize);
        let io = |op| move |slot| Io { op, slot, offset: 0, len: LEN, shift: 0 };
        queue.buffer(0).fill(7);
        queue.turn(&[io(Op::Write)(0)], 1, Wait { min: 1, reserved: 0, timeout_ns: u64::MAX });
        let reads: Vec<Io> = (1..32).map(io(Op::Read)).collect();
        let turned = queue.turn(&reads, 32, Wait::default());
        assert!(turned.completions.len() < 31, "all was over at once: this shows nothing");
        let memory = queue.drop_queue();
        let buffers = || (1..32).map(|slot| memory.buffer(slot));
        let at_once: Vec<Vec<u8>> = buffers().map(<[u8]>::to_vec).collect();
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(buffers().eq(at_once.iter()), "registered: {all}");
    }
}

#[test]
fn the_deepest_queue_works() {
    let target = Place::char_device("/dev/null").target();
    let depth = target.info().max_depth;
    assert_eq!(depth, 32768);
    let mut queue = CheckedQueue::new(&*target, depth, 512);
    let ios: Vec<Io> =
        (0..depth).map(|slot| Io { op: Op::Write, slot, offset: 0, len: 512, shift: 0 }).collect();
    let turned = queue.turn(&ios, depth as usize, Wait { min: depth, reserved: 0, timeout_ns: u64::MAX });
    assert_eq!((turned.accepted, turned.completions.len()), (32768, 32768));
}

/// Buffers that are given back late would be over the limit, and a thread holds registered rings to its end.
#[test]
fn a_thread_may_make_queue_after_queue() {
    let target = Place::char_device("/dev/null").target();
    for _ in 0..100 {
        let queue = CheckedQueue::new(&*target, 1, 4096);
        assert!(facts(&queue).iter().all(|fact| fact.1 != "no"), "{:?}", queue.facts());
    }
}
