//! The distinct values of one group after the other.

use std::sync::Arc;

use super::word::Word;
use crate::memory::{HashIndex, MemoryExceeded, MemoryPool, ReservedVec};

/// Values that a set has room for at first, at most: a group has fewer distinct ones than pairs.
const EXPECTED_MAX: usize = 4_096;
/// Places for each word at least: words that meet are looked at one behind the other.
const PLACES_PER_WORD: usize = 2;
/// Places at least.
const PLACES_MIN: usize = 16;
/// Words that are listed because their place is taken, at most.
const DISPLACED: usize = 256;

pub(super) trait DistinctValues<V> {
    fn new(pool: Option<&Arc<MemoryPool>>) -> Self;

    /// Forgets all values. The next group has at most `pairs`.
    fn start_over(&mut self, pairs: usize) -> Result<(), MemoryExceeded>;

    fn insert(&mut self, values: impl Iterator<Item = V>) -> Result<(), MemoryExceeded>;

    fn len(&self) -> usize;
}

/// Words lie at the place of their hash, or behind it. Most groups have few, whose places a core's
/// first cache holds.
///
/// Whether a word is new would often be mispredicted, and whether its place is taken sometimes: a
/// first look at each word's place has no branch on either, so that a core waits for many places at
/// once. Words whose place is taken are listed and put behind it later.
pub(super) struct DistinctWords<W> {
    /// Those in use come first, and are a power of two; 0 is none.
    places: ReservedVec<W>,
    in_use: usize,
    words: usize,
    /// 1 if 0 is one of the values.
    zeros: usize,
    /// Words whose place is taken, and how many there are.
    displaced: ([W; DISPLACED], usize),
    /// Words that may come before places are few.
    room: usize,
}

impl<W: Word> DistinctWords<W> {
    #[inline]
    fn put(&mut self, word: W) {
        let places = &mut self.places[..self.in_use];
        let home = word.hash() as usize & (places.len() - 1);
        let known = places[home];
        let is_new = known == W::default();
        let is_home = is_new | (known == word);
        places[home] = if is_home { word } else { known };
        self.words += usize::from(is_new);
        let (displaced, count) = &mut self.displaced;
        displaced[*count] = word;
        *count += usize::from(!is_home);
    }

    fn put_displaced(&mut self) {
        let places = &mut self.places[..self.in_use];
        let last = places.len() - 1;
        let (displaced, count) = &mut self.displaced;
        for &word in &displaced[..*count] {
            let mut place = word.hash() as usize & last;
            while places[place] != word {
                if places[place] == W::default() {
                    places[place] = word;
                    self.words += 1;
                    break;
                }
                place = (place + 1) & last;
            }
        }
        *count = 0;
    }

    /// Counts the words so far, and makes more places if they take too many.
    #[inline(never)]
    fn make_room(&mut self) -> Result<(), MemoryExceeded> {
        self.put_displaced();
        if PLACES_PER_WORD * (self.words + DISPLACED) > self.in_use {
            self.grow()?;
        }
        self.count_room();
        Ok(())
    }

    fn count_room(&mut self) {
        self.room = (self.in_use / PLACES_PER_WORD - self.words).min(DISPLACED);
    }

    fn grow(&mut self) -> Result<(), MemoryExceeded> {
        let pool = self.places.pool().cloned();
        let words = self.places[..self.in_use].iter().copied();
        let words = ReservedVec::collect(pool.as_ref(), words)?;
        self.make_places(2 * self.in_use.max(DISPLACED))?;
        self.words = 0;
        for words in words.chunks(DISPLACED) {
            let words = words.iter().filter(|word| **word != W::default());
            words.for_each(|&word| self.put(word));
            self.put_displaced();
        }
        Ok(())
    }

    /// Empty ones.
    fn make_places(&mut self, places: usize) -> Result<(), MemoryExceeded> {
        let used_before = self.places.len().min(places);
        self.places[..used_before].fill(W::default());
        if places > self.places.len() {
            self.places.resize(places, W::default())?;
        }
        self.in_use = places;
        Ok(())
    }
}

