//! Columns of numbers whose pages hold plain values, or codes of a dictionary, or first one and then
//! the other.
//!
//! The `parquet` crate's reader decompresses a dictionary that no page needs, and makes 128-bit
//! decimals of 64-bit numbers. Where few rows are wanted, only their values are taken here. What is
//! not as expected is left to that reader.

use std::ops::Range;
use std::sync::Arc;

use ::parquet::basic::{Encoding, Type};
use arrow::array::{
    ArrayRef, Date32Array, Decimal64Array, Float32Array, Float64Array, Int32Array, Int64Array,
};
use arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::{ArrowNativeType, DataType};
use bytes::Bytes;

use super::chunks::Chunks;
use super::hybrid;
use super::pages::FlatColumn;
use super::validity::Validity;

/// The values of a column in `wanted` rows; `None` if there are other pages, or a type that is not
/// known here.
pub(super) fn read(column: &FlatColumn<'_>, chunks: &Chunks, wanted: &Range<usize>) -> Option<ArrayRef> {
    match column.stored() {
        Type::INT32 | Type::FLOAT => of_column::<i32>(column, chunks, wanted),
        Type::INT64 | Type::DOUBLE => of_column::<i64>(column, chunks, wanted),
        _ => None,
    }
}

/// The values of a column in `rows`, which ascend and are among the `wanted` ones; `None` as of
/// [`read`], and if there are NULLs.
pub(super) fn read_at(
    column: &FlatColumn<'_>,
    chunks: &Chunks,
    wanted: &Range<usize>,
    rows: &[usize],
) -> Option<ArrayRef> {
    match column.stored() {
        Type::INT32 | Type::FLOAT => at_rows::<i32>(column, chunks, wanted, rows),
        Type::INT64 | Type::DOUBLE => at_rows::<i64>(column, chunks, wanted, rows),
        _ => None,
    }
}

/// Whether the footer says nothing against it.
pub(super) fn may_be(column: &FlatColumn<'_>) -> bool {
    let chunk = column.chunk;
    let encodings = chunk.page_encoding_stats_mask().unwrap_or(chunk.encodings_mask());
    let is_other = |encoding| encodings.is_set(encoding);
    let others = [Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT];
    is_known(column.stored(), column.data_type) && !others.into_iter().any(is_other)
}

pub(super) fn is_known(stored: Type, data_type: &DataType) -> bool {
    matches!(
        (stored, data_type),
        (Type::INT32, DataType::Int32 | DataType::Date32)
            | (Type::INT64, DataType::Int64)
            | (Type::FLOAT, DataType::Float32)
            | (Type::DOUBLE, DataType::Float64)
            | (Type::INT32 | Type::INT64, DataType::Decimal128(..))
    )
}

fn of_column<N: Number>(column: &FlatColumn<'_>, chunks: &Chunks, wanted: &Range<usize>) -> Option<ArrayRef> {
    let mut pages = column.pages(chunks, wanted)?;
    let rows = pages.rows.clone();
    let mut validity = Validity::new(column.has_nulls());
    let mut values: Vec<N> = Vec::with_capacity(rows.len());
    let (mut present, mut codes) = (Vec::new(), Vec::<u32>::new());
    let mut dictionary: Option<ScalarBuffer<N>> = None;
    while values.len() < rows.len() {
        let page = pages.next()?;
        if page.rows > rows.len() - values.len() {
            return None;
        }
        let count = validity.add(page.levels(), page.rows)?;
        let into = match count == page.rows {
            true => &mut values,
            false => {
                present.clear();
                &mut present
            }
        };
        if page.is_coded() {
            codes.clear();
            hybrid::read_codes(page.values(), count, &mut codes)?;
            let dictionary = match &dictionary {
                Some(dictionary) => dictionary,
                None => {
                    let (bytes, count) = pages.dictionary()?;
                    dictionary.insert(plain(&bytes, count)?)
                }
            };
            let before = into.len();
            let known = codes.iter().map_while(|code| dictionary.get(*code as usize));
            into.extend(known);
            if into.len() - before != count {
                return None;
            }
        } else if page.encoding == Encoding::PLAIN {
            N::append(page.values(), count, into)?;
        } else {
            return None;
        }
        if count < page.rows {
            validity.spread(&present, &mut values);
        }
        pages.give_back(page);
    }
    let whole = array(
        values.into(),
        validity.finish(),
        column.stored(),
        column.data_type,
    )?;
    Some(whole.slice(wanted.start - rows.start, wanted.len()))
}

