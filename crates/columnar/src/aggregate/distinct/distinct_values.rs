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

pub(super) trait DistinctValues<V> {
    fn new(pool: Option<&Arc<MemoryPool>>) -> Self;

    /// Forgets all values. The next group has at most `pairs`.
    fn start_over(&mut self, pairs: usize) -> Result<(), MemoryExceeded>;

    fn insert(&mut self, value: V) -> Result<(), MemoryExceeded>;

    fn len(&self) -> usize;
}

/// Words lie at the place of their hash, or behind it. Most groups have few, whose places a core's
/// first cache holds.
pub(super) struct DistinctWords<W> {
    /// Those in use come first, and are a power of two; 0 is none.
    places: ReservedVec<W>,
    in_use: usize,
    words: usize,
    /// 1 if 0 is one of the values.
    zeros: usize,
}

impl<W: Word> DistinctWords<W> {
    /// Whether the word is new.
    #[inline]
    fn put(&mut self, word: W) -> bool {
        let places = &mut self.places[..self.in_use];
        let last = places.len() - 1;
        let mut place = word.hash() as usize & last;
        loop {
            let known = &mut places[place];
            if *known == word {
                return false;
            }
            if *known == W::default() {
                *known = word;
                return true;
            }
            place = (place + 1) & last;
        }
    }

    #[cold]
    fn grow(&mut self) -> Result<(), MemoryExceeded> {
        let pool = self.places.pool().cloned();
        let words = self.places[..self.in_use].iter().copied();
        let words = ReservedVec::collect(pool.as_ref(), words)?;
        self.make_places(2 * self.in_use)?;
        let words = words.iter().filter(|word| **word != W::default());
        words.for_each(|&word| {
            self.put(word);
        });
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
        }
    }

    fn start_over(&mut self, pairs: usize) -> Result<(), MemoryExceeded> {
        (self.words, self.zeros) = (0, 0);
        let places = PLACES_PER_WORD * pairs.min(EXPECTED_MAX);
        self.make_places(places.next_power_of_two().max(PLACES_MIN))
    }

    #[inline]
    fn insert(&mut self, word: W) -> Result<(), MemoryExceeded> {
        if word == W::default() {
            self.zeros = 1;
            return Ok(());
        }
        if PLACES_PER_WORD * self.words >= self.in_use {
            self.grow()?;
        }
        self.words += usize::from(self.put(word));
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

    fn insert(&mut self, value: (&'a [u8], u64)) -> Result<(), MemoryExceeded> {
        let texts = &self.texts;
        self.index.reserve(1, |number| texts[number as usize].1)?;
        let new = texts.len() as u32;
        let is_it = |number: u32| number == new || texts[number as usize] == value;
        let number = self.index.look_up(1).find_or_add(value.1, new, is_it);
        match number == new {
            true => self.texts.push(value),
            false => Ok(()),
        }
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
                for &word in &words {
                    set.insert(word).unwrap();
                    // Some hashes are those of several texts.
                    of_texts.insert((text(word), word / 2)).unwrap();
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
        let refused = (1..1_000u64).find(|&word| set.insert(word).is_err());
        assert!(refused.is_some_and(|word| word > 10));
        drop(set);
        assert_eq!(pool.used(), 0);
    }
}
