//! Content of written blocks, and the look for zeroes in what was read.

use std::sync::Arc;

use iodyno_plugin::random::{Random, derive, mix};

/// Every block of this size is unique.
const BLOCK: usize = 4096;
const WORDS: usize = BLOCK / 8;
/// A block may start at this many places of the noise, a cache line apart.
const PLACES: usize = 1024;

/// Random words that all workers of a step draw their blocks from.
pub(crate) struct Noise(Vec<u64>);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(derive(seed, 1));
        Noise((0..PLACES * 8 + WORDS).map(|_| random.bits()).collect())
    }
}

/// Writes blocks that are unique and incompressible at the speed of a copy: noise, with a key that never comes
/// twice mixed into every word. Two blocks share no byte string, whatever the distance.
pub(crate) struct Payload {
    noise: Arc<Noise>,
    next: u64,
}

impl Payload {
    /// Of one worker: its keys are apart from those of the others for 2^48 blocks.
    pub(crate) fn new(noise: &Arc<Noise>, seed: u64, worker: u32) -> Self {
        Payload { noise: Arc::clone(noise), next: mix(seed).wrapping_add(u64::from(worker) << 48) }
    }

    /// Fills `out`; each 4 KiB of it are another block.
    #[inline]
    pub(crate) fn write(&mut self, out: &mut [u8]) {
        for block in out.chunks_mut(BLOCK) {
            let key = mix(self.next);
            self.next = self.next.wrapping_add(1);
            let start = (key % PLACES as u64) as usize * 8;
            let noise = &self.noise.0[start..start + WORDS];
            let (words, rest) = block.as_chunks_mut::<8>();
            for (word, noise) in words.iter_mut().zip(noise) {
                *word = (noise ^ key).to_le_bytes();
            }
            rest.copy_from_slice(&(noise[WORDS - 1] ^ key).to_le_bytes()[..rest.len()]);
        }
    }
}

/// Whether all bytes are zero. Real data says no within the first word.
#[inline]
pub(crate) fn all_zero(bytes: &[u8]) -> bool {
    match bytes.first_chunk::<8>() {
        Some(word) if *word != [0; 8] => false,
        _ => all_zero_behind_the_first_word(bytes),
    }
}

#[cold]
fn all_zero_behind_the_first_word(bytes: &[u8]) -> bool {
    let (parts, rest) = bytes.as_chunks::<512>();
    // No early exit within a part, so that it is a few wide instructions.
    parts.iter().all(|part| part.iter().fold(0, |all, byte| all | byte) == 0) && rest.iter().all(|b| *b == 0)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn written(workers: u32, writes: usize, len: usize) -> Vec<u8> {
        let noise = Arc::new(Noise::new(7));
        let mut all = vec![0; workers as usize * writes * len];
        let mut buffers = all.chunks_mut(len);
        for worker in 0..workers {
            let mut payload = Payload::new(&noise, 7, worker);
            (0..writes).for_each(|_| payload.write(buffers.next().unwrap()));
        }
        all
    }

    #[test]
    fn nothing_to_gain_by_compression_or_deduplication() {
        for (workers, writes, len) in [(2, 4096, 4096), (1, 64, 1 << 20), (4, 8192, 512), (1, 999, 6000)] {
            let all = written(workers, writes, len);
            let blocks: HashSet<&[u8]> = all.chunks(4096).collect();
            assert_eq!(blocks.len(), all.len().div_ceil(4096), "equal blocks of {len}");
            for level in [1, 19] {
                // The slow level sees a sample, still of many blocks.
                let part = &all[..all.len().min(if level == 19 { 4 << 20 } else { usize::MAX })];
                let packed = zstd::encode_all(part, level).unwrap().len();
                assert!(
                    packed as f64 > part.len() as f64 * 0.99,
                    "{len} at level {level}: {packed} of {}",
                    part.len()
                );
            }
        }
    }

    #[test]
    fn the_same_seed_writes_the_same() {
        assert_eq!(written(2, 3, 8192), written(2, 3, 8192));
        let other = Payload::new(&Arc::new(Noise::new(8)), 8, 0);
        let mut block = [0; 4096];
        { other }.write(&mut block);
        assert_ne!(block[..], written(1, 1, 4096)[..]);
    }

    #[test]
    fn odd_lengths_are_filled_to_the_end() {
        for len in [1, 7, 9, 4095, 4097, 4103] {
            let all = written(1, 8, len);
            assert!(all.chunks(len).all(|b| b.len() < 9 || b[len - 8..] != [0; 8]), "{len}");
            assert!(all.chunks(len).any(|b| b[len - 1] != 0), "{len}");
        }
    }

    #[test]
    fn zeroes_are_found_and_nothing_else() {
        for len in [0, 1, 7, 8, 9, 64, 100, 4096, 5000] {
            let mut bytes = vec![0; len];
            assert!(all_zero(&bytes));
            for at in 0..len {
                bytes[at] = 1;
                assert!(!all_zero(&bytes), "{at} of {len}");
                bytes[at] = 0;
            }
        }
    }
}
