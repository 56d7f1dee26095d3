//! Short group keys in 128 bits each, for a fast lookup.
//!
//! ```text
//!   l_returnflag 'A'          l_linestatus 'F'
//!   ┌────────────┬─────┐      ┌────────────┬─────┐
//!   │ 41 0 0 ... │ len │      │ 46 0 0 ... │ len │     text: bytes and length (255: NULL)
//!   └────────────┴─────┘      └────────────┴─────┘     numbers, days: one bit for NULL, and theirs
//! ```
//!
//! The types alone decide each column's bits; 64-bit numbers have fewer if all columns need more
//! than 128 together. A row with a value that does not fit (a long text, a large number) has no
//! fixed-width key and uses its row encoding. A key is thus always of one kind, and fixed-width keys
//! are equal exactly if the keys are.

mod texts;

use std::sync::Arc;

use arrow::array::{Array, ArrayData, ArrayRef, AsArray, BooleanArray, make_array};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Decimal128Type};
use arrow::error::ArrowError;

const BITS: u32 = 128;

/// Bits of a 64-bit number at least: more rows would have larger ones.
const NARROWEST: u32 = 24;

/// Bits of a text beside narrowed numbers, its length included.
const TEXT_BESIDE: u32 = 32;

#[derive(Clone, Debug)]
pub(crate) struct FixedWidthLayout {
    columns: Vec<Column>,
}

#[derive(Clone, Debug)]
struct Column {
    data_type: DataType,
    field: Field,
    /// Bits below this column.
    shift: u32,
}

#[derive(Clone, Copy, Debug)]
enum Field {
    /// One more bit above them marks NULL, so that a single number's key is the number.
    Bits(u32),
    /// One more byte is the length.
    Text(u32),
}

/// Numbers as unsigned numbers of the same width.
pub(crate) enum Numbers {
    Of8(ScalarBuffer<u8>),
    Of16(ScalarBuffer<u16>),
    Of32(ScalarBuffer<u32>),
    Of64(ScalarBuffer<u64>),
}

impl Numbers {
    /// Puts each number behind the key so far, which has `bits` and one for NULL for it.
    fn put(&self, bits: u32, fixed_keys: &mut Vec<u128>) {
        match self {
            Self::Of8(numbers) => put_numbers(numbers, bits, fixed_keys),
            Self::Of16(numbers) => put_numbers(numbers, bits, fixed_keys),
            Self::Of32(numbers) => put_numbers(numbers, bits, fixed_keys),
            Self::Of64(numbers) => put_numbers(numbers, bits, fixed_keys),
        }
    }
}

fn put_numbers<N: Copy + Into<u64>>(numbers: &[N], bits: u32, fixed_keys: &mut Vec<u128>) {
    let keys = numbers.iter().map(|&number| u128::from(number.into()));
    // The first numbers of keys need no zeros to be put behind.
    if fixed_keys.is_empty() {
        fixed_keys.extend(keys);
        return;
    }
    for (fixed_key, key) in fixed_keys.iter_mut().zip(keys) {
        *fixed_key = *fixed_key << (bits + 1) | key;
    }
}

impl Field {
    fn width(self) -> u32 {
        match self {
            Self::Bits(bits) => bits + 1,
            Self::Text(bytes) => 8 * (bytes + 1),
        }
    }
}

impl FixedWidthLayout {
    /// `None` if the columns do not fit.
    pub(crate) fn new(types: &[DataType]) -> Option<Self> {
        let mut fixed: Vec<Option<u32>> = types.iter().map(fixed_bits).collect();
        let texts = types.iter().filter(|data_type| is_text(data_type)).count() as u32;
        if fixed.iter().filter(|bits| bits.is_none()).count() as u32 != texts {
            return None;
        }
        let used = |fixed: &[Option<u32>]| -> u32 { fixed.iter().flatten().map(|bits| bits + 1).sum() };
        let wide = types.iter().filter(|data_type| is_wide(data_type)).count() as u32;
        if wide > 1 && used(&fixed) + 16 * texts > BITS {
            let others = used(&fixed) - 65 * wide + TEXT_BESIDE * texts;
            let narrow = (BITS.checked_sub(others)? / wide).checked_sub(1)?;
            if narrow < NARROWEST {
                return None;
            }
            let columns = fixed.iter_mut().zip(types);
            let wide = columns.filter(|(_, data_type)| is_wide(data_type));
            wide.for_each(|(bits, _)| *bits = Some(narrow));
        }
        let used = used(&fixed);
        let bytes = BITS.checked_sub(used)?.checked_div(texts).unwrap_or(0) / 8;
        if texts > 0 && bytes < 2 {
            return None;
        }
        let mut shift = 0;
        let column = |(bits, data_type): (&Option<u32>, &DataType)| {
            let field = bits.map_or_else(|| Field::Text(bytes - 1), Field::Bits);
            let column = Column {
                data_type: data_type.clone(),
                field,
                shift,
            };
            shift += field.width();
            column
        };
        let mut columns: Vec<Column> = fixed.iter().zip(types).rev().map(column).collect();
        columns.reverse();
        Some(Self { columns })
    }

