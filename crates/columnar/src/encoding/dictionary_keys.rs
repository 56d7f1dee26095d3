//! Which value of a dictionary each row has.

use arrow::array::AnyDictionaryArray;
use arrow::buffer::NullBuffer;

/// The keys of a dictionary array, whose values are not NULL.
pub(super) struct DictionaryKeys {
    keys: Vec<usize>,
    nulls: Option<NullBuffer>,
}

impl DictionaryKeys {
    pub(super) fn of(array: &dyn AnyDictionaryArray) -> Self {
        let keys = match array.values().is_empty() {
            true => vec![0; array.len()],
            false => array.normalized_keys(),
        };
        Self {
            keys,
            nulls: array.nulls().filter(|nulls| nulls.null_count() > 0).cloned(),
        }
    }

    /// The number of the row's value, or `None` if the row is NULL.
    #[inline]
    pub(super) fn at(&self, row: usize) -> Option<usize> {
        let is_null = self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        (!is_null).then(|| self.keys[row])
    }
}
