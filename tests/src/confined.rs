//! Surroundings in which iodyno must still work: no io_uring, no root, little memory to lock.

#![expect(unsafe_code, reason = "a system call filter is set by prctl between fork and exec")]

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::binary::iodyno;
use crate::folder::Folder;
use crate::lab::need_root;

/// Makes `io_uring_setup` fail with EPERM in the command, as container runtimes do.
pub fn without_io_uring(command: &mut Command) -> &mut Command {
    // SAFETY: `refuse_io_uring` makes two system calls and touches no memory but its own stack, so it may run
    // between fork and exec.
    unsafe { command.pre_exec(refuse_io_uring) }
}

fn refuse_io_uring() -> io::Result<()> {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let mut filter = [
        // The number of the system call is the first word of `seccomp_data`.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter { code: equal as u16, jt: 0, jf: 1, k: libc::SYS_io_uring_setup as u32 },
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the pointer is to a valid program that lives until the call returns.
    let refused = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) != 0
    };
    if refused { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The command that runs the binary in `folder` with the words of `line` as the user nobody, who may lock
/// `memlock` bytes. The folder becomes that user's, and a copy of the binary lies in it.
///
/// # Panics
/// Without root, or when the system refuses.
#[track_caller]
pub fn as_nobody(folder: &Folder, memlock: u64, line: &str) -> Command {
    need_root();
    let copy = folder.path("iodyno-of-nobody");
    std::fs::copy(iodyno(), &copy).expect("the folder takes the binary");
    let own = Command::new("chown").args(["-R", "nobody:nogroup"]).arg(folder.path("")).status();
    assert!(own.is_ok_and(|status| status.success()), "the folder can be given away");
    let mut command = Command::new("prlimit");
    command.arg(format!("--memlock={memlock}"));
    command.args(["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--inh-caps=-all"]);
    command.arg(copy).args(line.split_whitespace()).current_dir(folder.path(""));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_is_set() {
        let output = without_io_uring(Command::new("cat").arg("/proc/self/status")).output().unwrap();
        let status = String::from_utf8(output.stdout).unwrap();
        assert!(status.lines().any(|line| line.split_whitespace().eq(["Seccomp:", "2"])), "{status}");
    }
}
