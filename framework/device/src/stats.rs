//! The kernel's own count of a device's I/O.

use iodyno_record::DeviceFacts;

use crate::block::{BlockDevice, SECTOR};
use crate::sysroot::SysRoot;

/// I/O of a block device since it appeared, as the kernel counts it; the difference of two readings counts
/// what came between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskStats {
    /// Completed reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Time that reads took, summed over all of them, in ms.
    pub read_ms: u64,
    /// Completed writes; a flush of the device's cache counts as one, of no bytes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Time that writes took, summed over all of them, in ms.
    pub write_ms: u64,
    /// I/O in flight now.
    pub in_flight: u64,
    /// Completed flushes; 0 on kernels that do not count them.
    pub flushes: u64,
}

impl DiskStats {
    /// What came after `earlier`; `in_flight` stays as it is now.
    pub fn since(&self, earlier: &DiskStats) -> DiskStats {
        DiskStats {
            reads: self.reads.wrapping_sub(earlier.reads),
            read_bytes: self.read_bytes.wrapping_sub(earlier.read_bytes),
            read_ms: self.read_ms.wrapping_sub(earlier.read_ms),
            writes: self.writes.wrapping_sub(earlier.writes),
            written_bytes: self.written_bytes.wrapping_sub(earlier.written_bytes),
            write_ms: self.write_ms.wrapping_sub(earlier.write_ms),
            in_flight: self.in_flight,
            flushes: self.flushes.wrapping_sub(earlier.flushes),
        }
    }
}

/// The count of a target's block device, or of the one that holds a file; `None` where there is none.
pub fn disk_stats(facts: &DeviceFacts) -> Option<DiskStats> {
    disk_stats_in(&SysRoot::real(), facts)
}

fn disk_stats_in(root: &SysRoot, facts: &DeviceFacts) -> Option<DiskStats> {
    parse(&BlockDevice::by_name(root, facts.block_device.as_deref()?)?.attribute("stat")?)
}

fn parse(text: &str) -> Option<DiskStats> {
    let fields: Vec<u64> = text.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let &[reads, _, sectors_read, read_ms, writes, _, sectors_written, write_ms, in_flight, ..] = &fields[..]
    else {
        return None;
    };
    Some(DiskStats {
        reads,
        read_bytes: sectors_read * SECTOR,
        read_ms,
        writes,
        written_bytes: sectors_written * SECTOR,
        write_ms,
        in_flight,
        flushes: fields.get(15).copied().unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns() {
        let stats = parse("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17").unwrap();
        let expected = DiskStats {
            reads: 1,
            read_bytes: 3 * 512,
            read_ms: 4,
            writes: 5,
            written_bytes: 7 * 512,
            write_ms: 8,
            in_flight: 9,
            flushes: 16,
        };
        assert_eq!(stats, expected);
        assert_eq!(parse("1 2 3 4 5 6 7 8 9 10 11").unwrap().flushes, 0, "kernels before 5.5");
        assert_eq!(parse("1 2 3"), None);
        assert_eq!(parse(""), None);
        assert_eq!(expected.since(&expected), DiskStats { in_flight: 9, ..DiskStats::default() });
    }
}
