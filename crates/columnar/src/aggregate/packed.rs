//! Short group keys as one 128-bit word each: the fast way to a group that was met before.
//!
//! ```text
//!   l_returnflag 'A'          l_linestatus 'F'
//!   ┌────────────┬─────┐      ┌────────────┬─────┐
//!   │ 41 0 0 ... │ len │      │ 46 0 0 ... │ len │     text: its bytes and its length (255: NULL)
//!   └────────────┴─────┘      └────────────┴─────┘     numbers, days: their bits and one for NULL
//! ```
//!
//! Which bits a column has depends on the types alone. A chunk with a value that has no place in its bits (a long text,
//! a large decimal) is not packed at all, and its keys are found by their row encoding as all others were the first time.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::{DataType, Decimal128Type};

/// The bits of a word.
const BITS: u32 = 128;

/// How the key columns share a word.
#[derive(Clone, Debug)]
pub(super) struct Packing {
    columns: Vec<Field>,
}

#[derive(Clone, Copy, Debug)]
enum Field {
    /// A value of so many bits and one for NULL.
    Bits(u32),
    /// So many bytes of text and one for the length.
    Text(u32),
}

impl Packing {
    /// A layout for columns of these types, if they have one.
    pub(super) fn new(types: &[DataType]) -> Option<Self> {
        let fixed: Vec<Option<u32>> = types.iter().map(fixed_bits).collect();
        let texts = types.iter().filter(|data_type| is_text(data_type)).count() as u32;
        if fixed.iter().filter(|bits| bits.is_none()).count() as u32 != texts {
            return None;
        }
        let used: u32 = fixed.iter().flatten().map(|bits| bits + 1).sum();
        let bytes = BITS.checked_sub(used)?.checked_div(texts).unwrap_or(0) / 8;
        if texts > 0 && bytes < 2 {
            return None;
        }
        let field = |bits: &Option<u32>| bits.map_or_else(|| Field::Text(bytes - 1), Field::Bits);
        Some(Self {
            columns: fixed.iter().map(field).collect(),
        })
    }

    /// Writes the word of each row to `words`; false if a value has no place in its bits.
    pub(super) fn pack(&self, columns: &[ArrayRef], rows: usize, words: &mut Vec<u128>) -> bool {
        words.clear();
        words.resize(rows, 0);
        self.columns
            .iter()
            .zip(columns)
            .all(|(field, column)| match field {
                Field::Bits(bits) => pack_bits(column, *bits, words),
                Field::Text(bytes) => pack_text(column, *bytes as usize, words),
            })
    }
}

