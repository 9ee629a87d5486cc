//! The backend `sync` on files and devices.

mod files;
mod place;

use std::sync::Arc;

use iodyno_plugin::conformance::{self, CheckedQueue, Io};
use iodyno_plugin::{Backend, CompletionStyle, Op, Options, Wait};
use iodyno_sync as _;

use crate::place::{Place, disk};

fn backend() -> Arc<dyn Backend> {
    conformance::backend("sync", &Options::default()).expect("it has no options")
}

#[test]
fn one_io_is_taken_at_a_time_and_completes_at_once() {
    let target = Place::file(disk(), 1 << 20, true).target();
    let info = target.info();
    assert_eq!((info.max_depth, info.completion), (1, CompletionStyle::Inline));
    let mut queue = CheckedQueue::new(&*target, 3, 4096);
    let ios = [2, 0, 1].map(|slot| Io { op: Op::Read, slot, offset: 0, len: 4096, shift: 0 });
    for (i, io) in ios.iter().enumerate() {
        let turned = queue.turn(&ios[i..], 3, Wait { min: 1, reserved: 0, timeout_ns: u64::MAX });
        assert_eq!((turned.accepted, turned.completions[0].slot), (1, io.slot));
    }
}
