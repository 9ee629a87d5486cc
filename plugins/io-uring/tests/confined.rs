//! Where io_uring is forbidden, memory may not be locked, or the kernel refuses calls. System call filters and
//! privileges belong to a thread, so each test has one of its own to give them up.
#![expect(unsafe_code, reason = "a system call filter is set by prctl")]

use std::fs::File;
use std::os::fd::AsFd;
use std::thread;

use iodyno_io_uring as _;
use iodyno_plugin::conformance::{self, CheckedQueue, Io, check_storage};
use iodyno_plugin::{
    Error, ErrorKind, Fact, Op, Options, Result, Target, TargetKind, TargetSpec, Value, Wait,
};
use rustix::process::{Gid, Resource, Rlimit, Uid, geteuid, getrlimit, setrlimit};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

const LEN: u64 = 1 << 20;

fn open(file: &File) -> Result<Box<dyn Target>> {
    let names = ["registered_buffers", "registered_file", "registered_ring"];
    let options = names.iter().fold(Options::default(), |o, name| o.with(name, Value::Bool(true)));
    let spec = TargetSpec {
        label: "file",
        kind: TargetKind::File,
        fd: Some(file.as_fd()),
        len: LEN,
        granule: 512,
        direct: false,
        writable: true,
        seed: 0,
    };
    conformance::backend("io_uring", &options)?.open(&spec, None)
}

fn file() -> File {
    let file = tempfile::tempfile().expect("there is room for a file");
    file.set_len(LEN).expect("there is room for a file");
    file
}

/// Runs `body` in a thread, whose filters and privileges end with it.
fn apart(body: impl FnOnce() + Send + 'static) {
    if let Err(panic) = thread::spawn(body).join() {
        std::panic::resume_unwind(panic);
    }
}

/// Makes the system call `number` fail in this thread, for ever.
fn forbid(number: i64, errno: i32) {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let mut filter = [
        // The number of the system call is the first word of `seccomp_data`.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter { code: equal as u16, jt: 0, jf: 1, k: number as u32 },
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | errno as u32),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the pointer is to a valid program that lives until the call returns.
    let refused = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) != 0
    };
    assert!(!refused, "no filter: {}", std::io::Error::last_os_error());
}

fn refused(number: i64, errno: i32) -> Error {
    let file = file();
    forbid(number, errno);
    open(&file).err().expect("it cannot work")
}

fn write(slot: u32) -> Io {
    Io { op: Op::Write, slot, offset: 0, len: 512, shift: 0 }
}

const WAIT: Wait = Wait { min: 1, reserved: 0, timeout_ns: u64::MAX };

#[test]
fn a_forbidden_ring_is_unsupported() {
    for (number, errno, expected) in [
        (libc::SYS_io_uring_setup, libc::EPERM, "seccomp"),
        (libc::SYS_io_uring_setup, libc::ENOSYS, "Linux 5.11"),
        (libc::SYS_io_uring_enter, libc::EPERM, "seccomp"),
        (libc::SYS_io_uring_enter, libc::ENOSYS, "Linux 5.11"),
    ] {
        apart(move || {
            let error = refused(number, errno);
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(error.message().contains(expected), "{error}");
        });
    }
}

#[test]
fn where_nothing_can_be_registered_it_goes_on_and_says_so() {
    apart(|| {
        let file = file();
        forbid(libc::SYS_io_uring_register, libc::EPERM);
        let target = open(&file).unwrap();
        check_storage(&*target, LEN);
        let facts = CheckedQueue::new(&*target, 1, 4096).facts();
        for fact in &facts[1..] {
            let why = fact.fallback.as_deref().unwrap();
            assert!(fact.value == "no" && why.contains("Operation not permitted"), "{fact:?}");
        }
    });
}

/// Lets the calling thread lock 8 MiB at most.
fn give_up_privileges() {
    // The limit is the process's, but root is not held to it, and it is the usual one.
    let limit = Some(8 << 20);
    let maximum = getrlimit(Resource::Memlock).maximum;
    setrlimit(Resource::Memlock, Rlimit { current: limit, maximum }).expect("below the maximum");
    if geteuid().is_root() {
        let (user, group) = (Uid::from_raw(65534), Gid::from_raw(65534));
        set_thread_groups(&[]).expect("root may");
        set_thread_res_gid(group, group, group).expect("root may");
        set_thread_res_uid(user, user, user).expect("root may");
    }
}

