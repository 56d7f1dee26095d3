//! The consumers' end: where the next value is, and what was put back.
//!
//! There is one, behind the queue's lock, so it is plain data. It looks at stamps only, never at the tail: the producers'
//! line of memory is theirs.

use crate::block::{self, BlockRef, LAP, SLOTS};
use crate::spare::Spare;

/// The block and the index of the next value.
pub(crate) struct Head<V> {
    block: BlockRef<V>,
    index: u64,
    /// What was put back comes before the next value.
    front: Option<V>,
    /// Where the value came from that was taken last, which is where one that is put back belongs.
    last: u64,
}

// SAFETY: a head is the only one to take from its blocks, and takes values to be owned by the thread that has the head; so
// it may go wherever values may.
unsafe impl<V: Send> Send for Head<V> {}

impl<V> Head<V> {
    /// Starts at index 0 of `first`.
    pub(crate) fn new(first: BlockRef<V>) -> Head<V> {
        Head {
            block: first,
            index: 0,
            front: None,
            last: 0,
        }
    }

    /// The index of the first value that has not gone: what is before is not in the queue.
    pub(crate) fn first(&self) -> u64 {
        match self.front {
            Some(_) => self.last,
            None => self.index,
        }
    }

    /// Whether [`next`](Head::next) would give a value.
    pub(crate) fn is_ready(&self) -> bool {
        // SAFETY: the head's block is that of its index, which is never left at a gap, and only the head gives blocks away.
        self.front.is_some() || unsafe { self.block.is_ready(self.index) }
    }

    /// Takes the first value, if it is ready. The block goes to `spare` with its last value.
    #[inline]
    pub(crate) fn next(&mut self, spare: &Spare<V>) -> Option<V> {
        if let Some(value) = self.front.take() {
            return Some(value);
        }
        // SAFETY: as in `is_ready`.
        if !unsafe { self.block.is_ready(self.index) } {
            return None;
        }
        // SAFETY: it is ready, and the index moves on before anybody can take it again.
        let value = unsafe { self.block.get(self.index) };
        self.last = self.index;
        self.index += 1;
        if block::offset(self.index) == SLOTS {
            self.leave_block(spare);
        }
        Some(value)
    }

    /// Puts back what was taken last, or what is left of it.
    pub(crate) fn put_back(&mut self, value: V) {
        debug_assert!(self.front.is_none(), "one value is taken at a time");
        self.front = Some(value);
    }

    /// Frees the block. Values that are left in the queue are forgotten.
    ///
    /// # Safety
    ///
    /// No value is left, nobody pushes any more, and the head is not used again.
    pub(crate) unsafe fn free(&mut self) {
        // SAFETY: given by the caller: without values there is the one block, and producers have gone.
        unsafe { self.block.free() };
    }

    #[cold]
    fn leave_block(&mut self, spare: &Spare<V>) {
        let empty = self.block;
        // SAFETY: the last slot was seen ready.
        self.block = unsafe { empty.next() };
        self.index += LAP - SLOTS;
        // SAFETY: each of its slots was seen ready, by the holder of the lock, and a producer does not touch the block after
        // that. No producer will: the tail has left it, since the next one was installed before the last slot was ready.
        unsafe { spare.keep(empty) };
    }
}
