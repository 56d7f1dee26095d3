//! The consumers' end: plain data behind the queue's lock.
//!
//! It reads stamps only, never the tail, so it does not disturb the producers' cache line.

use crate::block::{self, BlockRef, LAP, SLOTS};
use crate::spare::Spare;

pub(crate) struct Head<V> {
    block: BlockRef<V>,
    index: u64,
    /// A value that was put back, before the next one.
    front: Option<V>,
    /// The index of the value that was taken last.
    last: u64,
}

// SAFETY: only a head takes from its blocks, and its thread owns the values that it takes; so it
// may be sent wherever values may.
unsafe impl<V: Send> Send for Head<V> {}

impl<V> Head<V> {
    pub(crate) fn new(first: BlockRef<V>) -> Head<V> {
        Head {
            block: first,
            index: 0,
            front: None,
            last: 0,
        }
    }

    pub(crate) fn first(&self) -> u64 {
        match self.front {
            Some(_) => self.last,
            None => self.index,
        }
    }

    pub(crate) fn is_ready(&self) -> bool {
        // SAFETY: the head's block is that of its index, which is never left at a gap, and only the
        // head gives blocks away.
        self.front.is_some() || unsafe { self.block.is_ready(self.index) }
    }

    #[inline]
    pub(crate) fn next(&mut self, spare: &Spare<V>) -> Option<V> {
        if let Some(value) = self.front.take() {
            return Some(value);
        }
        // SAFETY: as in `is_ready`.
        if !unsafe { self.block.is_ready(self.index) } {
            return None;
        }
        // SAFETY: it is ready, and the index moves on before another take.
        let value = unsafe { self.block.get(self.index) };
        self.last = self.index;
        self.index += 1;
        if block::offset(self.index) == SLOTS {
            self.leave_block(spare);
        }
        Some(value)
    }

    pub(crate) fn put_back(&mut self, value: V) {
        debug_assert!(self.front.is_none(), "one value is taken at a time");
        self.front = Some(value);
    }

    /// Frees the block; values in it are not dropped.
    ///
    /// # Safety
    ///
    /// No value is left, no push follows, and the head is not used again.
    pub(crate) unsafe fn free(&mut self) {
        // SAFETY: given by the caller: without values there is one block, and producers have gone.
        unsafe { self.block.free() };
    }

    #[cold]
    fn leave_block(&mut self, spare: &Spare<V>) {
        let empty = self.block;
        // SAFETY: the last slot was seen ready.
        self.block = unsafe { empty.next() };
        self.index += LAP - SLOTS;
        // SAFETY: each slot was seen ready under the lock, and a producer does not touch the block
        // after that. No other producer will, since the tail has left it: the next block was
        // installed before the last slot was ready.
        unsafe { spare.keep(empty) };
    }
}
