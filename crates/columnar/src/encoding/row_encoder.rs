//! Rows as bytes: texts and numbers as they are, other types in arrow's row encoding.
//!
//! ```text
//!   'red', 7, NULL    03 00 00 00  r e d    00  07 00 00 00 00 00 00 00    01  00 …
//!                     length       bytes    valid  number                  NULL
//! ```
//!
//! Arrow's encoding keeps the order of values, for which each text is cut into blocks. Keys need no
//! order, and the bytes of a text are copied as they lie. A row of one text alone is its bytes: it
//! is not copied before it is kept, and needs no length.

use std::sync::Arc;

use arrow::array::{Array, ArrayData, ArrayRef, AsArray, BooleanArray, GenericStringArray};
use arrow::array::{
    LargeStringArray, OffsetSizeTrait, StringArray, StringArrayType, StringViewArray, UInt32Array, make_array,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow::compute::{cast, take_arrays};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::row::{RowConverter, SortField};

use super::dictionary_keys::DictionaryKeys;
use super::fixed_width::is_text;
use crate::memory::{MemoryPool, Reservation, encoded_bytes};

/// Rows that are visited at once.
pub(crate) const BATCH_ROWS: usize = 256;
/// The length of a NULL text.
const NULL: u32 = u32::MAX;
/// The row of a NULL text alone: no text has this byte.
pub(crate) const NULL_ROW: &[u8] = &[0xff];

#[derive(Debug)]
pub(crate) enum RowEncoder {
    Text(DataType),
    Plain(Vec<DataType>),
    Arrow(RowConverter),
}

enum Column<'a> {
    Text32(&'a StringArray),
    Text64(&'a LargeStringArray),
    TextView(&'a StringViewArray),
    /// Texts of a dictionary array.
    Dictionary {
        keys: DictionaryKeys,
        texts: Box<Self>,
    },
    Boolean(&'a BooleanArray),
    Fixed {
        values: Buffer,
        /// The values before the first.
        offset: usize,
        width: usize,
        nulls: Option<&'a NullBuffer>,
    },
}

impl RowEncoder {
    /// Fails if values of a type cannot be told apart.
    pub(crate) fn new<'t>(types: impl Iterator<Item = &'t DataType>) -> Result<Self, ArrowError> {
        let types: Vec<DataType> = types.cloned().collect();
        if let [text] = &*types
            && is_text(text)
        {
            return Ok(Self::Text(text.clone()));
        }
        if types.iter().all(is_plain) {
            return Ok(Self::Plain(types));
        }
        let fields = types.into_iter().map(SortField::new);
        Ok(Self::Arrow(RowConverter::new(fields.collect())?))
    }

    /// Visits the bytes of each row, or of `rows`, in order: a batch of up to [`BATCH_ROWS`] at a time,
    /// with the number of those before it. Floats in `columns` must be canonical. Of several columns,
    /// texts may be those of a dictionary array.
    pub(crate) fn for_batches(
        &self,
        columns: &[ArrayRef],
        rows: Option<&[u32]>,
        pool: Option<&Arc<MemoryPool>>,
        mut visit: impl FnMut(usize, &[&[u8]]) -> Result<(), ArrowError>,
    ) -> Result<(), ArrowError> {
        let count = columns.first().map_or(0, |column| column.len());
        let count = rows.map_or(count, <[u32]>::len);
        match self {
            Self::Text(DataType::Utf8) => visit_texts(columns[0].as_string::<i32>(), rows, visit)?,
            Self::Text(DataType::LargeUtf8) => visit_texts(columns[0].as_string::<i64>(), rows, visit)?,
            Self::Text(_) => visit_texts(columns[0].as_string_view(), rows, visit)?,
            Self::Plain(_) => {
                let columns: Vec<Column<'_>> = columns.iter().map(Column::of).collect();
                let (mut bytes, mut places) = (Vec::new(), Vec::new());
                for first in (0..count).step_by(BATCH_ROWS) {
                    bytes.clear();
                    places.clear();
                    for at in first..count.min(first + BATCH_ROWS) {
                        let (row, start) = (rows.map_or(at, |rows| rows[at] as usize), bytes.len());
                        columns
                            .iter()
                            .try_for_each(|column| column.encode(row, &mut bytes))?;
                        places.push(start..bytes.len());
                    }
                    let encoded = places.iter().map(|place| &bytes[place.clone()]);
                    visit_batches(encoded, |_first, batch| visit(first, batch))?;
                }
            }
            Self::Arrow(converter) => {
                let picked = match rows {
                    Some(rows) if rows.len() < columns[0].len() => {
                        Some(take_arrays(columns, &UInt32Array::from(rows.to_vec()), None)?)
                    }
                    _ => None,
                };
                let columns = picked.as_deref().unwrap_or(columns).iter();
                let decode = |column: &ArrayRef| match column.data_type() {
                    DataType::Dictionary(_, texts) => cast(column, texts),
                    _ => Ok(column.clone()),
                };
                let columns = &columns.map(decode).collect::<Result<Vec<_>, _>>()?;
                let mut reservation = Reservation::of(pool.cloned());
                reservation.grow(encoded_bytes(columns))?;
                let encoded = converter.convert_columns(columns)?;
                visit_batches(encoded.iter().map(|row| row.data()), visit)?;
            }
        }
        Ok(())
    }

    /// The rows must come from this encoder, or one of the same types.
    pub(crate) fn decode<'r>(
        &self,
        rows: impl ExactSizeIterator<Item = &'r [u8]> + Clone,
    ) -> Result<Vec<ArrayRef>, ArrowError> {
        match self {
            Self::Text(data_type) => {
                let bytes = rows.clone().map(<[u8]>::len).sum();
                let texts = rows.map(|row| (row != NULL_ROW).then_some(row));
                Ok(vec![texts_of(data_type, texts, bytes)?])
            }
            Self::Plain(types) => {
                let mut rest: Vec<&[u8]> = rows.collect();
                types
                    .iter()
                    .map(|data_type| decode(data_type, &mut rest))
                    .collect()
            }
            Self::Arrow(converter) => {
                let parser = converter.parser();
                converter.convert_rows(rows.map(|row| parser.parse(row)))
            }
        }
    }
}

impl<'a> Column<'a> {
    fn of(column: &'a ArrayRef) -> Self {
        match column.data_type() {
            DataType::Utf8 => Self::Text32(column.as_string()),
            DataType::LargeUtf8 => Self::Text64(column.as_string()),
            DataType::Utf8View => Self::TextView(column.as_string_view()),
            DataType::Dictionary(..) => {
                let dictionary = column.as_any_dictionary();
                Self::Dictionary {
                    keys: DictionaryKeys::of(dictionary),
                    texts: Box::new(Self::of(dictionary.values())),
                }
            }
            DataType::Boolean => Self::Boolean(column.as_boolean()),
            other => {
                let data = column.to_data();
                Self::Fixed {
                    values: data.buffers()[0].clone(),
                    offset: data.offset(),
                    width: other.primitive_width().expect("a number"),
                    nulls: column.nulls(),
                }
            }
        }
    }

    #[inline]
    fn encode(&self, row: usize, bytes: &mut Vec<u8>) -> Result<(), ArrowError> {
        match self {
            Self::Text32(texts) => encode_text(texts.is_valid(row).then(|| texts.value(row)), bytes),
            Self::Text64(texts) => encode_text(texts.is_valid(row).then(|| texts.value(row)), bytes),
            Self::TextView(texts) => encode_text(texts.is_valid(row).then(|| texts.value(row)), bytes),
            Self::Dictionary { keys, texts } => match keys.at(row) {
                Some(text) => texts.encode(text, bytes),
                None => encode_text(None, bytes),
            },
            Self::Boolean(values) => {
                let is_valid = values.is_valid(row);
                let value = is_valid && values.value(row);
                bytes.extend([u8::from(!is_valid), u8::from(value)]);
                Ok(())
            }
            Self::Fixed {
                values,
                offset,
                width,
                nulls,
            } => {
                let is_null = nulls.is_some_and(|nulls| nulls.is_null(row));
                bytes.push(u8::from(is_null));
                let start = (offset + row) * width;
                match is_null {
                    true => bytes.extend_from_slice(&[0; 16][..*width]),
                    false => bytes.extend_from_slice(&values[start..start + width]),
                }
                Ok(())
            }
        }
    }
}

fn visit_texts<'a>(
    texts: impl StringArrayType<'a>,
    rows: Option<&[u32]>,
    visit: impl FnMut(usize, &[&[u8]]) -> Result<(), ArrowError>,
) -> Result<(), ArrowError> {
    let nulls = texts.nulls().cloned();
    let encoded = |row: usize| match nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
        true => NULL_ROW,
        false => texts.value(row).as_bytes(),
    };
    match rows {
        Some(rows) => visit_batches(rows.iter().map(|&row| encoded(row as usize)), visit),
        None => visit_batches((0..texts.len()).map(encoded), visit),
    }
}

