//! What a table is to a scan. Of a stored table, reading bytes waits, and decoding them computes.
//!
//! ```text
//!   fetch(morsel, projection) ──► Fetched: ranges of bytes ──► open_fetched(morsel, projection, fetched) ──► reader
//!         waits: never in a slot                                       computes: in a slot
//! ```
//!
//! Where reading can be awaited, `fetch_async` needs no thread that waits. When to fetch, and how
//! far ahead, a query decides.

use std::fmt::Debug;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;

use super::fetched::{Fetched, Fetching};
use super::read_error::ReadError;
use super::statistics::ColumnStatistics;

/// A table that can be read morsel by morsel, from many threads at once.
pub trait TableSource: Debug + Send + Sync {
    /// The table's name, for messages and plans.
    fn name(&self) -> &str;

    /// The columns. Every morsel has exactly these types.
    fn schema(&self) -> SchemaRef;

    /// The number of morsels. Constant for the life of the table and independent of the number of
    /// threads.
    fn morsels(&self) -> usize;

    /// The number of rows of `morsel`.
    ///
    /// # Panics
    ///
    /// May panic when `morsel` is not below [`morsels`](Self::morsels).
    fn rows(&self, morsel: usize) -> usize;

    /// What is known of `column` in `morsel` without reading it; by default nothing.
    ///
    /// A bound may be wider than the values, never narrower: morsels are skipped because of it. A
    /// scan decides once per morsel, so answers may change meanwhile.
    fn statistics(&self, morsel: usize, column: usize) -> ColumnStatistics {
        let _ = (morsel, column);
        ColumnStatistics::unknown()
    }

    /// The columns by which the rows of this table are best split. A grouping whose keys contain
    /// all of them is partitioned by these. None unless the table says otherwise.
    fn shard_key(&self) -> Option<&[usize]> {
        None
    }

    /// Whether the columns `projection` are arrays already. Then several slots may open one morsel,
    /// for that costs nothing.
    fn is_loaded(&self, projection: &[usize]) -> bool {
        let _ = projection;
        false
    }

    /// The table as one whose morsels are read before they are opened; `None` where opening never
    /// waits.
    fn as_stored(&self) -> Option<&dyn StoredTable> {
        None
    }

    /// Opens `morsel` for reading the columns named by `projection` (indices into the schema,
    /// ascending, no duplicates).
    ///
    /// A reader that decodes columns together may do so here or at the first
    /// [`MorselReader::column`]; one that can read them singly should wait for the call. The
    /// projection may be empty: `count(*)` reads no column.
    ///
    /// # Errors
    ///
    /// A [`ReadError`] that names the file and the part of it.
    fn open(&self, morsel: usize, projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError>;
}

/// Reads the columns of one morsel, by one worker.
pub trait MorselReader {
    /// The values of `column` (an index into the table's schema, one of the projection) for all
    /// rows of the morsel.
    ///
    /// Asked at most once per column; the order follows the steps. The array has the type of the
    /// schema and as many values as the morsel has rows; anything else is reported as an error of
    /// the table.
    ///
    /// # Errors
    ///
    /// A [`ReadError`] that names the file, the part of it and the column.
    fn column(&mut self, column: usize) -> Result<ArrayRef, ReadError>;

    /// The most bytes that [`column`](Self::column) allocates for `column`. 0, the default, where
    /// the values are there already: the table's, or those that the reader [holds](Self::bytes).
    fn bytes_to_read(&self, column: usize) -> usize {
        let _ = column;
        0
    }

    /// The bytes of values that the reader holds and that are not its table's; 0 by default.
    fn bytes(&self) -> usize {
        0
    }
}

/// A table whose morsels have to be read before they can be opened without waiting.
///
/// [`TableSource::open`] of such a table does both, one after the other.
pub trait StoredTable: TableSource {
    /// The bytes that [`fetch`](Self::fetch) reads of `morsel` for these columns.
    fn bytes_to_fetch(&self, morsel: usize, projection: &[usize]) -> usize;

    /// The most bytes that [`open_fetched`](Self::open_fetched) allocates beyond what was fetched.
    /// What the reader keeps of them is [`MorselReader::bytes`]. 0 for readers that decode by the
    /// column.
    fn bytes_to_open(&self, morsel: usize, projection: &[usize]) -> usize {
        let _ = (morsel, projection);
        0
    }

    /// Reads what opening `morsel` for the columns named by `projection` takes, and waits for it.
    ///
    /// # Errors
    ///
    /// A [`ReadError`] that names the file and the part of it.
    fn fetch(&self, morsel: usize, projection: &[usize]) -> Result<Fetched, ReadError>;

    /// [`fetch`](Self::fetch) as a future; `None`, the default, where reading blocks a thread. The
    /// answer is the same kind for a morsel and all projections.
    fn fetch_async<'a>(&'a self, morsel: usize, projection: &'a [usize]) -> Option<Fetching<'a>> {
        let _ = (morsel, projection);
        None
    }

    /// The number of requests, about, that fetching `morsel` makes at the same time; 1 by default.
    fn requests(&self, morsel: usize, projection: &[usize]) -> usize {
        let _ = (morsel, projection);
        1
    }

    /// Opens `morsel` for the columns that it was fetched for, without waiting for anything.
    ///
    /// # Errors
    ///
    /// As [`TableSource::open`].
    fn open_fetched(
        &self,
        morsel: usize,
        projection: &[usize],
        fetched: Fetched,
    ) -> Result<Box<dyn MorselReader + '_>, ReadError>;
}
