//! Numbers for the texts of a key, the same in all slots.
//!
//! ```text
//!   slot 0: 'a' 'b' 'c' ─┐   by hash    ┌─► part: 'a' 0, 'd' 16
//!   slot 1: 'c' 'd'     ─┴─────────────►├─► part: 'c' 1
//!                                       └─► part: 'b' 2
//! ```
//!
//! Parts have locks of their own, so that slots seldom wait for each other. Which number a text has
//! depends on which slot met it first. No result shows it: groups are in the order of their first rows.

use std::array;
use std::slice;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use arrow::array::{Array as _, ArrayRef, UInt32Array};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

use super::long_key_table::LongKeyTable;
use crate::encoding::{BATCH_ROWS, NULL_ROW, RowEncoder};
use crate::memory::{MemoryExceeded, MemoryPool};
use crate::partition::{hash_bytes, partition_of};

/// Parts of the texts. A batch has some 16 texts for each, whose look-ups overlap.
const PARTS: usize = 16;

pub(super) struct TextNumbers {
    encoder: RowEncoder,
    /// A text's group is its number: its place in the part, times the parts, and the part.
    parts: [RwLock<LongKeyTable>; PARTS],
    pool: Option<Arc<MemoryPool>>,
}

impl TextNumbers {
    pub(super) fn new(text: &DataType, pool: Option<&Arc<MemoryPool>>) -> Result<Self, ArrowError> {
        Ok(Self {
            encoder: RowEncoder::new([text].into_iter())?,
            parts: array::from_fn(|_| RwLock::new(LongKeyTable::new(pool))),
            pool: pool.cloned(),
        })
    }

    /// The number of each row's text; NULL where the row is.
    pub(super) fn of_rows(&self, texts: &ArrayRef) -> Result<UInt32Array, ArrowError> {
        let mut numbers = vec![0; texts.len()];
        self.number(texts, None, |row, number| numbers[row] = number)?;
        Ok(UInt32Array::new(numbers.into(), texts.nulls().cloned()))
    }

    /// Numbers the texts in `rows`, or in all. `found` hears of the number of each; it may hear of
    /// another number before.
    pub(super) fn number(
        &self,
        texts: &ArrayRef,
        rows: Option<&[u32]>,
        mut found: impl FnMut(usize, u32),
    ) -> Result<(), ArrowError> {
        let (texts, pool) = (slice::from_ref(texts), self.pool.as_ref());
        self.encoder.for_batches(texts, rows, pool, |first, batch| {
            Ok(self.number_batch(batch, |at, number| found(first + at, number))?)
        })
    }

    fn number_batch(&self, batch: &[&[u8]], mut found: impl FnMut(usize, u32)) -> Result<(), MemoryExceeded> {
        let mut hashes = [0; BATCH_ROWS];
        for (hash, text) in hashes.iter_mut().zip(batch) {
            *hash = hash_bytes(text);
        }
        let part_of = |at: u8| usize::from(partition_of(hashes[usize::from(at)])) % PARTS;
        let mut order: [u8; BATCH_ROWS] = array::from_fn(|at| at as u8);
        let order = &mut order[..batch.len()];
        order.sort_unstable_by_key(|&at| part_of(at));
        for places in order.chunk_by(|&one, &next| part_of(one) == part_of(next)) {
            let own = |at: usize| batch[usize::from(places[at])];
            let mut own_hashes = [0; BATCH_ROWS];
            for (hash, &place) in own_hashes.iter_mut().zip(places) {
                *hash = hashes[usize::from(place)];
            }
            let part = part_of(places[0]);
            let mut texts = self.parts[part].write().unwrap_or_else(PoisonError::into_inner);
            texts.find(
                own,
                &own_hashes[..places.len()],
                |texts, at| {
                    let number = texts.len() * PARTS + part;
                    let number = u32::try_from(number).expect("fewer than 2^32 texts");
                    texts.push(own_hashes[at], own(at), number)?;
                    Ok(number)
                },
                |at, number| found(usize::from(places[at]), number),
            )?;
        }
        Ok(())
    }

    /// About the bytes to make [`texts`](Self::texts), result included.
    pub(super) fn text_bytes(&self, numbers: &UInt32Array) -> usize {
        let parts = self.all();
        let bytes: usize = texts_of(&parts, numbers).map(<[u8]>::len).sum();
        // The bytes are copied once more if texts are views. Beside them are lengths and views.
        2 * bytes + numbers.len() * (size_of::<&[u8]>() + size_of::<u128>())
    }

    /// The texts with these numbers.
    pub(super) fn texts(&self, numbers: &UInt32Array) -> Result<ArrayRef, ArrowError> {
        let parts = self.all();
        let mut columns = self.encoder.decode(texts_of(&parts, numbers))?;
        Ok(columns.pop().expect("one column of texts"))
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.all().iter().map(|part| part.keys().len()).sum()
    }

    fn all(&self) -> [RwLockReadGuard<'_, LongKeyTable>; PARTS] {
        let parts = self.parts.each_ref();
        parts.map(|part| part.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn texts_of<'t>(
    parts: &'t [RwLockReadGuard<'_, LongKeyTable>; PARTS],
    numbers: &'t UInt32Array,
) -> impl ExactSizeIterator<Item = &'t [u8]> + Clone {
    let text = |number: u32| {
        let (place, part) = (number as usize / PARTS, number as usize % PARTS);
        let keys = parts[part].keys();
        keys.bytes(&keys.all()[place])
    };
    numbers.iter().map(move |number| number.map_or(NULL_ROW, text))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use arrow::array::StringArray;
    use arrow::compute::cast;

    use super::*;

    const TEXTS: usize = 3_000;

    #[test]
    fn threads_that_number_texts_at_once_have_the_same_numbers() {
        for data_type in [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View] {
            let pool = Arc::new(MemoryPool::new("test", usize::MAX));
            let numbers = TextNumbers::new(&data_type, Some(&pool)).unwrap();
            // Each thread begins with other texts. One row in 100 is NULL.
            let text = |n: usize| (!n.is_multiple_of(100)).then(|| format!("text {}", n % TEXTS));
            let column = |thread: usize| {
                let rows = (0..2 * TEXTS).map(|row| text(row + thread * TEXTS / 4));
                let texts: ArrayRef = Arc::new(rows.collect::<StringArray>());
                cast(&texts, &data_type).unwrap()
            };
            let found: Vec<UInt32Array> = thread::scope(|scope| {
                let numbers = &numbers;
                let threads =
                    [0, 1, 2, 3].map(|thread| scope.spawn(move || numbers.of_rows(&column(thread))));
                threads.map(|thread| thread.join().unwrap().unwrap()).into()
            });
            for (thread, found) in found.iter().enumerate() {
                assert_eq!(&numbers.texts(found).unwrap(), &column(thread));
                let again = numbers.of_rows(&column(thread)).unwrap();
                assert_eq!(found, &again, "a text keeps its number");
            }
            // NULL has a number that no row shows.
            assert_eq!(numbers.len(), TEXTS - TEXTS / 100 + 1);
            assert!(pool.used() > TEXTS * "text 1000".len());
            drop(numbers);
            assert_eq!(pool.used(), 0);
        }
    }

    #[test]
    fn texts_that_memory_does_not_suffice_for_are_an_error() {
        let pool = Arc::new(MemoryPool::new("small", 1 << 12));
        let numbers = TextNumbers::new(&DataType::Utf8, Some(&pool)).unwrap();
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..TEXTS).map(|n| n.to_string())));
        let error = numbers.of_rows(&texts).unwrap_err();
        assert!(error.to_string().contains("small"), "{error}");
    }
}
