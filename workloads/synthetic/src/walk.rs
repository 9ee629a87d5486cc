//! Places in order: sequential and strided.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use iodyno_plugin::Request;

/// The part of the stream's region that a lane works in, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) start: u64,
    /// A multiple of the target's granule.
    pub(crate) len: u64,
    /// How often it is covered; `None` = without end.
    pub(crate) passes: Option<u32>,
}

/// A way through a region that several lanes may share.
pub(crate) struct Walk {
    region: Region,
    order: Order,
    /// Where the next request begins, counted over all passes: bytes if sequential, requests if strided.
    cursor: Arc<AtomicU64>,
    /// The cursor's value at which all passes are done.
    end: u64,
}

#[derive(Clone, Copy, Debug)]
enum Order {
    Sequential,
    Strided { block: u64, stride: u64 },
}

impl Walk {
    /// One request after the other.
    pub(crate) fn sequential(region: Region, cursor: Arc<AtomicU64>) -> Self {
        Walk { region, order: Order::Sequential, cursor, end: times(region.len, region.passes) }
    }

    /// Blocks of `block` bytes, `stride` bytes apart, which is a multiple of `block`.
    pub(crate) fn strided(region: Region, block: u32, stride: u64, cursor: Arc<AtomicU64>) -> Self {
        let block = u64::from(block);
        let end = times(region.len.div_ceil(block), region.passes);
        Walk { region, order: Order::Strided { block, stride }, cursor, end }
    }

    /// Gives places to requests whose operation and length are set, and says how many got one before the end.
    pub(crate) fn place(&self, out: &mut [Request]) -> usize {
        // A flush takes no place and has no length.
        let taken = match self.order {
            Order::Sequential => out.iter().map(|r| u64::from(r.len)).sum(),
            Order::Strided { .. } => out.iter().filter(|r| r.len > 0).count() as u64,
        };
        let next = |cursor| match self.order {
            Order::Sequential => self.after(cursor, taken, out),
            Order::Strided { .. } => cursor.saturating_add(taken).min(self.end),
        };
        // Lanes exchange nothing but this number, so the weakest order will do.
        let claimed = self.cursor.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |c| Some(next(c)));
        let cursor = claimed.unwrap_or_else(|same| same);
        match self.order {
            Order::Sequential => self.lay_sequential(cursor, out),
            Order::Strided { block, stride } => self.lay_strided(cursor, block, stride, out),
        }
    }

    /// The cursor behind `out`, whose lengths are `total` together, when it begins at `cursor`. A request is cut
    /// at the end of a pass.
    fn after(&self, cursor: u64, total: u64, out: &[Request]) -> u64 {
        let len = self.region.len;
        let mut left = len - cursor % len;
        if total <= left {
            return cursor.saturating_add(total).min(self.end);
        }
        let mut cursor = cursor;
        for request in out {
            let moved = left.min(u64::from(request.len));
            cursor = cursor.saturating_add(moved).min(self.end);
            left = if moved == left { len } else { left - moved };
        }
        cursor
    }

    fn lay_sequential(&self, cursor: u64, out: &mut [Request]) -> usize {
        let Region { start, len, .. } = self.region;
        let (mut cursor, mut offset) = (cursor, cursor % len);
        for (n, request) in out.iter_mut().enumerate() {
            if cursor >= self.end {
                return n;
            }
            if request.len == 0 {
                continue;
            }
            request.len = u64::from(request.len).min(len - offset) as u32;
            request.offset = start + offset;
            cursor += u64::from(request.len);
            offset += u64::from(request.len);
            if offset == len {
                offset = 0;
            }
        }
        out.len()
    }

    fn lay_strided(&self, cursor: u64, block: u64, stride: u64, out: &mut [Request]) -> usize {
        let Region { start, len, .. } = self.region;
        let (mut cursor, (mut round, mut offset)) = (cursor, strided_at(cursor, len, block, stride));
        for (n, request) in out.iter_mut().enumerate() {
            if cursor >= self.end {
                return n;
            }
            if request.len == 0 {
                continue;
            }
            request.len = u64::from(request.len).min(len - offset) as u32;
            request.offset = start + offset;
            cursor += 1;
            offset += stride;
            if offset >= len {
                round += block;
                if round >= stride.min(len) {
                    round = 0;
                }
                offset = round;
            }
        }
        out.len()
    }
}

/// `len`, `passes` times; as good as endless where that is more than 64 bits hold.
fn times(len: u64, passes: Option<u32>) -> u64 {
    passes.map_or(u64::MAX, |passes| len.saturating_mul(u64::from(passes)))
}

/// Offset of request number `cursor`, and of the first one of its round through the region. The first rounds
/// have one request more than the others where blocks do not fill all strides.
fn strided_at(cursor: u64, len: u64, block: u64, stride: u64) -> (u64, u64) {
    let (blocks, rounds) = (len.div_ceil(block), stride / block);
    let (short, longer_rounds) = (blocks / rounds, blocks % rounds);
    let number = cursor % blocks;
    let in_longer = longer_rounds * (short + 1);
    let (round, step) = if number < in_longer {
        (number / (short + 1), number % (short + 1))
    } else {
        (longer_rounds + (number - in_longer) / short, (number - in_longer) % short)
    };
    (round * block, round * block + step * stride)
}
