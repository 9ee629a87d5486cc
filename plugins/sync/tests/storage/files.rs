//! What every backend that does I/O must do on files and devices. Other backends' tests use this file, too:
//! they have a `backend()` and the module `place` beside it.

use std::fs::File;
use std::os::unix::fs::FileExt;

use iodyno_plugin::conformance::{CheckedQueue, Io, Job, check_storage, drive};
use iodyno_plugin::{CompletionStyle, ErrorKind, Op, OpSet, TargetKind, TargetSpec, Wait};

use crate::backend;
use crate::place::{Place, disk, tmpfs};

const LEN: u64 = 8 << 20;
const WAIT: Wait = Wait { min: 1, reserved: 0, timeout_ns: u64::MAX };

/// Does one I/O alone; gives errno and bytes.
fn one(place: &Place, io: Io) -> (i32, u32) {
    let mut queue = CheckedQueue::new(&*place.target(), 1, 8192);
    let turned = queue.turn(&[io], 1, WAIT);
    assert_eq!(turned.accepted, 1);
    (turned.completions[0].errno, turned.completions[0].bytes)
}

fn io(op: Op, offset: u64) -> Io {
    Io { op, slot: 0, offset, len: 4096, shift: 0 }
}

#[test]
fn a_file_keeps_its_data() {
    check_storage(&*Place::file(disk(), LEN, false).target(), LEN);
}

#[test]
fn a_file_keeps_its_data_with_direct_io() {
    check_storage(&*Place::file(disk(), LEN, true).target(), LEN);
}

#[test]
fn a_file_in_memory_keeps_its_data() {
    check_storage(&*Place::file(tmpfs(), LEN, false).target(), LEN);
}

#[test]
fn a_block_device_keeps_its_data() {
    check_storage(&*Place::loop_device(LEN).target(), LEN);
}

/// In pieces of a page: the kernel may cut longer reads of `/dev/zero` short.
#[test]
fn a_character_device_takes_reads_and_writes() {
    for (path, op) in [("/dev/zero", Op::Read), ("/dev/null", Op::Write)] {
        let target = Place::char_device(path).target();
        let info = target.info();
        assert_eq!((info.ops, info.completion), (OpSet::READ.with(Op::Write), CompletionStyle::Inline));
        let mut queue = CheckedQueue::new(&*target, info.max_depth.min(32), 4096);
        let jobs: Vec<Job> = (0..1000).map(|i| Job { op, offset: i * 4096, len: 4096 }).collect();
        let mut completed = 0;
        let fill = |_: &Job, buffer: &mut [u8]| buffer.fill(7);
        drive(&mut queue, &jobs, fill, |_, done, buffer| {
            completed += 1;
            assert_eq!((done.errno, done.bytes), (0, 4096));
            assert!(buffer.iter().all(|byte| *byte == if op == Op::Read { 0 } else { 7 }));
        });
        assert_eq!(completed, 1000);
    }
}

#[test]
fn data_is_where_the_kernel_finds_it() {
    for direct in [false, true] {
        let place = Place::file(disk(), LEN, direct);
        let target = place.target();
        let mut queue = CheckedQueue::new(&*target, 1, 4096);
        queue.buffer(0).fill(7);
        queue.turn(&[io(Op::Write, 12288)], 1, WAIT);
        queue.turn(&[Io { len: 0, ..io(Op::Flush, 0) }], 1, WAIT);
        // By another descriptor, without direct I/O.
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&place.file));
        let file = File::open(path).unwrap();
        let mut bytes = vec![1; 3 * 4096];
        file.read_exact_at(&mut bytes, 8192).unwrap();
        let expected = [vec![0; 4096], vec![7; 4096], vec![0; 4096]].concat();
        assert!(bytes == expected, "direct = {direct}");
    }
}

#[test]
fn a_read_over_the_end_is_short() {
    for direct in [false, true] {
        let place = Place::file(disk(), LEN, direct);
        assert_eq!(one(&place, Io { len: 8192, ..io(Op::Read, LEN - 4096) }), (0, 4096), "direct = {direct}");
        assert_eq!(one(&place, io(Op::Read, LEN)), (0, 0), "direct = {direct}");
    }
}

#[test]
fn a_misaligned_direct_io_fails_alone() {
    let place = Place::file(disk(), LEN, true);
    // Not in a hole, where there is nothing to align to.
    assert_eq!(one(&place, Io { len: 8192, ..io(Op::Write, 0) }), (0, 8192));
    assert_eq!(one(&place, io(Op::Read, 1)), (22, 0), "EINVAL by offset");
    assert_eq!(one(&place, Io { len: 100, ..io(Op::Read, 0) }), (22, 0), "EINVAL by length");
    assert_eq!(one(&place, Io { shift: 1, ..io(Op::Read, 0) }), (22, 0), "EINVAL by buffer");
    assert_eq!(one(&place, io(Op::Read, 0)), (0, 4096));
}

#[test]
fn errors_are_completions() {
    assert_eq!(one(&Place::char_device("/dev/full"), io(Op::Write, 0)), (28, 0), "ENOSPC");
    let mut place = Place::file(disk(), LEN, false);
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&place.file));
    place.file = File::open(path).unwrap();
    place.writable = false;
    assert_eq!(place.target().info().ops, OpSet::READ);
    assert_eq!(one(&place, io(Op::Write, 0)), (9, 0), "EBADF");
    // The queue goes on after an error.
    let mut queue = CheckedQueue::new(&*place.target(), 1, 4096);
    let results = [Op::Write, Op::Read].map(|op| queue.turn(&[io(op, 0)], 1, WAIT).completions[0].errno);
    assert_eq!(results, [9, 0]);
}

#[test]
fn the_target_has_a_descriptor_of_its_own() {
    let place = Place::file(disk(), LEN, false);
    let target = place.target();
    drop(place);
    let mut queue = CheckedQueue::new(&*target, 1, 4096);
    drop(target);
    assert_eq!(queue.turn(&[io(Op::Read, 0)], 1, WAIT).completions[0].bytes, 4096);
}

#[test]
fn a_virtual_target_is_refused() {
    let place = Place::file(tmpfs(), LEN, false);
    let spec = TargetSpec { kind: TargetKind::Virtual, fd: None, ..place.spec() };
    let error = backend().open(&spec, None).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("use the backend null or sim"), "{error}");
}
