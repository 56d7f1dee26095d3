//! The producers' end: one index to claim a slot by, and the block that it is in.
//!
//! A producer reads the index, then the block, and claims the index by compare-and-swap. Since the block changes only
//! while the index is at a gap, a claim that succeeds says that the block read before it was that of the index's lap. The
//! producer of a lap's last slot leaves the index at the gap, installs the next block, and moves the index on; the others
//! wait for that, and it takes two stores, since the block was at hand before the claim.
//!
//! ```text
//!   claim the last slot     index: gap
//!   ── install ──           block: next      nobody claims at a gap
//!                           index: next lap
//!   next.store, stamp       only now can a consumer see the last slot, and free the block
//! ```

use std::sync::atomic::Ordering;

use crate::block::{self, Block, BlockRef, LAP, SLOTS};
use crate::spare::Spare;
use crate::sync::{AtomicPtr, AtomicU64, Backoff};

/// The index to claim next, and the block of its lap.
pub(crate) struct Tail<V> {
    index: AtomicU64,
    block: AtomicPtr<Block<V>>,
}

impl<V> Tail<V> {
    /// Starts at index 0 of `first`.
    pub(crate) fn new(first: BlockRef<V>) -> Tail<V> {
        Tail {
            index: AtomicU64::new(0),
            block: AtomicPtr::new(first.as_ptr()),
        }
    }

    /// The index that is claimed next, for whoever counts.
    #[inline]
    pub(crate) fn index(&self) -> u64 {
        // Ordering: Relaxed. A number, nothing is read through it. Who needs it to be fresh has passed a fence.
        self.index.load(Ordering::Relaxed)
    }

    /// Claims a slot, writes `value` and makes it ready.
    #[inline]
    pub(crate) fn push(&self, value: V, spare: &Spare<V>) {
        // Ordering: Acquire, here and on failure below. Edge `injector/tail`: pairs with the Release in `Tail::install`.
        // Whoever sees an index of a lap sees the block of that lap, or of a later one, and finds it fit for use.
        let mut index = self.index.load(Ordering::Acquire);
        let backoff = Backoff::new();
        let mut next = None;
        loop {
            let offset = block::offset(index);
            if offset == SLOTS {
                backoff.snooze();
                // Ordering: Acquire. Edge `injector/tail`, as above.
                index = self.index.load(Ordering::Acquire);
                continue;
            }
            if offset + 1 == SLOTS && next.is_none() {
                next = Some(spare.take());
            }
            // Ordering: Acquire. Edge `injector/tail`: pairs with the Release in `Tail::install`. A block of a later lap
            // says that the last slot of this one is claimed, so the claim below fails.
            let block = self.block.load(Ordering::Acquire);
            // Ordering: Relaxed on success, Acquire on failure. A claim publishes nothing, the stamp does; and what a
            // claimant must see, it has seen with the two loads. The next claim continues the release sequence.
            let claim =
                self.index
                    .compare_exchange_weak(index, index + 1, Ordering::Relaxed, Ordering::Acquire);
            match claim {
                Ok(_) => {
                    // SAFETY: it is the first block or one that was installed; neither is null.
                    let block = unsafe { BlockRef::from_ptr(block).unwrap_unchecked() };
                    if offset + 1 == SLOTS {
                        // SAFETY: the slot that is claimed is the last one, and it is not ready yet.
                        unsafe { self.install(block, index, next.take(), spare) };
                    } else if let Some(unused) = next {
                        // SAFETY: nobody else has seen it.
                        unsafe { spare.keep(unused) };
                    }
                    // SAFETY: the claim says that nobody else has this index, and that the block is that of its lap,
                    // as told above.
                    unsafe { block.put(index, value) };
                    return;
                }
                Err(now) => {
                    index = now;
                    backoff.spin();
                }
            }
        }
    }

    /// Installs the block of the next lap.
    ///
    /// # Safety
    ///
    /// The caller has claimed `index`, the last one of `full`, and has not made it ready yet.
    #[cold]
    unsafe fn install(&self, full: BlockRef<V>, index: u64, next: Option<BlockRef<V>>, spare: &Spare<V>) {
        let next = next.unwrap_or_else(|| spare.take());
        // Ordering: Release, both. Edge `injector/tail`: pairs with the Acquires in `Tail::push`. The block is fit for use
        // (its earlier lap is over), and the last slot of the lap before is claimed.
        self.block.store(next.as_ptr(), Ordering::Release);
        // A store is enough: at a gap nobody else changes the index.
        self.index.store(index - index % LAP + LAP, Ordering::Release);
        // SAFETY: given by the caller.
        unsafe { full.set_next(next) };
    }
}