fn visit_batches<'a>(
    mut rows: impl ExactSizeIterator<Item = &'a [u8]>,
    mut visit: impl FnMut(usize, &[&[u8]]) -> Result<(), ArrowError>,
) -> Result<(), ArrowError> {
    let (count, mut first) = (rows.len(), 0);
    let mut batch = [&[][..]; BATCH_ROWS];
    while first < count {
        let batch = &mut batch[..BATCH_ROWS.min(count - first)];
        batch.iter_mut().zip(&mut rows).for_each(|(to, row)| *to = row);
        visit(first, batch)?;
        first += batch.len();
    }
    Ok(())
}

fn encode_text(text: Option<&str>, bytes: &mut Vec<u8>) -> Result<(), ArrowError> {
    let Some(text) = text else {
        bytes.extend(NULL.to_le_bytes());
        return Ok(());
    };
    let length = u32::try_from(text.len()).ok().filter(|&length| length != NULL);
    let length = length.ok_or_else(|| ArrowError::ComputeError("a text of 4 GiB".to_owned()))?;
    bytes.extend(length.to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    Ok(())
}

/// Takes the values of a column from the beginning of each row.
fn decode(data_type: &DataType, rows: &mut [&[u8]]) -> Result<ArrayRef, ArrowError> {
    Ok(match data_type {
        text if is_text(text) => {
            let bytes = rows.iter().map(|row| row.len()).sum();
            texts_of(text, rows.iter_mut().map(take_text), bytes)?
        }
        DataType::Boolean => {
            let value = |row: &mut &[u8]| {
                let (is_null, value) = (take(row, 1)[0] == 1, take(row, 1)[0] == 1);
                (!is_null).then_some(value)
            };
            Arc::new(rows.iter_mut().map(value).collect::<BooleanArray>())
        }
        other => {
            let width = other.primitive_width().expect("a number");
            let mut values: Vec<u8> = Vec::with_capacity(rows.len() * width);
            let mut are_valid = Vec::with_capacity(rows.len());
            for row in rows.iter_mut() {
                are_valid.push(take(row, 1)[0] == 0);
                values.extend_from_slice(take(row, width));
            }
            let nulls = are_valid.contains(&false).then(|| NullBuffer::from(are_valid));
            let data = ArrayData::builder(other.clone()).len(rows.len()).nulls(nulls);
            make_array(
                data.add_buffer(Buffer::from_vec(values))
                    .align_buffers(true)
                    .build()?,
            )
        }
    })
}

/// `bytes` are those of the texts, or more.
fn texts_of<'r>(
    data_type: &DataType,
    texts: impl ExactSizeIterator<Item = Option<&'r [u8]>>,
    bytes: usize,
) -> Result<ArrayRef, ArrowError> {
    Ok(match data_type {
        DataType::Utf8 => Arc::new(text_array::<i32>(texts, bytes)?),
        DataType::LargeUtf8 => Arc::new(text_array::<i64>(texts, bytes)?),
        _ => Arc::new(StringViewArray::from(&text_array::<i64>(texts, bytes)?)),
    })
}

