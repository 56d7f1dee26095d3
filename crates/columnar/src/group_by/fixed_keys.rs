//! Keys with a fixed width, in half of it where that is enough.

use std::sync::Arc;

use crate::memory::{MemoryExceeded, MemoryPool, ReservedVec};

/// A key as it was read: most are numbers of 64 bits.
pub(super) trait FixedKey: Copy + Default + Eq + Into<u128> {}

impl FixedKey for u64 {}
impl FixedKey for u128 {}

/// A list of keys. Most lists are of small numbers, and twice as long a list would take twice the
/// time to write, read and free.
pub(super) enum FixedKeys {
    Narrow(ReservedVec<u64>),
    Wide(ReservedVec<u128>),
}

impl FixedKeys {
    /// `order[i]` is the number of key `i` in `keys`, which may be empty instead.
    pub(super) fn in_order<K: FixedKey>(
        keys: &[K],
        order: &[u32],
        pool: Option<&Arc<MemoryPool>>,
    ) -> Result<Self, MemoryExceeded> {
        let order = if keys.is_empty() { &[] } else { order };
        let all_bits = keys.iter().fold(0, |all, &key| all | key.into());
        let in_order = order.iter().map(|&at| keys[at as usize].into());
        Ok(match u64::try_from(all_bits) {
            Ok(_) => Self::Narrow(ReservedVec::collect(pool, in_order.map(|key| key as u64))?),
            Err(_) => Self::Wide(ReservedVec::collect(pool, in_order)?),
        })
    }

    #[inline]
    pub(super) fn at(&self, place: usize) -> u128 {
        match self {
            Self::Narrow(keys) => u128::from(keys[place]),
            Self::Wide(keys) => keys[place],
        }
    }
}