fn at_rows<N: Number>(
    column: &FlatColumn<'_>,
    chunks: &Chunks,
    wanted: &Range<usize>,
    rows: &[usize],
) -> Option<ArrayRef> {
    let mut pages = column.pages(chunks, wanted)?;
    let mut values: Vec<N> = Vec::with_capacity(rows.len());
    let mut codes = Vec::new();
    let mut dictionary: Option<ScalarBuffer<N>> = None;
    pages.at_rows(rows, |pages, page, places| {
        let count = values.len() + places.len();
        if page.is_coded() {
            codes.clear();
            hybrid::read_codes_at(page.values(), page.rows, places, &mut codes)?;
            let dictionary = match &dictionary {
                Some(dictionary) => dictionary,
                None => {
                    let (bytes, count) = pages.dictionary()?;
                    dictionary.insert(plain(&bytes, count)?)
                }
            };
            let known = codes.iter().map_while(|code| dictionary.get(*code as usize));
            values.extend(known);
        } else if page.encoding == Encoding::PLAIN {
            N::append_at(page.values(), places, &mut values);
        } else {
            return None;
        }
        (values.len() == count).then_some(())
    })?;
    array(values.into(), None, column.stored(), column.data_type)
}

/// The numbers of a plain page without NULLs.
pub(super) fn of_page(bytes: &Bytes, count: usize, stored: Type, data_type: &DataType) -> Option<ArrayRef> {
    match stored {
        Type::INT32 | Type::FLOAT => array::<i32>(plain(bytes, count)?, None, stored, data_type),
        Type::INT64 | Type::DOUBLE => array::<i64>(plain(bytes, count)?, None, stored, data_type),
        _ => None,
    }
}

/// Numbers as they are stored; floats by their bits.
fn array<N: Number>(
    values: ScalarBuffer<N>,
    nulls: Option<NullBuffer>,
    stored: Type,
    data_type: &DataType,
) -> Option<ArrayRef> {
    if !is_known(stored, data_type) {
        return None;
    }
    let count = values.len();
    let bits = || values.inner().clone();
    Some(match data_type {
        DataType::Int32 => Arc::new(Int32Array::new(ScalarBuffer::new(bits(), 0, count), nulls)),
        DataType::Date32 => Arc::new(Date32Array::new(ScalarBuffer::new(bits(), 0, count), nulls)),
        DataType::Float32 => Arc::new(Float32Array::new(ScalarBuffer::new(bits(), 0, count), nulls)),
        DataType::Int64 => Arc::new(Int64Array::new(ScalarBuffer::new(bits(), 0, count), nulls)),
        DataType::Float64 => Arc::new(Float64Array::new(ScalarBuffer::new(bits(), 0, count), nulls)),
        DataType::Decimal128(precision, scale) => {
            let numbers = match stored {
                Type::INT64 => ScalarBuffer::new(bits(), 0, count),
                _ => values.iter().map(|number| number.wide()).collect(),
            };
            let numbers = Decimal64Array::new(numbers, nulls);
            Arc::new(numbers.with_precision_and_scale(*precision, *scale).ok()?)
        }
        _ => return None,
    })
}

/// A number of Parquet's fixed widths.
trait Number: ArrowNativeType {
    /// Appends numbers of a plain page. `None` if there are fewer.
    fn append(bytes: &[u8], count: usize, into: &mut Vec<Self>) -> Option<()>;

    /// Appends the numbers at `places` of a plain page, up to one that there is not.
    fn append_at(bytes: &[u8], places: impl Iterator<Item = usize>, into: &mut Vec<Self>);

    fn wide(self) -> i64;
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl Number for $number {
            fn append(bytes: &[u8], count: usize, into: &mut Vec<Self>) -> Option<()> {
                let numbers = bytes.as_chunks().0.get(..count)?;
                into.extend(numbers.iter().map(|number| Self::from_le_bytes(*number)));
                Some(())
            }

            fn append_at(bytes: &[u8], places: impl Iterator<Item = usize>, into: &mut Vec<Self>) {
                let (numbers, _) = bytes.as_chunks();
                let known = places.map_while(|place| numbers.get(place));
                into.extend(known.map(|number| Self::from_le_bytes(*number)));
            }

            fn wide(self) -> i64 {
                self as i64
            }
        })*
    };
}
numbers!(i32 i64);

