//! Memory straight from the kernel: zeroed pages that cost nothing before they are touched (histograms), and
//! page-aligned buffers for I/O.
#![expect(unsafe_code, reason = "mapped pages, and buffers that the kernel reads and writes, are raw memory")]

use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;

use iodyno_plugin::{Buffers, DmaBlock, Target};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

const PAGE: usize = 4096;
const HUGE_PAGE: usize = 2 << 20;
/// Most bytes of one block that a backend registers.
const BLOCK_MAX: usize = 1 << 30;

/// Private zeroed pages.
struct Pages {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the pages have one owner and are reached through it only.
unsafe impl Send for Pages {}

impl Pages {
    fn new(len: usize, advice: Option<Advice>) -> Result<Self, String> {
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory in use.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), len.max(1), access, flags) }
            .map_err(|e| format!("cannot map {len} bytes of memory: {e}"))?;
        if let Some(advice) = advice {
            // SAFETY: huge pages or not is the same memory. A kernel without them refuses, which is as well.
            let _ = unsafe { madvise(start, len.max(1), advice) };
        }
        Ok(Pages { start: NonNull::new(start.cast()).expect("a mapping is never at 0"), len })
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length, and nobody else knows of it.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len.max(1)) };
    }
}

/// Counters that start at 0. A page of them takes memory when the first of its counters is touched, so they
/// must not lie in huge pages.
pub(crate) struct Counts {
    pages: Pages,
    len: usize,
}

impl Counts {
    /// `len` counters.
    ///
    /// # Errors
    /// When the system has no memory.
    pub(crate) fn new(len: usize) -> Result<Self, String> {
        Ok(Counts { pages: Pages::new(len * size_of::<u32>(), Some(Advice::LinuxNoHugepage))?, len })
    }
}

impl Counts {
    /// Sets all to 0 and gives their memory back. Costs the next touch of each page a fault, and an interrupt to
    /// every CPU that runs this process. Says whether it was done.
    pub(crate) fn release(&mut self) -> bool {
        let (start, len) = (self.pages.start.as_ptr().cast(), self.pages.len);
        // SAFETY: private pages that nobody borrows, because `self` is borrowed mutably; they read as 0 then.
        len == 0 || unsafe { madvise(start, len, Advice::LinuxDontNeed) }.is_ok()
    }
}

impl Deref for Counts {
    type Target = [u32];
    #[inline]
    fn deref(&self) -> &[u32] {
        // SAFETY: pages are aligned, zeroed (0 is a u32) and live as long as `self`, which is borrowed.
        unsafe { slice::from_raw_parts(self.pages.start.as_ptr().cast(), self.len) }
    }
}

impl DerefMut for Counts {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u32] {
        // SAFETY: as above, and `self` is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.pages.start.as_ptr().cast(), self.len) }
    }
}

/// Where a buffer lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) start: *mut u8,
    pub(crate) len: u32,
    pub(crate) block: u16,
}

/// Buffers of one size, for one pool of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BufferShape {
    pub(crate) count: usize,
    /// So many more belong to no slot.
    pub(crate) spares: usize,
    pub(crate) len: usize,
}

enum Block {
    Pages(Pages),
    Dma(DmaBlock),
}

impl Block {
    fn new(target: &dyn Target, len: usize) -> Result<Self, String> {
        match target.alloc(len, PAGE) {
            Some(Ok(block)) if block.len >= len && !block.ptr.is_null() => {
                // SAFETY: the backend gives this memory away, all of its length. It need not be initialised.
                unsafe { ptr::write_bytes(block.ptr, 0, block.len) };
                Ok(Block::Dma(block))
            }
            Some(Ok(block)) => Err(format!("asked for {len} bytes of buffers, got {}", block.len)),
            Some(Err(e)) => Err(format!("cannot get {len} bytes of buffers: {e}")),
            None => {
                let advice = (len >= HUGE_PAGE).then_some(Advice::LinuxHugepage);
                Pages::new(len, advice).map(Block::Pages)
            }
        }
    }

    fn start(&self) -> *mut u8 {
        match self {
            Block::Pages(pages) => pages.start.as_ptr(),
            Block::Dma(block) => block.ptr,
        }
    }

    fn len(&self) -> usize {
        match self {
            Block::Pages(pages) => pages.len,
            Block::Dma(block) => block.len,
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Block::Dma(block) = self {
            (block.free)(block.ptr, block.len);
        }
    }
}

/// The buffers of a worker. Whoever hands out a [`Place`] must keep them alive until the I/O is over.
pub(crate) struct IoBuffers {
    blocks: Vec<Block>,
    /// One for each slot.
    pub(crate) places: Vec<Place>,
    /// Those that belong to no slot, of each shape.
    pub(crate) spares: Vec<Vec<Place>>,
    /// Zeroes of the longest length, for writes of zeroes. Blocks begin as zeroes, and this one is never written.
    pub(crate) zeroes: Option<Place>,
}

impl IoBuffers {
    /// Buffers for all slots, in the order of `shapes`, and spare ones, filled by `fill`: what a backend leaves
    /// untouched must not look like zeroes that it read. `zeroes_len` asks for a block of zeroes beside them.
    ///
    /// # Errors
    /// When a buffer is too long, or there is no memory.
    pub(crate) fn new(
        target: &dyn Target,
        shapes: &[BufferShape],
        zeroes_len: usize,
        mut fill: impl FnMut(&mut [u8]),
    ) -> Result<Self, String> {
        let mut buffers =
            IoBuffers { blocks: Vec::new(), places: Vec::new(), spares: Vec::new(), zeroes: None };
        for shape in shapes {
            let stride = shape.len.max(1).next_multiple_of(PAGE);
            if stride > BLOCK_MAX {
                return Err(format!("a request of {} bytes is too long: at most {BLOCK_MAX}", shape.len));
            }
            let first_spare = buffers.places.len() + shape.count;
            let mut left = shape.count + shape.spares;
            while left > 0 {
                let count = left.min(BLOCK_MAX / stride);
                let first = buffers.block(target, count * stride, stride)?;
                // SAFETY: the block was just made, is `count * stride` long, and nobody else knows of it.
                fill(unsafe { slice::from_raw_parts_mut(first.start, count * stride) });
                // SAFETY: each place lies within the block.
                let place = |i| unsafe { Place { start: first.start.add(i * stride), ..first } };
                buffers.places.extend((0..count).map(place));
                left -= count;
            }
            let spares = buffers.places.split_off(first_spare);
            buffers.spares.push(spares);
        }
        if zeroes_len > 0 {
            let len = zeroes_len.next_multiple_of(PAGE);
            buffers.zeroes = Some(buffers.block(target, len, len)?);
        }
        Ok(buffers)
    }

    fn block(&mut self, target: &dyn Target, len: usize, place_len: usize) -> Result<Place, String> {
        let block = Block::new(target, len)?;
        let index = u16::try_from(self.blocks.len()).map_err(|_| "buffers of over 64 TiB".to_owned())?;
        let place = Place { start: block.start(), len: place_len as u32, block: index };
        self.blocks.push(block);
        Ok(place)
    }

    /// As a backend sees them.
    pub(crate) fn register(&self) -> Buffers {
        Buffers { blocks: self.blocks.iter().map(|b| (b.start(), b.len())).collect() }
    }
}
