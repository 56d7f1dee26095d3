//! Keys without a fixed width, among others that have one.

use std::ops::Range;
use std::sync::Arc;

use crate::encoding::{BytePieces, BytePlace};
use crate::memory::{MemoryExceeded, MemoryPool, ReservedVec};

/// Keys as bytes, in the order of their places among all keys.
pub(crate) struct LongKeys {
    bytes: BytePieces,
    keys: ReservedVec<LongKey>,
}

/// A key's hash, bytes and place, which lie together: what reads one of them soon reads another.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongKey {
    pub(super) hash: u64,
    bytes: BytePlace,
    /// The place among all keys.
    pub(super) place: u32,
}

impl LongKeys {
    pub(super) fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            bytes: BytePieces::new(pool),
            keys: ReservedVec::new(pool),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// About the bytes of the keys, and where they lie.
    pub(super) fn size(&self) -> usize {
        self.bytes.size() + self.len() * size_of::<LongKey>()
    }

    /// By their numbers, which ascend with their places.
    pub(super) fn all(&self) -> &[LongKey] {
        &self.keys
    }

    #[inline]
    pub(super) fn bytes(&self, key: &LongKey) -> &[u8] {
        self.bytes.at(key.bytes)
    }

    /// The bytes of all.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        self.keys.iter().map(|key| self.bytes(key))
    }

    /// The key at a place among all keys.
    pub(super) fn find(&self, place: u32) -> Option<&LongKey> {
        let number = self.keys.binary_search_by_key(&place, |key| key.place).ok()?;
        Some(&self.keys[number])
    }

    /// The numbers of keys whose places are in `places`.
    pub(super) fn within(&self, places: &Range<usize>) -> Range<usize> {
        let before = |end: usize| self.keys.partition_point(|key| (key.place as usize) < end);
        before(places.start)..before(places.end)
    }

    pub(super) fn reserve(&mut self, more: usize) -> Result<(), MemoryExceeded> {
        self.keys.reserve(more)
    }

    /// Adds a key whose place lies behind all others.
    #[inline]
    pub(super) fn push(&mut self, hash: u64, key: &[u8], place: u32) -> Result<(), MemoryExceeded> {
        let bytes = self.bytes.push(key)?;
        self.keys.push(LongKey { hash, bytes, place })
    }

    /// Adds a key of other keys, which were [shared](Self::share) from piece `first` on, without a
    /// copy.
    #[inline]
    pub(super) fn push_shared(
        &mut self,
        first: usize,
        key: &LongKey,
        place: u32,
    ) -> Result<(), MemoryExceeded> {
        let bytes = self.bytes.push_shared(first, key.bytes);
        let hash = key.hash;
        self.keys.push(LongKey { hash, bytes, place })
    }

    /// Ends the adding of keys, so that other lists may share them.
    pub(super) fn seal(&mut self) {
        self.bytes.seal();
    }

    /// Returns what [`push_shared`](Self::push_shared) needs to know of `from`, which is sealed.
    pub(super) fn share(&mut self, from: &Self) -> usize {
        self.bytes.share(&from.bytes)
    }

    /// The keys at places `order[i]`, each once and below `end`, move to places `i`.
    pub(super) fn arrange(&mut self, order: &[u32], end: usize) -> Result<(), MemoryExceeded> {
        let pool = self.keys.pool().cloned();
        let mut arranged = ReservedVec::new(pool.as_ref());
        if self.keys.len() == end {
            let keys = order.iter().enumerate().map(|(place, &was)| LongKey {
                place: place as u32,
                ..self.keys[was as usize]
            });
            arranged.extend(keys)?;
        } else if !self.keys.is_empty() {
            let mut number_of = ReservedVec::new(pool.as_ref());
            number_of.resize(end, u32::MAX)?;
            for (number, key) in (0..).zip(&*self.keys) {
                number_of[key.place as usize] = number;
            }
            arranged.reserve(self.keys.len())?;
            for (place, &was) in (0..).zip(order) {
                if let Some(key) = self.keys.get(number_of[was as usize] as usize) {
                    arranged.push(LongKey { place, ..*key })?;
                }
            }
        }
        self.keys = arranged;
        Ok(())
    }
}
