//! Admission: what a workload asks for is checked before a backend sees it, every request, always.

use iodyno_plugin::{Op, Request};

use crate::queue::Tag;

/// What a lane may ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admission {
    pub(crate) region_len: u64,
    /// At most `region_len`.
    pub(crate) max_len: u32,
    /// How the I/O of each operation is tagged, by its code: `None` for what the workload did not declare or the
    /// target does not take. A target without a write grant takes nothing that writes.
    pub(crate) tags: [Option<Tag>; Op::COUNT],
    pub(crate) granule: Multiple,
}

impl Admission {
    /// The tag of a request that may pass.
    #[inline(always)]
    pub(crate) fn admit(&self, request: &Request) -> Option<Tag> {
        let Request { op, flags, len, offset, at_ns, reserved, .. } = *request;
        let tag = (*self.tags.get(usize::from(op))?)?;
        let plain = at_ns | reserved | u64::from(flags) == 0;
        // A length of 0 wraps and is too long. A length within `max_len` is within the region.
        let fits = len.wrapping_sub(1) < self.max_len
            && offset <= self.region_len - u64::from(len)
            && self.granule.divides_both(offset, u64::from(len));
        let flush = op == Op::Flush as u8;
        (plain && if flush { u64::from(len) | offset == 0 } else { fits }).then_some(tag)
    }

    /// Why a request may not pass.
    #[cold]
    pub(crate) fn reason(&self, request: &Request) -> String {
        let Request { op, flags, len, offset, at_ns, reserved, .. } = *request;
        let Some(name) = Op::from_code(op).map(Op::name) else {
            return format!("asked for operation {op}, which this version does not know");
        };
        if self.tags[usize::from(op)].is_none() {
            return format!("asked for a {name}, which it did not declare or the target does not take");
        }
        if at_ns != 0 {
            return format!("asked for a start at {at_ns} ns, which a closed loop cannot keep");
        }
        if flags != 0 || reserved != 0 {
            return format!("set flags {flags:#x} and reserved {reserved:#x} of a request, which must be 0");
        }
        let (region, granule, max) = (self.region_len, self.granule.of, self.max_len);
        format!(
            "asked for a {name} of {len} bytes at {offset}; it must lie in its region of {region} bytes, be a \
             multiple of {granule} bytes and no longer than {max}, and a flush has neither length nor offset"
        )
    }
}

/// Tests for multiples of a number without dividing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Multiple {
    of: u64,
    /// Of a power of two: no bit below it may be set. Of others every bit asks for the long way.
    mask: u64,
    inverse: u64,
    shift: u32,
    limit: u64,
}

impl Multiple {
    /// Of `of`, which must not be 0.
    pub(crate) const fn of(of: u64) -> Self {
        assert!(of != 0, "everything is a multiple of nothing");
        let mask = if of.is_power_of_two() { of - 1 } else { u64::MAX };
        let shift = of.trailing_zeros();
        let odd = of >> shift;
        // Newton: right in 3 bits at first, in twice as many after each round.
        let mut inverse = odd;
        let mut round = 0;
        while round < 5 {
            inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
            round += 1;
        }
        Multiple { of, mask, inverse, shift, limit: u64::MAX / of }
    }

    /// n is a multiple when n times the inverse of the number's odd part modulo 2^64, rotated by its power of
    /// two, is small (Granlund and Montgomery 1994, section 9).
    pub(crate) const fn divides(self, n: u64) -> bool {
        n.wrapping_mul(self.inverse).rotate_right(self.shift) <= self.limit
    }

    #[inline(always)]
    const fn divides_both(self, a: u64, b: u64) -> bool {
        (a | b) & self.mask == 0 || (self.mask == u64::MAX && self.divides(a) && self.divides(b))
    }
}

#[cfg(test)]
mod tests {
    use iodyno_plugin::random::Random;

    use super::*;

    #[test]
    fn multiples_are_those_that_division_finds() {
        let mut random = Random::new(1);
        for _ in 0..100_000 {
            let of = 1 + (random.bits() >> random.below(63));
            let multiple = Multiple::of(of);
            let n = random.bits() >> random.below(64);
            let truth = n.is_multiple_of(of);
            assert_eq!(multiple.divides(n), truth, "{n} of {of}");
            assert!(multiple.divides(n / of * of), "{} of {of}", n / of * of);
            let other = (random.bits() >> 1) / of * of;
            assert_eq!(multiple.divides_both(n, other), truth, "{n} and {other} of {of}");
            assert_eq!(multiple.divides_both(other, n), truth, "{other} and {n} of {of}");
        }
        for of in [1, 512, 520, 528, 4096, 4160] {
            assert!(Multiple::of(of).divides(0) && Multiple::of(of).divides(of * 77));
            assert_eq!(Multiple::of(of).divides(of * 77 + 1), of == 1);
        }
    }

    const fn tag(cell: u16) -> Option<Tag> {
        Some(Tag { cell, pool: 2, lane: 3 })
    }

    const READS: Admission =
        Admission { region_len: 8192, max_len: 4096, tags: [tag(5), None, None], granule: Multiple::of(512) };
    const ALL: Admission = Admission { tags: [tag(5), tag(6), tag(7)], ..READS };
    const READ: Request =
        Request { op: 0, flags: 0, hint: 0, len: 4096, offset: 4096, at_ns: 0, reserved: 0 };

    #[test]
    fn what_fits_passes() {
        assert_eq!([READS.admit(&READ), READS.admit(&Request { hint: 7, ..READ })], [tag(5); 2]);
        assert_eq!(ALL.admit(&Request { op: Op::Write as u8, ..READ }), tag(6));
        assert_eq!(ALL.admit(&Request { op: Op::Flush as u8, len: 0, offset: 0, ..READ }), tag(7));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_reason() {
        let max = u64::MAX - 511;
        for (bad, word) in [
            (Request { op: 3, ..READ }, "operation 3"),
            (Request { op: 255, ..READ }, "operation 255"),
            (Request { op: Op::Write as u8, ..READ }, "write"),
            (Request { op: Op::Flush as u8, len: 0, offset: 0, ..READ }, "flush"),
            (Request { len: 0, ..READ }, "of 0 bytes"),
            (Request { len: 4097, ..READ }, "4097"),
            (Request { len: 8192, offset: 0, ..READ }, "no longer than 4096"),
            (Request { offset: 4608, ..READ }, "region of 8192"),
            (Request { offset: max, ..READ }, "region of 8192"),
            (Request { offset: 1, ..READ }, "multiple of 512"),
            (Request { len: 1, ..READ }, "multiple of 512"),
            (Request { flags: 1, ..READ }, "flags 0x1"),
            (Request { at_ns: 5, ..READ }, "5 ns"),
            (Request { reserved: 1 << 40, ..READ }, "reserved"),
        ] {
            assert_eq!(READS.admit(&bad), None, "{bad:?}");
            assert!(READS.reason(&bad).contains(word), "{bad:?}: {}", READS.reason(&bad));
        }
        for bad in [
            Request { op: Op::Flush as u8, len: 0, ..READ },
            Request { op: Op::Read as u8, len: 0, offset: 0, ..READ },
        ] {
            assert_eq!(ALL.admit(&bad), None, "{bad:?}");
        }
    }
}
