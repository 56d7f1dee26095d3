//! The groups of keys with a fixed width.
//!
//! A key's hash is taken when a look-up needs it. Dense numbers are found by their places
//! ([`super::direct_address`]), and groups of one slot alone are taken as they are, so a table of them
//! has no index.

use std::sync::Arc;

use super::fixed_keys::{FixedKey, FixedKeys};
use crate::memory::{HashIndex, MemoryExceeded, MemoryPool, ReservedVec};
use crate::partition::hash_fixed_key;

/// Rows that are looked up behind one another: each has room for a new key.
const ROWS_AT_ONCE: usize = 256;
/// New keys that there is room for, at least, unless fewer rows are left.
const ROOM_MIN: usize = 32;

pub(super) struct FixedKeyTable {
    /// By group: 0 for one with another key, and none behind the last group with a fixed-width key.
    keys: FixedKeys,
    /// Has the first `indexed` keys: a look-up needs all.
    index: HashIndex,
    indexed: usize,
    /// Keys that the index makes room for when it is first needed.
    expected: usize,
}

/// Keys of one width, and where they are.
struct Groups<'t, K> {
    keys: &'t mut ReservedVec<K>,
    index: &'t mut HashIndex,
    /// The first positions of all groups.
    firsts: &'t mut ReservedVec<u64>,
}

impl FixedKeyTable {
    pub(super) fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            keys: FixedKeys::Narrow(ReservedVec::new(pool)),
            index: HashIndex::new(pool),
            indexed: 0,
            expected: 0,
        }
    }

    pub(super) fn keys(&self) -> &FixedKeys {
        &self.keys
    }

    pub(super) fn into_keys(self) -> FixedKeys {
        self.keys
    }

    /// Makes room for `keys` in all, and for `more` groups behind those that there are.
    pub(super) fn reserve(&mut self, keys: usize, more: usize) -> Result<(), MemoryExceeded> {
        self.expected = keys;
        self.keys.reserve(more)
    }

    /// Finds the group of each of `keys`, except at the places of `others`, which ascend. A new key
    /// has the next of all groups, whose first positions are `firsts`, at `position` of its place.
    pub(super) fn find<K: FixedKey>(
        &mut self,
        keys: &[K],
        others: impl ExactSizeIterator<Item = usize>,
        firsts: &mut ReservedVec<u64>,
        position: impl Fn(usize) -> u64,
        found: &mut [u32],
    ) -> Result<(), MemoryExceeded> {
        if others.len() == keys.len() {
            return Ok(());
        }
        self.prepare_for(keys)?;
        let index = &mut self.index;
        let done = match &mut self.keys {
            FixedKeys::Narrow(known) => Groups::new(known, index, firsts).find(keys, others, position, found),
            FixedKeys::Wide(known) => Groups::new(known, index, firsts).find(keys, others, position, found),
        };
        self.indexed = self.keys.len();
        done
    }

    /// [`find`](Self::find) for one key.
    #[inline]
    pub(super) fn find_one(
        &mut self,
        key: u128,
        firsts: &mut ReservedVec<u64>,
        position: impl FnOnce() -> u64,
    ) -> Result<u32, MemoryExceeded> {
        self.prepare_for(&[key])?;
        let index = &mut self.index;
        let done = match &mut self.keys {
            FixedKeys::Narrow(known) => Groups::new(known, index, firsts).find_one(key as u64, position),
            FixedKeys::Wide(known) => Groups::new(known, index, firsts).find_one(key, position),
        };
        self.indexed = self.keys.len();
        done
    }

    /// Makes a group of a key that is known to be new, where all groups have fixed-width keys.
    #[inline]
    pub(super) fn push(
        &mut self,
        key: u128,
        firsts: &mut ReservedVec<u64>,
        position: u64,
    ) -> Result<u32, MemoryExceeded> {
        debug_assert_eq!(self.keys.len(), firsts.len(), "all groups have such keys");
        let group = self.keys.len() as u32;
        self.keys.push(key)?;
        firsts.push(position)?;
        Ok(group)
    }

    /// Makes room for keys as wide as `keys`, and indexes all known ones. The look-up that follows notes
    /// that they are indexed.
    #[inline]
    fn prepare_for<K: FixedKey>(&mut self, keys: &[K]) -> Result<(), MemoryExceeded> {
        self.keys.widen_for(keys)?;
        match self.indexed == self.keys.len() && self.expected == 0 {
            true => Ok(()),
            false => self.index_all(),
        }
    }

    #[cold]
    fn index_all(&mut self) -> Result<(), MemoryExceeded> {
        let known = &self.keys;
        let hash_of = |group: u32| hash_fixed_key(known.at(group as usize));
        let more = std::mem::take(&mut self.expected).saturating_sub(self.index.len());
        // Otherwise it grows step by step.
        self.index.reserve(more, hash_of).ok();
        self.index
            .extend(self.indexed as u32..known.len() as u32, hash_of)
    }
}

