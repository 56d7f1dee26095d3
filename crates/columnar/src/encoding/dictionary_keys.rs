//! Which value of a dictionary each row has.

use arrow::array::{AnyDictionaryArray, AsArray as _};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, UInt8Type, UInt16Type, UInt32Type};

/// The keys of a dictionary array, whose values are not NULL.
pub(super) struct DictionaryKeys {
    keys: Keys,
    nulls: Option<NullBuffer>,
}

enum Keys {
    Of8(ScalarBuffer<u8>),
    Of16(ScalarBuffer<u16>),
    Of32(ScalarBuffer<u32>),
}

impl DictionaryKeys {
    /// # Panics
    ///
    /// If the keys have another type than [`Codes`](crate::table::Codes) have.
    pub(super) fn of(array: &dyn AnyDictionaryArray) -> Self {
        let keys = array.keys();
        let keys = match keys.data_type() {
            DataType::UInt8 => Keys::Of8(keys.as_primitive::<UInt8Type>().values().clone()),
            DataType::UInt16 => Keys::Of16(keys.as_primitive::<UInt16Type>().values().clone()),
            _ => Keys::Of32(keys.as_primitive::<UInt32Type>().values().clone()),
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
        (!is_null).then(|| match &self.keys {
            Keys::Of8(keys) => keys[row].into(),
            Keys::Of16(keys) => keys[row].into(),
            Keys::Of32(keys) => keys[row] as usize,
        })
    }

    /// Visits all rows as [`at`](Self::at) would.
    #[inline]
    pub(super) fn for_each(&self, mut visit: impl FnMut(usize, Option<usize>)) {
        let nulls = self.nulls.as_ref();
        match &self.keys {
            Keys::Of8(keys) => visit_all(keys.iter().map(|&key| key.into()), nulls, &mut visit),
            Keys::Of16(keys) => visit_all(keys.iter().map(|&key| key.into()), nulls, &mut visit),
            Keys::Of32(keys) => visit_all(keys.iter().map(|&key| key as usize), nulls, &mut visit),
        }
    }
}

#[inline]
fn visit_all(
    keys: impl Iterator<Item = usize>,
    nulls: Option<&NullBuffer>,
    visit: &mut impl FnMut(usize, Option<usize>),
) {
    let keys = keys.enumerate();
    match nulls {
        None => keys.for_each(|(row, key)| visit(row, Some(key))),
        Some(nulls) => keys.for_each(|(row, key)| visit(row, nulls.is_valid(row).then_some(key))),
    }
}