/// The page's own bytes, if they lie as this machine reads numbers.
fn plain<N: Number>(bytes: &Bytes, count: usize) -> Option<ScalarBuffer<N>> {
    let lies_well = cfg!(target_endian = "little") && bytes.as_ptr().align_offset(align_of::<N>()) == 0;
    if lies_well {
        let fits = count.checked_mul(size_of::<N>())? <= bytes.len();
        return fits.then(|| ScalarBuffer::new(Buffer::from(bytes.clone()), 0, count));
    }
    let mut numbers = Vec::with_capacity(count.min(bytes.len()));
    N::append(bytes, count, &mut numbers)?;
    Some(numbers.into())
}

#[cfg(test)]
mod tests {
    use ::parquet::basic::{Compression, ZstdLevel};
    use ::parquet::file::properties::WriterVersion;
    use arrow::array::{Decimal128Array, RecordBatch, UInt64Array};
    use arrow::compute::{cast, take};
    use proptest::prelude::*;

    use super::super::written::{assert_reads, properties};
    use super::*;

    /// A column of each type that is known here, NULL where `nulls` says.
    fn batch(rows: &[(i32, bool)], nulls: bool) -> RecordBatch {
        let numbers = || {
            rows.iter()
                .map(|&(number, is_null)| (!(nulls && is_null)).then_some(number))
        };
        let ints = || numbers().collect::<Int32Array>();
        let longs = numbers().map(|number| number.map(|number| i64::from(number) << 20));
        let reals = numbers().map(|number| number.map(|number| f64::from(number) / 4.0));
        let decimal = |factor, precision| {
            let numbers =
                numbers().map(|number| number.map(|number| i128::from(number % 1_000_000) * factor));
            let numbers = Decimal128Array::from_iter(numbers);
            Arc::new(numbers.with_precision_and_scale(precision, 2).unwrap())
        };
        let floats = numbers().map(|number| number.map(|number| number as f32 / 4.0));
        let columns: [(&str, ArrayRef); 7] = [
            ("int", Arc::new(ints())),
            ("long", Arc::new(longs.collect::<Int64Array>())),
            ("day", cast(&ints(), &DataType::Date32).unwrap()),
            ("real", Arc::new(reals.collect::<Float64Array>())),
            ("float", Arc::new(floats.collect::<Float32Array>())),
            ("short decimal", decimal(7, 9)),
            ("decimal", decimal(1 << 30, 18)),
        ];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, nulls))).unwrap()
    }

    proptest! {
        #[test]
        fn numbers_are_those_that_the_reader_of_the_format_reads(
            rows in proptest::collection::vec((any::<i32>(), proptest::bool::weighted(0.3)), 1..600),
            values in 1_i32..400,
            nulls in any::<bool>(),
            second in any::<bool>(),
            compression in 0..3,
            dictionary_bytes in 0_usize..2_000,
            page_rows in 1_usize..200,
            group_rows in 1_usize..700,
            cut in 0_usize..700,
            every in 1_usize..90,
        ) {
            let rows: Vec<_> = rows.iter().map(|&(number, is_null)| (number % values, is_null)).collect();
            let batch = batch(&rows, nulls);
            // A full dictionary is followed by plain values.
            let properties = properties(false, page_rows, group_rows)
                .set_dictionary_enabled(dictionary_bytes > 200)
                .set_dictionary_page_size_limit(dictionary_bytes)
                .set_compression(match compression {
                    0 => Compression::SNAPPY,
                    1 => Compression::ZSTD(ZstdLevel::default()),
                    _ => Compression::UNCOMPRESSED,
                });
            let properties = match second {
                // The second version's own encoding of numbers is delta.
                true => properties.set_writer_version(WriterVersion::PARQUET_2_0).set_encoding(Encoding::PLAIN),
                false => properties,
            };
            assert_reads(&batch, properties.build(), cut, |column, chunks, wanted| {
                assert!(may_be(column));
                let all = read(column, chunks, wanted).expect("known pages");
                let some: Vec<usize> = wanted.clone().filter(|row| row % every == 0).collect();
                let at = read_at(column, chunks, wanted, &some);
                assert!(at.is_some() || nulls, "a column without NULL");
                if let Some(at) = at {
                    let places = UInt64Array::from_iter_values(some.iter().map(|row| (row - wanted.start) as u64));
                    assert_eq!(&at, &take(&all, &places, None).unwrap());
                }
                all
            });
        }
    }
}
