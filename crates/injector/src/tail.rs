//! The producers' end: one index to claim a slot by, and the block that it is in.
//!
//! A producer reads the index, then the block, and claims the index by compare-and-swap. The block
//! changes only while the index is at a gap, so a successful claim means that the block was that of
//! the index's lap. The producer of a lap's last slot leaves the index at the gap, installs the
//! next block, and moves the index on. The others wait for these two stores.
//!
//! ```text
//!   claim the last slot     index: gap
//!   ── install ──           block: next      no claim at a gap
//!                           index: next lap
//!   next.store, stamp       only now can a consumer see the last slot, and free the block
//! ```

use std::sync::atomic::Ordering;

use crate::block::{self, Block, BlockRef, LAP, SLOTS};
use crate::spare::Spare;
use crate::sync::{AtomicPtr, AtomicU64, Backoff, total_order};

pub(crate) struct Tail<V> {
    index: AtomicU64,
    block: AtomicPtr<Block<V>>,
}

impl<V> Tail<V> {
    pub(crate) fn new(first: BlockRef<V>) -> Tail<V> {
        Tail {
            index: AtomicU64::new(0),
            block: AtomicPtr::new(first.as_ptr()),
        }
    }

    #[inline]
    pub(crate) fn index(&self) -> u64 {
        // Ordering: Relaxed. Only a number; a caller that needs it fresh has passed a fence.
        self.index.load(Ordering::Relaxed)
    }

    /// Appends `value`. Inline is the common case: not the last slot, and no race.
    #[inline]
    pub(crate) fn push(&self, value: V, spare: &Spare<V>) {
        // Ordering: Acquire. Edge `injector/tail`: pairs with the Release in `Tail::install`. A
        // reader of an index sees the block of its lap, or of a later one, fit for use.
        let index = self.index.load(Ordering::Acquire);
        if block::offset(index) < SLOTS - 1
            && let Ok(block) = self.claim(index)
        {
            // SAFETY: this thread has claimed the index, and the block is that of its lap.
            unsafe { block.put(index, value) };
        } else {
            self.push_patiently(value, spare);
        }
    }

    /// The rest of [`Tail::push`]: a block ends, or producers race.
    #[cold]
    fn push_patiently(&self, value: V, spare: &Spare<V>) {
        let backoff = Backoff::new();
        let mut next = None;
        // Ordering: Acquire. Edge `injector/tail`, as in `Tail::push`.
        let mut index = self.index.load(Ordering::Acquire);
        let block = loop {
            let offset = block::offset(index);
            if offset == SLOTS {
                backoff.snooze();
                // Ordering: Acquire. Edge `injector/tail`, as in `Tail::push`.
                index = self.index.load(Ordering::Acquire);
                continue;
            }
            if offset == SLOTS - 1 && next.is_none() {
                next = Some(spare.take());
            }
            match self.claim(index) {
                Ok(block) => break block,
                Err(now) => index = now,
            }
            backoff.spin();
        };
        if block::offset(index) == SLOTS - 1 {
            let next = next.unwrap_or_else(|| spare.take());
            // SAFETY: the slot that is claimed is the last one, and it is not ready yet; the next
            // block is ours.
            unsafe { self.install(block, index, next) };
        } else if let Some(unused) = next {
            // SAFETY: it was spare or is new, and no other thread has seen it since.
            unsafe { spare.keep(unused) };
        }
        // SAFETY: this thread has claimed the index, and the block is that of its lap.
        unsafe { block.put(index, value) };
    }

    /// Claims `index`, which is not a gap, and returns the block of its lap; or the current index.
    #[inline]
    fn claim(&self, index: u64) -> Result<BlockRef<V>, u64> {
        // Ordering: Acquire. Edge `injector/tail`: pairs with the Release in `Tail::install`. A
        // block of a later lap means that this lap is claimed to its end, so the claim below fails.
        let block = self.block.load(Ordering::Acquire);
        // Ordering: SeqCst on success, Acquire on failure. Edge `injector/tail`, as in
        // `Tail::push`: the two loads show what a claimant must see, the stamp publishes the value,
        // and the release sequence of the lap's first index goes on. SeqCst is for edge
        // `sleep/claim`: from here on the queue is not empty, before anything that the producer
        // does next in the order of sequentially consistent operations.
        self.index
            .compare_exchange(index, index + 1, Ordering::SeqCst, Ordering::Acquire)?;
        total_order();
        // SAFETY: it is the first block or one that was installed; neither is null.
        Ok(unsafe { BlockRef::from_ptr(block).unwrap_unchecked() })
    }

    /// # Safety
    ///
    /// The caller has claimed `index`, the last one of `full`, and has not made it ready yet;
    /// `next` is the caller's alone.
    unsafe fn install(&self, full: BlockRef<V>, index: u64, next: BlockRef<V>) {
        // Ordering: Release, both. Edge `injector/tail`: pairs with the Acquires in `Tail::push`,
        // `Tail::push_patiently` and `Tail::claim`. The block is fit for use (its earlier lap is
        // over), and the last slot of the lap before is claimed.
        self.block.store(next.as_ptr(), Ordering::Release);
        // A store is enough: at a gap no other producer changes the index.
        self.index.store(index - index % LAP + LAP, Ordering::Release);
        // SAFETY: given by the caller.
        unsafe { full.set_next(next) };
    }
}
