//! Columns of which every page holds codes into one dictionary: the codes are decoded, and the
//! values of the dictionary alone.
//!
//! A filter then looks at each value once, and groups are found by codes. The `parquet` crate's
//! reader makes a value of each row. Pages are still taken apart and decompressed by that crate.
//! What is not as expected here is left to its reader: it knows more encodings, and what is damaged.

use std::ops::Range;
use std::sync::Arc;

use ::parquet::arrow::arrow_reader::ArrowReaderMetadata;
use ::parquet::basic::{Compression, Encoding, Type};
use ::parquet::column::page::{Page, PageReader as _};
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::serialized_reader::SerializedPageReader;
use arrow::array::{
    ArrayRef, BooleanBufferBuilder, Date32Array, Decimal64Array, Float64Array, Int32Array, Int64Array,
    StringViewBuilder, UInt32Array,
};
use arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::{ArrowNativeType, DataType};
use bytes::Bytes;
use columnar::Codes;

use super::chunks::{self, Chunks};
use super::hybrid;

/// The codes of a root column in `rows` of a row group; `None` if it has more values than rows,
/// pages without codes, or a type that is not known here. For some of the rows there must be a page
/// index.
pub(super) fn read(
    chunks: &Chunks,
    metadata: &ArrowReaderMetadata,
    row_group: usize,
    column: usize,
    wanted: &Range<usize>,
) -> Option<Codes> {
    let data_type = metadata.schema().field(column).data_type();
    let (leaf, chunk) = flat_chunk(metadata, row_group, column)?;
    let has_nulls = chunk.column_descr().max_def_level() > 0;
    let group_rows = usize::try_from(metadata.metadata().row_group(row_group).num_rows()).ok()?;
    let (locations, skipped, paged) = match *wanted == (0..group_rows) {
        true => (None, 0, wanted.clone()),
        false => {
            let index = metadata.metadata().offset_index()?.get(row_group)?.get(leaf)?;
            let (skipped, paged) = chunks::whole_pages(index.page_locations(), wanted, group_rows)?;
            (Some(index.page_locations().clone()), skipped, paged)
        }
    };
    let rows = paged.len();
    let mut pages = SerializedPageReader::new(Arc::new(chunks.clone()), chunk, group_rows, locations).ok()?;
    let mut values: Option<ArrayRef> = None;
    let mut codes = CodesBuilder::new(has_nulls, rows);
    while codes.len() < rows {
        match pages.get_next_page().ok()?? {
            Page::DictionaryPage { buf, num_values, .. } => {
                for _page in 0..skipped {
                    pages.skip_next_page().ok()?;
                }
                let count = usize::try_from(num_values)
                    .ok()
                    .filter(|count| *count <= group_rows)?;
                // The values keep the page, which must not keep the bytes of the column around it.
                let buf = match chunk.compression() {
                    Compression::UNCOMPRESSED => Bytes::copy_from_slice(&buf),
                    _ => buf,
                };
                values = Some(dictionary(&buf, count, chunk.column_type(), data_type)?);
            }
            Page::DataPage {
                buf,
                num_values,
                encoding,
                def_level_encoding,
                ..
            } => {
                let is_known = is_coded(encoding) && (!has_nulls || def_level_encoding == Encoding::RLE);
                let (levels, bytes) = if has_nulls {
                    let (len, rest) = buf.split_first_chunk::<4>()?;
                    rest.split_at_checked(usize::try_from(u32::from_le_bytes(*len)).ok()?)?
                } else {
                    (&[][..], &buf[..])
                };
                codes.add(levels, bytes, num_values, rows).filter(|()| is_known)?;
            }
            Page::DataPageV2 {
                buf,
                num_values,
                encoding,
                def_levels_byte_len,
                rep_levels_byte_len: 0,
                ..
            } if is_coded(encoding) => {
                let (levels, bytes) = buf.split_at_checked(usize::try_from(def_levels_byte_len).ok()?)?;
                codes.add(levels, bytes, num_values, rows)?;
            }
            Page::DataPageV2 { .. } => return None,
        }
    }
    let rows = codes.finish().slice(wanted.start - paged.start, wanted.len());
    Codes::try_new(rows, values?).ok()
}

/// The one leaf of a column without repetition and of no deeper structure, and its number.
fn flat_chunk(
    metadata: &ArrowReaderMetadata,
    row_group: usize,
    column: usize,
) -> Option<(usize, &ColumnChunkMetaData)> {
    let schema = metadata.parquet_schema();
    let mut leaves = (0..schema.num_columns()).filter(|leaf| schema.get_column_root_idx(*leaf) == column);
    let leaf = leaves.next().filter(|_| leaves.next().is_none())?;
    let descriptor = schema.column(leaf);
    let is_flat = descriptor.max_rep_level() == 0 && descriptor.max_def_level() <= 1;
    is_flat.then(|| (leaf, metadata.metadata().row_group(row_group).column(leaf)))
}

