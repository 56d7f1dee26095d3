//! The numbers of keys in a list, by the hashes of the keys.
//!
//! Whether a key is new is nothing that a processor could guess: a branch on it costs more than the
//! rest of a look-up. There is none here. The sought key is written behind the last one of the list
//! first, and an empty place stands for that number, so that each look-up ends at an equal key:
//!
//! ```text
//!   keys     a  b  c │ s          s is sought, with number 3 if it is new
//!   places   -  2  -  0  1  -     an empty place is read as 3
//! ```

use std::ops::Range;
use std::sync::Arc;

use super::pool::{MemoryExceeded, MemoryPool};
use super::reserved::ReservedVec;

/// Places for each number, at least. Numbers that meet are looked at one behind the other, and most
/// look-ups in a small index end at the first.
const PLACES_PER_NUMBER: usize = 4;
/// The same in a large index, where places that are not in the cache cost more than those that meet.
const PLACES_PER_NUMBER_OF_MANY: usize = 2;
/// Places of a small index at most: 128 KiB of a core's second level of cache.
const PLACES_OF_FEW: usize = 1 << 15;
/// Places for each that is needed, from which an index that starts over is replaced: each start
/// clears them.
const TOO_LARGE: usize = 16;
/// An empty place.
const EMPTY: u32 = u32::MAX;

/// Numbers below 2³² - 1, each at the place of its key's hash or behind it. They are never removed one
/// by one.
pub(crate) struct HashIndex {
    /// A power of two, or none.
    places: ReservedVec<u32>,
    /// New keys that there is room for.
    spare: usize,
}

impl HashIndex {
    pub(crate) fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            places: ReservedVec::new(pool),
            spare: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        capacity(self.places.len()) - self.spare
    }

    /// How many new keys it has room for.
    #[inline]
    pub(crate) fn spare(&self) -> usize {
        self.spare
    }

    /// Makes room for `more` new keys. `hash_of` returns the hashes of those that are there.
    #[inline]
    pub(crate) fn reserve(
        &mut self,
        more: usize,
        hash_of: impl Fn(u32) -> u64,
    ) -> Result<(), MemoryExceeded> {
        match more <= self.spare {
            true => Ok(()),
            false => self.grow(more, hash_of),
        }
    }

    /// Adds keys that are known to be new. `hash_of` returns the hashes of all.
    pub(crate) fn extend(
        &mut self,
        numbers: Range<u32>,
        hash_of: impl Fn(u32) -> u64,
    ) -> Result<(), MemoryExceeded> {
        let more = numbers.len();
        self.reserve(more, &hash_of)?;
        numbers.for_each(|number| put(&mut self.places, hash_of(number), number));
        self.spare -= more;
        Ok(())
    }

    /// Forgets all numbers, and makes room for `keys`.
    pub(crate) fn start_over(&mut self, keys: usize) -> Result<(), MemoryExceeded> {
        let places = places_for(keys);
        if places <= self.places.len() && self.places.len() <= TOO_LARGE * places {
            self.places.fill(EMPTY);
        } else {
            self.spare = 0;
            let pool = self.places.pool().cloned();
            self.places = ReservedVec::new(pool.as_ref());
            self.places.resize(places, EMPTY)?;
        }
        self.spare = capacity(self.places.len());
        Ok(())
    }

    /// For at most `keys` look-ups. There must be [room](Self::reserve) for as many new keys.
    #[inline]
    pub(crate) fn look_up(&mut self, keys: usize) -> LookUp<'_> {
        assert!(keys <= self.spare, "there is room for each key that is looked up");
        LookUp {
            places: &mut self.places,
            spare: &mut self.spare,
        }
    }

    /// The number that a look-up of `hash` meets first. One above all others if it meets none.
    #[inline]
    pub(crate) fn first(&self, hash: u64) -> u32 {
        let mask = self.places.len().wrapping_sub(1);
        let first = self.places.get(hash as usize & mask);
        first.copied().unwrap_or(EMPTY)
    }

    #[cold]
    fn grow(&mut self, more: usize, hash_of: impl Fn(u32) -> u64) -> Result<(), MemoryExceeded> {
        let pool = self.places.pool().cloned();
        let mut places = ReservedVec::new(pool.as_ref());
        let numbers = self.len();
        places.resize(places_for(numbers + more), EMPTY)?;
        for &number in self.places.iter().filter(|number| **number != EMPTY) {
            put(&mut places, hash_of(number), number);
        }
        self.places = places;
        self.spare = capacity(self.places.len()) - numbers;
        Ok(())
    }
}

/// Looks keys up. Each key may be new.
pub(crate) struct LookUp<'i> {
    places: &'i mut [u32],
    spare: &'i mut usize,
}

