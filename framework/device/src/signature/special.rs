//! Signatures whose magic is too short to be taken at its word, or that lie in many places.

use super::table::{Place, ZFS_LABELS};
use super::{Found, SignatureKind, View};

pub(super) fn detect(view: &View, found: &mut Found) {
    if let Some(name) = ext(view) {
        found.add(name, SignatureKind::FileSystem, 0x438);
    }
    if fat(view) == Some(true) {
        found.add("vfat", SignatureKind::FileSystem, 0);
    }
    for offset in zfs_uberblocks(view) {
        found.add("zfs_member", SignatureKind::Member, offset);
    }
    match mbr(view) {
        // Boot sectors of these file systems end like an MBR, and a GPT has one that stands for it.
        Some(Mbr::Empty)
            if ["vfat", "ntfs", "exfat", "BitLocker", "ReFS"].iter().any(|name| found.has(name)) => {}
        Some(Mbr::Protective) if found.has("gpt") => {}
        Some(_) => found.add("dos", SignatureKind::PartitionTable, 0x1fe),
        None => {}
    }
}

/// ext2, ext3 or ext4, told apart by features as libblkid does.
fn ext(view: &View) -> Option<&'static str> {
    const SUPER: u64 = 0x400;
    if !view.has(SUPER + 0x38, &[0x53, 0xef]) {
        return None;
    }
    // Two bytes are too few. These fields survive most damage: block size, revision, blocks and inodes.
    let (log_block_size, revision) = (view.u32(SUPER + 0x18)?, view.u32(SUPER + 0x4c)?);
    if log_block_size > 6 || revision > 1 {
        return None;
    }
    let (compatible, incompatible, read_only) =
        (view.u32(SUPER + 0x5c)?, view.u32(SUPER + 0x60)?, view.u32(SUPER + 0x64)?);
    let (has_journal, is_journal) = (compatible & 0x4 != 0, incompatible & 0x8 != 0);
    Some(match () {
        () if is_journal => "jbd",
        () if incompatible & !0x16 != 0 || read_only & !0x7 != 0 => "ext4",
        () if has_journal => "ext3",
        () => "ext2",
    })
}

/// FAT by the shape of its boot sector: the texts in it are optional.
fn fat(view: &View) -> Option<bool> {
    let jump = matches!(view.get(0, 3)?, [0xeb, _, 0x90] | [0xe9, _, _]);
    let sector = view.u16(11)?;
    let cluster = view.byte(13)?;
    let reserved = view.u16(14)?;
    let tables = view.byte(16)?;
    let media = view.byte(21)?;
    let named = view.has(0x36, b"FAT1") || view.has(0x52, b"FAT32 ");
    let shape = sector.is_power_of_two()
        && (512..=4096).contains(&sector)
        && cluster.is_power_of_two()
        && reserved > 0
        && (1..=2).contains(&tables)
        && (media >= 0xf8 || media == 0xf0);
    Some(shape && (jump || named))
}

enum Mbr {
    /// A valid table without partitions.
    Empty,
    /// One that only says that there is a GPT.
    Protective,
    /// One with partitions.
    Full,
}

/// An MBR whose four entries all make sense: each is empty, or has a type, a size and a possible boot flag.
fn mbr(view: &View) -> Option<Mbr> {
    if !view.has(0x1fe, &[0x55, 0xaa]) {
        return None;
    }
    let mut kinds = Vec::new();
    for entry in (0..4u64).map(|i| 0x1be + 16 * i) {
        if view.has(entry, &[0; 16]) {
            continue;
        }
        let (flag, kind, sectors) = (view.byte(entry)?, view.byte(entry + 4)?, view.u32(entry + 12)?);
        if flag & 0x7f != 0 || kind == 0 || sectors == 0 {
            return None;
        }
        kinds.push(kind);
    }
    Some(match kinds[..] {
        [] => Mbr::Empty,
        [0xee] => Mbr::Protective,
        _ => Mbr::Full,
    })
}

/// Each label holds 128 KiB of uberblocks at least 1 KiB apart, in the byte order of the machine that wrote
/// them.
fn zfs_uberblocks(view: &View) -> Vec<u64> {
    const MAGIC: u64 = 0x00ba_b10c;
    let labels = ZFS_LABELS.iter().filter_map(|place: &Place| view.locate(*place));
    let slots = labels.flat_map(|label| (0..128).map(move |slot| label + 0x2_0000 + slot * 1024));
    let is_uberblock =
        |offset: &u64| view.has(*offset, &MAGIC.to_le_bytes()) || view.has(*offset, &MAGIC.to_be_bytes());
    // A few of the hundreds are enough to tell.
    slots.filter(is_uberblock).take(4).collect()
}