/// Whether the footer says nothing against it.
pub(super) fn may_be(metadata: &ArrowReaderMetadata, row_group: usize, column: usize) -> bool {
    let Some((_leaf, chunk)) = flat_chunk(metadata, row_group, column) else {
        return false;
    };
    let is_only_coded = chunk.page_encoding_stats_mask().is_none_or(|mask| {
        mask.is_only(Encoding::RLE_DICTIONARY) || mask.is_only(Encoding::PLAIN_DICTIONARY)
    });
    chunk.dictionary_page_offset().is_some() && is_only_coded
}

fn is_coded(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY)
}

/// Codes page by page.
struct CodesBuilder {
    codes: Vec<u32>,
    /// Once a row is NULL.
    valid: Option<BooleanBufferBuilder>,
    has_nulls: bool,
    levels: Vec<u32>,
    dense: Vec<u32>,
}

impl CodesBuilder {
    fn new(has_nulls: bool, rows: usize) -> Self {
        Self {
            // Packed numbers come in groups of eight, and the last group may be cut.
            codes: Vec::with_capacity(rows.next_multiple_of(8)),
            valid: None,
            has_nulls,
            levels: Vec::new(),
            dense: Vec::new(),
        }
    }

    fn len(&self) -> usize {
        self.codes.len()
    }

    /// A data page's levels and its codes, behind a byte with their width.
    fn add(&mut self, levels: &[u8], bytes: &[u8], count: u32, rows: usize) -> Option<()> {
        let count = usize::try_from(count).ok()?;
        if count > rows - self.codes.len() {
            return None;
        }
        self.levels.clear();
        if self.has_nulls {
            hybrid::read(levels, 1, count, &mut self.levels)?;
        }
        let is_valid = |level: &u32| *level == 1;
        let present = match self.has_nulls {
            true => self.levels.iter().filter(|level| is_valid(level)).count(),
            false => count,
        };
        if present < count {
            let before = self.codes.len();
            self.valid.get_or_insert_with(|| {
                let mut valid = BooleanBufferBuilder::new(rows);
                valid.append_n(before, true);
                valid
            });
        }
        if let Some(valid) = &mut self.valid {
            match self.has_nulls {
                true => self.levels.iter().for_each(|level| valid.append(is_valid(level))),
                false => valid.append_n(count, true),
            }
        }
        // A page of NULLs may have no codes and no width.
        let (width, bytes) = match bytes.split_first() {
            Some((width, bytes)) => (usize::from(*width), bytes),
            None if present == 0 => (0, bytes),
            None => return None,
        };
        if width > hybrid::WIDTH_MAX {
            return None;
        }
        if present == count {
            return hybrid::read(bytes, width, count, &mut self.codes);
        }
        self.dense.clear();
        hybrid::read(bytes, width, present, &mut self.dense)?;
        let mut dense = self.dense.iter();
        let code = |level| match is_valid(level) {
            true => dense.next().copied().unwrap_or_default(),
            false => 0,
        };
        self.codes.extend(self.levels.iter().map(code));
        Some(())
    }

    fn finish(self) -> UInt32Array {
        let nulls = self.valid.map(|mut valid| NullBuffer::new(valid.finish()));
        UInt32Array::new(ScalarBuffer::from(self.codes), nulls)
    }
}

