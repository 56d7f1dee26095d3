//! The values of pairs: small ones in a fixed width, others as bytes.

use std::sync::Arc;

use super::super::item_values::ItemValues;
use super::super::members::Members;
use super::distinct_values::{DistinctTexts, DistinctValues, DistinctWords};
use super::word::Word;
use crate::encoding::EncodedRows;
use crate::memory::{MemoryExceeded, MemoryPool, ReservedVec};

pub(super) trait Values: Sized {
    type Value<'a>: Copy + PartialEq
    where
        Self: 'a;

    type Distinct<'a>: DistinctValues<Self::Value<'a>>
    where
        Self: 'a;

    /// By what a pair's value is known later: the value, or where it is.
    type Note: Copy + Default + PartialEq;

    fn new(pool: Option<&Arc<MemoryPool>>) -> Self;

    fn hash_of(value: Self::Value<'_>) -> u64;

    fn value(&self, pair: usize) -> Self::Value<'_>;

    fn note(&self, pair: usize) -> Self::Note;

    /// Reorders the groups, and the pairs by group.
    fn arrange(&mut self, members: &mut Members, order: &[u32]) -> Result<(), MemoryExceeded>;
}

impl<W: Word> Values for ItemValues<W> {
    type Value<'a>
        = W
    where
        W: 'a;
    type Distinct<'a>
        = DistinctWords<W>
    where
        W: 'a;
    type Note = W;

    fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        ItemValues::new(pool)
    }

    #[inline]
    fn hash_of(value: W) -> u64 {
        value.hash()
    }

    #[inline]
    fn value(&self, pair: usize) -> W {
        self.get(pair)
    }

    #[inline]
    fn note(&self, pair: usize) -> W {
        self.get(pair)
    }

    fn arrange(&mut self, members: &mut Members, order: &[u32]) -> Result<(), MemoryExceeded> {
        self.arrange(members, order)
    }
}

/// Encoded values and their hashes.
pub(super) struct LongValues {
    rows: EncodedRows,
    hashes: ReservedVec<u64>,
}

impl Values for LongValues {
    type Value<'a> = (&'a [u8], u64);
    type Distinct<'a> = DistinctTexts<'a>;
    /// The pair.
    type Note = u32;

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

    fn note(&self, pair: usize) -> u32 {
        pair as u32
    }

    fn arrange(&mut self, members: &mut Members, order: &[u32]) -> Result<(), MemoryExceeded> {
        let mut places = ReservedVec::new(self.hashes.pool());
        places.resize(self.hashes.len(), 0)?;
        let mut place_of = places.iter_mut();
        members.arrange(order, |place| {
            *place_of.next().expect("each pair has a place") = place;
        })?;
        self.rows.scatter(&places)?;
        self.hashes.scatter(&places)
    }
}

impl LongValues {
    pub(super) fn push(&mut self, (bytes, hash): (&[u8], u64)) -> Result<(), MemoryExceeded> {
        self.rows.push(bytes)?;
        self.hashes.push(hash)
    }
}
