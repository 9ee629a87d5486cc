use std::fs::File;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;

use iodyno_plugin::random::Random;

use super::*;

/// Sizes that are multiples of 4 KiB and larger than head and tail together, and one that is neither.
const SIZES: [u64; 3] = [64 << 20, (16 << 20) + 4096, (3 << 20) + 12_345 * 512];

fn blank(size: u64) -> View {
    let (head, tail) = (size.min(HEAD), size.min(TAIL));
    View { size, head: vec![0; head as usize], tail: vec![0; tail as usize] }
}

/// Writes as a device would: both windows see it where they overlap.
fn put(view: &mut View, offset: u64, bytes: &[u8]) {
    let tail_start = view.size - view.tail.len() as u64;
    for (i, byte) in bytes.iter().enumerate() {
        let at = offset + i as u64;
        if let Some(cell) = view.head.get_mut(at as usize) {
            *cell = *byte;
        }
        if let Some(cell) = at.checked_sub(tail_start).and_then(|i| view.tail.get_mut(i as usize)) {
            *cell = *byte;
        }
    }
}

fn names(view: &View) -> Vec<&'static str> {
    detect(view).iter().map(|s| s.name).collect()
}

#[test]
fn every_entry_of_the_table_is_found_at_every_place() {
    let mut checked = 0;
    for size in SIZES {
        for known in TABLE {
            for place in known.places {
                let mut view = blank(size);
                let Some(start) = view.locate(*place) else { continue };
                if view.get(start, 1).is_none() {
                    assert!(
                        matches!(place, Place::Start(offset) if *offset + 64 > size),
                        "{} {place:?}",
                        known.name
                    );
                    continue;
                }
                for (distance, bytes) in known.parts {
                    put(&mut view, start + distance, bytes);
                }
                let found = detect(&view);
                let own = found.iter().find(|s| s.name == known.name);
                let own = own.unwrap_or_else(|| panic!("{} at {place:?} of {size} is not found", known.name));
                assert!(own.offsets_bytes.contains(&(start + known.parts[0].0)), "{own}");
                // Damage to any single byte of the magic and it is gone again: no part is ignored.
                let (distance, bytes) = known.parts[known.parts.len() - 1];
                let last = start + distance + bytes.len() as u64 - 1;
                put(&mut view, last, &[!bytes[bytes.len() - 1]]);
                assert!(
                    !names(&view).contains(&known.name),
                    "{} at {place:?} is found though damaged",
                    known.name
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 300, "{checked}");
}

#[test]
fn every_entry_of_the_table_lies_within_what_is_read() {
    let view = blank(1 << 30);
    for known in TABLE {
        for place in known.places {
            let start = view.locate(*place).unwrap();
            for (distance, bytes) in known.parts {
                assert!(view.get(start + distance, bytes.len()).is_some(), "{} {place:?}", known.name);
            }
        }
        let bits: usize = known.parts.iter().map(|(_, bytes)| bytes.len() * 8).sum();
        assert!(bits >= 32, "{} compares {bits} bits: random data would match it", known.name);
    }
}

#[test]
fn ext_by_features() {
    let image = |features: [u32; 3]| {
        let mut view = blank(SIZES[0]);
        put(&mut view, 0x438, &[0x53, 0xef]);
        put(&mut view, 0x44c, &[1]);
        for (i, word) in features.iter().enumerate() {
            put(&mut view, 0x45c + 4 * i as u64, &word.to_le_bytes());
        }
        view
    };
    assert_eq!(names(&image([0, 2, 1])), ["ext2"]);
    assert_eq!(names(&image([4, 2, 1])), ["ext3"]);
    assert_eq!(names(&image([4, 0x42, 1])), ["ext4"]);
    assert_eq!(names(&image([4, 2, 0x8])), ["ext4"]);
    assert_eq!(names(&image([0, 8, 0])), ["jbd"]);
    let mut implausible = image([4, 0x42, 1]);
    put(&mut implausible, 0x44c, &[9]);
    assert_eq!(names(&implausible), [""; 0]);
}

/// The boot sector of a FAT without any of the optional texts.
fn fat_image() -> View {
    let mut view = blank(SIZES[0]);
    put(&mut view, 0, &[0xeb, 0x3c, 0x90]);
    put(&mut view, 11, &[0, 2, 4, 1, 0, 2, 0, 2, 0, 0, 0xf8]);
    put(&mut view, 0x1fe, &[0x55, 0xaa]);
    view
}

#[test]
fn fat_by_its_shape() {
    assert_eq!(names(&fat_image()), ["vfat"], "and its boot sector is no partition table");
    let mut no_tables = fat_image();
    put(&mut no_tables, 16, &[0]);
    assert_eq!(names(&no_tables), ["dos"], "an empty MBR");
    let mut by_name = fat_image();
    put(&mut by_name, 0, &[0; 3]);
    put(&mut by_name, 0x52, b"FAT32   ");
    assert_eq!(names(&by_name), ["vfat"]);
}

#[test]
fn mbr_needs_entries_that_make_sense() {
    let entry = |flag: u8, kind: u8, sectors: u32| {
        let mut entry = [0; 16];
        (entry[0], entry[4]) = (flag, kind);
        entry[12..].copy_from_slice(&sectors.to_le_bytes());
        entry
    };
    let image = |entries: &[[u8; 16]]| {
        let mut view = blank(SIZES[0]);
        put(&mut view, 0x1fe, &[0x55, 0xaa]);
        for (i, bytes) in entries.iter().enumerate() {
            put(&mut view, 0x1be + 16 * i as u64, bytes);
        }
        view
    };
    assert_eq!(names(&image(&[])), ["dos"]);
    assert_eq!(names(&image(&[entry(0x80, 0x83, 2048), entry(0, 0x82, 1)])), ["dos"]);
    assert_eq!(names(&image(&[entry(0x80, 0x83, 2048), entry(1, 0x82, 1)])), [""; 0], "no such boot flag");
    assert_eq!(names(&image(&[entry(0, 0, 2048)])), [""; 0], "no type");
    assert_eq!(names(&image(&[entry(0, 0x83, 0)])), [""; 0], "no size");
    assert_eq!(names(&image(&[entry(0, 0xee, 1)])), ["dos"], "a protective one, but of no GPT");

    let mut gpt = image(&[entry(0, 0xee, u32::MAX)]);
    put(&mut gpt, 512, b"EFI PART");
    put(&mut gpt, SIZES[0] - 512, b"EFI PART");
    assert_eq!(names(&gpt), ["gpt"], "with its protective MBR");
    assert_eq!(detect(&gpt)[0].offsets_bytes, [512, SIZES[0] - 512]);
    assert_eq!(
        detect(&gpt)[0].to_string(),
        format!("`gpt` (partition table, at byte 512, {})", SIZES[0] - 512)
    );
    put(&mut gpt, 0x1be, &entry(0, 0x0c, 8));
    assert_eq!(names(&gpt), ["gpt", "dos"], "a hybrid one");
    let mut backup_only = blank(SIZES[0]);
    put(&mut backup_only, SIZES[0] - 4096, b"EFI PART");
    assert_eq!(names(&backup_only), ["gpt"], "of a disk with 4 KiB sectors");
}

#[test]
fn zfs_by_any_uberblock() {
    for (offset, bytes) in [
        (0x2_0000, 0x00ba_b10c_u64.to_le_bytes()),
        (0x4_0000 + 0x3_fc00, 0x00ba_b10c_u64.to_be_bytes()),
        (SIZES[0] - 0x8_0000 + 0x2_1000, 0x00ba_b10c_u64.to_le_bytes()),
        (SIZES[0] - 0x4_0000 + 0x2_0000, 0x00ba_b10c_u64.to_be_bytes()),
    ] {
        let mut view = blank(SIZES[0]);
        put(&mut view, offset, &bytes);
        assert_eq!(names(&view), ["zfs_member"], "at {offset}");
    }
}

#[test]
fn nothing_on_blank_and_tiny_targets() {
    for size in [0, 1, 511, 512, 513, 4096, 65_536, 1 << 20, 1 << 30] {
        assert_eq!(names(&blank(size)), [""; 0], "{size}");
    }
}

#[test]
fn random_data_is_no_signature() {
    let seed = 0x510_0000;
    let mut random = Random::new(seed);
    for round in 0..600 {
        // Small ones have all places close to their ends; a few are as large as what is read.
        let size =
            if round % 100 == 0 { HEAD + TAIL + 512 * random.below(99) } else { random.below(200_000) };
        let mut view = blank(size);
        for word in view.head.chunks_mut(8) {
            word.copy_from_slice(&random.bits().to_le_bytes()[..word.len()]);
        }
        let from_head = view.size.saturating_sub(TAIL) as usize;
        match view.head.get(from_head..).filter(|rest| rest.len() == view.tail.len()) {
            Some(rest) => view.tail = rest.to_owned(),
            None => view.tail.chunks_mut(8).for_each(|word| {
                word.copy_from_slice(&random.bits().to_le_bytes()[..word.len()]);
            }),
        }
        assert_eq!(names(&view), [""; 0], "seed {seed:#x}, round {round}, {size} bytes");
    }
}

#[test]
fn bytes_of_magics_anywhere_never_panic() {
    let seed = 0x510_0001;
    let mut random = Random::new(seed);
    let mut pieces: Vec<&[u8]> = TABLE.iter().flat_map(|k| k.parts.iter().map(|(_, bytes)| *bytes)).collect();
    pieces.push(&[0x55, 0xaa]);
    pieces.push(&[0x53, 0xef]);
    for _ in 0..2000 {
        let mut view = blank(random.below(80_000));
        for _ in 0..random.below(40) {
            let piece = pieces[random.below(pieces.len() as u64) as usize];
            let offset = random.below(view.size + 1) / 4 * 4;
            put(&mut view, offset, piece);
        }
        for signature in detect(&view) {
            assert!(
                signature.offsets_bytes.iter().all(|offset| *offset < view.size),
                "seed {seed:#x}: {signature}"
            );
        }
    }
}

#[test]
fn read_from_a_file() {
    let file: File = tempfile::tempfile().unwrap();
    for size in SIZES {
        file.set_len(0).unwrap();
        file.set_len(size).unwrap();
        file.write_all_at(b"XFSB", 0).unwrap();
        file.write_all_at(b"SKUL\xba\xbe", 0x4000).unwrap();
        file.write_all_at(b"EFI PART", size / 512 * 512 - 512).unwrap();
        let found = signatures(file.as_fd(), size).unwrap();
        let names: Vec<_> = found.iter().map(|s| (s.name, s.offsets_bytes.clone())).collect();
        let gpt = ("gpt", vec![size / 512 * 512 - 512]);
        assert_eq!(names, [gpt, ("xfs", vec![0]), ("crypto_LUKS", vec![0x4000])]);
    }
    assert!(signatures(file.as_fd(), SIZES[2] + 512).is_err(), "shorter than was said");
}
