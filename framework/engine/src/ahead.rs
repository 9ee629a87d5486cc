//! What writes will write, made while the target is busy. Where little is outstanding the target would otherwise
//! idle after each completion until the next block is made, which for 64 KiB takes a fifth of the time that a good
//! drive needs to write them.

use std::ops::Range;

use crate::memory::Place;

/// Most buffers that one pool has beside those of its slots.
pub(crate) const SPARES_MAX: usize = 4;
/// So much is made at once, then completions are looked for.
const UNIT: usize = 4096;

/// A buffer that belongs to no slot.
struct Spare {
    place: Place,
    /// The first so many bytes are made, and were not written yet.
    made: usize,
}

/// Spare buffers of the pools of a worker.
pub(crate) struct Ahead {
    pools: Vec<Vec<Spare>>,
    /// Length of the last write of each pool, for the next one is likely as long.
    wanted: Vec<usize>,
}

impl Ahead {
    /// Over the spare buffers of each pool.
    pub(crate) fn new(places: Vec<Vec<Place>>) -> Self {
        let wanted = vec![0; places.len()];
        let spares = |places: Vec<Place>| places.into_iter().map(|place| Spare { place, made: 0 }).collect();
        Ahead { pools: places.into_iter().map(spares).collect(), wanted }
    }

    /// Gives a write of `len` bytes the buffer in which most is made, in exchange for its own, and says how much
    /// that is.
    #[inline]
    pub(crate) fn take(&mut self, pool: u16, len: u32, place: &mut Place) -> usize {
        let pool = usize::from(pool);
        let most = self.pools[pool].iter_mut().max_by_key(|spare| spare.made);
        let Some(spare) = most else { return 0 };
        self.wanted[pool] = len as usize;
        if spare.made == 0 {
            return 0;
        }
        std::mem::swap(&mut spare.place, place);
        std::mem::take(&mut spare.made).min(len as usize)
    }

    /// Whether something is left to make.
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.pools.iter().zip(&self.wanted).any(|(spares, wanted)| spares.iter().any(|s| s.made < *wanted))
    }

    /// What to make next, which counts as made: a part of a buffer.
    pub(crate) fn next(&mut self) -> Option<(Place, Range<usize>)> {
        for (spares, wanted) in self.pools.iter_mut().zip(&self.wanted) {
            if let Some(spare) = spares.iter_mut().find(|spare| spare.made < *wanted) {
                let from = spare.made;
                spare.made = (from + UNIT).min(*wanted);
                return Some((spare.place, from..spare.made));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(block: u16) -> Place {
        Place { start: std::ptr::null_mut(), len: 1 << 20, block }
    }

    #[test]
    fn the_first_write_is_not_foreseen_and_the_next_ones_are() {
        let mut ahead = Ahead::new(vec![Vec::new(), vec![place(1), place(2)]]);
        let mut own = place(9);
        assert!(!ahead.is_wanted() && ahead.next().is_none());
        assert_eq!((ahead.take(1, 6000, &mut own), own.block), (0, 9));
        let made: Vec<_> =
            std::iter::from_fn(|| ahead.next()).map(|(place, part)| (place.block, part)).collect();
        assert_eq!(made, [(1, 0..4096), (1, 4096..6000), (2, 0..4096), (2, 4096..6000)]);
        assert!(!ahead.is_wanted());
        // A shorter write needs less of it, a longer one gets what there is.
        assert_eq!(ahead.take(1, 512, &mut own), 512);
        assert!(own.block != 9);
        assert_eq!(ahead.take(1, 8192, &mut own), 6000);
        assert!(ahead.is_wanted());
        assert_eq!(ahead.take(1, 8192, &mut own), 0, "what was made is given once");
    }

    #[test]
    fn what_is_made_in_part_is_used() {
        let mut ahead = Ahead::new(vec![vec![place(1)]]);
        let mut own = place(9);
        ahead.take(0, 65536, &mut own);
        ahead.next();
        assert_eq!((ahead.take(0, 65536, &mut own), own.block), (4096, 1));
        // The buffer that came in exchange has nothing of it.
        assert_eq!(ahead.next().map(|(place, part)| (place.block, part)), Some((9, 0..4096)));
    }

    #[test]
    fn a_pool_without_spares_makes_nothing() {
        let mut ahead = Ahead::new(vec![Vec::new()]);
        assert_eq!(ahead.take(0, 4096, &mut place(9)), 0);
        assert!(!ahead.is_wanted());
    }
}
