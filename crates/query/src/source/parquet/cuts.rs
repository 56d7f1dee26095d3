//! Where a long row group is cut into morsels: at rows that begin a page in many columns.
//!
//! Both morsels decompress a page that is cut. Writers begin a page after a number of rows, 20,000 by
//! default, or when it is full, so the columns' pages begin at the same rows or do not.

use std::collections::BTreeMap;
use std::ops::Range;

use ::parquet::file::metadata::RowGroupMetaData;
use ::parquet::file::page_index::offset_index::OffsetIndexMetaData;

/// The rows of each morsel: about `step`, by at most a quarter more or less. The last one may be
/// shorter.
pub(super) fn cuts(
    group: &RowGroupMetaData,
    index: &[OffsetIndexMetaData],
    rows: usize,
    step: usize,
) -> Vec<Range<usize>> {
    // Bytes that need not be decompressed twice, by the row that a page begins with.
    let mut begins: BTreeMap<usize, i64> = BTreeMap::new();
    for (chunk, pages) in group.columns().iter().zip(index) {
        let pages = pages.page_locations();
        for page in pages {
            if let Ok(row) = usize::try_from(page.first_row_index) {
                let bytes = begins.entry(row).or_default();
                // A damaged footer may name any size.
                *bytes = bytes.saturating_add(chunk.uncompressed_size() / pages.len() as i64);
            }
        }
    }
    let slack = step / 4;
    let mut cuts = Vec::new();
    let mut start = 0;
    while rows - start > step + slack {
        let wished = start + step;
        let near = begins.range(wished - slack..=wished + slack);
        let best = near.max_by_key(|&(row, bytes)| (bytes, std::cmp::Reverse(row.abs_diff(wished))));
        let end = best.map_or(wished, |(row, _)| *row);
        cuts.push(start..end);
        start = end;
    }
    cuts.push(start..rows);
    cuts
}