/// All texts are checked as UTF-8 at once: one by one, the checks took a tenth of a query's time.
fn text_array<'r, O: OffsetSizeTrait>(
    texts: impl ExactSizeIterator<Item = Option<&'r [u8]>>,
    bytes: usize,
) -> Result<GenericStringArray<O>, ArrowError> {
    let mut bytes = Vec::with_capacity(bytes);
    let mut lengths = Vec::with_capacity(texts.len());
    let mut are_valid = Vec::with_capacity(texts.len());
    for text in texts {
        are_valid.push(text.is_some());
        let text = text.unwrap_or_default();
        bytes.extend_from_slice(text);
        lengths.push(text.len());
    }
    if O::from_usize(bytes.len()).is_none() {
        return Err(ArrowError::OffsetOverflowError(bytes.len()));
    }
    let nulls = are_valid.contains(&false).then(|| NullBuffer::from(are_valid));
    let offsets = OffsetBuffer::from_lengths(lengths);
    GenericStringArray::try_new(offsets, Buffer::from_vec(bytes), nulls)
}

/// Takes a text from the beginning of a row.
fn take_text<'r>(row: &mut &'r [u8]) -> Option<&'r [u8]> {
    let length = u32::from_le_bytes(take(row, size_of::<u32>()).try_into().expect("four bytes"));
    (length != NULL).then(|| take(row, length as usize))
}