impl<'t, T: FixedKey> Groups<'t, T> {
    fn new(keys: &'t mut ReservedVec<T>, index: &'t mut HashIndex, firsts: &'t mut ReservedVec<u64>) -> Self {
        Self { keys, index, firsts }
    }

    fn find<K: FixedKey>(
        &mut self,
        keys: &[K],
        others: impl ExactSizeIterator<Item = usize>,
        position: impl Fn(usize) -> u64,
        found: &mut [u32],
    ) -> Result<(), MemoryExceeded> {
        if others.len() == 0 && come_in_runs(keys) {
            return self.find_runs(keys, position, found);
        }
        let mut others = others.peekable();
        let mut start = 0;
        while start < keys.len() {
            let end = start + self.make_room(keys.len() - start)?;
            let mut next = self.firsts.len();
            self.keys.resize(next + end - start, T::default())?;
            self.firsts.resize(next + end - start, 0)?;
            let (known, firsts) = (&mut **self.keys, &mut **self.firsts);
            let mut index = self.index.look_up(end - start);
            while start < end {
                let other = others.next_if(|&other| other < end);
                let run = start..other.unwrap_or(end);
                for ((place, &key), found) in run.clone().zip(&keys[run.clone()]).zip(&mut found[run]) {
                    let hash = hash_fixed_key(key.into());
                    let key = T::of(key.into());
                    known[next] = key;
                    firsts[next] = position(place);
                    *found = index.find_or_add(hash, next as u32, |group| known[group as usize] == key);
                    next += usize::from(*found as usize == next);
                }
                start = other.map_or(end, |other| other + 1);
            }
            self.keys.truncate(next);
            self.firsts.truncate(next);
        }
        Ok(())
    }

    /// [`find`](Self::find) where most keys are equal to the one before.
    fn find_runs<K: FixedKey>(
        &mut self,
        keys: &[K],
        position: impl Fn(usize) -> u64,
        found: &mut [u32],
    ) -> Result<(), MemoryExceeded> {
        let mut last = None;
        for (place, (&key, found)) in keys.iter().zip(found).enumerate() {
            *found = match last {
                Some((known, group)) if known == key => group,
                _ => self.find_one(T::of(key.into()), || position(place))?,
            };
            last = Some((key, *found));
        }
        Ok(())
    }

    #[inline]
    fn find_one(&mut self, key: T, position: impl FnOnce() -> u64) -> Result<u32, MemoryExceeded> {
        let Self { keys, index, firsts } = self;
        let new = firsts.len();
        index.reserve(1, |group| hash_fixed_key(keys[group as usize].into()))?;
        if keys.len() < new {
            keys.resize(new, T::default())?;
        }
        keys.push(key)?;
        let hash = hash_fixed_key(key.into());
        let is_it = |group: u32| keys[group as usize] == key;
        let group = index.look_up(1).find_or_add(hash, new as u32, is_it);
        match group as usize == new {
            true => firsts.push(position())?,
            false => keys.truncate(new),
        }
        Ok(group)
    }

    /// How many of `rows` fit, if each has a new key. At least one does.
    fn make_room(&mut self, rows: usize) -> Result<usize, MemoryExceeded> {
        let Self { keys, index, firsts } = self;
        let groups = firsts.len();
        assert!(groups + rows < u32::MAX as usize, "fewer than 2^32 groups");
        let wanted = rows.min(ROOM_MIN);
        index.reserve(wanted, |group| hash_fixed_key(keys[group as usize].into()))?;
        // There may be groups with other keys behind the last one of these.
        keys.reserve(groups - keys.len() + wanted)?;
        firsts.reserve(wanted)?;
        let spare = firsts.capacity().min(keys.capacity()) - groups;
        Ok(spare.min(index.spare()).min(rows).min(ROWS_AT_ONCE))
    }
}

