//! What a table is to the steps that run over it: morsels of columns, read one by one.
//!
//! ```text
//!   table ──► morsel 0  rows 0 .. 65,536        a slot of a stage runs a morsel or a part of one
//!             morsel 1  rows 65,536 .. 131,072
//!             ...
//!   open(morsel, projection) ──► reader ──► column(2)   read when a step first needs it,
//!                                      ──► column(5)   never, if no row survived until then
//! ```
//!
//! A morsel is a range of rows that never depends on the number of threads: a row group of a file or a part of one,
//! a fixed number of rows of a table in memory. Statistics let a plan skip a morsel without opening it.
//!
//! Nothing here knows a file format: `query` brings those. Nothing here starts a thread.

mod memory;
mod read_error;
mod statistics;
mod stored;

pub use memory::{MORSEL_ROWS, MemoryTable};
pub use read_error::ReadError;
pub use statistics::ColumnStatistics;
pub use stored::{Fetched, Fetching, StoredTable};

use std::fmt::Debug;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;

/// A table that can be read morsel by morsel, from many threads at once.
pub trait TableSource: Debug + Send + Sync {
    /// The table's name, for messages and plans.
    fn name(&self) -> &str;

    /// The columns. Every morsel has exactly these types.
    fn schema(&self) -> SchemaRef;

    /// The number of morsels. Constant for the life of the table and independent of the number of threads.
    fn morsels(&self) -> usize;

    /// The number of rows of `morsel`.
    ///
    /// # Panics
    ///
    /// May panic when `morsel` is not below [`morsels`](Self::morsels).
    fn rows(&self, morsel: usize) -> usize;

    /// What is known of `column` in `morsel` without reading it. Unknown unless the table says otherwise.
    ///
    /// A bound may be wider than the values, never narrower: morsels are skipped because of it.
    fn statistics(&self, morsel: usize, column: usize) -> ColumnStatistics {
        let _ = (morsel, column);
        ColumnStatistics::unknown()
    }

    /// The columns by which rows of this table are best split, where somebody knows better than a query's keys do: groupings whose keys contain all of
    /// them lay out their groups by these. None unless the table says otherwise.
    fn shard_key(&self) -> Option<&[usize]> {
        None
    }

    /// Whether the columns `projection` are arrays already, so that opening a morsel once more costs nothing. Then a scan that is dear by
    /// the row may run a morsel in several slots, each of which opens it.
    fn is_loaded(&self, projection: &[usize]) -> bool {
        let _ = projection;
        false
    }

    /// The table as one whose morsels have to be read from somewhere before they can be opened without waiting; `None` where opening
    /// never waits.
    fn as_stored(&self) -> Option<&dyn StoredTable> {
        None
    }

    /// Opens `morsel` for reading the columns named by `projection` (indices into the schema, ascending, no duplicates).
    ///
    /// A reader that decodes columns together may do so here or at the first [`MorselReader::column`]; one that can
    /// read them singly should wait for the call. The projection may be empty: `count(*)` reads no column.
    ///
    /// # Errors
    ///
    /// A [`ReadError`] that names the file and the part of it.
    fn open(&self, morsel: usize, projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError>;
}

/// Reads the columns of one morsel, by one worker.
pub trait MorselReader {
    /// The values of `column` (an index into the table's schema, one of the projection) for all rows of the morsel.
    ///
    /// Asked at most once per column; the order follows the steps. The array has the type of the schema and as many
    /// values as the morsel has rows; anything else is reported as an error of the table.
    ///
    /// # Errors
    ///
    /// A [`ReadError`] that names the file, the part of it and the column.
    fn column(&mut self, column: usize) -> Result<ArrayRef, ReadError>;

    /// The most bytes that [`column`](Self::column) allocates for `column`, for it to be charged beforehand. 0, unless the reader says otherwise: the values are
    /// there already, those of the table or those that the reader [holds](Self::bytes).
    fn bytes_to_read(&self, column: usize) -> usize {
        let _ = column;
        0
    }

    /// The bytes of values that the reader holds and that are not its table's. 0, unless it says otherwise.
    fn bytes(&self) -> usize {
        0
    }
}
