//! Blocks: what the queue is cut into, and the only place where its memory is touched.
//!
//! ```text
//!   index    0 … 126   127    128 … 254   255    256 …
//!   slot     0 … 126   gap      0 … 126   gap      0 …
//!            └ lap 0 ┘        └─ lap 1 ┘         └ lap 2
//! ```
//!
//! Indices only grow, and a lap is the indices of one block. The last index of a lap has no slot: a tail that is there says
//! that the next block is being installed.
//!
//! A slot is ready for the index whose **stamp** it carries. A stamp is never the same twice, so a block that is used
//! again needs no cleaning: what it carries from its last lap is never what its next lap asks for. New blocks carry
//! [`NEVER`], which no index asks for.
//!
//! All access is through [`BlockRef`], a plain pointer: between two accesses nobody holds a reference, since a reference
//! would have to be valid for as long as it lives, and the producer of the last ready slot has no say in that.

use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering;

use crate::sync::{AtomicPtr, AtomicU64, Lifetime, UnsafeCell};

/// Slots of a block. Tiny in the models, so that they get to its end.
pub(crate) const SLOTS: u64 = if cfg!(windlass_loom) { 2 } else { 127 };

/// Indices of a block: its slots and the gap.
pub(crate) const LAP: u64 = SLOTS + 1;

/// The stamp of a slot that has never been ready.
const NEVER: u64 = 0;

/// A number of slots, and where the block of the next lap is.
pub(crate) struct Block<V> {
    next: AtomicPtr<Block<V>>,
    lifetime: Lifetime,
    slots: [Slot<V>; SLOTS as usize],
}

struct Slot<V> {
    value: UnsafeCell<MaybeUninit<V>>,
    stamp: AtomicU64,
}

/// Where a block is; as unsafe to use as a pointer.
pub(crate) struct BlockRef<V>(NonNull<Block<V>>);

/// Which slot of its block belongs to `index`; [`SLOTS`] for the gap.
#[inline]
pub(crate) fn offset(index: u64) -> u64 {
    index % LAP
}

/// How many values have been before `index`.
#[inline]
pub(crate) fn values_before(index: u64) -> u64 {
    index / LAP * SLOTS + offset(index)
}

#[inline]
fn stamp_of(index: u64) -> u64 {
    index.wrapping_add(1)
}

impl<V> BlockRef<V> {
    /// A new block, on the heap from the start: a hundred large values are more than a stack may hold.
    pub(crate) fn allocate() -> BlockRef<V> {
        let memory = Box::into_raw(Box::<Block<V>>::new_uninit()).cast::<Block<V>>();
        // SAFETY: the memory is allocated for a block, so its field is in bounds.
        let next = unsafe { &raw mut (*memory).next };
        // SAFETY: in bounds, aligned, and nobody else's yet.
        unsafe { next.write(AtomicPtr::new(ptr::null_mut())) };
        // SAFETY: as for `next`.
        let lifetime = unsafe { &raw mut (*memory).lifetime };
        // SAFETY: as for `next`.
        unsafe { lifetime.write(Lifetime::begin()) };
        for at in 0..SLOTS as usize {
            let slot = Slot {
                value: UnsafeCell::new(MaybeUninit::uninit()),
                stamp: AtomicU64::new(NEVER),
            };
            // SAFETY: as for `next`; the index is checked.
            let place = unsafe { &raw mut (*memory).slots[at] };
            // SAFETY: as for `next`.
            unsafe { place.write(slot) };
        }
        // SAFETY: a box's memory is not null.
        BlockRef(unsafe { NonNull::new_unchecked(memory) })
    }

    /// Gives the memory back. Values that are still in there are forgotten.
    ///
    /// # Safety
    ///
    /// The block is from [`allocate`](BlockRef::allocate), is freed once, and every other access to it happens before.
    pub(crate) unsafe fn free(self) {
        // SAFETY: it was a box, and the caller is the last to know of it.
        let block = unsafe { Box::from_raw(self.0.as_ptr()) };
        block.lifetime.pass_on();
    }

    /// Writes `value` and makes it ready for whoever takes at `index`. The caller must not touch the block afterwards.
    ///
    /// # Safety
    ///
    /// The block is that of `index`'s lap, `index` is not a gap, and the caller alone has claimed it; its claim happens after
    /// all that was done with the block in earlier laps.
    #[inline]
    pub(crate) unsafe fn put(self, index: u64, value: V) {
        // SAFETY: the caller's claim is what keeps the block: it cannot be emptied before this slot is ready.
        let slot = unsafe { self.slot(index) };
        // SAFETY: as above.
        let cell = unsafe { &(*slot).value };
        cell.with_mut(|place| {
            // SAFETY: until the stamp is there, the slot is the claimant's alone. It holds no value to drop: the one of
            // the lap before was moved out.
            unsafe { place.write(MaybeUninit::new(value)) };
        });
        // SAFETY: as above; the block may be freed once the store is done, not before.
        let stamp = unsafe { &(*slot).stamp };
        // Ordering: Release. Edge `injector/slot`: pairs with the Acquire in `BlockRef::is_ready`. Whoever sees the
        // stamp sees the value, the block that was installed before the last slot became ready, and that this producer
        // has done with the block.
        stamp.store(stamp_of(index), Ordering::Release);
    }

