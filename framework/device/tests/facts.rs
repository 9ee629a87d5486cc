//! What is told of devices, and that changes to the system are taken back.

mod support;

use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use iodyno_device::testing::{Disk, Folder, require_root};
use iodyno_device::undo::{LoopOptions, Mount, Swap, make_file_system, make_swap};
use iodyno_device::{disk_stats, host_facts, open_read, probe};
use iodyno_record::TargetKind;
use support::*;

#[test]
fn a_loop_device_and_its_partition() {
    require_root();
    let options = LoopOptions { partitions: true, logical_block_bytes: 4096, ..LoopOptions::default() };
    let disk = Disk::new(32 * MIB, options).unwrap();
    let part = disk.device().add_partition(3, MIB, 8 * MIB).unwrap();
    let facts = probe("DUT", disk.path()).unwrap();
    assert_eq!(facts.label, "DUT");
    assert_eq!((facts.kind, facts.size_bytes), (TargetKind::Block, 32 * MIB));
    assert_eq!((facts.logical_block_bytes, facts.granule_bytes), (Some(4096), 4096));
    assert_eq!(facts.path.as_deref(), disk.path().to_str());
    assert!(facts.device.as_ref().unwrap().starts_with("7:"));
    assert_eq!(facts.block_device.as_deref(), disk.path().file_name().unwrap().to_str());
    assert!(
        facts.scheduler.is_some()
            && facts.nr_requests.unwrap() > 0
            && facts.max_request_bytes.unwrap() >= 4096
    );
    assert_eq!((facts.inode, facts.filesystem.as_deref()), (None, None));

    let partition = probe("part", part.path()).unwrap();
    assert_eq!(partition.size_bytes, 8 * MIB);
    assert_ne!(partition.device, facts.device);
    assert_eq!(partition.block_device.as_deref(), part.path().file_name().unwrap().to_str());
    let disks = |f: &iodyno_record::DeviceFacts| (f.logical_block_bytes, f.scheduler.clone(), f.nr_requests);
    assert_eq!(disks(&partition), disks(&facts), "a partition has its disk's");
}

#[test]
fn a_file() {
    let folder = Folder::new().unwrap();
    let path = folder.join("file");
    fs::write(&path, vec![1; 12_345]).unwrap();
    let facts = probe("file", &path).unwrap();
    assert_eq!((facts.kind, facts.size_bytes), (TargetKind::File, 12_345));
    assert_eq!(facts.inode, Some(std::os::unix::fs::MetadataExt::ino(&fs::metadata(&path).unwrap())));
    assert!(facts.granule_bytes.is_power_of_two() && facts.granule_bytes <= 4096);
    assert!(facts.filesystem.is_some() && facts.mount_point.is_some());
    assert!(path.starts_with(facts.mount_point.as_ref().unwrap()));
    let words = facts.identity().in_words();
    assert!(
        words.starts_with(&format!("{} (file, ", path.display())) && words.ends_with(", 12.35 kB)"),
        "{words}"
    );
}

#[test]
fn a_file_on_a_disk_has_the_disks_facts() {
    require_root();
    let options = LoopOptions { logical_block_bytes: 4096, ..LoopOptions::default() };
    let disk = Disk::new(64 * MIB, options).unwrap();
    make_file_system("ext4", disk.path()).unwrap();
    let point = disk.folder().join("with space");
    fs::create_dir(&point).unwrap();
    let _mounted = Mount::new(disk.path(), &point, "ext4", "").unwrap();
    let path = point.join("file");
    fs::write(&path, vec![1; 65_536]).unwrap();
    let facts = probe("file", &path).unwrap();
    assert_eq!(facts.block_device.as_deref(), disk.path().file_name().unwrap().to_str());
    assert_eq!(facts.device, probe("disk", disk.path()).unwrap().device);
    assert_eq!(facts.mount_point.as_deref(), point.to_str());
    assert_eq!((facts.filesystem.as_deref(), facts.granule_bytes), (Some("ext4"), 4096));
    assert!(disk_stats(&facts).unwrap().writes > 0);
}

#[test]
fn the_kernels_count() {
    require_root();
    let disk = Disk::new(32 * MIB, LoopOptions::default()).unwrap();
    let facts = probe("disk", disk.path()).unwrap();
    let target = open_for_writing(disk.path(), &grant(disk.path()));
    let before = disk_stats(&facts).unwrap();
    for byte in 0..5 {
        write_block(&target, byte).unwrap();
    }
    let count = disk_stats(&facts).unwrap().since(&before);
    assert_eq!((count.writes, count.written_bytes, count.reads), (5, 5 * 4096, 0), "{count:?}");
    drop(target);

    let reader = open_read(&facts, true).unwrap();
    let before = disk_stats(&facts).unwrap();
    let mut memory = vec![0; 16_384];
    let start = memory.as_ptr().align_offset(4096);
    rustix::io::pread(reader.fd(), &mut memory[start..start + 8192], MIB).unwrap();
    let count = disk_stats(&facts).unwrap().since(&before);
    assert_eq!((count.reads, count.read_bytes, count.writes), (1, 8192, 0), "{count:?}");
}

#[test]
fn nothing_is_left_behind_by_a_panic() {
    require_root();
    let mut seen = (None, None);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let disk = Disk::new(32 * MIB, LoopOptions { partitions: true, ..LoopOptions::default() }).unwrap();
        seen = (Some(disk.path().to_owned()), Some(disk.folder().path().to_owned()));
        let part = disk.device().add_partition(1, MIB, 16 * MIB).unwrap();
        make_file_system("ext4", part.path()).unwrap();
        let point = disk.folder().join("point");
        fs::create_dir(&point).unwrap();
        let _mounted = Mount::new(part.path(), &point, "ext4", "").unwrap();
        let _busy = File::create(point.join("open")).unwrap();
        let swap = disk.folder().join("swap");
        fs::write(&swap, vec![0; MIB as usize]).unwrap();
        make_swap(&swap).unwrap();
        let _swap = Swap::on(&swap).unwrap();
        panic!("on purpose");
    }));
    outcome.unwrap_err();
    let (Some(device), Some(folder)) = seen else { panic!("not reached") };
    assert!(!folder.exists(), "{} is left", folder.display());
    let name = device.file_name().unwrap().to_str().unwrap();
    let backing = fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).unwrap_or_default();
    assert!(!backing.contains(folder.to_str().unwrap()), "{backing} is still attached");
    for table in ["/proc/self/mountinfo", "/proc/swaps"] {
        assert!(!fs::read_to_string(table).unwrap().contains(folder.to_str().unwrap()), "{table}");
    }
    assert!(!Path::new("/sys/class/block").join(format!("{name}p1")).exists() || !backing.is_empty());
}

#[test]
fn this_machine() {
    let facts = host_facts();
    assert!(facts.kernel.is_some() && facts.cpus.is_some() && facts.memory_bytes.is_some());
}
