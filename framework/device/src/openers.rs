//! Other processes that have a file or device open: a virtual machine on its disk image, a database on a raw
//! device. Neither a mount nor an exclusive claim tells of them.

use std::fs;
use std::path::Path;

use crate::object::{self, Identity};
use crate::sysroot::{SysRoot, names, text};

/// Which opening counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// For writing: services look at disks every now and then, which does no harm.
    Write,
    /// Any.
    Any,
}

/// Processes, this one apart, that have one of the objects open: `qemu (1234)`. Only root sees all.
pub(crate) fn openers(root: &SysRoot, objects: &[Identity], access: Access) -> Vec<String> {
    let own = std::process::id().to_string();
    let processes = names(&root.path("proc"));
    let processes = processes.iter().filter(|n| n.bytes().all(|b| b.is_ascii_digit()) && **n != own);
    let folders = processes.map(|pid| (pid, root.path("proc").join(pid)));
    let open = folders.filter(|(_, folder)| has_open(folder, objects, access));
    open.map(|(pid, folder)| {
        let name = text(&folder.join("comm")).unwrap_or_else(|| "process".to_owned());
        format!("{name} ({pid})")
    })
    .collect()
}

fn has_open(process: &Path, objects: &[Identity], access: Access) -> bool {
    let links = fs::read_dir(process.join("fd")).into_iter().flatten().flatten().map(|entry| entry.path());
    links.filter(|link| is_one_of(link, objects)).any(|link| match flags(process, &link) {
        // A process that ends meanwhile has nothing open any more.
        None => false,
        Some(flags) if flags & libc::O_PATH as u32 != 0 => false,
        Some(flags) => access == Access::Any || flags & libc::O_ACCMODE as u32 != libc::O_RDONLY as u32,
    })
}

fn is_one_of(link: &Path, objects: &[Identity]) -> bool {
    let identity = object::cached_status(link).ok().and_then(|status| Identity::of(&status));
    identity.is_some_and(|identity| objects.contains(&identity))
}

fn flags(process: &Path, link: &Path) -> Option<u32> {
    let info = text(&process.join("fdinfo").join(link.file_name()?))?;
    let octal = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
    u32::from_str_radix(octal.trim(), 8).ok()
}