impl<W: Word> DistinctValues<W> for DistinctWords<W> {
    fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            places: ReservedVec::new(pool),
            in_use: 0,
            words: 0,
            zeros: 0,
            displaced: ([W::default(); DISPLACED], 0),
            room: 0,
        }
    }

    fn start_over(&mut self, pairs: usize) -> Result<(), MemoryExceeded> {
        (self.words, self.zeros) = (0, 0);
        let places = PLACES_PER_WORD * pairs.min(EXPECTED_MAX);
        self.make_places(places.next_power_of_two().max(PLACES_MIN))?;
        self.count_room();
        Ok(())
    }

    #[inline]
    fn insert(&mut self, words: impl Iterator<Item = W>) -> Result<(), MemoryExceeded> {
        for word in words {
            if word == W::default() {
                self.zeros = 1;
                continue;
            }
            if self.room == 0 {
                self.make_room()?;
            }
            self.room -= 1;
            self.put(word);
        }
        self.put_displaced();
        Ok(())
    }

    fn len(&self) -> usize {
        self.words + self.zeros
    }
}

/// Bytes with their hashes.
pub(super) struct DistinctTexts<'a> {
    texts: ReservedVec<(&'a [u8], u64)>,
    index: HashIndex,
}

impl<'a> DistinctValues<(&'a [u8], u64)> for DistinctTexts<'a> {
    fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            texts: ReservedVec::new(pool),
            index: HashIndex::new(pool),
        }
    }

    fn start_over(&mut self, pairs: usize) -> Result<(), MemoryExceeded> {
        self.texts.clear();
        self.index.start_over(pairs.min(EXPECTED_MAX))
    }

    fn insert(&mut self, values: impl Iterator<Item = (&'a [u8], u64)>) -> Result<(), MemoryExceeded> {
        for value in values {
            let texts = &self.texts;
            self.index.reserve(1, |number| texts[number as usize].1)?;
            let new = texts.len() as u32;
            let is_it = |number: u32| number == new || texts[number as usize] == value;
            if self.index.look_up(1).find_or_add(value.1, new, is_it) == new {
                self.texts.push(value)?;
            }
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.texts.len()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_group_counts_its_distinct_values_whatever_their_number_was_foreseen_as(
            groups in proptest::collection::vec(
                (proptest::collection::vec(0u64..600, 0..700), any::<bool>()),
                1..4,
            ),
        ) {
            let texts: Vec<String> = (0..600).map(|word| format!("text {word}")).collect();
            let text = |word: u64| texts[word as usize].as_bytes();
            let (mut set, mut of_texts) = (DistinctWords::new(None), DistinctTexts::new(None));
            for (words, is_foreseen) in groups {
                let foreseen = if is_foreseen { words.len() } else { 1 };
                set.start_over(foreseen).unwrap();
                of_texts.start_over(foreseen).unwrap();
                // Runs of groups come one after the other.
                let (first, second) = words.split_at(words.len() / 3);
                for run in [first, second] {
                    set.insert(run.iter().copied()).unwrap();
                    // Some hashes are those of several texts.
                    of_texts.insert(run.iter().map(|&word| (text(word), word / 2))).unwrap();
                }
                let distinct: HashSet<u64> = words.into_iter().collect();
                prop_assert_eq!((set.len(), of_texts.len()), (distinct.len(), distinct.len()));
            }
        }
    }

    #[test]
    fn a_set_that_finds_no_room_says_so() {
        let pool = Arc::new(MemoryPool::new("test", 2_000));
        let mut set = DistinctWords::new(Some(&pool));
        set.start_over(10).unwrap();
        set.insert(1..11u64).unwrap();
        set.insert(11..1_000u64).unwrap_err();
        drop(set);
        assert_eq!(pool.used(), 0);
    }
}
