//! Columns of which every page holds codes into one dictionary: the codes are decoded, and the
//! values of the dictionary alone.
//!
//! A filter then looks at each value once, and groups are found by codes. The `parquet` crate's
//! reader makes a value of each row. What is not as expected here is left to that reader: it knows more
//! encodings, and what is damaged.

use std::ops::Range;
use std::sync::Arc;

use ::parquet::basic::{Encoding, Type};
use arrow::array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray, StringArray, StringViewArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, UInt8Type, UInt16Type, UInt32Type};
use bytes::Bytes;
use columnar::Codes;

use super::chunks::Chunks;
use super::pages::{DataPage, FlatColumn, Pages};
use super::validity::Validity;
use super::{hybrid, numbers};

/// The codes of a column in `wanted` rows; `None` if there are pages without codes, or a type that is
/// not known here.
pub(super) fn read(column: &FlatColumn<'_>, chunks: &Chunks, wanted: &Range<usize>) -> Option<Codes> {
    let mut pages = column.pages(chunks, wanted)?;
    let first = pages.next().filter(DataPage::is_coded)?;
    let (bytes, count) = pages.dictionary()?;
    let values = dictionary(&bytes, count, column.stored(), column.data_type)?;
    let rows = match count {
        0..=0x100 => rows::<UInt8Type>(column, first, pages, wanted)?,
        0x101..=0x1_0000 => rows::<UInt16Type>(column, first, pages, wanted)?,
        _ => rows::<UInt32Type>(column, first, pages, wanted)?,
    };
    Codes::try_new(rows, values).ok()
}

/// The codes of `first` and of all pages behind it.
fn rows<T: ArrowPrimitiveType<Native: hybrid::Number>>(
    column: &FlatColumn<'_>,
    first: DataPage,
    mut pages: Pages,
    wanted: &Range<usize>,
) -> Option<ArrayRef> {
    let rows = pages.rows.clone();
    let mut validity = Validity::new(column.has_nulls());
    let mut codes: Vec<T::Native> = Vec::with_capacity(rows.len());
    let mut present = Vec::new();
    let mut next = Some(first);
    while codes.len() < rows.len() {
        let page = next.take().or_else(|| pages.next())?;
        if !page.is_coded() || page.rows > rows.len() - codes.len() {
            return None;
        }
        let count = validity.add(page.levels(), page.rows)?;
        if count == page.rows {
            hybrid::read_codes(page.values(), count, &mut codes)?;
        } else {
            present.clear();
            hybrid::read_codes(page.values(), count, &mut present)?;
            validity.spread(&present, &mut codes);
        }
        pages.give_back(page);
    }
    let codes = PrimitiveArray::<T>::new(codes.into(), validity.finish());
    Some(Arc::new(codes.slice(wanted.start - rows.start, wanted.len())))
}

/// Whether the footer says nothing against it.
pub(super) fn may_be(column: &FlatColumn<'_>) -> bool {
    column.chunk.dictionary_page_offset().is_some() && has_only_codes(column).unwrap_or(true)
}

/// Whether the footer says that all pages have codes, of values of a type that is known here.
pub(super) fn is(column: &FlatColumn<'_>) -> bool {
    let is_known = match column.stored() {
        Type::BYTE_ARRAY => *column.data_type == DataType::Utf8View,
        stored => numbers::is_known(stored, column.data_type),
    };
    may_be(column) && has_only_codes(column).is_some() && is_known
}

/// `None` if the footer does not say it.
fn has_only_codes(column: &FlatColumn<'_>) -> Option<bool> {
    let mask = column.chunk.page_encoding_stats_mask()?;
    Some(mask.is_only(Encoding::RLE_DICTIONARY) || mask.is_only(Encoding::PLAIN_DICTIONARY))
}

/// The values of a dictionary page, which is plain.
fn dictionary(bytes: &Bytes, count: usize, stored: Type, data_type: &DataType) -> Option<ArrayRef> {
    match (stored, data_type) {
        (Type::BYTE_ARRAY, DataType::Utf8View) => {
            // UTF-8 is checked in steps of many bytes, if the texts are in one piece.
            let mut texts = Vec::with_capacity(bytes.len());
            let mut ends = Vec::with_capacity(count + 1);
            ends.push(0);
            let mut rest = &bytes[..];
            for _ in 0..count {
                let (len, behind) = rest.split_first_chunk()?;
                let (text, behind) = behind.split_at_checked(u32::from_le_bytes(*len) as usize)?;
                texts.extend_from_slice(text);
                ends.push(i32::try_from(texts.len()).ok()?);
                rest = behind;
            }
            let ends = OffsetBuffer::new(ends.into());
            let texts = StringArray::try_new(ends, texts.into(), None).ok()?;
            Some(Arc::new(StringViewArray::from(&texts)))
        }
        _ => numbers::of_page(bytes, count, stored, data_type),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, RecordBatch};
    use proptest::prelude::*;

    use super::super::written::{assert_reads, properties};
    use super::*;

    /// A column of each type that is known here: of `values` values, and NULL where `nulls` says.
    fn batch(rows: &[(u8, bool)], values: u8, nulls: bool) -> RecordBatch {
        let numbers = || {
            let number = move |&(number, is_null): &(u8, bool)| {
                (!(nulls && is_null)).then_some(i64::from(number % values))
            };
            rows.iter().map(number)
        };
        let decimal = |precision| {
            let numbers = numbers().map(|number| number.map(|number| i128::from(number) * 7 - 100));
            let numbers = Decimal128Array::from_iter(numbers);
            Arc::new(numbers.with_precision_and_scale(precision, 2).unwrap())
        };
        let texts =
            numbers().map(|number| number.map(|number| format!("{number}, and a text of some length")));
        let columns: [(&str, ArrayRef); 7] = [
            (
                "int",
                Arc::new(
                    numbers()
                        .map(|number| number.map(|number| number as i32))
                        .collect::<Int32Array>(),
                ),
            ),
            ("long", Arc::new(numbers().collect::<Int64Array>())),
            (
                "day",
                Arc::new(
                    numbers()
                        .map(|number| number.map(|number| number as i32))
                        .collect::<Date32Array>(),
                ),
            ),
            (
                "real",
                Arc::new(
                    numbers()
                        .map(|number| number.map(|number| number as f64 / 4.0))
                        .collect::<Float64Array>(),
                ),
            ),
            ("short decimal", decimal(9)),
            ("decimal", decimal(18)),
            ("text", Arc::new(StringArray::from_iter(texts))),
        ];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, nulls))).unwrap()
    }

    proptest! {
        #[test]
        fn codes_stand_for_what_the_reader_of_the_format_reads(
            rows in proptest::collection::vec((any::<u8>(), proptest::bool::weighted(0.3)), 1..600),
            values in 1_u8..40,
            nulls in any::<bool>(),
            second in any::<bool>(),
            page_rows in 1_usize..200,
            group_rows in 1_usize..700,
            cut in 0_usize..700,
        ) {
            let batch = batch(&rows, values, nulls);
            let properties = properties(second, page_rows, group_rows).build();
            assert_reads(&batch, properties, cut, |column, chunks, wanted| {
                let codes = read(column, chunks, wanted);
                let codes = codes.expect("the writer made a dictionary for all pages");
                assert!(codes.values().len() <= usize::from(values));
                codes.decoded().unwrap()
            });
        }
    }
}
