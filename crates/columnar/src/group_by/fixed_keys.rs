//! Keys with a fixed width, in half of it where that is enough.

use std::sync::Arc;

use crate::memory::{MemoryExceeded, MemoryPool, ReservedVec};

/// A key as it was read: most are numbers of 64 bits.
pub(super) trait FixedKey: Copy + Default + Eq + Into<u128> {
    /// Of a key that has no more bits.
    fn of(key: u128) -> Self;
}

impl FixedKey for u64 {
    #[inline]
    fn of(key: u128) -> Self {
        key as Self
    }
}

impl FixedKey for u128 {
    #[inline]
    fn of(key: u128) -> Self {
        key
    }
}

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
        let in_order = order.iter().map(|&at| keys[at as usize].into());
        Ok(match are_narrow(keys) {
            true => Self::Narrow(ReservedVec::collect(pool, in_order.map(u64::of))?),
            false => Self::Wide(ReservedVec::collect(pool, in_order)?),
        })
    }

    /// Makes them wide where `keys` are.
    #[inline]
    pub(super) fn widen_for<K: FixedKey>(&mut self, keys: &[K]) -> Result<(), MemoryExceeded> {
        match matches!(self, Self::Wide(_)) || are_narrow(keys) {
            true => Ok(()),
            false => self.widen(),
        }
    }

    #[cold]
    fn widen(&mut self) -> Result<(), MemoryExceeded> {
        let Self::Narrow(own) = self else {
            return Ok(());
        };
        let mut wide = ReservedVec::new(own.pool());
        wide.reserve(own.capacity())?;
        wide.extend(own.iter().map(|&key| u128::from(key)))?;
        *self = Self::Wide(wide);
        Ok(())
    }

    #[inline]
    pub(super) fn push(&mut self, key: u128) -> Result<(), MemoryExceeded> {
        self.widen_for(&[key])?;
        match self {
            Self::Narrow(keys) => keys.push(u64::of(key)),
            Self::Wide(keys) => keys.push(key),
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Narrow(keys) => keys.len(),
            Self::Wide(keys) => keys.len(),
        }
    }

    pub(super) fn reserve(&mut self, more: usize) -> Result<(), MemoryExceeded> {
        match self {
            Self::Narrow(keys) => keys.reserve(more),
            Self::Wide(keys) => keys.reserve(more),
        }
    }

    #[inline]
    pub(super) fn at(&self, place: usize) -> u128 {
        match self {
            Self::Narrow(keys) => u128::from(keys[place]),
            Self::Wide(keys) => keys[place],
        }
    }
}

#[inline]
fn are_narrow<K: FixedKey>(keys: &[K]) -> bool {
    let all_bits: u128 = keys.iter().fold(0, |all, &key| all | key.into());
    u64::try_from(all_bits).is_ok()
}