/// The values of a dictionary page, which is plain.
fn dictionary(bytes: &Bytes, count: usize, stored: Type, data_type: &DataType) -> Option<ArrayRef> {
    Some(match (stored, data_type) {
        (Type::INT32, DataType::Int32) => Arc::new(Int32Array::new(of_32_bits(bytes, count)?, None)),
        (Type::INT32, DataType::Date32) => Arc::new(Date32Array::new(of_32_bits(bytes, count)?, None)),
        (Type::INT64, DataType::Int64) => Arc::new(Int64Array::new(of_64_bits(bytes, count)?, None)),
        (Type::DOUBLE, DataType::Float64) => {
            let bits = of_64_bits(bytes, count)?;
            let floats = bits.iter().map(|bits| f64::from_bits(bits.cast_unsigned()));
            Arc::new(Float64Array::from_iter_values(floats))
        }
        (Type::INT32 | Type::INT64, DataType::Decimal128(precision, scale)) => {
            let numbers = match stored {
                Type::INT32 => of_32_bits(bytes, count)?
                    .iter()
                    .map(|number| i64::from(*number))
                    .collect(),
                _ => of_64_bits(bytes, count)?,
            };
            let numbers = Decimal64Array::new(numbers, None);
            Arc::new(numbers.with_precision_and_scale(*precision, *scale).ok()?)
        }
        (Type::BYTE_ARRAY, DataType::Utf8View) => {
            let mut texts = StringViewBuilder::with_capacity(count.min(bytes.len()));
            let page = texts.append_block(Buffer::from(bytes.clone()));
            let mut begin = 0_u32;
            for _ in 0..count {
                let (len, _) = bytes
                    .get(usize::try_from(begin).ok()?..)?
                    .split_first_chunk::<4>()?;
                let len = u32::from_le_bytes(*len);
                begin = begin.checked_add(4)?;
                texts.try_append_view(page, begin, len).ok()?;
                begin = begin.checked_add(len)?;
            }
            Arc::new(texts.finish())
        }
        _ => return None,
    })
}

fn of_32_bits(bytes: &Bytes, count: usize) -> Option<ScalarBuffer<i32>> {
    let numbers = bytes.as_chunks().0.get(..count)?;
    let copied = || numbers.iter().map(|number| i32::from_le_bytes(*number)).collect();
    Some(in_place(bytes, count).unwrap_or_else(copied))
}

fn of_64_bits(bytes: &Bytes, count: usize) -> Option<ScalarBuffer<i64>> {
    let numbers = bytes.as_chunks().0.get(..count)?;
    let copied = || numbers.iter().map(|number| i64::from_le_bytes(*number)).collect();
    Some(in_place(bytes, count).unwrap_or_else(copied))
}

/// The page's own bytes as numbers, if they lie as this machine reads numbers.
fn in_place<N: ArrowNativeType>(bytes: &Bytes, count: usize) -> Option<ScalarBuffer<N>> {
    let lies_well = cfg!(target_endian = "little") && bytes.as_ptr().align_offset(align_of::<N>()) == 0;
    lies_well.then(|| ScalarBuffer::new(Buffer::from(bytes.clone()), 0, count))
}

#[cfg(test)]
mod tests {
    use ::parquet::arrow::ArrowWriter;
    use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use ::parquet::file::properties::{WriterProperties, WriterVersion};
    use arrow::array::{Decimal128Array, RecordBatch, StringArray};
    use arrow::compute::{cast, concat};
    use columnar::TableSource as _;
    use proptest::prelude::*;

    use super::super::{ParquetTable, byte_source};
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
            let properties = WriterProperties::builder()
                .set_writer_version(if second { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 })
                .set_data_page_row_count_limit(page_rows)
                .set_write_batch_size(page_rows)
                .set_max_row_group_row_count(Some(group_rows))
                .build();
            let mut file = tempfile::NamedTempFile::new().unwrap();
            let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).unwrap();
            writer.write(&batch).unwrap();
            writer.close().unwrap();

            let table = ParquetTable::open("t", file.path()).unwrap();
            let metadata = &table.files[0].metadata;
            let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file.reopen().unwrap(), metadata.clone());
            let whole: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
            for column in 0..batch.num_columns() {
                let mut parts = Vec::new();
                for group in 0..table.morsels() {
                    let rows = table.rows(group);
                    let cut = cut.min(rows);
                    for wanted in [0..cut, cut..rows].into_iter().filter(|wanted| !wanted.is_empty()) {
                        let source = table.files[0].source.as_ref();
                        let part = (wanted.len() < rows).then(|| wanted.clone());
                        let ranges = chunks::ranges(metadata, group, part, &[column], source.bytes()).unwrap();
                        let fetched = byte_source::fetch(source, &ranges).unwrap();
                        let chunks = Chunks::new(source.bytes(), Arc::new(fetched));
                        let codes = read(&chunks, metadata, group, column, &wanted);
                        let codes = codes.expect("the writer made a dictionary for all pages");
                        prop_assert!(codes.values().len() <= usize::from(values));
                        let decoded = codes.decoded().unwrap();
                        parts.push(cast(&decoded, table.schema().field(column).data_type()).unwrap());
                    }
                }
                let parts: Vec<_> = parts.iter().map(AsRef::as_ref).collect();
                let expected: Vec<_> = whole.iter().map(|batch| batch.column(column).as_ref()).collect();
                prop_assert_eq!(&concat(&parts).unwrap(), &concat(&expected).unwrap());
            }
        }
    }
}