fn fixed_bits(data_type: &DataType) -> Option<u32> {
    match data_type {
        DataType::Boolean => Some(1),
        // Those that fit: most decimals do.
        DataType::Decimal128(..) => Some(64),
        other => match other.primitive_width() {
            Some(bytes @ 1..=8) => Some(bytes as u32 * 8),
            _ => None,
        },
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

fn pack_bits(column: &ArrayRef, bits: u32, words: &mut [u128]) -> bool {
    let nulls = column.nulls().filter(|nulls| nulls.null_count() > 0);
    let mut put = |row: usize, value: u64| {
        let is_null = nulls.is_some_and(|nulls| nulls.is_null(row));
        let field = if is_null { 1 } else { u128::from(value) << 1 };
        words[row] = words[row] << (bits + 1) | field;
    };
    if let DataType::Decimal128(..) = column.data_type() {
        let values = column.as_primitive::<Decimal128Type>().values();
        if values.iter().any(|&value| i128::from(value as i64) != value) {
            return false;
        }
        values
            .iter()
            .enumerate()
            .for_each(|(row, &value)| put(row, value as u64));
        return true;
    }
    if let Some(values) = column.as_boolean_opt() {
        values
            .values()
            .iter()
            .enumerate()
            .for_each(|(row, value)| put(row, u64::from(value)));
        return true;
    }
    // The bits of a value are those of an unsigned number of the same width.
    let data = column.to_data();
    macro_rules! put_all {
        ($t:ty) => {{
            let values = ScalarBuffer::<$t>::new(data.buffers()[0].clone(), data.offset(), data.len());
            values
                .iter()
                .enumerate()
                .for_each(|(row, &value)| put(row, u64::from(value)));
        }};
    }
    match bits {
        8 => put_all!(u8),
        16 => put_all!(u16),
        32 => put_all!(u32),
        _ => put_all!(u64),
    }
    true
}

fn pack_text(column: &ArrayRef, bytes: usize, words: &mut [u128]) -> bool {
    macro_rules! pack {
        ($texts:expr) => {{
            let texts = $texts;
            for (row, word) in words.iter_mut().enumerate() {
                let field = if texts.is_null(row) {
                    0xff
                } else {
                    let text: &[u8] = texts.value(row).as_ref();
                    if text.len() > bytes {
                        return false;
                    }
                    text.iter()
                        .rev()
                        .fold(0, |field, &byte| field << 8 | u128::from(byte))
                        << 8
                        | text.len() as u128
                };
                let shift = 8 * (bytes as u32 + 1);
                // A single text can have all bits.
                *word = word.checked_shl(shift).unwrap_or(0) | field;
            }
            true
        }};
    }
    match column.data_type() {
        DataType::Utf8 => pack!(column.as_string::<i32>()),
        DataType::LargeUtf8 => pack!(column.as_string::<i64>()),
        DataType::Utf8View => pack!(column.as_string_view()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        BooleanArray, Date32Array, Decimal128Array, Int64Array, StringArray, StringViewArray,
    };
    use proptest::prelude::*;

    use super::*;

    fn pack(columns: &[ArrayRef]) -> Option<Vec<u128>> {
        let types: Vec<DataType> = columns.iter().map(|column| column.data_type().clone()).collect();
        let mut words = vec![];
        Packing::new(&types)?
            .pack(columns, columns[0].len(), &mut words)
            .then_some(words)
    }

    proptest! {
        /// Two rows have one word exactly if they have one key.
        #[test]
        fn words_are_equal_exactly_where_keys_are(
            rows in proptest::collection::vec(
                (proptest::option::of("[ab\\x00]{0,4}"), proptest::option::of(-2i32..2), proptest::option::of(any::<bool>())),
                1..50,
            ),
        ) {
            let columns: [ArrayRef; 3] = [
                Arc::new(StringArray::from_iter(rows.iter().map(|row| row.0.clone()))),
                Arc::new(Date32Array::from_iter(rows.iter().map(|row| row.1))),
                Arc::new(BooleanArray::from_iter(rows.iter().map(|row| row.2))),
            ];
            let words = pack(&columns).expect("a short key");
            for (a, left) in rows.iter().enumerate() {
                for (b, right) in rows.iter().enumerate() {
                    prop_assert_eq!(words[a] == words[b], left == right);
                }
            }
        }
    }

    #[test]
    fn a_value_without_a_place_in_its_bits_is_not_packed() {
        let long: ArrayRef = Arc::new(StringViewArray::from(vec!["fifteen letters", "sixteen letters!"]));
        assert!(pack(&[long.slice(0, 1)]).is_some());
        assert!(pack(&[long]).is_none());
        let wide: ArrayRef = Arc::new(Decimal128Array::from(vec![1i128 << 64]));
        assert!(pack(&[wide]).is_none());
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        assert!(
            pack(&[numbers.clone(), numbers]).is_none(),
            "two 64-bit numbers and their NULLs need 130 bits"
        );
    }

    #[test]
    fn slices_are_packed_from_their_first_row() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(2), None, Some(2)]));
        let words = pack(&[numbers.slice(1, 3)]).unwrap();
        assert_eq!(words, [2 << 1, 1, 2 << 1]);
    }
}