impl LookUp<'_> {
    /// The number of the key with `hash` that `is_it` knows, or `new`, which becomes its number then.
    /// `is_it` says that `new` is it.
    #[inline]
    pub(crate) fn find_or_add(&mut self, hash: u64, new: u32, is_it: impl Fn(u32) -> bool) -> u32 {
        let mask = self.places.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            let number = self.places[place].min(new);
            if is_it(number) {
                self.places[place] = number;
                *self.spare -= usize::from(number == new);
                return number;
            }
            place = (place + 1) & mask;
        }
    }
}

/// Writes a number to the first empty place for its key.
fn put(places: &mut [u32], hash: u64, number: u32) {
    let mask = places.len() - 1;
    let mut place = hash as usize & mask;
    while places[place] != EMPTY {
        place = (place + 1) & mask;
    }
    places[place] = number;
}

/// The numbers that `places` have room for. One place is always empty.
#[inline]
fn capacity(places: usize) -> usize {
    match places <= PLACES_OF_FEW {
        true => places / PLACES_PER_NUMBER,
        false => places / PLACES_PER_NUMBER_OF_MANY,
    }
}

fn places_for(numbers: usize) -> usize {
    let places = (PLACES_PER_NUMBER * numbers).next_power_of_two();
    match places <= PLACES_OF_FEW {
        true => places,
        false => (PLACES_PER_NUMBER_OF_MANY * numbers)
            .next_power_of_two()
            .max(2 * PLACES_OF_FEW),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// Adds each key, or finds it, as the owner of a list does.
    fn add(index: &mut HashIndex, list: &mut Vec<u64>, hash: fn(u64) -> u64, key: u64) -> u32 {
        index.reserve(1, |number| hash(list[number as usize])).unwrap();
        let new = list.len() as u32;
        list.push(key);
        let is_it = |number: u32| list[number as usize] == key;
        let number = index.look_up(1).find_or_add(hash(key), new, is_it);
        list.truncate(index.len());
        number
    }

    proptest! {
        #[test]
        fn a_key_keeps_its_number_while_the_index_grows_also_where_hashes_are_alike(
            keys in proptest::collection::vec(0u64..2_000, 0..3_000),
            are_alike in any::<bool>(),
            starts_over in any::<bool>(),
        ) {
            let hash: fn(u64) -> u64 = match are_alike {
                true => |key| key / 50 * 64,
                false => |key| key.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            };
            let mut index = HashIndex::new(None);
            if starts_over {
                let mut list = Vec::new();
                (5_000..5_100).for_each(|key| {
                    add(&mut index, &mut list, hash, key);
                });
                index.start_over(1).unwrap();
            }
            let (mut list, mut known) = (Vec::new(), HashMap::new());
            for key in keys {
                let next = known.len() as u32;
                let expected = *known.entry(key).or_insert(next);
                prop_assert_eq!(add(&mut index, &mut list, hash, key), expected);
            }
            prop_assert_eq!(index.len(), known.len());
        }
    }

    #[test]
    fn an_index_of_many_keys_has_fewer_places_for_each_and_always_an_empty_one() {
        for numbers in [1, 7, 1 << 14, (1 << 14) + 1, 1 << 16, 1_000_000] {
            let places = places_for(numbers);
            assert!(places.is_power_of_two() && capacity(places) >= numbers && places > numbers);
            assert!(places <= 2 * PLACES_PER_NUMBER * numbers, "{numbers}: {places}");
        }
        assert_eq!(capacity(0), 0);
    }

    #[test]
    fn an_index_charges_old_and_new_places_while_it_grows() {
        let pool = Arc::new(MemoryPool::new("test", 4 * (64 + 128)));
        let (mut index, mut list) = (HashIndex::new(Some(&pool)), Vec::new());
        index.reserve(16, |_number| 0).unwrap();
        assert_eq!(pool.used(), 4 * 64);
        (0..17).for_each(|key| {
            add(&mut index, &mut list, |key| key, key);
        });
        assert_eq!((pool.used(), pool.peak()), (4 * 128, 4 * (64 + 128)));
        index.reserve(32, u64::from).unwrap_err();
        assert_eq!(
            (0..17)
                .map(|key| add(&mut index, &mut list, |key| key, key))
                .max(),
            Some(16)
        );
        index.start_over(1).unwrap();
        assert!(pool.used() < 4 * 128 && index.len() == 0);
    }

    #[test]
    #[should_panic(expected = "room")]
    fn more_look_ups_than_there_is_room_for_are_refused() {
        let mut index = HashIndex::new(None);
        index.reserve(4, |_number| 0).unwrap();
        index.look_up(5);
    }
}