fn take<'r>(row: &mut &'r [u8], bytes: usize) -> &'r [u8] {
    let (taken, rest) = row.split_at(bytes);
    *row = rest;
    taken
}

fn is_plain(data_type: &DataType) -> bool {
    match data_type {
        DataType::Boolean => true,
        text if is_text(text) => true,
        other => other.primitive_width().is_some_and(|width| width <= 16),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Date32Array, Decimal128Array, Float64Array, Int64Array, ListArray};
    use arrow::compute::concat;
    use arrow::datatypes::Int32Type;
    use proptest::prelude::*;

    use super::super::EncodedRows;
    use super::*;

    fn columns(rows: &[(Option<String>, Option<i64>, Option<bool>)]) -> Vec<ArrayRef> {
        let texts = || rows.iter().map(|row| row.0.as_deref());
        let numbers = || rows.iter().map(|row| row.1);
        vec![
            Arc::new(texts().collect::<StringArray>()),
            Arc::new(numbers().collect::<Int64Array>()),
            Arc::new(texts().collect::<StringViewArray>()),
            Arc::new(rows.iter().map(|row| row.2).collect::<BooleanArray>()),
            Arc::new(
                numbers()
                    .map(|number| number.map(i128::from))
                    .collect::<Decimal128Array>(),
            ),
            Arc::new(texts().rev().collect::<LargeStringArray>()),
            Arc::new(
                numbers()
                    .map(|number| number.map(|n| n as i32))
                    .collect::<Date32Array>(),
            ),
            Arc::new(
                numbers()
                    .map(|number| number.map(|n| n as f64))
                    .collect::<Float64Array>(),
            ),
        ]
    }

    fn encoded(encoder: &RowEncoder, columns: &[ArrayRef]) -> EncodedRows {
        let mut rows = EncodedRows::new(None);
        let pushed = encoder.for_batches(columns, None, None, |first, batch| {
            assert_eq!(first, rows.iter().len());
            Ok(batch.iter().try_for_each(|row| rows.push(row))?)
        });
        pushed.unwrap();
        rows
    }

    proptest! {
        #[test]
        fn rows_come_back_and_are_equal_as_bytes_exactly_if_they_are(
            rows in proptest::collection::vec((
                proptest::option::of("[aé]{0,3}|a text of more than one block of bytes"),
                proptest::option::of(prop_oneof![-2i64..2, any::<i64>()]),
                any::<Option<bool>>(),
            ), 1..30),
            from in 0usize..5,
        ) {
            // Slices have offsets.
            let from = from.min(rows.len() - 1);
            let slice = |column: ArrayRef| column.slice(from, rows.len() - from);
            let columns: Vec<ArrayRef> = columns(&rows).into_iter().map(slice).collect();
            let types: Vec<DataType> = columns.iter().map(|column| column.data_type().clone()).collect();
            let encoder = RowEncoder::new(types.iter()).unwrap();
            prop_assert!(matches!(encoder, RowEncoder::Plain(_)));
            let encoded = encoded(&encoder, &columns);
            prop_assert_eq!(encoded.iter().len(), rows.len() - from);
            let decoded = encoder.decode(encoded.iter()).unwrap();
            prop_assert_eq!(&decoded, &columns);
            let coded = columns.iter().map(|column| match is_text(column.data_type()) {
                true => {
                    let key = Box::new(DataType::UInt8);
                    cast(column, &DataType::Dictionary(key, Box::new(column.data_type().clone()))).unwrap()
                }
                false => column.clone(),
            });
            let of_coded = self::encoded(&encoder, &coded.collect::<Vec<_>>());
            prop_assert!(of_coded.iter().eq(encoded.iter()));
            for a in 0..encoded.iter().len() {
                for b in 0..a {
                    let is_same = columns.iter().all(|column| column.slice(a, 1) == column.slice(b, 1));
                    prop_assert_eq!(encoded.row(a) == encoded.row(b), is_same);
                }
            }
        }
    }

    #[test]
    fn a_row_of_one_text_is_its_bytes_and_null_is_none_of_them() {
        let texts = [
            None,
            Some(""),
            Some("a"),
            Some("é"),
            Some("a text that is longer"),
        ];
        let columns: [ArrayRef; 3] = [
            Arc::new(StringArray::from(texts.to_vec())),
            Arc::new(LargeStringArray::from(texts.to_vec())),
            Arc::new(StringViewArray::from(texts.to_vec())),
        ];
        for columns in columns.map(|column| [column]) {
            let encoder = RowEncoder::new([columns[0].data_type()].into_iter()).unwrap();
            let rows = encoded(&encoder, &columns);
            let bytes = texts.map(|text| text.map_or(NULL_ROW, str::as_bytes));
            assert!(rows.iter().eq(bytes));
            assert_eq!(encoder.decode(rows.iter()).unwrap(), columns);
            let mut some = Vec::new();
            let visited = encoder.for_batches(&columns, Some(&[4, 0]), None, |_first, batch| {
                some.extend(batch.iter().map(|row| row.to_vec()));
                Ok(())
            });
            visited.unwrap();
            assert_eq!(some, [bytes[4].to_vec(), bytes[0].to_vec()]);
        }
    }

    #[test]
    fn other_types_are_encoded_by_arrow() {
        let list = |values| ListArray::from_iter_primitive::<Int32Type, _, _>([Some(values)]);
        let lists = [list(vec![Some(1), None]), list(vec![])];
        let column = concat(&[&lists[0], &lists[1]]).unwrap();
        let encoder = RowEncoder::new([column.data_type()].into_iter()).unwrap();
        assert!(matches!(encoder, RowEncoder::Arrow(_)));
        let rows = encoded(&encoder, std::slice::from_ref(&column));
        assert_eq!(
            encoder.decode(rows.iter()).unwrap(),
            std::slice::from_ref(&column)
        );

        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let coded = DataType::Dictionary(Box::new(DataType::UInt8), Box::new(DataType::Utf8));
        let coded = cast(&texts, &coded).unwrap();
        let encoder = RowEncoder::new([column.data_type(), &DataType::Utf8].into_iter()).unwrap();
        let rows = encoded(&encoder, &[column.clone(), coded]);
        assert_eq!(encoder.decode(rows.iter()).unwrap(), [column, texts]);
    }
}