/// Guesses from the first keys. Elsewhere, comparing neighbours is an unpredictable branch.
fn come_in_runs<K: Eq>(keys: &[K]) -> bool {
    let sample = &keys[..keys.len().min(64)];
    let repeats = sample.windows(2).filter(|pair| pair[0] == pair[1]).count();
    2 * repeats > sample.len()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        /// Keys, and those whose places belong to groups with other keys.
        Find(Vec<(u64, bool)>),
        FindWide(Vec<(u128, bool)>),
        FindOne(u64),
        /// If it is new, and no group has another key.
        Push(u128),
        Reserve(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let key = || 0u64..300;
        let keys = proptest::collection::vec((key(), proptest::bool::weighted(0.1)), 0..600);
        let run = (key(), 1usize..8).prop_map(|(key, rows)| vec![(key, false); rows]);
        let runs = proptest::collection::vec(run, 1..90).prop_map(|runs| runs.concat());
        let wide = |share: f64| {
            (key(), proptest::bool::weighted(share))
                .prop_map(|(key, is_wide)| u128::from(key) << (64 * u32::from(is_wide)))
        };
        let keys_of_both = proptest::collection::vec((wide(0.5), proptest::bool::weighted(0.1)), 0..40);
        prop_oneof![
            3 => keys.prop_map(Step::Find),
            2 => runs.prop_map(Step::Find),
            1 => keys_of_both.prop_map(Step::FindWide),
            2 => key().prop_map(Step::FindOne),
            4 => wide(0.1).prop_map(Step::Push),
            1 => (0usize..2_000).prop_map(Step::Reserve),
        ]
    }

    /// The table beside what it should know: each key's group, and its first position.
    struct Checked {
        table: FixedKeyTable,
        firsts: ReservedVec<u64>,
        groups: HashMap<u128, u32>,
        others: usize,
        rows: u64,
    }

    impl Checked {
        fn find<K: FixedKey>(&mut self, rows: &[(K, bool)]) {
            let keys: Vec<K> = rows.iter().map(|row| row.0).collect();
            let others: Vec<usize> = (0..rows.len()).filter(|&row| rows[row].1).collect();
            let (mut found, base) = (vec![u32::MAX; rows.len()], self.rows);
            let position = |row: usize| base + row as u64;
            self.table
                .find(
                    &keys,
                    others.iter().copied(),
                    &mut self.firsts,
                    position,
                    &mut found,
                )
                .unwrap();
            for (row, &(key, is_other)) in rows.iter().enumerate() {
                let expected = match is_other {
                    true => u32::MAX,
                    false => self.expected(key.into(), position(row)),
                };
                assert_eq!(found[row], expected);
            }
            self.rows += rows.len() as u64;
            // As a table of both kinds adds them.
            for row in others {
                self.firsts.push(position(row)).unwrap();
                self.others += 1;
            }
        }

        fn expected(&mut self, key: u128, position: u64) -> u32 {
            let next = (self.groups.len() + self.others) as u32;
            let group = *self.groups.entry(key).or_insert(next);
            if group == next {
                assert_eq!(self.firsts[group as usize], position);
            }
            group
        }
    }

    proptest! {
        #[test]
        fn each_key_has_one_group_however_it_is_found(steps in proptest::collection::vec(step(), 1..12)) {
            let mut checked = Checked {
                table: FixedKeyTable::new(None),
                firsts: ReservedVec::new(None),
                groups: HashMap::new(),
                others: 0,
                rows: 0,
            };
            for step in steps {
                match step {
                    Step::Find(rows) => checked.find(&rows),
                    Step::FindWide(rows) => checked.find(&rows),
                    Step::FindOne(key) => {
                        let position = checked.rows;
                        let firsts = &mut checked.firsts;
                        let group = checked.table.find_one(key.into(), firsts, || position).unwrap();
                        prop_assert_eq!(group, checked.expected(key.into(), position));
                        checked.rows += 1;
                    }
                    Step::Push(key) => {
                        if checked.others > 0 || checked.groups.contains_key(&key) {
                            continue;
                        }
                        let position = checked.rows;
                        let group = checked.table.push(key, &mut checked.firsts, position).unwrap();
                        prop_assert_eq!(group, checked.expected(key, position));
                        checked.rows += 1;
                    }
                    Step::Reserve(keys) => checked.table.reserve(keys, keys).unwrap(),
                }
            }
            for (&key, &group) in &checked.groups {
                prop_assert_eq!(checked.table.keys().at(group as usize), key);
            }
        }
    }
}
