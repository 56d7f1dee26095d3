//! The groups of keys without a fixed width.
//!
//! A look-up reads far apart: the index, the hash that it names, where the key lies, its bytes. Each
//! waits for the one before, and memory takes as long as a hundred instructions. So keys are looked up
//! in batches, step by step, with no branch on what was read, and the waits of many keys overlap:
//!
//! ```text
//!   numbers met first ─► those of equal hashes ─► their bytes ─► equal? ── yes ─► group
//!   of 256 keys                                                    │ no
//!                                                                  └─► the index, one by one: a new key,
//!                                                                      or one behind others of its place
//! ```

use std::sync::Arc;

use super::long_keys::LongKeys;
use crate::encoding::{BATCH_ROWS, EncodedRows};
use crate::memory::{HashIndex, MemoryExceeded, MemoryPool, ReservedVec};

/// What a key is that was not found at once.
const NOT_FOUND: u32 = u32::MAX;

pub(super) struct LongKeyTable {
    /// Their places are groups.
    keys: LongKeys,
    /// The numbers of `keys`.
    index: HashIndex,
}

impl LongKeyTable {
    pub(super) fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            keys: LongKeys::new(pool),
            index: HashIndex::new(pool),
        }
    }

    /// Their places are groups.
    pub(super) fn keys(&self) -> &LongKeys {
        &self.keys
    }

    pub(super) fn into_keys(self) -> LongKeys {
        self.keys
    }

    /// Makes room for `keys` in all.
    pub(super) fn reserve(&mut self, keys: usize) -> Result<(), MemoryExceeded> {
        let more = keys.saturating_sub(self.keys.len());
        let hashes = self.keys.hashes();
        self.index.reserve(more, |number| hashes[number as usize])?;
        self.keys.reserve(more)
    }

    /// Returns what [`EncodedRows::push_shared`] needs to know of `from`.
    pub(super) fn share(&mut self, from: &LongKeys) -> usize {
        self.keys.share(from)
    }

    /// Finds the group of each of `keys`, a batch with `hashes`. A new key, which `push` adds, has the
    /// next of all groups, whose first positions are `firsts`, at `position` of its place.
    pub(super) fn find(
        &mut self,
        keys: &[&[u8]],
        hashes: &[u64],
        firsts: &mut ReservedVec<u64>,
        position: impl Fn(usize) -> u64,
        push: impl Fn(&mut EncodedRows, usize) -> Result<(), MemoryExceeded>,
        mut found: impl FnMut(usize, u32),
    ) -> Result<(), MemoryExceeded> {
        let mut numbers = [NOT_FOUND; BATCH_ROWS];
        let numbers = &mut numbers[..keys.len()];
        self.find_known(keys, hashes, numbers);
        for (at, &number) in numbers.iter().enumerate() {
            let group = match number {
                NOT_FOUND => {
                    let push = |rows: &mut EncodedRows| push(rows, at);
                    self.find_one(keys[at], hashes[at], firsts, || position(at), push)?
                }
                number => self.keys.places()[number as usize],
            };
            found(at, group);
        }
        Ok(())
    }

    /// The numbers of keys that the index meets first.
    fn find_known(&self, keys: &[&[u8]], hashes: &[u64], numbers: &mut [u32]) {
        let known = self.keys.hashes();
        let Some(last) = known.len().checked_sub(1) else {
            return;
        };
        for (number, &hash) in numbers.iter_mut().zip(hashes) {
            // The last key stands for an empty place: its hash tells them apart.
            *number = self.index.first(hash).min(last as u32);
        }
        let (mut same, mut count) = ([0; BATCH_ROWS], 0);
        for (at, (number, &hash)) in numbers.iter_mut().zip(hashes).enumerate() {
            let is_same = known[*number as usize] == hash;
            same[count] = at as u16;
            count += usize::from(is_same);
            *number = if is_same { *number } else { NOT_FOUND };
        }
        for &at in &same[..count] {
            let number = &mut numbers[usize::from(at)];
            if self.keys.rows().row(*number as usize) != keys[usize::from(at)] {
                *number = NOT_FOUND;
            }
        }
    }

    fn find_one(
        &mut self,
        key: &[u8],
        hash: u64,
        firsts: &mut ReservedVec<u64>,
        position: impl FnOnce() -> u64,
        push: impl FnOnce(&mut EncodedRows) -> Result<(), MemoryExceeded>,
    ) -> Result<u32, MemoryExceeded> {
        let keys = &self.keys;
        let hashes = keys.hashes();
        self.index.reserve(1, |number| hashes[number as usize])?;
        let new = keys.len() as u32;
        let is_key = |number: u32| {
            number == new || hashes[number as usize] == hash && keys.rows().row(number as usize) == key
        };
        let number = self.index.look_up(1).find_or_add(hash, new, is_key);
        if number < new {
            return Ok(keys.places()[number as usize]);
        }
        let group = u32::try_from(firsts.len()).expect("fewer than 2^32 groups");
        self.keys.push(hash, group, push)?;
        firsts.push(position())?;
        Ok(group)
    }
}
