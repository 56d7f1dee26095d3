//! Which value of a dictionary each row has.

use arrow::array::{AnyDictionaryArray, ArrayRef};
use arrow::buffer::NullBuffer;

use crate::table::by_width;

/// The keys of a dictionary array, whose values are not NULL.
pub(super) struct DictionaryKeys {
    /// Of a type that [`by_width`] knows.
    keys: ArrayRef,
    nulls: Option<NullBuffer>,
}

impl DictionaryKeys {
    /// # Panics
    ///
    /// When a key is read, if the keys have another type than [`Codes`](crate::table::Codes) have.
    pub(super) fn of(array: &dyn AnyDictionaryArray) -> Self {
        Self {
            keys: array.keys().slice(0, array.len()),
            nulls: array.nulls().filter(|nulls| nulls.null_count() > 0).cloned(),
        }
    }

    /// The number of the row's value, or `None` if the row is NULL.
    #[inline]
    pub(super) fn at(&self, row: usize) -> Option<usize> {
        let is_null = self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        (!is_null).then(|| by_width!(&self.keys, |keys| keys[row] as usize))
    }

    /// Visits all rows as [`at`](Self::at) would.
    #[inline]
    pub(super) fn for_each(&self, mut visit: impl FnMut(usize, Option<usize>)) {
        by_width!(&self.keys, |keys| {
            let keys = keys.iter().map(|&key| key as usize).enumerate();
            match &self.nulls {
                None => keys.for_each(|(row, key)| visit(row, Some(key))),
                Some(nulls) => keys.for_each(|(row, key)| visit(row, nulls.is_valid(row).then_some(key))),
            }
        });
    }
}
