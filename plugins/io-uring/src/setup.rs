//! What of io_uring is in use, and what is said when the kernel has less or refuses.

use std::{fs, io};

use iodyno_plugin::{Buffers, Error, Fact};

/// Most entries of a ring that the kernel makes.
pub(crate) const MAX_ENTRIES: u32 = 32768;

/// How a ring is set up, best first. Each kernel takes the best that it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setup {
    /// As `Deferred`, and entries are taken in order, without an array of indices between.
    InOrder,
    /// One thread uses the ring, and completions are worked on when it asks for them: nothing interrupts it,
    /// and no lock is taken.
    Deferred,
    /// Completions are worked on when the thread enters the kernel for whatever reason.
    Cooperative,
    /// The thread is interrupted for every completion.
    Plain,
}

impl Setup {
    /// Best first.
    pub(crate) const ALL: [Setup; 4] = [Setup::InOrder, Setup::Deferred, Setup::Cooperative, Setup::Plain];

    /// The flags of `io_uring_setup`, and the first Linux that has them.
    const fn describe(self) -> (&'static str, &'static str) {
        match self {
            Setup::InOrder => {
                ("single_issuer, defer_taskrun, coop_taskrun, taskrun_flag, submit_all, no_sqarray", "6.6")
            }
            Setup::Deferred => {
                ("single_issuer, defer_taskrun, coop_taskrun, taskrun_flag, submit_all", "6.1")
            }
            Setup::Cooperative => ("coop_taskrun, taskrun_flag, submit_all", "5.19"),
            Setup::Plain => ("none", "5.11"),
        }
    }

    /// The best that `try_out` does not call invalid.
    ///
    /// # Errors
    /// When all are invalid, or it fails otherwise: then others would fail, too.
    pub(crate) fn best(try_out: impl Fn(Setup) -> io::Result<()>) -> io::Result<Setup> {
        let mut last = Err(io::Error::from_raw_os_error(libc::EINVAL));
        for setup in Setup::ALL {
            last = try_out(setup).map(|()| setup);
            if !matches!(&last, Err(e) if e.raw_os_error() == Some(libc::EINVAL)) {
                break;
            }
        }
        last
    }

    pub(crate) fn fact(self) -> Fact {
        let (best, since) = Setup::ALL[0].describe();
        let fallback = format!("the kernel does not take {best}: Linux {since} does");
        Fact {
            name: "ring_setup".to_owned(),
            value: self.describe().0.to_owned(),
            fallback: (self != Setup::ALL[0]).then_some(fallback),
        }
    }
}

/// Whether the target's descriptor is registered. `None`: it was not to be.
pub(crate) fn file_fact(result: Option<io::Result<()>>) -> Fact {
    fact("registered_file", result, |e| format!("the kernel refused to register the descriptor: {e}"))
}

/// Whether the ring's own descriptor is registered.
pub(crate) fn ring_fact(result: Option<io::Result<()>>) -> Fact {
    fact("registered_ring", result, |e| {
        format!("the kernel refused to register the ring: {e}; Linux 5.18 does")
    })
}

/// Whether the buffers are registered.
pub(crate) fn buffers_fact(result: Option<io::Result<()>>, buffers: &Buffers) -> Fact {
    let kib = buffers.blocks.iter().map(|(_, len)| len).sum::<usize>().div_ceil(1024);
    fact("registered_buffers", result, |e| match e.raw_os_error() {
        Some(libc::ENOMEM) => format!(
            "this user may not lock {kib} KiB more of memory: raise the limit, `ulimit -l`, by that much for \
             each worker"
        ),
        _ => format!("the kernel refused to register {kib} KiB of buffers: {e}"),
    })
}

fn fact(name: &str, result: Option<io::Result<()>>, why: impl FnOnce(&io::Error) -> String) -> Fact {
    let (value, fallback) = match result {
        Some(Ok(())) => ("yes", None),
        Some(Err(e)) => ("no", Some(why(&e))),
        None => ("no", None),
    };
    Fact { name: name.to_owned(), value: value.to_owned(), fallback }
}

/// Why there is no io_uring here, and what would change that.
pub(crate) fn unavailable(error: &io::Error) -> Error {
    let disabled = fs::read_to_string("/proc/sys/kernel/io_uring_disabled").unwrap_or_default();
    explain(error, disabled.trim())
}