    /// Rows that do not fit go to `long`, ascending; their `fixed_keys` are meaningless. If none
    /// fits, there may be no `fixed_keys`.
    pub(crate) fn pack(
        &self,
        columns: &[ArrayRef],
        rows: usize,
        fixed_keys: &mut Vec<u128>,
        long: &mut Vec<u32>,
    ) {
        fixed_keys.clear();
        long.clear();
        if let ([column], [values]) = (&*self.columns, columns)
            && let Field::Text(bytes) = column.field
            && texts::are_longer(values, bytes as usize)
        {
            long.extend(0..rows as u32);
            return;
        }
        for (column, values) in self.columns.iter().zip(columns) {
            if let (Field::Bits(bits), Some(numbers)) = (column.field, column.numbers(values)) {
                numbers.put(bits, fixed_keys);
                continue;
            }
            fixed_keys.resize(rows, 0);
            match column.field {
                Field::Bits(bits) => pack_bits(values, bits, fixed_keys, long),
                Field::Text(bytes) => texts::pack(values, bytes as usize, fixed_keys, long),
            }
        }
        long.sort_unstable();
        long.dedup();
    }

    /// Whether one of `columns`, which are those at `places`, has a value in the row that does not fit.
    pub(crate) fn are_long(&self, places: &[usize], columns: &[ArrayRef], rows: usize) -> Vec<bool> {
        let own = places.iter().map(|&place| self.columns[place].clone());
        let own = Self {
            columns: own.collect(),
        };
        let (mut fixed_keys, mut long) = (Vec::new(), Vec::new());
        own.pack(columns, rows, &mut fixed_keys, &mut long);
        let mut are_long = vec![false; rows];
        long.iter().for_each(|&row| are_long[row as usize] = true);
        are_long
    }

    /// The only key column as numbers, which are their keys, if it has up to 64 bits and no NULL.
    pub(crate) fn numbers(&self, columns: &[ArrayRef]) -> Option<Numbers> {
        let ([column], [values]) = (&*self.columns, columns) else {
            return None;
        };
        column.numbers(values)
    }

    pub(crate) fn mask(&self, places: &[usize]) -> u128 {
        let bits = |&place: &usize| {
            let column = &self.columns[place];
            u128::MAX >> (BITS - column.field.width()) << column.shift
        };
        places.iter().map(bits).fold(0, |mask, bits| mask | bits)
    }

    pub(crate) fn row_bytes(&self) -> usize {
        /// A text's offset and bytes, twice: the array grows as it is built.
        const TEXT: usize = 2 * (8 + BITS as usize / 8);
        let column = |column: &Column| column.data_type.primitive_width().unwrap_or(TEXT);
        self.columns.iter().map(column).sum()
    }

    pub(crate) fn unpack(
        &self,
        fixed_keys: impl ExactSizeIterator<Item = u128> + Clone,
    ) -> Result<Vec<ArrayRef>, ArrowError> {
        self.columns
            .iter()
            .map(|column| column.unpack(fixed_keys.clone()))
            .collect()
    }
}