    /// Whether the value of `index` is there.
    ///
    /// # Safety
    ///
    /// The block is that of `index`'s lap, `index` is not a gap, and the block is not freed meanwhile.
    #[inline]
    pub(crate) unsafe fn is_ready(self, index: u64) -> bool {
        // SAFETY: given by the caller.
        let slot = unsafe { self.slot(index) };
        // SAFETY: as above.
        let stamp = unsafe { &(*slot).stamp };
        // Ordering: Acquire. Edge `injector/slot`: pairs with the Release in `BlockRef::put`.
        stamp.load(Ordering::Acquire) == stamp_of(index)
    }

    /// Moves the value of `index` out.
    ///
    /// # Safety
    ///
    /// As for [`is_ready`](BlockRef::is_ready), which has said so to the caller or to somebody whose acts happen before
    /// this; and the value is moved out once.
    #[inline]
    pub(crate) unsafe fn get(self, index: u64) -> V {
        // SAFETY: given by the caller.
        let slot = unsafe { self.slot(index) };
        // SAFETY: as above.
        let cell = unsafe { &(*slot).value };
        cell.with_mut(|place| {
            // SAFETY: the stamp of `index` was seen, so its producer has written the value and gone; nobody writes the
            // slot again before the block is passed on.
            let value = unsafe { place.read() };
            // SAFETY: as above, and it is read once.
            unsafe { value.assume_init() }
        })
    }

    /// Says which block has the next lap.
    ///
    /// # Safety
    ///
    /// The caller has claimed the last slot and has not made it ready yet.
    pub(crate) unsafe fn set_next(self, next: BlockRef<V>) {
        // SAFETY: the caller's claim keeps the block.
        let block = unsafe { self.0.as_ref() };
        block.lifetime.touch();
        // Ordering: Relaxed. Edge `injector/slot` carries it: the store comes before the last slot's stamp.
        block.next.store(next.as_ptr(), Ordering::Relaxed);
    }

    /// The block of the next lap.
    ///
    /// # Safety
    ///
    /// The last slot has been seen ready by the caller or by somebody whose acts happen before this.
    pub(crate) unsafe fn next(self) -> BlockRef<V> {
        // SAFETY: the caller may use the block.
        let block = unsafe { self.0.as_ref() };
        // Ordering: Relaxed. Edge `injector/slot` carries it: whoever has seen the last stamp sees this.
        let next = block.next.load(Ordering::Relaxed);
        // SAFETY: it was set before the last slot became ready.
        BlockRef(unsafe { NonNull::new_unchecked(next) })
    }

    /// Notes, for the models, that the block is the caller's alone.
    ///
    /// # Safety
    ///
    /// It is.
    pub(crate) unsafe fn pass_on(self) {
        // SAFETY: given by the caller.
        let block = unsafe { self.0.as_ref() };
        block.lifetime.pass_on();
    }

    #[inline]
    pub(crate) fn as_ptr(self) -> *mut Block<V> {
        self.0.as_ptr()
    }

    /// The block at an address from [`as_ptr`](BlockRef::as_ptr), or none at null.
    #[inline]
    pub(crate) fn from_ptr(block: *mut Block<V>) -> Option<BlockRef<V>> {
        NonNull::new(block).map(BlockRef)
    }

    /// # Safety
    ///
    /// The block is not freed, and `index` is not a gap.
    #[inline]
    unsafe fn slot(self, index: u64) -> *mut Slot<V> {
        let block = self.0.as_ptr();
        // SAFETY: given by the caller; the reference to this field is gone at the end of the line, and in product builds
        // the field has no bytes.
        unsafe { &(*block).lifetime }.touch();
        // SAFETY: given by the caller; the index is checked.
        unsafe { &raw mut (*block).slots[offset(index) as usize] }
    }
}

impl<V> Clone for BlockRef<V> {
    #[inline]
    fn clone(&self) -> BlockRef<V> {
        *self
    }
}

impl<V> Copy for BlockRef<V> {}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_gap_counts_as_the_beginning_of_the_next_lap() {
        assert_eq!(
            [0, SLOTS - 1, SLOTS, LAP, LAP + 1].map(values_before),
            [0, SLOTS - 1, SLOTS, SLOTS, SLOTS + 1]
        );
    }

    #[test]
    fn a_stamp_is_for_one_index_and_survives_until_its_slot_is_used_again() {
        let block = BlockRef::<u32>::allocate();
        // SAFETY: here and below: one thread, slots within the block, values moved out once, freed at the end.
        let ready = |index| unsafe { block.is_ready(index) };
        assert!(!ready(3));
        // SAFETY: see above.
        unsafe { block.put(3, 7) };
        assert!(ready(3) && !ready(4) && !ready(LAP + 3));
        // SAFETY: see above.
        assert_eq!(unsafe { block.get(3) }, 7);
        // SAFETY: see above.
        unsafe { block.put(LAP + 3, 8) };
        assert!(ready(LAP + 3) && !ready(3));
        // SAFETY: see above; what is left in it needs no drop.
        unsafe { block.free() };
    }
}