/// `disabled` is the value of the sysctl `kernel.io_uring_disabled`, or empty.
fn explain(error: &io::Error, disabled: &str) -> Error {
    let text = match (error.raw_os_error(), disabled) {
        (Some(libc::EPERM), "2") => {
            "io_uring is switched off on this machine: `sysctl kernel.io_uring_disabled=0` allows it"
                .to_owned()
        }
        (Some(libc::EPERM), "1") => {
            "io_uring is for root and one group on this machine: join the group of `sysctl \
             kernel.io_uring_group`, or allow it to all with `sysctl kernel.io_uring_disabled=0`"
                .to_owned()
        }
        (Some(libc::EPERM | libc::EACCES), _) => format!(
            "io_uring is forbidden here ({error}), as in most containers: allow io_uring_setup, \
             io_uring_enter and io_uring_register in the seccomp profile"
        ),
        (Some(libc::ENOSYS), _) => {
            format!(
                "no io_uring here ({error}): the kernel is too old, Linux 5.11 has it, or a sandbox hides it"
            )
        }
        (Some(libc::EINVAL | libc::EOPNOTSUPP), _) => {
            format!("the kernel's io_uring is too old ({error}): Linux 5.11 is needed, 6.1 is best")
        }
        (Some(libc::ENOMEM), _) => format!(
            "no memory for a ring ({error}): before Linux 5.12 it is locked memory, so raise `ulimit -l`"
        ),
        _ => return Error::system("cannot set up io_uring", error),
    };
    Error::unsupported(text)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use iodyno_plugin::ErrorKind;

    use super::*;

    fn errno(errno: i32) -> io::Error {
        io::Error::from_raw_os_error(errno)
    }

    #[test]
    fn the_best_that_the_kernel_takes_is_used() {
        for (i, newest) in Setup::ALL.into_iter().enumerate() {
            let tried = RefCell::new(Vec::new());
            let kernel = |setup| {
                tried.borrow_mut().push(setup);
                if setup == newest { Ok(()) } else { Err(errno(libc::EINVAL)) }
            };
            assert_eq!(Setup::best(kernel).unwrap(), newest);
            assert_eq!(*tried.borrow(), Setup::ALL[..=i]);
        }
    }

    #[test]
    fn no_other_is_tried_where_none_would_do() {
        let tried = RefCell::new(0);
        let forbidden = |_| {
            *tried.borrow_mut() += 1;
            Err(errno(libc::EPERM))
        };
        assert_eq!(Setup::best(forbidden).unwrap_err().raw_os_error(), Some(libc::EPERM));
        assert_eq!(*tried.borrow(), 1);
        assert_eq!(Setup::best(|_| Err(errno(libc::EINVAL))).unwrap_err().raw_os_error(), Some(libc::EINVAL));
    }

    #[test]
    fn less_than_the_best_is_a_fallback() {
        assert_eq!(Setup::InOrder.fact().fallback, None);
        for setup in &Setup::ALL[1..] {
            let fallback = setup.fact().fallback.unwrap();
            assert!(fallback.ends_with("no_sqarray: Linux 6.6 does"), "{fallback}");
        }
    }

    #[test]
    fn facts_name_the_cause_and_the_remedy() {
        let buffers = Buffers { blocks: vec![(std::ptr::null_mut(), 1 << 20), (std::ptr::null_mut(), 1)] };
        let said = |result| {
            let fact = buffers_fact(result, &buffers);
            (fact.value, fact.fallback.unwrap_or_default())
        };
        assert_eq!(said(Some(Ok(()))), ("yes".to_owned(), String::new()));
        assert_eq!(said(None), ("no".to_owned(), String::new()));
        let (value, why) = said(Some(Err(errno(libc::ENOMEM))));
        assert_eq!(value, "no");
        assert!(why.contains("1025 KiB") && why.contains("ulimit -l"), "{why}");
        assert!(said(Some(Err(errno(libc::EFAULT)))).1.contains("Bad address"));
    }

    #[test]
    fn what_forbids_it_is_named_with_its_remedy() {
        let cases = [
            (libc::EPERM, "2", "sysctl kernel.io_uring_disabled=0"),
            (libc::EPERM, "1", "kernel.io_uring_group"),
            (libc::EPERM, "0", "seccomp"),
            (libc::EPERM, "", "seccomp"),
            (libc::EACCES, "0", "seccomp"),
            (libc::ENOSYS, "", "Linux 5.11"),
            (libc::EINVAL, "0", "too old"),
            (libc::EOPNOTSUPP, "0", "too old"),
            (libc::ENOMEM, "0", "ulimit -l"),
        ];
        for (number, disabled, expected) in cases {
            let error = explain(&errno(number), disabled);
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(error.message().contains(expected), "{number}, {disabled}: {error}");
        }
        assert_eq!(explain(&errno(libc::EMFILE), "0").kind(), ErrorKind::System);
    }
}
