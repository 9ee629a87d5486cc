//! Signatures that are fixed bytes at fixed places. Names are those of libblkid, as `wipefs` and `lsblk -f`
//! print them; so are most places.

use super::SignatureKind::{self, DiskImage, Encrypted, FileSystem, Member, PartitionTable, Swap};

/// A place on a device.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// Bytes from the start.
    Start(u64),
    /// Bytes back from the end, after that was rounded down to a multiple of `.0`.
    End(u64, u64),
}

/// A signature: all `parts` must be found, at their distance from one of the `places`.
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) kind: SignatureKind,
    pub(super) places: &'static [Place],
    pub(super) parts: &'static [(u64, &'static [u8])],
}

const fn known(
    name: &'static str,
    kind: SignatureKind,
    places: &'static [Place],
    parts: &'static [(u64, &'static [u8])],
) -> Known {
    Known { name, kind, places, parts }
}

const START: &[Place] = &[Place::Start(0)];
const PAGE_ENDS: &[Place] = &[
    Place::Start(0x1000 - 10),
    Place::Start(0x2000 - 10),
    Place::Start(0x4000 - 10),
    Place::Start(0x8000 - 10),
    Place::Start(0x1_0000 - 10),
];
/// Volume descriptors of optical media follow each other in blocks of 2 KiB.
const DESCRIPTORS: &[Place] = &[
    Place::Start(0x8000),
    Place::Start(0x8800),
    Place::Start(0x9000),
    Place::Start(0x9800),
    Place::Start(0xA000),
];
const LUKS2_SECOND: &[Place] = &[
    Place::Start(0x4000),
    Place::Start(0x8000),
    Place::Start(0x1_0000),
    Place::Start(0x2_0000),
    Place::Start(0x4_0000),
    Place::Start(0x8_0000),
    Place::Start(0x10_0000),
    Place::Start(0x20_0000),
    Place::Start(0x40_0000),
];
const UFS: &[Place] =
    &[Place::Start(0x55c), Place::Start(0x255c), Place::Start(0x1_055c), Place::Start(0x4_055c)];
const BCACHEFS: &[Place] = &[
    Place::Start(0x1018),
    Place::Start(0x20_0018),
    Place::End(512, 0x10_0000 - 0x18),
    Place::End(4096, 0x10_0000 - 0x18),
];
const LAST_SECTOR: &[Place] = &[Place::End(512, 512), Place::End(4096, 4096)];
const LAST_BUT_ONE: &[Place] = &[Place::End(512, 1024), Place::End(4096, 8192)];
/// The four labels of ZFS.
pub(super) const ZFS_LABELS: &[Place] = &[
    Place::Start(0),
    Place::Start(0x4_0000),
    Place::End(0x4_0000, 0x8_0000),
    Place::End(0x4_0000, 0x4_0000),
];