fn registered_buffers(queue: &CheckedQueue) -> Fact {
    queue.facts().into_iter().find(|fact| fact.name == "registered_buffers").expect("it is always said")
}

#[test]
fn buffers_over_the_limit_of_locked_memory_are_used_unregistered() {
    apart(|| {
        let file = file();
        give_up_privileges();
        let target = open(&file).unwrap();
        let mut queue = CheckedQueue::new(&*target, 128, 128 << 10);
        let fact = registered_buffers(&queue);
        assert_eq!(fact.value, "no");
        let why = fact.fallback.unwrap();
        assert!(why.contains("16384 KiB") && why.contains("ulimit -l"), "{why}");
        let ios: Vec<Io> = (0..128).map(|slot| Io { len: 128 << 10, ..write(slot) }).collect();
        let turned = queue.turn(&ios, 128, Wait { min: 128, ..WAIT });
        assert!(turned.completions.len() == 128 && turned.completions.iter().all(|one| one.errno == 0));
        check_storage(&*target, LEN);
    });
}

/// Locked memory is given back with the queue, not some time later.
#[test]
fn buffers_within_the_limit_are_registered_queue_after_queue() {
    apart(|| {
        let file = file();
        give_up_privileges();
        let target = open(&file).unwrap();
        for _ in 0..20 {
            let queue = CheckedQueue::new(&*target, 5, 1 << 20);
            assert_eq!(registered_buffers(&queue).value, "yes", "{:?}", queue.facts());
        }
    });
}

#[test]
fn completions_that_are_there_take_no_system_call() {
    apart(|| {
        let target = open(&file()).unwrap();
        let mut queue = CheckedQueue::new(&*target, 4, 512);
        // Reads of what is in the page cache are over when the call that submits them returns.
        queue.turn(&[write(0)], 1, WAIT);
        let ios = [0, 1, 2, 3].map(|slot| Io { op: Op::Read, ..write(slot) });
        assert_eq!(queue.turn(&ios, 1, Wait { min: 4, ..WAIT }).completions.len(), 1);
        forbid(libc::SYS_io_uring_enter, libc::EPERM);
        assert_eq!(queue.turn(&[], 1, Wait { min: 1, ..WAIT }).completions.len(), 1);
        assert_eq!(queue.turn(&[], 4, Wait { min: 0, ..WAIT }).completions.len(), 2);
        assert_eq!(queue.turn(&[], 4, WAIT).completions.len(), 0, "nothing is in flight");
        let free = write(3);
        let dead = queue.try_turn(&[free], 4, WAIT).unwrap_err();
        assert_eq!(dead.kind(), ErrorKind::System);
        assert!(dead.message().contains("io_uring_enter failed: Operation not permitted"), "{dead}");
    });
}

/// What the kernel did not take is in the ring still, and nobody waits for it.
#[test]
fn signals_and_want_of_memory_end_a_turn_and_not_the_queue() {
    for errno in [libc::EINTR, libc::EAGAIN, libc::EBUSY] {
        apart(move || {
            let target = open(&file()).unwrap();
            let mut queue = CheckedQueue::new(&*target, 2, 512);
            queue.may_be_interrupted = true;
            forbid(libc::SYS_io_uring_enter, errno);
            let turned = queue.turn(&[write(0), write(1)], 2, WAIT);
            assert_eq!((turned.accepted, turned.completions.len()), (2, 0));
            assert_eq!(queue.turn(&[], 2, WAIT).completions.len(), 0);
            assert_eq!(queue.in_flight(), 2);
            let facts = queue.facts();
            let refused = facts.iter().find(|fact| fact.name == "refused_calls");
            assert_eq!(refused.map(|fact| fact.value.as_str()), (errno != libc::EINTR).then_some("2"));
        });
    }
}

#[test]
fn endless_want_of_memory_ends_the_queue() {
    apart(|| {
        let target = open(&file()).unwrap();
        let mut queue = CheckedQueue::new(&*target, 1, 512);
        queue.may_be_interrupted = true;
        forbid(libc::SYS_io_uring_enter, libc::EAGAIN);
        queue.turn(&[write(0)], 1, WAIT);
        let dead = (0..10_000).find_map(|_| queue.try_turn(&[], 1, WAIT).err());
        assert!(dead.is_some_and(|e| e.message().contains("Resource temporarily unavailable")));
    });
}