impl Column {
    /// The values as numbers, if they have all bits of their type and no NULL.
    fn numbers(&self, values: &ArrayRef) -> Option<Numbers> {
        // The others have no buffer of numbers of that width.
        let is_number = !matches!(self.data_type, DataType::Boolean | DataType::Decimal128(..));
        let width = self.data_type.primitive_width().filter(|_| is_number)?;
        let Field::Bits(bits) = self.field else {
            return None;
        };
        if bits as usize != 8 * width || values.null_count() > 0 {
            return None;
        }
        let data = values.to_data();
        let (buffer, offset, rows) = (data.buffers()[0].clone(), data.offset(), data.len());
        Some(match width {
            1 => Numbers::Of8(ScalarBuffer::new(buffer, offset, rows)),
            2 => Numbers::Of16(ScalarBuffer::new(buffer, offset, rows)),
            4 => Numbers::Of32(ScalarBuffer::new(buffer, offset, rows)),
            _ => Numbers::Of64(ScalarBuffer::new(buffer, offset, rows)),
        })
    }

    fn unpack(
        &self,
        fixed_keys: impl ExactSizeIterator<Item = u128> + Clone,
    ) -> Result<ArrayRef, ArrowError> {
        let mask = u128::MAX >> (BITS - self.field.width());
        let fields = fixed_keys.map(|fixed_key| fixed_key >> self.shift & mask);
        match self.field {
            Field::Bits(bits) => unpack_bits(&self.data_type, bits, fields),
            Field::Text(_) => Ok(texts::unpack(&self.data_type, fields)),
        }
    }
}

fn fixed_bits(data_type: &DataType) -> Option<u32> {
    match data_type {
        DataType::Boolean => Some(1),
        DataType::Decimal128(..) => Some(64),
        other => match other.primitive_width() {
            Some(bytes @ 1..=8) => Some(bytes as u32 * 8),
            _ => None,
        },
    }
}

/// Whether most values are far from the ends of their 64 bits.
fn is_wide(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Int64
            | DataType::UInt64
            | DataType::Timestamp(..)
            | DataType::Date64
            | DataType::Time64(_)
            | DataType::Duration(_)
            | DataType::Decimal128(..)
    )
}

fn is_signed(data_type: &DataType) -> bool {
    *data_type != DataType::UInt64
}

/// The lower `bits` of a 64-bit number, as all of them.
fn extended(field: u64, bits: u32, is_signed: bool) -> u64 {
    let above = 64 - bits;
    match is_signed {
        true => ((field << above) as i64 >> above) as u64,
        false => field << above >> above,
    }
}