pub(super) const TABLE: &[Known] = &[
    // Partition tables. MBR is code, for its magic alone is too weak.
    known("gpt", PartitionTable, &[Place::Start(512), Place::Start(4096)], &[(0, b"EFI PART")]),
    known("gpt", PartitionTable, LAST_SECTOR, &[(0, b"EFI PART")]),
    known("mac", PartitionTable, START, &[(0, b"ER"), (512, b"PM")]),
    known("sgi", PartitionTable, START, &[(0, &[0x0b, 0xe5, 0xa9, 0x41])]),
    known("sun", PartitionTable, START, &[(188, &[0x60, 0x0d, 0xde, 0xee]), (508, &[0xda, 0xbe])]),
    known(
        "bsd",
        PartitionTable,
        &[Place::Start(64), Place::Start(128), Place::Start(512)],
        &[(0, &[0x57, 0x45, 0x56, 0x82])],
    ),
    known("aix", PartitionTable, START, &[(0, &[0xc9, 0xc2, 0xd4, 0xc1])]),
    known(
        "amiga",
        PartitionTable,
        &[Place::Start(0), Place::Start(512), Place::Start(1024)],
        &[(0, b"RDSK")],
    ),
    // File systems. ext and FAT are code.
    known("xfs", FileSystem, START, &[(0, b"XFSB")]),
    known("xfs_external_log", FileSystem, START, &[(0, &[0xfe, 0xed, 0xba, 0xbe])]),
    known("btrfs", FileSystem, &[Place::Start(0x1_0040)], &[(0, b"_BHRfS_M")]),
    known(
        "f2fs",
        FileSystem,
        &[Place::Start(0x400), Place::Start(0x1400)],
        &[(0, &[0x10, 0x20, 0xf5, 0xf2])],
    ),
    known(
        "bcachefs",
        FileSystem,
        BCACHEFS,
        &[(
            0,
            &[0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef],
        )],
    ),
    known("ntfs", FileSystem, START, &[(3, b"NTFS    ")]),
    known("ntfs", FileSystem, LAST_SECTOR, &[(3, b"NTFS    ")]),
    known("ReFS", FileSystem, START, &[(3, b"ReFS\0")]),
    known(
        "exfat",
        FileSystem,
        &[Place::Start(0), Place::Start(12 * 512), Place::Start(12 * 4096)],
        &[(3, b"EXFAT   ")],
    ),
    known("hpfs", FileSystem, &[Place::Start(0x2000)], &[(0, &[0x49, 0xe8, 0x95, 0xf9])]),
    known("iso9660", FileSystem, DESCRIPTORS, &[(1, b"CD001")]),
    known("iso9660", FileSystem, DESCRIPTORS, &[(9, b"CDROM")]),
    known("udf", FileSystem, DESCRIPTORS, &[(1, b"BEA01")]),
    known("udf", FileSystem, DESCRIPTORS, &[(1, b"NSR0")]),
    known(
        "reiserfs",
        FileSystem,
        &[Place::Start(0x2014), Place::Start(0x2034), Place::Start(0x1_0034)],
        &[(0, b"ReIsEr")],
    ),
    known("reiser4", FileSystem, &[Place::Start(0x1_0000)], &[(0, b"ReIsEr4")]),
    known("jfs", FileSystem, &[Place::Start(0x8000), Place::Start(0xf000)], &[(0, b"JFS1")]),
    known(
        "nilfs2",
        FileSystem,
        &[Place::Start(0x400), Place::End(512, 4096), Place::End(4096, 4096)],
        &[(0, &[2, 0, 0, 0]), (6, &[0x34, 0x34])],
    ),
    known("hfs", FileSystem, &[Place::Start(0x400)], &[(0, b"BD"), (14, &[0, 3])]),
    known("hfsplus", FileSystem, &[Place::Start(0x400), Place::End(512, 1024)], &[(0, b"H+"), (2, &[0, 4])]),
    known("hfsplus", FileSystem, &[Place::Start(0x400), Place::End(512, 1024)], &[(0, b"HX"), (2, &[0, 5])]),
    known("apfs", FileSystem, START, &[(32, b"NXSB")]),
    known("squashfs", FileSystem, START, &[(0, b"hsqs")]),
    known("squashfs", FileSystem, START, &[(0, b"sqsh")]),
    known("erofs", FileSystem, &[Place::Start(0x400)], &[(0, &[0xe2, 0xe1, 0xf5, 0xe0])]),
    known("cramfs", FileSystem, &[Place::Start(0), Place::Start(0x200)], &[(0, &[0x45, 0x3d, 0xcd, 0x28])]),
    known("cramfs", FileSystem, &[Place::Start(0), Place::Start(0x200)], &[(0, &[0x28, 0xcd, 0x3d, 0x45])]),
    known("romfs", FileSystem, START, &[(0, b"-rom1fs-")]),
    known("zonefs", FileSystem, START, &[(0, b"SFOZ")]),
    known("ubifs", FileSystem, START, &[(0, &[0x31, 0x18, 0x10, 0x06])]),
    known("ubi", Member, START, &[(0, b"UBI#")]),
    known("gfs2", FileSystem, &[Place::Start(0x1_0000)], &[(0, &[0x01, 0x16, 0x19, 0x70])]),
    known(
        "ocfs2",
        FileSystem,
        &[Place::Start(0x400), Place::Start(0x800), Place::Start(0x1000), Place::Start(0x2000)],
        &[(0, b"OCFSV2")],
    ),
    known("ocfs", FileSystem, &[Place::Start(0x2000)], &[(0, b"OracleCFS")]),
    known("ufs", FileSystem, UFS, &[(0, &[0x54, 0x19, 0x01, 0x00])]),
    known("ufs", FileSystem, UFS, &[(0, &[0x00, 0x01, 0x19, 0x54])]),
    known("ufs", FileSystem, UFS, &[(0, &[0x19, 0x01, 0x54, 0x19])]),
    known("ufs", FileSystem, UFS, &[(0, &[0x19, 0x54, 0x01, 0x19])]),
    known("vxfs", FileSystem, &[Place::Start(0x400)], &[(0, &[0xf5, 0xfc, 0x01, 0xa5])]),
    known("vxfs", FileSystem, &[Place::Start(0x2000)], &[(0, &[0xa5, 0x01, 0xfc, 0xf5])]),
    known("befs", FileSystem, &[Place::Start(0x20), Place::Start(0x220)], &[(0, b"1SFB")]),
    known("befs", FileSystem, &[Place::Start(0x20), Place::Start(0x220)], &[(0, b"BFS1")]),
    known("VMFS", FileSystem, &[Place::Start(0x20_0000)], &[(0, &[0x5e, 0xf1, 0xab, 0x2f])]),
    // Swap and hibernation.
    known("swap", Swap, PAGE_ENDS, &[(0, b"SWAPSPACE2")]),
    known("swap", Swap, PAGE_ENDS, &[(0, b"SWAP-SPACE")]),
    known("swsuspend", Swap, PAGE_ENDS, &[(0, b"S1SUSPEND")]),
    known("swsuspend", Swap, PAGE_ENDS, &[(0, b"S2SUSPEND")]),
    known("swsuspend", Swap, PAGE_ENDS, &[(0, b"ULSUSPEND")]),
    known("swsuspend", Swap, PAGE_ENDS, &[(0, b"LINHIB0001")]),
    known("swsuspend", Swap, START, &[(0, &[0xed, 0xc3, 0x02, 0xe9, 0x98, 0x56, 0xe5, 0x0c])]),
    // Encrypted volumes.
    known("crypto_LUKS", Encrypted, START, &[(0, &[b'L', b'U', b'K', b'S', 0xba, 0xbe])]),
    known("crypto_LUKS", Encrypted, LUKS2_SECOND, &[(0, &[b'S', b'K', b'U', b'L', 0xba, 0xbe])]),
    known("BitLocker", Encrypted, START, &[(3, b"-FVE-FS-")]),
    known("DM_verity_hash", Encrypted, START, &[(0, b"verity\0\0")]),
    known("DM_integrity", Encrypted, START, &[(0, b"integrt\0")]),
    // Parts of a volume manager, RAID, cache, cluster or database. ZFS's uberblocks are code.
    known(
        "LVM2_member",
        Member,
        &[Place::Start(0x018), Place::Start(0x218), Place::Start(0x418), Place::Start(0x618)],
        &[(0, b"LVM2 001")],
    ),
    known("DM_snapshot_cow", Member, START, &[(0, b"SnAp")]),
    known(
        "stratis",
        Member,
        &[Place::Start(512), Place::Start(9 * 512)],
        &[(4, b"!Stra0tis\x86\xff\x02^\x41rh")],
    ),
    known("vdo", Member, START, &[(0, b"dmvdo001")]),
    known(
        "linux_raid_member",
        Member,
        &[Place::Start(0), Place::Start(0x1000), Place::End(0x1000, 0x2000)],
        &[(0, &[0xfc, 0x4e, 0x2b, 0xa9]), (4, &[1, 0, 0, 0])],
    ),
    known("linux_raid_member", Member, &[Place::End(0x1_0000, 0x1_0000)], &[(0, &[0xfc, 0x4e, 0x2b, 0xa9])]),
    known("linux_raid_member", Member, &[Place::End(0x1_0000, 0x1_0000)], &[(0, &[0xa9, 0x2b, 0x4e, 0xfc])]),
    known("isw_raid_member", Member, LAST_BUT_ONE, &[(0, b"Intel Raid ISM Cfg Sig. ")]),
    known(
        "ddf_raid_member",
        Member,
        &[Place::End(512, 512), Place::End(512, 257 * 512), Place::End(4096, 4096)],
        &[(0, &[0xde, 0x11, 0xde, 0x11])],
    ),
    known("lsi_mega_raid_member", Member, LAST_SECTOR, &[(0, b"$XIDE$")]),
    known("nvidia_raid_member", Member, LAST_BUT_ONE, &[(0, b"NVIDIA  ")]),
    known("adaptec_raid_member", Member, LAST_SECTOR, &[(0, &[0x37, 0xfc, 0x4d, 0x1e])]),
    known("zfs_member", Member, ZFS_LABELS, &[(0x4000, &[1]), (0x4014, b"\0\0\0\x07version")]),
    known(
        "bcache",
        Member,
        &[Place::Start(0x1018)],
        &[(
            0,
            &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81],
        )],
    ),
    known("drbd", Member, &[Place::End(4096, 4096)], &[(60, &[0x83, 0x74, 0x02, 0x6b])]),
    known("drbd", Member, &[Place::End(4096, 4096)], &[(60, &[0x83, 0x74, 0x02, 0x6c])]),
    known("drbd", Member, &[Place::End(4096, 4096)], &[(60, &[0x83, 0x74, 0x02, 0x6d])]),
    known("ceph_bluestore", Member, START, &[(0, b"bluestore block device")]),
    known("oracleasm", Member, START, &[(32, b"ORCLDISK")]),
    known("VMFS_volume_member", Member, &[Place::Start(0x10_0000)], &[(0, &[0x0d, 0xd0, 0x01, 0xc0])]),
    // Images of disks, as virtual machines keep them in files.
    known("qcow2", DiskImage, START, &[(0, b"QFI\xfb")]),
    known("vmdk", DiskImage, START, &[(0, b"KDMV")]),
    known("vmdk", DiskImage, START, &[(0, b"COWD")]),
    known("vmdk", DiskImage, START, &[(0, b"# Disk DescriptorFile")]),
    known("vdi", DiskImage, START, &[(0x40, &[0x7f, 0x10, 0xda, 0xbe])]),
    known("vhd", DiskImage, &[Place::Start(0), Place::End(512, 512)], &[(0, b"conectix")]),
    known("vhdx", DiskImage, START, &[(0, b"vhdxfile")]),
];
