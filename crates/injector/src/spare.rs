//! One emptied block, kept for whoever needs the next, so that a steady stream allocates nothing.

use std::ptr;
use std::sync::atomic::Ordering;

use crate::block::{Block, BlockRef};
use crate::sync::AtomicPtr;

/// A place for one block that is nobody's.
pub(crate) struct Spare<V>(AtomicPtr<Block<V>>);

impl<V> Spare<V> {
    pub(crate) fn new() -> Spare<V> {
        Spare(AtomicPtr::new(ptr::null_mut()))
    }

    /// The spare block, or a new one.
    pub(crate) fn take(&self) -> BlockRef<V> {
        self.take_kept().unwrap_or_else(BlockRef::allocate)
    }

    /// Keeps `block`, and frees the one that was kept before.
    ///
    /// # Safety
    ///
    /// The block is the caller's alone: all that others did with it happens before.
    pub(crate) unsafe fn keep(&self, block: BlockRef<V>) {
        // SAFETY: given by the caller.
        unsafe { block.pass_on() };
        // Ordering: AcqRel. Edge `injector/spare`: Release, pairs with the Acquire in `Spare::take_kept` and with this
        // one. Whoever gets the block sees that all its values have been moved out.
        let before = self.0.swap(block.as_ptr(), Ordering::AcqRel);
        if let Some(before) = BlockRef::from_ptr(before) {
            // SAFETY: the exchange gave it to us alone, with all that happened to it.
            unsafe { before.free() };
        }
    }

    fn take_kept(&self) -> Option<BlockRef<V>> {
        // Ordering: Acquire. Edge `injector/spare`: pairs with the AcqRel in `Spare::keep`.
        BlockRef::from_ptr(self.0.swap(ptr::null_mut(), Ordering::Acquire))
    }
}

impl<V> Drop for Spare<V> {
    fn drop(&mut self) {
        if let Some(block) = self.take_kept() {
            // SAFETY: the exchange gave it to us alone, with all that happened to it.
            unsafe { block.free() };
        }
    }
}
