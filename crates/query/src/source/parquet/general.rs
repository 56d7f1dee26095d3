//! All values of a column by the `parquet` crate's reader, which knows all types and encodings.
//!
//! ```text
//!   flat, of Snappy    its pages are decompressed here, the crate's reader decodes them
//!   else, and what     the crate's reader does both, and says what is damaged
//!   failed before
//! ```
//!
//! Where pages are long, [`snappy`](super::snappy) takes less time than the decoder that the crate
//! has.

use std::cell::Cell;
use std::iter;
use std::ops::Range;

use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowGroups, RowSelection,
};
use ::parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use ::parquet::basic::Encoding;
use ::parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use arrow::array::{Array, ArrayRef};
use arrow::compute::concat;

use super::chunks::Chunks;
use super::pages::{FlatColumn, Pages, is_coded};

/// Rows decoded at once, bounded since the footer's count sizes the allocation.
pub(super) const BATCH_ROWS: usize = 1 << 20;

/// The values in `rows` of a row group that has `group_rows`.
pub(super) fn read(
    metadata: &ArrowReaderMetadata,
    row_group: usize,
    group_rows: Range<usize>,
    column: usize,
    chunks: Chunks,
    rows: &Range<usize>,
) -> Result<ArrayRef, String> {
    let mask = ProjectionMask::roots(metadata.parquet_schema(), [column]);
    let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(chunks, metadata.clone())
        .with_row_groups(vec![row_group])
        .with_projection(mask)
        .with_batch_size(rows.len().min(BATCH_ROWS));
    if *rows != group_rows {
        let rows = iter::once(rows.clone());
        let selection = RowSelection::from_consecutive_ranges(rows, group_rows.end);
        builder = builder.with_row_selection(selection);
    }
    let reader = builder.build().map_err(|error| error.to_string())?;
    values(reader, rows.len())
}

/// The values of a flat column in `wanted` rows, from pages that are decompressed here; `None` if
/// one is not as expected.
pub(super) fn read_flat(column: &FlatColumn<'_>, chunks: &Chunks, wanted: &Range<usize>) -> Option<ArrayRef> {
    let pages = column.pages(chunks, wanted)?;
    let rows = pages.rows.clone();
    let schema = column.metadata.parquet_schema();
    let mask = ProjectionMask::leaves(schema, [column.leaf]);
    let hint = column.metadata.schema().fields();
    let levels = parquet_to_arrow_field_levels(schema, mask, Some(hint)).ok()?;
    let column = OneColumn {
        metadata: column.metadata.metadata(),
        row_group: column.row_group,
        rows: rows.len(),
        pages: Cell::new(Some(pages)),
    };
    let batch = rows.len().min(BATCH_ROWS);
    let reader = ParquetRecordBatchReader::try_new_with_row_groups(&levels, &column, batch, None).ok()?;
    let whole = values(reader, rows.len()).ok()?;
    Some(whole.slice(wanted.start - rows.start, wanted.len()))
}

/// The only column that `reader` has, which has as many `rows`.
fn values(mut reader: ParquetRecordBatchReader, rows: usize) -> Result<ArrayRef, String> {
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(1);
    let mut found = 0;
    // A further call at the reader's end would allocate an unreserved batch.
    while found < rows
        && let Some(batch) = reader.next()
    {
        let batch = batch.map_err(|error| error.to_string())?;
        found += batch.num_rows();
        arrays.push(batch.column(0).clone());
    }
    if found != rows {
        return Err(format!(
            "the column has {found} values where the row group has {rows} rows"
        ));
    }
    match arrays.len() {
        1 => Ok(arrays.remove(0)),
        _ => {
            let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
            concat(&arrays).map_err(|error| error.to_string())
        }
    }
}

/// A row group for a reader of one column, which takes the pages once.
struct OneColumn<'a> {
    metadata: &'a ParquetMetaData,
    row_group: usize,
    /// Those in the pages.
    rows: usize,
    pages: Cell<Option<Pages>>,
}

