//! Keys with a fixed width, in half of it where that is enough.

use std::sync::Arc;

use crate::memory::{MemoryExceeded, MemoryPool, ReservedVec};

/// A list of keys. Most lists are of small numbers, and twice as long a list would take twice the
/// time to write, read and free.
pub(super) enum FixedKeys {
    Narrow(ReservedVec<u64>),
    Wide(ReservedVec<u128>),
}

impl FixedKeys {
    /// `order[i]` is the number of key `i` in `keys`, which may be empty instead.
    pub(super) fn in_order(
        keys: &[u128],
        order: &[u32],
        pool: Option<&Arc<MemoryPool>>,
    ) -> Result<Self, MemoryExceeded> {
        let order = if keys.is_empty() { &[] } else { order };
        let all_bits = keys.iter().fold(0, |all, &key| all | key);
        Ok(match u64::try_from(all_bits) {
            Ok(_) => {
                let narrow = order.iter().map(|&at| keys[at as usize] as u64);
                Self::Narrow(ReservedVec::collect(pool, narrow)?)
            }
            Err(_) => {
                let wide = order.iter().map(|&at| keys[at as usize]);
                Self::Wide(ReservedVec::collect(pool, wide)?)
            }
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