pub(crate) fn is_text(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

/// Values that are no [`Numbers`]: some are NULL, or their type has other bits.
fn pack_bits(column: &ArrayRef, bits: u32, fixed_keys: &mut [u128], long: &mut Vec<u32>) {
    let nulls = column.nulls().filter(|nulls| nulls.null_count() > 0);
    let mut put = |row: usize, value: u64| {
        let is_null = nulls.is_some_and(|nulls| nulls.is_null(row));
        let field = if is_null { 1 << bits } else { u128::from(value) };
        fixed_keys[row] = fixed_keys[row] << (bits + 1) | field;
    };
    let low = u64::MAX >> (64 - bits);
    if let DataType::Decimal128(..) = column.data_type() {
        let values = column.as_primitive::<Decimal128Type>().values();
        for (row, &value) in values.iter().enumerate() {
            put(row, value as u64 & low);
            if i128::from(extended(value as u64, bits, true) as i64) != value && column.is_valid(row) {
                long.push(row as u32);
            }
        }
        return;
    }
    if let Some(values) = column.as_boolean_opt() {
        values
            .values()
            .iter()
            .enumerate()
            .for_each(|(row, value)| put(row, u64::from(value)));
        return;
    }
    let data = column.to_data();
    if is_wide(column.data_type()) && bits < 64 {
        let is_signed = is_signed(column.data_type());
        let values = ScalarBuffer::<u64>::new(data.buffers()[0].clone(), data.offset(), data.len());
        for (row, &value) in values.iter().enumerate() {
            put(row, value & low);
            if extended(value, bits, is_signed) != value && column.is_valid(row) {
                long.push(row as u32);
            }
        }
        return;
    }
    macro_rules! put_all {
        ($t:ty) => {{
            let values = ScalarBuffer::<$t>::new(data.buffers()[0].clone(), data.offset(), data.len());
            for (row, &value) in values.iter().enumerate() {
                put(row, u64::from(value));
            }
        }};
    }
    match bits {
        8 => put_all!(u8),
        16 => put_all!(u16),
        32 => put_all!(u32),
        _ => put_all!(u64),
    }
}

fn unpack_bits(
    data_type: &DataType,
    bits: u32,
    fields: impl ExactSizeIterator<Item = u128> + Clone,
) -> Result<ArrayRef, ArrowError> {
    let rows = fields.len();
    let is_valid = |field: u128| field >> bits == 0;
    let nulls = (!fields.clone().all(is_valid)).then(|| NullBuffer::from_iter(fields.clone().map(is_valid)));
    let values = fields.map(|field| field as u64 & u64::MAX >> (64 - bits));
    if is_wide(data_type) {
        let is_signed = is_signed(data_type);
        let values = values.map(|value| extended(value, bits, is_signed));
        let buffer = match data_type {
            DataType::Decimal128(..) => {
                Buffer::from_vec(values.map(|value| i128::from(value as i64)).collect::<Vec<_>>())
            }
            _ => Buffer::from_vec(values.collect::<Vec<_>>()),
        };
        return array(data_type, rows, buffer, nulls);
    }
    if *data_type == DataType::Boolean {
        let values = BooleanBuffer::from_iter(values.map(|value| value != 0));
        return Ok(Arc::new(BooleanArray::new(values, nulls)));
    }
    let buffer = match bits {
        8 => Buffer::from_vec(values.map(|value| value as u8).collect::<Vec<_>>()),
        16 => Buffer::from_vec(values.map(|value| value as u16).collect::<Vec<_>>()),
        32 => Buffer::from_vec(values.map(|value| value as u32).collect::<Vec<_>>()),
        _ => Buffer::from_vec(values.collect::<Vec<_>>()),
    };
    array(data_type, rows, buffer, nulls)
}

fn array(
    data_type: &DataType,
    rows: usize,
    buffer: Buffer,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let data = ArrayData::builder(data_type.clone())
        .len(rows)
        .add_buffer(buffer)
        .nulls(nulls);
    Ok(make_array(data.build()?))
}

#[cfg(test)]
mod tests {
    use arrow::array::{
        Date32Array, Decimal128Array, Int64Array, LargeStringArray, StringArray, StringViewArray, UInt64Array,
    };
    use arrow::compute::cast;
    use proptest::prelude::*;

    use super::*;

    fn pack(columns: &[ArrayRef]) -> Option<Vec<u128>> {
        let types: Vec<DataType> = columns.iter().map(|column| column.data_type().clone()).collect();
        let (mut fixed_keys, mut long) = (vec![], vec![]);
        let layout = FixedWidthLayout::new(&types)?;
        layout.pack(columns, columns[0].len(), &mut fixed_keys, &mut long);
        if long.is_empty() {
            assert_eq!(
                layout.unpack(fixed_keys.iter().copied()).unwrap(),
                columns,
                "what was packed comes back"
            );
        }
        long.is_empty().then_some(fixed_keys)
    }

    proptest! {
        #[test]
        fn texts_of_a_dictionary_are_packed_as_those_of_rows(
            rows in proptest::collection::vec(proptest::option::weighted(0.8, "[ab]{0,6}"), 1..50),
            from in 0usize..5,
        ) {
            let from = from.min(rows.len() - 1);
            let texts: ArrayRef = Arc::new(StringViewArray::from_iter(rows.iter().map(Option::as_deref)));
            let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows.len() as i64));
            let text = Box::new(DataType::Utf8View);
            let coded = cast(&texts, &DataType::Dictionary(Box::new(DataType::UInt16), text)).unwrap();
            let layout = FixedWidthLayout::new(&[DataType::Int64, DataType::Utf8View]).unwrap();
            let pack = |texts: &ArrayRef| {
                let columns = [&numbers, texts].map(|column| column.slice(from, rows.len() - from));
                let (mut fixed_keys, mut long) = (vec![], vec![]);
                layout.pack(&columns, columns[0].len(), &mut fixed_keys, &mut long);
                // Keys of rows without a fixed width mean nothing.
                long.iter().for_each(|&row| fixed_keys[row as usize] = 0);
                (fixed_keys, long)
            };
            prop_assert_eq!(pack(&coded), pack(&texts));
        }

        #[test]
        fn texts_that_have_no_word_are_those_of_more_than_fifteen_bytes(
            rows in proptest::collection::vec(
                proptest::option::weighted(0.9, prop_oneof![1 => "[ab]{0,15}", 9 => "[ab]{16,18}"]),
                1..10,
            ),
            from in 0usize..3,
        ) {
            let from = from.min(rows.len() - 1);
            let rows: Vec<Option<&str>> = rows.iter().map(Option::as_deref).collect();
            let columns: [ArrayRef; 3] = [
                Arc::new(StringArray::from(rows.clone())),
                Arc::new(LargeStringArray::from(rows.clone())),
                Arc::new(StringViewArray::from(rows.clone())),
            ];
            let rows = &rows[from..];
            let is_long = |row: &u32| rows[*row as usize].is_some_and(|text| text.len() > 15);
            let expected: Vec<u32> = (0..rows.len() as u32).filter(is_long).collect();
            for texts in columns.map(|texts| texts.slice(from, rows.len())) {
                let layout = FixedWidthLayout::new(&[texts.data_type().clone()]).unwrap();
                let (mut fixed_keys, mut long) = (vec![7], vec![7]);
                layout.pack(&[texts], rows.len(), &mut fixed_keys, &mut long);
                prop_assert_eq!(&long, &expected);
                let packed = if expected.len() == rows.len() { 0 } else { rows.len() };
                prop_assert_eq!(fixed_keys.len(), packed);
            }
        }

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
            let fixed_keys = pack(&columns).expect("a short key");
            for (a, left) in rows.iter().enumerate() {
                for (b, right) in rows.iter().enumerate() {
                    prop_assert_eq!(fixed_keys[a] == fixed_keys[b], left == right);
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
    }

    #[test]
    fn several_wide_numbers_share_the_bits() {
        let half = 1i64 << 62;
        let fit: ArrayRef = Arc::new(Int64Array::from(vec![
            Some(-half),
            Some(half - 1),
            Some(-1),
            None,
        ]));
        let dates: ArrayRef = Arc::new(Date32Array::from(vec![Some(-1), None, Some(7), Some(i32::MIN)]));
        let prices = Decimal128Array::from(vec![Some(-5), Some(0), None, Some((1 << 45) - 1)]);
        let prices: ArrayRef = Arc::new(prices);
        let counts: ArrayRef = Arc::new(UInt64Array::from(vec![0, 1, 2, (1 << 46) - 1]));
        assert!(pack(&[fit.clone(), fit.clone()]).is_some());
        assert!(pack(&[dates, prices.clone(), counts.clone()]).is_some());
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["abc", "", "a", "b"]));
        assert!(pack(&[texts, prices.clone(), counts]).is_some());
        for too_large in [half, -half - 1] {
            let large: ArrayRef = Arc::new(Int64Array::from(vec![too_large]));
            assert!(pack(&[large.clone(), large.clone()]).is_none(), "{too_large}");
            assert!(pack(&[large]).is_some(), "one column has all bits");
        }
        let unsigned: ArrayRef = Arc::new(UInt64Array::from(vec![1 << 63]));
        assert!(pack(&[unsigned.clone(), unsigned]).is_none());
        assert!(FixedWidthLayout::new(&vec![DataType::Int64; 5]).is_some());
        assert!(FixedWidthLayout::new(&vec![DataType::Int64; 6]).is_none());
    }

    #[test]
    fn only_rows_with_a_long_value_have_no_word() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some("sixteen letters!"), None]));
        let layout = FixedWidthLayout::new(&[DataType::Utf8]).unwrap();
        let (mut fixed_keys, mut long) = (vec![], vec![]);
        layout.pack(&[texts], 3, &mut fixed_keys, &mut long);
        assert_eq!(long, [1]);
        let back = layout.unpack(fixed_keys.iter().copied()).unwrap();
        assert_eq!(back[0].as_string::<i32>().value(0), "a");
        assert!(back[0].is_null(2));
    }

    #[test]
    fn slices_are_packed_from_their_first_row() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(2), None, Some(2)]));
        let fixed_keys = pack(&[numbers.slice(1, 3)]).unwrap();
        assert_eq!(fixed_keys, [2, 1 << 64, 2]);
    }
}
