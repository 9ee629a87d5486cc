//! The backend `io_uring`: asynchronous I/O through a ring shared with the kernel, with the target's
//! descriptor, the buffers and the ring itself registered, so that the kernel need not look them up, pin or
//! count them for every I/O.
//!
//! - `ring.rs`: the ring of one queue, and all that is unsafe.
//! - `setup.rs`: which features of the kernel are in use, and what is said when it has less or refuses.
//!
//! Needs Linux 5.11 and is at its best from 6.1 on.

mod ring;
mod setup;

use std::os::fd::OwnedFd;
use std::sync::Arc;

use iodyno_plugin::{
    Backend, Buffers, CompletionStyle, Default, Error, Factory, Op, OpSet, OptionKind, OptionSpec, Options,
    Plugin, Queue, QueueSpec, Result, Target, TargetInfo, TargetKind, TargetSpec, register,
};

use crate::ring::Ring;
use crate::setup::Setup;

register! {
    Plugin {
        name: "io_uring",
        version: env!("CARGO_PKG_VERSION"),
        summary: "asynchronous I/O through a ring shared with the kernel (Linux 5.11, at its best from 6.1)",
        options: OPTIONS,
        factory: Factory::Backend {
            create: |options| Ok(Arc::new(Uring(Registered::read(options)?))),
            auto_rank: Some(1),
            drives: TargetKind::WITH_FD,
        },
    }
}

const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "registered_buffers",
        kind: OptionKind::Bool,
        default: Default::Is("true"),
        doc: "whether the kernel pins the buffers once instead of for every I/O; needs locked memory",
    },
    OptionSpec {
        name: "registered_file",
        kind: OptionKind::Bool,
        default: Default::Is("true"),
        doc: "whether the kernel looks the target's descriptor up once instead of for every I/O",
    },
    OptionSpec {
        name: "registered_ring",
        kind: OptionKind::Bool,
        default: Default::Is("true"),
        doc: "whether the kernel looks the ring's descriptor up once instead of for every call",
    },
];

/// What is to be registered with the kernel.
#[derive(Clone, Copy, Debug)]
struct Registered {
    buffers: bool,
    file: bool,
    ring: bool,
}

impl Registered {
    fn read(options: &Options) -> Result<Self> {
        Ok(Registered {
            buffers: options.bool("registered_buffers")?,
            file: options.bool("registered_file")?,
            ring: options.bool("registered_ring")?,
        })
    }
}

struct Uring(Registered);

impl Backend for Uring {
    fn open(&self, target: &TargetSpec<'_>, _inner: Option<Box<dyn Target>>) -> Result<Box<dyn Target>> {
        let Some(fd) = target.fd else {
            let text = format!("`{}` is no file and no device: use the backend null or sim", target.label);
            return Err(Error::unsupported(text));
        };
        let fd = fd.try_clone_to_owned().map_err(|e| Error::system("cannot duplicate the descriptor", e))?;
        let fd = Arc::new(fd);
        let setup = Setup::best(|setup| Ring::try_out(setup, &fd)).map_err(|e| setup::unavailable(&e))?;
        Ok(Box::new(UringTarget { fd, info: info(target), setup, registered: self.0 }))
    }
}

fn info(target: &TargetSpec<'_>) -> TargetInfo {
    let ops = match (target.writable, target.kind) {
        (false, _) => OpSet::READ,
        // There is nothing to flush: the kernel says EINVAL.
        (true, TargetKind::Char) => OpSet::READ.with(Op::Write),
        (true, _) => OpSet::ALL,
    };
    let completion = match target.kind {
        TargetKind::Char => CompletionStyle::Inline,
        _ if target.direct => CompletionStyle::Interrupt,
        // What is in the page cache is copied within the call that submits it, and much else is read ahead:
        // a stamp for each completion would tell the order of copying.
        _ => CompletionStyle::Inline,
    };
    TargetInfo {
        ops,
        granule: target.granule,
        max_len: 1 << 30,
        max_depth: setup::MAX_ENTRIES,
        simulated: false,
        completion,
    }
}

struct UringTarget {
    fd: Arc<OwnedFd>,
    info: TargetInfo,
    setup: Setup,
    registered: Registered,
}

impl Target for UringTarget {
    fn info(&self) -> TargetInfo {
        self.info
    }

    fn queue(&self, spec: &QueueSpec, buffers: &Buffers) -> Result<Box<dyn Queue>> {
        let mut ring = Ring::new(self.setup, spec.depth, Arc::clone(&self.fd))
            .map_err(|e| Error::system(&format!("cannot make a ring of {} entries", spec.depth), e))?;
        let Registered { buffers: pin, file, ring: itself } = self.registered;
        let pin = pin && !buffers.blocks.is_empty();
        ring.facts = vec![
            self.setup.fact(),
            setup::file_fact(file.then(|| ring.register_file())),
            setup::buffers_fact(pin.then(|| ring.register_buffers(buffers)), buffers),
            setup::ring_fact(itself.then(|| ring.register_itself())),
        ];
        Ok(Box::new(ring))
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use iodyno_plugin::conformance::check_storage;

    use super::*;

    /// What a kernel that has less would get works on this one, too.
    #[test]
    fn every_setup_keeps_the_contract() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4 << 20).unwrap();
        let spec = TargetSpec {
            label: "file",
            kind: TargetKind::File,
            fd: Some(file.as_fd()),
            len: 4 << 20,
            granule: 512,
            direct: false,
            writable: true,
            seed: 0,
        };
        for setup in Setup::ALL {
            for all in [false, true] {
                let registered = Registered { buffers: all, file: all, ring: all };
                let fd = Arc::new(file.try_clone().unwrap().into());
                check_storage(&UringTarget { fd, info: info(&spec), setup, registered }, spec.len);
            }
        }
    }

    #[test]
    fn how_it_completes() {
        let file = tempfile::tempfile().unwrap();
        let style = |kind, direct| {
            let spec = TargetSpec {
                label: "file",
                kind,
                fd: Some(file.as_fd()),
                len: 0,
                granule: 1,
                direct,
                writable: true,
                seed: 0,
            };
            info(&spec).completion
        };
        assert_eq!(style(TargetKind::Block, true), CompletionStyle::Interrupt);
        assert_eq!(style(TargetKind::File, true), CompletionStyle::Interrupt);
        assert_eq!(style(TargetKind::File, false), CompletionStyle::Inline);
        assert_eq!(style(TargetKind::Char, true), CompletionStyle::Inline);
    }
}
