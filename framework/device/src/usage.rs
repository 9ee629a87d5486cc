//! Who uses a file or block device: mounts, swap, devices built on it, loop devices.
//!
//! A block device is in use when any device that shares blocks with it is: itself, its disk or its
//! partitions, the same unit by another path, and whatever lies below it (the file or device behind a loop
//! device, the disks behind dm and md). Devices above it need not be followed: to be built upon is use
//! enough.

use std::io;
use std::path::PathBuf;

use crate::block::BlockDevice;
use crate::error::Refusal;
use crate::mounts::{self, Loop, Mounted};
use crate::object::{DeviceNumber, Identity};
use crate::sysroot::SysRoot;

/// All uses of an object that stand against writing to it.
///
/// # Errors
/// When the kernel's tables cannot be read.
pub(crate) fn uses(root: &SysRoot, target: Identity) -> io::Result<Vec<Refusal>> {
    let mut survey = Survey {
        root,
        mounts: mounts::mounts(root)?,
        swaps: mounts::swaps(root)?,
        loops: mounts::loops(root),
        btrfs: mounts::btrfs_members(root),
        seen: Vec::new(),
        found: Vec::new(),
    };
    survey.object(target, "it", None);
    Ok(survey.found)
}

/// A block device and all that share blocks with it, each with its relation in words.
pub(crate) fn relatives(root: &SysRoot, device: &BlockDevice) -> Vec<(BlockDevice, String)> {
    let disk = device.disk();
    let mut all = vec![(device.clone(), "it".to_owned())];
    if device.is_partition() {
        all.push((disk.clone(), format!("its disk {}", disk.name)));
    } else {
        all.extend(device.partitions().into_iter().map(|p| (p.clone(), format!("its partition {}", p.name))));
    }
    if let Some(unit) = disk.unit() {
        let others =
            BlockDevice::all(root).into_iter().filter(|d| !d.is_partition() && d.number != disk.number);
        for other in others.filter(|d| d.unit().as_ref() == Some(&unit)) {
            let relation = format!("{} (another path to the same disk)", other.name);
            let partitions = other.partitions().into_iter().filter(|p| p.overlaps(device));
            all.extend(
                partitions.map(|p| (p.clone(), format!("{} (on another path to the same disk)", p.name))),
            );
            all.push((other, relation));
        }
    }
    all
}

struct Survey<'a> {
    root: &'a SysRoot,
    mounts: Vec<Mounted>,
    swaps: Vec<(PathBuf, Option<Identity>)>,
    loops: Vec<Loop>,
    btrfs: Vec<String>,
    seen: Vec<Identity>,
    found: Vec<Refusal>,
}

impl Survey<'_> {
    fn refuse(&mut self, code: &'static str, text: String) {
        self.found.push(Refusal::new(code, text));
    }

    /// Looks at an object. `above` is the loop device by which we came, which is no use of its own.
    fn object(&mut self, object: Identity, relation: &str, above: Option<DeviceNumber>) {
        if self.seen.contains(&object) {
            return;
        }
        self.seen.push(object);
        match object {
            Identity::Bottomless(_) => {}
            Identity::File(..) => {
                self.swap(object, relation);
                self.loops_on(object, relation, above);
            }
            Identity::Block(number) => match BlockDevice::by_number(self.root, number) {
                Some(device) => self.block(&device, relation, above),
                None => self.found.push(Refusal::unknown(
                    &format!("how device {number} is used"),
                    "/sys/dev/block does not have it",
                )),
            },
        }
    }

    fn block(&mut self, device: &BlockDevice, relation: &str, above: Option<DeviceNumber>) {
        for (relative, words) in relatives(self.root, device) {
            let words = if relation == "it" { words } else { format!("{relation}: {words}") };
            self.mounted(&relative, &words);
            self.swap(Identity::Block(relative.number), &words);
            self.held(&relative, &words);
            self.loops_on(Identity::Block(relative.number), &words, above);
        }
        if self.loops.iter().any(|l| l.backing.is_none()) {
            let text = "some loop device does not tell what is behind it, which may be this device";
            self.found.push(Refusal::unknown("what loop devices stand on", format!("{text}: run as root")));
        }
        self.below(device);
    }

    fn mounted(&mut self, device: &BlockDevice, relation: &str) {
        let is_here = |m: &&Mounted| m.device == device.number || m.sources.contains(&device.number);
        let points: Vec<String> = self.mounts.iter().filter(is_here).map(|m| m.point.clone()).collect();
        if !points.is_empty() {
            let points = points.join(" and ");
            self.refuse("mounted", format!("{relation} is mounted on {points}: `umount` it first"));
        } else if self.btrfs.contains(&device.name) {
            self.refuse("mounted", format!("{relation} is part of a mounted btrfs: `umount` that first"));
        }
    }

    fn swap(&mut self, object: Identity, relation: &str) {
        let used = self.swaps.iter().find(|(_, identity)| *identity == Some(object));
        if let Some(path) = used.map(|(path, _)| path.display().to_string()) {
            self.refuse("swap", format!("{relation} is swap space ({path}): `swapoff {path}` first"));
        }
    }

    fn held(&mut self, device: &BlockDevice, relation: &str) {
        let names = device.holder_names();
        if names.is_empty() {
            return;
        }
        let mut points: Vec<String> = Vec::new();
        let (mut todo, mut seen) = (device.holders(self.root), Vec::new());
        while let Some(holder) = todo.pop() {
            if seen.contains(&holder.number) {
                continue;
            }
            seen.push(holder.number);
            points.extend(self.mounts.iter().filter(|m| m.device == holder.number).map(|m| m.point.clone()));
            todo.extend(holder.holders(self.root));
        }
        let mounted =
            if points.is_empty() { String::new() } else { format!(", mounted on {}", points.join(" and ")) };
        let text = format!(
            "{relation} is part of {}{mounted}: take that apart first (LVM, md, device mapper or bcache)",
            names.join(" and "),
        );
        self.refuse("held", text);
    }

    fn loops_on(&mut self, object: Identity, relation: &str, above: Option<DeviceNumber>) {
        let on_it = |l: &&Loop| l.backing == Some(object) && above != Some(l.device.number);
        let nodes: Vec<String> = self.loops.iter().filter(on_it).map(|l| l.device.node()).collect();
        for node in nodes {
            let text = format!("{relation} is behind the loop device {node}: `losetup -d {node}` first");
            self.refuse("loop", text);
        }
    }

    /// What a device stands on: writing to it writes there.
    fn below(&mut self, device: &BlockDevice) {
        let disk = device.disk();
        let behind = self.loops.iter().find(|l| l.device.number == disk.number).cloned();
        if let Some(Loop { path, backing: Some(backing), .. }) = behind {
            self.object(backing, &format!("{path} behind it"), Some(disk.number));
        }
        // Devices share disks (several logical volumes): here only use of the disk as such counts.
        for slave in disk.slaves(self.root) {
            let identity = Identity::Block(slave.number);
            if self.seen.contains(&identity) {
                continue;
            }
            self.seen.push(identity);
            let words = format!("{} below it", slave.name);
            self.mounted(&slave, &words);
            self.swap(identity, &words);
            self.below(&slave);
        }
    }
}

#[cfg(test)]
mod tests;