impl RowGroups for OneColumn<'_> {
    fn num_rows(&self) -> usize {
        self.rows
    }

    fn column_chunks(&self, _leaf: usize) -> ParquetResult<Box<dyn PageIterator>> {
        Ok(Box::new(OneChunk(self.pages.take())))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(iter::once(self.metadata.row_group(self.row_group)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.metadata
    }
}

/// The pages of one column chunk.
struct OneChunk(Option<Pages>);

impl Iterator for OneChunk {
    type Item = ParquetResult<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        let pages = self.0.take()?;
        Some(Ok(Box::new(Decompressed {
            pages,
            has_dictionary: false,
            held: None,
        })))
    }
}

impl PageIterator for OneChunk {}

/// Pages one after the other, and the dictionary in front of the first that needs it.
struct Decompressed {
    pages: Pages,
    has_dictionary: bool,
    /// Comes behind the dictionary.
    held: Option<Page>,
}

impl PageReader for Decompressed {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        if let Some(page) = self.held.take() {
            return Ok(Some(page));
        }
        let page = self.pages.page().ok_or_else(not_as_expected)?;
        if self.has_dictionary || !is_coded(page.encoding()) {
            return Ok(Some(page));
        }
        let (buf, count) = self.pages.dictionary().ok_or_else(not_as_expected)?;
        self.has_dictionary = true;
        self.held = Some(page);
        Ok(Some(Page::DictionaryPage {
            buf,
            num_values: u32::try_from(count)?,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        }))
    }

    /// Rows are skipped before these pages are opened.
    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        Err(not_as_expected())
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        Err(not_as_expected())
    }
}

/// The column is then read by the crate alone.
fn not_as_expected() -> ParquetError {
    ParquetError::General("a page is not as expected".to_owned())
}

impl Iterator for Decompressed {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ::parquet::basic::Compression;
    use arrow::array::{BooleanArray, Decimal128Array, Int64Array, RecordBatch, StringArray};
    use proptest::prelude::*;

    use super::super::written::{assert_reads, properties};
    use super::*;

    proptest! {
        /// A text of many bytes makes pages that are long enough for a decoder of our own.
        #[test]
        fn pages_that_are_decompressed_here_have_the_values_that_the_crate_reads_alone(
            rows in proptest::collection::vec(
                ("[ab]{0,20}|[ab]{400,2000}", any::<i64>(), proptest::bool::weighted(0.2)), 1..400,
            ),
            nulls in any::<bool>(),
            second in any::<bool>(),
            dictionary_bytes in prop_oneof![Just(0), 1_usize..4_000, Just(1 << 20)],
            page_rows in 1_usize..400,
            group_rows in 1_usize..500,
            cut in 0_usize..500,
        ) {
            let is_null = |is_null: bool| nulls && is_null;
            let texts = rows.iter().map(|(text, _, null)| (!is_null(*null)).then_some(text));
            let numbers = rows.iter().map(|&(_, number, null)| (!is_null(null)).then_some(number));
            let decimals = numbers.clone().map(|number| number.map(|number| i128::from(number) << 20));
            let decimals = Decimal128Array::from_iter(decimals);
            let flags = numbers.clone().map(|number| number.map(|number| number % 3 == 0));
            let columns: [(&str, ArrayRef); 4] = [
                ("text", Arc::new(StringArray::from_iter(texts))),
                ("number", Arc::new(Int64Array::from_iter(numbers))),
                ("decimal", Arc::new(decimals.with_precision_and_scale(38, 2).unwrap())),
                ("flag", Arc::new(flags.collect::<BooleanArray>())),
            ];
            let columns = columns.map(|(name, column)| (name, column, nulls));
            let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
            let properties = properties(second, page_rows, group_rows)
                .set_compression(Compression::SNAPPY)
                .set_dictionary_enabled(dictionary_bytes > 0)
                .set_dictionary_page_size_limit(dictionary_bytes.max(1))
                .build();
            assert_reads(&batch, properties, cut, |column, chunks, wanted| {
                read_flat(column, chunks, wanted).expect("flat columns of Snappy")
            });
        }
    }
}
