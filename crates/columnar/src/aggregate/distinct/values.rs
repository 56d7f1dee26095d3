//! The values of pairs: small ones in a fixed width, others as bytes.

use std::sync::Arc;

use crate::chunked::{ChunkedVec, Growth};
use crate::encoding::EncodedRows;
use crate::memory::{MemoryExceeded, MemoryPool, ReservedVec};
use crate::partition::{hash_fixed_key, hash_word};

pub(super) trait Values: Sized {
    type Value<'a>: Copy + PartialEq
    where
        Self: 'a;

    fn new(pool: Option<&Arc<MemoryPool>>) -> Self;

    fn hash_of(value: Self::Value<'_>) -> u64;

    fn value(&self, pair: usize) -> Self::Value<'_>;

    fn is(&self, pair: usize, value: Self::Value<'_>) -> bool;

    fn push(&mut self, value: Self::Value<'_>) -> Result<(), MemoryExceeded>;

    /// `order[i]`, each once, becomes pair `i`.
    fn arrange(&mut self, order: &[u32], pool: Option<&Arc<MemoryPool>>) -> Result<(), MemoryExceeded>;
}

/// A value of a fixed width.
pub(super) trait Word: Copy + Eq {
    fn hash(self) -> u64;
}

impl Word for u64 {
    #[inline]
    fn hash(self) -> u64 {
        hash_word(self)
    }
}

impl Word for u128 {
    #[inline]
    fn hash(self) -> u64 {
        hash_fixed_key(self)
    }
}

impl<N: Word> Values for ChunkedVec<N> {
    type Value<'a>
        = N
    where
        N: 'a;

    fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        ChunkedVec::with_growth(Growth::Doubling, pool.cloned())
    }

    #[inline]
    fn hash_of(value: N) -> u64 {
        value.hash()
    }

    #[inline]
    fn value(&self, pair: usize) -> N {
        self[pair]
    }

    #[inline]
    fn is(&self, pair: usize, value: N) -> bool {
        self[pair] == value
    }

    #[inline]
    fn push(&mut self, value: N) -> Result<(), MemoryExceeded> {
        ChunkedVec::push(self, value)
    }

    fn arrange(&mut self, order: &[u32], pool: Option<&Arc<MemoryPool>>) -> Result<(), MemoryExceeded> {
        let mut arranged = <Self as Values>::new(pool);
        arranged.extend(order.iter().map(|&pair| self[pair as usize]))?;
        *self = arranged;
        Ok(())
    }
}

/// Encoded values and their hashes.
pub(super) struct LongValues {
    rows: EncodedRows,
    hashes: ReservedVec<u64>,
}

impl Values for LongValues {
    type Value<'a> = (&'a [u8], u64);

    fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            rows: EncodedRows::new(pool),
            hashes: ReservedVec::new(pool),
        }
    }

    fn hash_of((_, hash): (&[u8], u64)) -> u64 {
        hash
    }

    fn value(&self, pair: usize) -> (&[u8], u64) {
        (self.rows.row(pair), self.hashes[pair])
    }

    fn is(&self, pair: usize, value: (&[u8], u64)) -> bool {
        self.value(pair) == value
    }

    fn push(&mut self, (bytes, hash): (&[u8], u64)) -> Result<(), MemoryExceeded> {
        self.rows.push(bytes)?;
        self.hashes.push(hash)
    }

    fn arrange(&mut self, order: &[u32], _pool: Option<&Arc<MemoryPool>>) -> Result<(), MemoryExceeded> {
        self.rows.arrange(order)?;
        self.hashes.arrange(order)
    }
}
