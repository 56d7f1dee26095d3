//! The byte ranges of a morsel, and a reader over them.

use std::ops::Range;
use std::sync::Arc;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::ArrowReaderMetadata;
use ::parquet::basic::{Compression, Type};
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::page_index::offset_index::PageLocation;
use ::parquet::file::reader::{ChunkReader, Length};
use bytes::Bytes;
use bytes::buf::{Buf, Reader};
use columnar::Fetched;

/// The ranges are ascending and disjoint. Ranges beyond `len` bytes mean a damaged file.
pub(super) fn ranges(
    metadata: &ArrowReaderMetadata,
    row_group: usize,
    rows: Option<Range<usize>>,
    projection: &[usize],
    len: u64,
) -> Result<Vec<Range<u64>>, String> {
    let mask = ProjectionMask::roots(metadata.parquet_schema(), projection.iter().copied());
    let group = metadata.metadata().row_group(row_group);
    let index = metadata
        .metadata()
        .offset_index()
        .and_then(|index| index.get(row_group));
    let mut ranges = Vec::new();
    for (leaf, column) in group.columns().iter().enumerate() {
        if !mask.leaf_included(leaf) {
            continue;
        }
        let (start, bytes) = column.byte_range();
        let pages = index
            .and_then(|index| index.get(leaf))
            .map(|column| column.page_locations());
        match (&rows, pages) {
            (Some(rows), Some(pages)) if !pages.is_empty() => ranges.extend(of_rows(start, pages, rows)?),
            _ => ranges.push(start..start.saturating_add(bytes)),
        }
    }
    ranges.retain(|range| range.start != range.end);
    if ranges
        .iter()
        .any(|range| range.start > range.end || range.end > len)
    {
        return Err("the file is damaged: its footer names data behind its end".to_owned());
    }
    Ok(merged(ranges))
}

/// The pages with some of `rows`, and dictionaries. `None` without a page index.
pub(super) fn pages(
    metadata: &ArrowReaderMetadata,
    row_group: usize,
    rows: &Range<usize>,
    projection: &[usize],
) -> Option<usize> {
    let mask = ProjectionMask::roots(metadata.parquet_schema(), projection.iter().copied());
    let metadata = metadata.metadata();
    let index = metadata.offset_index()?.get(row_group)?;
    let columns = metadata.row_group(row_group).columns().iter().zip(index);
    let columns = columns.enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf));
    let pages = columns.map(|(_, (column, index))| {
        let dictionary = usize::from(column.dictionary_page_offset().is_some());
        dictionary + pages_of_rows(index.page_locations(), rows).count()
    });
    Some(pages.sum())
}

/// The numbers of pages, and their rows. The last one's have no end.
fn pages_of_rows<'a>(
    pages: &'a [PageLocation],
    rows: &'a Range<usize>,
) -> impl Iterator<Item = (usize, Range<usize>)> {
    let first_row = |page: &PageLocation| usize::try_from(page.first_row_index).unwrap_or(0);
    let ends = pages.iter().skip(1).map(first_row).chain([usize::MAX]);
    let of_pages = pages
        .iter()
        .zip(ends)
        .map(move |(page, end)| first_row(page)..end);
    let has_some =
        |(_, of_page): &(usize, Range<usize>)| of_page.start < rows.end && rows.start < of_page.end;
    of_pages.enumerate().filter(has_some)
}

/// How many pages are before those with some of `rows`, and the rows of these. `None` if the index
/// does not cover them.
pub(super) fn whole_pages(
    pages: &[PageLocation],
    rows: &Range<usize>,
    group_rows: usize,
) -> Option<(usize, Range<usize>)> {
    let mut found = pages_of_rows(pages, rows);
    let (skipped, first) = found.next()?;
    let end = found.last().map_or(first.end, |(_, last)| last.end);
    let covered = first.start..end.min(group_rows);
    let is_covered = covered.start <= rows.start && rows.end <= covered.end;
    is_covered.then_some((skipped, covered))
}

/// The dictionary, and the pages with some of `rows`.
fn of_rows(start: u64, pages: &[PageLocation], rows: &Range<usize>) -> Result<Vec<Range<u64>>, String> {
    let is_damaged =
        |page: &PageLocation| page.offset < 0 || page.first_row_index < 0 || page.compressed_page_size < 0;
    if pages.iter().any(is_damaged) {
        return Err("the file is damaged: its page index has negative numbers".to_owned());
    }
    let first_page = pages[0].offset.cast_unsigned();
    let mut ranges = Vec::with_capacity(2);
    if start < first_page {
        ranges.push(start..first_page);
    }
    ranges.extend(pages_of_rows(pages, rows).map(|(number, _)| {
        let page = &pages[number];
        let offset = page.offset.cast_unsigned();
        offset..offset.saturating_add(u64::from(page.compressed_page_size.cast_unsigned()))
    }));
    Ok(ranges)
}

fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

pub(super) fn bytes_of(ranges: &[Range<u64>]) -> usize {
    let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Bytes of a dictionary for each that it takes in the file, which few dictionaries exceed.
const DICTIONARY_EXPANSION: usize = 32;

/// Bytes that decoding allocates; an upper estimate if the footer has no sizes. `as_codes` says that
/// the column is read as codes.
pub(super) fn bytes_to_read(
    metadata: &ArrowReaderMetadata,
    row_group: usize,
    rows: usize,
    column: usize,
    as_codes: bool,
) -> usize {
    let mask = ProjectionMask::roots(metadata.parquet_schema(), [column]);
    let group = metadata.metadata().row_group(row_group);
    let group_rows = usize::try_from(group.num_rows()).unwrap_or(0).max(1);
    let data_type = metadata.schema().field(column).data_type();
    let mut bytes = 0usize;
    for (leaf, chunk) in group.columns().iter().enumerate() {
        if !mask.leaf_included(leaf) {
            continue;
        }
        let value = data_type.primitive_width().unwrap_or(size_of::<u128>());
        // Decimals and short integers are converted from their stored type.
        let stored = match chunk.column_type() {
            Type::INT32 if value != 4 => 4,
            Type::INT64 if value != 8 => 8,
            Type::INT96 => 12,
            Type::FIXED_LEN_BYTE_ARRAY => usize::try_from(chunk.column_descr().type_length()).unwrap_or(0),
            _ => 0,
        };
        let pages = match chunk.compression() {
            Compression::UNCOMPRESSED => 0,
            _ => usize::try_from(chunk.uncompressed_size()).unwrap_or(0),
        };
        let pages = pages as u128 * rows as u128 / group_rows as u128;
        let (code, values) = match (as_codes, dictionary_values(chunk)) {
            (true, values @ 0..=0x100) => (1, rows.min(values)),
            (true, values @ 0x101..=0x1_0000) => (2, rows.min(values)),
            (true, values) => (4, rows.min(values)),
            // Codes come first, and values for them.
            (false, values) => (if values > 0 { 4 } else { 0 }, rows),
        };
        let decoded = values
            .saturating_mul(value + stored)
            .saturating_add(rows.saturating_mul(code))
            .saturating_add(rows / 4);
        bytes = bytes
            .saturating_add(decoded)
            .saturating_add(usize::try_from(pages).unwrap_or(usize::MAX));
    }
    bytes
}

/// Bytes that decoding `count` of `rows` allocates: a dictionary, a page at a time, and the values. An
/// upper estimate if there is no page index.
pub(super) fn bytes_to_read_at(
    metadata: &ArrowReaderMetadata,
    row_group: usize,
    rows: &Range<usize>,
    count: usize,
    column: usize,
) -> usize {
    let mask = ProjectionMask::roots(metadata.parquet_schema(), [column]);
    let width = metadata.schema().field(column).data_type().primitive_width();
    let metadata = metadata.metadata();
    let index = metadata.offset_index().and_then(|index| index.get(row_group));
    let group = metadata.row_group(row_group);
    let group_rows = usize::try_from(group.num_rows()).unwrap_or(0).max(1);
    let mut bytes = 0usize;
    for (leaf, chunk) in group.columns().iter().enumerate() {
        if !mask.leaf_included(leaf) {
            continue;
        }
        let (start, stored) = chunk.byte_range();
        let (mut largest, mut page_rows) = (stored, group_rows);
        if let Some(pages) = index.and_then(|index| index.get(leaf))
            && let [first, ..] = &pages.page_locations()[..]
        {
            let some = pages_of_rows(pages.page_locations(), rows);
            let some = some.map(|(page, rows)| (&pages.page_locations()[page], rows));
            (largest, page_rows) = some.fold((0, 0), |(bytes, most), (page, rows)| {
                let size = u64::try_from(page.compressed_page_size).unwrap_or(0);
                (
                    bytes.max(size),
                    most.max(rows.end.min(group_rows).saturating_sub(rows.start)),
                )
            });
            let dictionary = u64::try_from(first.offset).unwrap_or(0).saturating_sub(start);
            largest = largest.saturating_add(dictionary);
        }
        let decompressed = u64::try_from(chunk.uncompressed_size()).unwrap_or(0);
        let pages = match chunk.compression() {
            Compression::UNCOMPRESSED => 0,
            _ => u128::from(largest.min(stored)) * u128::from(decompressed) / u128::from(stored.max(1)),
        };
        let text = usize::try_from(decompressed).unwrap_or(usize::MAX) / group_rows;
        // A text is copied twice, and has a view.
        let value = width.unwrap_or(size_of::<u128>().saturating_add(text.saturating_mul(2)));
        // A row of a page has a level, and a code or an end.
        bytes = bytes
            .saturating_add(count.saturating_mul(value))
            .saturating_add(page_rows.saturating_mul(2 * size_of::<u32>()))
            .saturating_add(usize::try_from(pages).unwrap_or(usize::MAX));
    }
    bytes
}

/// The most values that the dictionary is likely to have; 0 without a dictionary.
fn dictionary_values(chunk: &ColumnChunkMetaData) -> usize {
    let bytes = dictionary_bytes(chunk);
    // A text has its length in front.
    let value = match chunk.column_type() {
        Type::INT64 | Type::DOUBLE => 8,
        _ => 4,
    };
    bytes.saturating_mul(DICTIONARY_EXPANSION) / value
}

/// Bytes that the dictionary takes in the file; 0 without a dictionary.
pub(super) fn dictionary_bytes(chunk: &ColumnChunkMetaData) -> usize {
    // The first page of codes comes behind the dictionary.
    let begin = chunk.dictionary_page_offset().unwrap_or(i64::MAX);
    usize::try_from(chunk.data_page_offset().saturating_sub(begin)).unwrap_or(0)
}

#[derive(Clone, Debug)]
pub(super) struct Chunks {
    file_bytes: u64,
    fetched: Arc<Fetched>,
}

impl Chunks {
    pub(super) fn new(file_bytes: u64, fetched: Arc<Fetched>) -> Self {
        Self { file_bytes, fetched }
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.file_bytes
    }
}

impl ChunkReader for Chunks {
    type T = Reader<Bytes>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        let bytes = self.fetched.from(start).ok_or_else(|| outside(start))?;
        Ok(bytes.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.fetched.range(start, length).ok_or_else(|| outside(start))
    }
}

fn outside(start: u64) -> ParquetError {
    ParquetError::General(format!(
        "the file is damaged: what lies at byte {start} belongs to no column that is read"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(offset: i64, bytes: i32, first_row_index: i64) -> PageLocation {
        PageLocation {
            offset,
            compressed_page_size: bytes,
            first_row_index,
        }
    }

    #[test]
    fn rows_have_the_dictionary_and_their_pages() {
        let pages = [page(110, 10, 0), page(120, 20, 100), page(140, 30, 200)];
        let of = |rows: Range<usize>| merged(of_rows(100, &pages, &rows).unwrap());
        let one = |range: Range<u64>| std::iter::once(range).collect::<Vec<_>>();
        assert_eq!(of(0..300), one(100..170));
        assert_eq!(of(0..100), one(100..120));
        assert_eq!(of(100..101), [100..110, 120..140]);
        assert_eq!(of(199..201), [100..110, 120..170]);
        assert_eq!(of(250..260), [100..110, 140..170]);
    }

    #[test]
    fn rows_lie_in_whole_pages() {
        let pages = [page(110, 10, 0), page(120, 20, 100), page(140, 30, 200)];
        assert_eq!(whole_pages(&pages, &(0..300), 300), Some((0, 0..300)));
        assert_eq!(whole_pages(&pages, &(0..100), 300), Some((0, 0..100)));
        assert_eq!(whole_pages(&pages, &(199..201), 300), Some((1, 100..300)));
        assert_eq!(whole_pages(&pages, &(250..260), 300), Some((2, 200..300)));
        assert_eq!(whole_pages(&pages, &(250..260), 255), None);
        assert_eq!(whole_pages(&[page(110, 10, 7)], &(0..20), 300), None);
        assert_eq!(whole_pages(&[], &(0..20), 300), None);
    }

    #[test]
    fn ranges_that_touch_are_one() {
        assert_eq!(merged(vec![20..30, 0..10, 10..15, 25..28]), [0..15, 20..30]);
        assert_eq!(merged(Vec::new()), []);
    }
}
