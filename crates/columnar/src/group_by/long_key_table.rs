//! The groups of keys without a fixed width.
//!
//! A look-up reads far apart: the index, the hash that it names, and, beside that, where the bytes
//! lie that it reads last. Each waits for the one before, and memory takes as long as a hundred
//! instructions. So keys are looked up in batches, step by step, with no branch on what was read,
//! and the waits of many keys overlap:
//!
//! ```text
//!   numbers met first ─► those of equal hashes ─► their bytes ─► equal? ── yes ─► group
//!   of 256 keys                                                    │ no
//!                                                                  └─► the index, one by one
//! ```
//!
//! A key that goes to the index is new, or lies behind others of its place.

use std::sync::Arc;

use super::long_keys::{LongKey, LongKeys};
use crate::encoding::BATCH_ROWS;
use crate::memory::{HashIndex, MemoryExceeded, MemoryPool};

/// The number of a key that was not found at once.
const NOT_FOUND: u32 = u32::MAX;

pub(super) struct LongKeyTable {
    /// Their places are groups.
    keys: LongKeys,
    /// Has the numbers of the first keys, or of all: a look-up needs all.
    index: HashIndex,
    /// Keys that the index makes room for when it is first needed.
    expected: usize,
}

impl LongKeyTable {
    pub(super) fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            keys: LongKeys::new(pool),
            index: HashIndex::new(pool),
            expected: 0,
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
        self.expected = keys;
        self.keys.reserve(keys.saturating_sub(self.keys.len()))
    }

    /// Adds a key of other keys, as [`LongKeys::push_shared`] does. It is known to be new, and
    /// indexed when a look-up needs it.
    pub(super) fn push_shared(
        &mut self,
        first: usize,
        key: &LongKey,
        group: u32,
    ) -> Result<(), MemoryExceeded> {
        self.keys.push_shared(first, key, group)
    }

    /// Returns what [`LongKeys::push_shared`] needs to know of `from`.
    pub(super) fn share(&mut self, from: &LongKeys) -> usize {
        self.keys.share(from)
    }

    /// Finds the group of each key of a batch, by `hashes`. `key` is asked for the bytes at a place
    /// in the batch if a known key has the same hash. A new one is added by `add`, which returns
    /// its group, which lies behind all others. `found` may hear of another group of a key before
    /// it hears of the key's.
    pub(super) fn find<'k>(
        &mut self,
        key: impl Fn(usize) -> &'k [u8],
        hashes: &[u64],
        mut add: impl FnMut(&mut LongKeys, usize) -> Result<u32, MemoryExceeded>,
        mut found: impl FnMut(usize, u32),
    ) -> Result<(), MemoryExceeded> {
        if self.index.len() < self.keys.len() || self.expected > 0 {
            self.index_all()?;
        }
        let mut numbers = [NOT_FOUND; BATCH_ROWS];
        let numbers = &mut numbers[..hashes.len()];
        self.find_known(&key, hashes, numbers);
        // Without a branch on whether a key was found: one that was not has any group for now.
        let none = [LongKey::default()];
        let known = match self.keys.all() {
            [] => &none,
            known => known,
        };
        let (mut others, mut count) = ([0; BATCH_ROWS], 0);
        for (at, &number) in numbers.iter().enumerate() {
            found(at, known[(number as usize).min(known.len() - 1)].place);
            others[count] = at as u16;
            count += usize::from(number == NOT_FOUND);
        }
        for at in others[..count].iter().map(|&at| usize::from(at)) {
            let group = self.find_one(|| key(at), hashes[at], |keys| add(keys, at))?;
            found(at, group);
        }
        Ok(())
    }

    #[cold]
    fn index_all(&mut self) -> Result<(), MemoryExceeded> {
        let keys = self.keys.all();
        let hash_of = |number: u32| keys[number as usize].hash;
        let indexed = self.index.len();
        let more = std::mem::take(&mut self.expected).saturating_sub(indexed);
        // Otherwise it grows step by step.
        self.index.reserve(more, hash_of).ok();
        self.index.extend(indexed as u32..keys.len() as u32, hash_of)
    }

    /// The numbers of keys that the index meets first.
    fn find_known<'k>(&self, key: impl Fn(usize) -> &'k [u8], hashes: &[u64], numbers: &mut [u32]) {
        let known = self.keys.all();
        let Some(last) = known.len().checked_sub(1) else {
            return;
        };
        for (number, &hash) in numbers.iter_mut().zip(hashes) {
            // The last key stands for an empty place: its hash tells them apart.
            *number = self.index.first(hash).min(last as u32);
        }
        let (mut same, mut count) = ([0; BATCH_ROWS], 0);
        for (at, (number, &hash)) in numbers.iter_mut().zip(hashes).enumerate() {
            let is_same = known[*number as usize].hash == hash;
            same[count] = at as u16;
            count += usize::from(is_same);
            *number = if is_same { *number } else { NOT_FOUND };
        }
        for at in same[..count].iter().map(|&at| usize::from(at)) {
            let number = &mut numbers[at];
            if self.keys.bytes(&known[*number as usize]) != key(at) {
                *number = NOT_FOUND;
            }
        }
    }

    fn find_one<'k>(
        &mut self,
        key: impl Fn() -> &'k [u8],
        hash: u64,
        add: impl FnOnce(&mut LongKeys) -> Result<u32, MemoryExceeded>,
    ) -> Result<u32, MemoryExceeded> {
        let keys = &self.keys;
        let known = keys.all();
        self.index.reserve(1, |number| known[number as usize].hash)?;
        let new = known.len() as u32;
        let is_key = |number: u32| {
            number == new || {
                let known = &known[number as usize];
                known.hash == hash && keys.bytes(known) == key()
            }
        };
        let number = self.index.look_up(1).find_or_add(hash, new, is_key);
        if number < new {
            return Ok(known[number as usize].place);
        }
        add(&mut self.keys)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::memory::ReservedVec;
    use crate::partition::hash_bytes;

    #[derive(Clone, Debug)]
    enum Step {
        Find(Vec<String>),
        /// If it is new.
        Push(String),
        Reserve(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let key = || "[a-z]{0,2}|[ab]{30,33}";
        prop_oneof![
            3 => proptest::collection::vec(key(), 0..=BATCH_ROWS).prop_map(Step::Find),
            2 => key().prop_map(Step::Push),
            1 => (0usize..2_000).prop_map(Step::Reserve),
        ]
    }

    proptest! {
        /// Many keys have one hash, so they meet in the index, and in a batch are not those met first.
        #[test]
        fn each_key_has_one_group_and_its_first_position_however_it_is_found(
            steps in proptest::collection::vec(step(), 1..12),
            are_alike: bool,
        ) {
            let hash_of = |key: &str| match are_alike {
                true => key.len() as u64,
                false => hash_bytes(key.as_bytes()),
            };
            let mut table = LongKeyTable::new(None);
            let mut firsts = ReservedVec::new(None);
            let mut known: HashMap<String, (u32, u64)> = HashMap::new();
            let mut rows = 0;
            for step in steps {
                match step {
                    Step::Find(keys) => {
                        let bytes: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
                        let hashes: Vec<u64> = keys.iter().map(|key| hash_of(key)).collect();
                        let position = |at: usize| rows + at as u64;
                        let add = |own: &mut LongKeys, at: usize| {
                            let group = firsts.len() as u32;
                            firsts.push(position(at))?;
                            own.push(hashes[at], bytes[at], group)?;
                            Ok(group)
                        };
                        let mut found = vec![u32::MAX; keys.len()];
                        table.find(|at| bytes[at], &hashes, add, |at, group| found[at] = group).unwrap();
                        for (at, key) in keys.iter().enumerate() {
                            let new = (known.len() as u32, position(at));
                            let (group, _) = *known.entry(key.clone()).or_insert(new);
                            prop_assert_eq!(found[at], group);
                        }
                        rows += keys.len() as u64;
                    }
                    Step::Push(key) if !known.contains_key(&key) => {
                        let mut from = LongKeys::new(None);
                        from.push(hash_of(&key), key.as_bytes(), 0).unwrap();
                        from.seal();
                        let (first, group) = (table.share(&from), known.len() as u32);
                        table.push_shared(first, &from.all()[0], group).unwrap();
                        firsts.push(rows).unwrap();
                        known.insert(key, (group, rows));
                        rows += 1;
                    }
                    Step::Push(_) => {}
                    Step::Reserve(keys) => table.reserve(keys).unwrap(),
                }
            }
            prop_assert_eq!(firsts.len(), known.len());
            for (key, (group, first)) in known {
                let own = table.keys().find(group).unwrap();
                prop_assert_eq!(table.keys().bytes(own), key.as_bytes());
                prop_assert_eq!(firsts[group as usize], first);
            }
        }
    }
}
