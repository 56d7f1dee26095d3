//! Blocks of slots, and the only code that touches their memory.
//!
//! ```text
//!   index    0 … 126   127    128 … 254   255    256 …
//!   slot     0 … 126   gap      0 … 126   gap      0 …
//!            └ lap 0 ┘        └─ lap 1 ┘         └ lap 2
//! ```
//!
//! The last index of a lap has no slot: while the tail is there, the next block is being installed.
//!
//! A slot is ready for the index whose **stamp** it carries. No stamp is used twice, so a reused
//! block needs no cleaning.
//!
//! All access is through [`BlockRef`], a plain pointer: a reference would have to be valid as long
//! as it lives, and the producer of the last ready slot cannot ensure that.

use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering;

use crate::sync::{AtomicPtr, AtomicU64, Lifetime, UnsafeCell};

/// Slots of a block; few in the models, so that they reach its end.
pub(crate) const SLOTS: u64 = if cfg!(windlass_loom) { 2 } else { 127 };

/// Indices of a block: its slots and a gap.
pub(crate) const LAP: u64 = SLOTS + 1;

/// The stamp of a new slot; it belongs to no index.
const NEVER: u64 = 0;

pub(crate) struct Block<V> {
    next: AtomicPtr<Block<V>>,
    lifetime: Lifetime,
    slots: [Slot<V>; SLOTS as usize],
}

struct Slot<V> {
    value: UnsafeCell<MaybeUninit<V>>,
    stamp: AtomicU64,
}

pub(crate) struct BlockRef<V>(NonNull<Block<V>>);

/// The slot of `index`; [`SLOTS`] for the gap.
#[inline]
pub(crate) fn offset(index: u64) -> u64 {
    index % LAP
}

/// Values at indices before `index`.
#[inline]
pub(crate) fn values_before(index: u64) -> u64 {
    index / LAP * SLOTS + offset(index)
}

#[inline]
fn stamp_of(index: u64) -> u64 {
    index.wrapping_add(1)
}

impl<V> BlockRef<V> {
    /// Allocates on the heap directly: a block of large values may exceed the stack.
    pub(crate) fn allocate() -> BlockRef<V> {
        let memory = Box::into_raw(Box::<Block<V>>::new_uninit()).cast::<Block<V>>();
        // SAFETY: the memory is allocated for a block, so its field is in bounds.
        let next = unsafe { &raw mut (*memory).next };
        // SAFETY: in bounds, aligned, and not shared yet.
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

    /// Frees the memory, and forgets values in it.
    ///
    /// # Safety
    ///
    /// The block is from [`allocate`](BlockRef::allocate), is freed once, and every other access to
    /// it happens before.
    pub(crate) unsafe fn free(self) {
        // SAFETY: it was a box, and the caller has the last pointer to it.
        let block = unsafe { Box::from_raw(self.0.as_ptr()) };
        block.lifetime.pass_on();
    }

    /// Writes `value` and makes it ready. The caller must not touch the block afterwards.
    ///
    /// # Safety
    ///
    /// The block is that of `index`'s lap, `index` is not a gap, and the caller alone has claimed
    /// it; its claim happens after all that was done with the block in earlier laps.
    #[inline]
    pub(crate) unsafe fn put(self, index: u64, value: V) {
        // SAFETY: the caller's claim keeps the block: it cannot be emptied before this slot is
        // ready.
        let slot = unsafe { self.slot(index) };
        // SAFETY: as above.
        let cell = unsafe { &(*slot).value };
        cell.with_mut(|place| {
            // SAFETY: until the stamp is stored the slot is the claimant's alone, and its earlier
            // value was moved out.
            unsafe { place.write(MaybeUninit::new(value)) };
        });
        // SAFETY: as above; the block may be freed once the store is done, not before.
        let stamp = unsafe { &(*slot).stamp };
        // Ordering: Release. Edge `injector/slot`: pairs with the Acquire in `BlockRef::is_ready`.
        // A reader of the stamp sees the value, the block that was installed before the last slot
        // became ready, and that this producer has done with the block.
        stamp.store(stamp_of(index), Ordering::Release);
    }

    /// Whether the value of `index` is ready.
    ///
    /// # Safety
    ///
    /// The block is that of `index`'s lap, `index` is not a gap, and the block is not freed
    /// meanwhile.
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
    /// As for [`is_ready`](BlockRef::is_ready), which has returned `true` before this; and the
    /// value is moved out once.
    #[inline]
    pub(crate) unsafe fn get(self, index: u64) -> V {
        // SAFETY: given by the caller.
        let slot = unsafe { self.slot(index) };
        // SAFETY: as above.
        let cell = unsafe { &(*slot).value };
        cell.with_mut(|place| {
            // SAFETY: the stamp of `index` was seen, so its producer has written the value; no
            // other producer writes the slot before the block is passed on.
            let value = unsafe { place.read() };
            // SAFETY: as above, and it is read once.
            unsafe { value.assume_init() }
        })
    }

    /// Sets the block of the next lap.
    ///
    /// # Safety
    ///
    /// The caller has claimed the last slot and has not made it ready yet.
    pub(crate) unsafe fn set_next(self, next: BlockRef<V>) {
        // SAFETY: the caller's claim keeps the block.
        let block = unsafe { self.0.as_ref() };
        block.lifetime.touch();
        // Ordering: Relaxed. Edge `injector/slot` carries it: the store comes before the last
        // slot's stamp.
        block.next.store(next.as_ptr(), Ordering::Relaxed);
    }

    /// The block of the next lap.
    ///
    /// # Safety
    ///
    /// The last slot has been seen ready, by the caller or before.
    pub(crate) unsafe fn next(self) -> BlockRef<V> {
        // SAFETY: the caller may use the block.
        let block = unsafe { self.0.as_ref() };
        // Ordering: Relaxed. Edge `injector/slot` carries it: a reader of the last stamp sees this.
        let next = block.next.load(Ordering::Relaxed);
        // SAFETY: it was set before the last slot became ready.
        BlockRef(unsafe { NonNull::new_unchecked(next) })
    }

    /// Notes for the models that the block is the caller's alone.
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
        // SAFETY: given by the caller; this reference ends with the line, and in product builds the
        // field has no bytes.
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
        // SAFETY: here and below: one thread, slots within the block, values moved out once, freed
        // at the end.
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
        // SAFETY: see above; the rest needs no drop.
        unsafe { block.free() };
    }
}
