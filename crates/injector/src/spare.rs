//! Emptied blocks, kept for reuse, so that a steady stream allocates nothing.
//!
//! A keeper puts a block into the ring's next place and frees the one that it finds there; a taker
//! empties the next place, or allocates. Only exchanges move blocks: a race over "next" costs no
//! more than an allocation.
//!
//! The ring holds [`BYTES`], not one block: allocators return the memory of a drained backlog, and
//! the page faults of the next one cost more than its pushes.

use std::ptr;
use std::sync::atomic::Ordering;

use crate::block::{Block, BlockRef};
use crate::sync::{AtomicPtr, AtomicU64};

const BYTES: usize = 256 << 10;

/// Places for small blocks. One in the models.
const PLACES_MAX: usize = if cfg!(windlass_loom) { 1 } else { 128 };

pub(crate) struct Spare<V> {
    places: [AtomicPtr<Block<V>>; PLACES_MAX],
    keep_next: AtomicU64,
    take_next: AtomicU64,
}

impl<V> Spare<V> {
    const PLACES: u64 = {
        let fit = BYTES / size_of::<Block<V>>();
        if fit < 1 {
            1
        } else if fit < PLACES_MAX {
            fit as u64
        } else {
            PLACES_MAX as u64
        }
    };

    pub(crate) fn new() -> Spare<V> {
        Spare {
            places: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            keep_next: AtomicU64::new(0),
            take_next: AtomicU64::new(0),
        }
    }

    pub(crate) fn take(&self) -> BlockRef<V> {
        // Ordering: Relaxed, here and below. Where to look first; the exchange decides.
        let next = self.take_next.load(Ordering::Relaxed);
        match take_from(self.place(next)) {
            Some(block) => {
                self.take_next.store(next.wrapping_add(1), Ordering::Relaxed);
                block
            }
            None => BlockRef::allocate(),
        }
    }

    /// Keeps `block`, and frees the one in its place.
    ///
    /// # Safety
    ///
    /// The block is the caller's alone, and all other accesses to it happen before.
    pub(crate) unsafe fn keep(&self, block: BlockRef<V>) {
        // SAFETY: given by the caller.
        unsafe { block.pass_on() };
        // Ordering: Relaxed, both. Where to put it; the exchange decides.
        let next = self.keep_next.load(Ordering::Relaxed);
        self.keep_next.store(next.wrapping_add(1), Ordering::Relaxed);
        // Ordering: AcqRel. Edge `injector/spare`: Release, pairs with the Acquire in `take_from`
        // and with this one. The next owner of the block sees that all its values have been moved
        // out.
        let before = self.place(next).swap(block.as_ptr(), Ordering::AcqRel);
        if let Some(before) = BlockRef::from_ptr(before) {
            // SAFETY: the exchange gave it to this thread alone, with all that happened to it.
            unsafe { before.free() };
        }
    }

    fn place(&self, next: u64) -> &AtomicPtr<Block<V>> {
        &self.places[(next % Self::PLACES) as usize]
    }
}

impl<V> Drop for Spare<V> {
    fn drop(&mut self) {
        for block in self.places.iter().filter_map(take_from) {
            // SAFETY: the exchange gave it to this thread alone, with all that happened to it.
            unsafe { block.free() };
        }
    }
}

fn take_from<V>(place: &AtomicPtr<Block<V>>) -> Option<BlockRef<V>> {
    // Ordering: Acquire. Edge `injector/spare`: pairs with the AcqRel in `Spare::keep`.
    BlockRef::from_ptr(place.swap(ptr::null_mut(), Ordering::Acquire))
}
