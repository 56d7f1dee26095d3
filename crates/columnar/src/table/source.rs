//! The interface between a table and a scan. Of a stored table, [`StoredTable::fetch`] waits for
//! bytes, never in a slot, and [`StoredTable::open_fetched`] decodes them, in a slot.

use std::fmt::Debug;
use std::ops::Range;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;

use super::codes::Codes;
use super::fetched::{Fetched, Fetching};
use super::read_error::ReadError;
use super::statistics::ColumnStatistics;
use super::texts::{PassingTexts, TextCondition};

/// A table that many threads can read at once, morsel by morsel.
pub trait TableSource: Debug + Send + Sync {
    /// The table's name, for messages and plans.
    fn name(&self) -> &str;

    /// The columns. Every morsel has exactly these types.
    fn schema(&self) -> SchemaRef;

    /// The number of morsels. It is constant for the life of the table and independent of the
    /// number of threads.
    fn morsels(&self) -> usize;

    /// The number of rows of `morsel`.
    ///
    /// # Panics
    ///
    /// May panic when `morsel` is not below [`morsels`](Self::morsels).
    fn rows(&self, morsel: usize) -> usize;

    /// What is known of `column` in `morsel` without reading it. The default knows nothing.
    ///
    /// A bound may be wider than the values, never narrower: a scan skips morsels because of it. Which
    /// morsels its filter skips is settled when a scan is made, so answers may change meanwhile.
    fn statistics(&self, morsel: usize, column: usize) -> ColumnStatistics {
        let _ = (morsel, column);
        ColumnStatistics::unknown()
    }

    /// The columns by which rows are best split: a grouping whose keys contain all of them is
    /// partitioned by them. The default is `None`.
    fn shard_key(&self) -> Option<&[usize]> {
        None
    }

    /// Whether the columns `projection` are arrays already. If so, several slots may open one
    /// morsel, since opening costs nothing.
    fn is_loaded(&self, projection: &[usize]) -> bool {
        let _ = projection;
        false
    }

    /// The table as one whose morsels are fetched before they are opened. `None` if opening never
    /// waits.
    fn as_stored(&self) -> Option<&dyn StoredTable> {
        None
    }

    /// Opens `morsel` for reading the columns `projection` (indices into the schema, ascending, no
    /// duplicates).
    ///
    /// A reader that decodes columns together may do so here or at the first
    /// [`MorselReader::column`]. One that can decode them singly should wait for that call. The
    /// projection may be empty: `count(*)` reads no column.
    ///
    /// # Errors
    ///
    /// A [`ReadError`] that names the file and the part of it.
    fn open(&self, morsel: usize, projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError>;
}

/// Reads the columns of one morsel, on one worker.
pub trait MorselReader {
    /// The values of `column` (an index into the table's schema, part of the projection) for all
    /// rows of the morsel.
    ///
    /// The scan asks at most once per column, in the order of its steps. The array must have the
    /// schema's type and one value per row of the morsel; otherwise the scan reports an error of
    /// the table. A column of `Decimal128` may come as `Decimal64` of the same scale, which is half
    /// as wide.
    ///
    /// # Errors
    ///
    /// A [`ReadError`] that names the file, the part of it and the column.
    fn column(&mut self, column: usize) -> Result<ArrayRef, ReadError>;

    /// `column` as codes into distinct values, if the morsel holds it so. The scan asks before
    /// [`column`](Self::column), which it calls only after `None`, the default.
    ///
    /// # Errors
    ///
    /// As of [`column`](Self::column).
    fn codes(&mut self, column: usize) -> Result<Option<Codes>, ReadError> {
        let _ = column;
        Ok(None)
    }

    /// The values of `column` in `rows`, which ascend and are few, if the reader has them sooner than the
    /// whole column. When a filter has left few rows, the scan asks before [`codes`](Self::codes) and
    /// [`column`](Self::column), which it may still call after `None`, the default, and if it needs
    /// other rows.
    ///
    /// # Errors
    ///
    /// As of [`column`](Self::column).
    fn values_at(&mut self, column: usize, rows: &[usize]) -> Result<Option<ArrayRef>, ReadError> {
        let _ = (column, rows);
        Ok(None)
    }

    /// The rows whose text in `column` meets `condition`, and these texts, if the reader has them sooner
    /// than the whole column. The scan asks before [`column`](Self::column), which it may still call
    /// after `None`, the default, and if it needs texts that do not pass.
    ///
    /// # Errors
    ///
    /// As of [`column`](Self::column).
    fn texts_where(
        &mut self,
        column: usize,
        condition: &dyn TextCondition,
    ) -> Result<Option<Box<dyn PassingTexts>>, ReadError> {
        let _ = (column, condition);
        Ok(None)
    }

    /// Says that columns which are read from now on are needed for `rows` only, which are rows of the
    /// morsel. Returns whether [`column`](Self::column) and [`codes`](Self::codes) then give values
    /// of these rows; the default is no, and they give all.
    fn need(&mut self, rows: Range<usize>) -> bool {
        let _ = rows;
        false
    }

    /// The most bytes that [`column`](Self::column), [`codes`](Self::codes) or
    /// [`texts_where`](Self::texts_where) allocates for `column`. The default is 0: the table has the
    /// values, or the reader [holds](Self::bytes) them.
    fn bytes_to_read(&self, column: usize) -> usize {
        let _ = column;
        0
    }

    /// The most bytes that [`values_at`](Self::values_at) allocates for `column`. The default is as many
    /// as for the whole column.
    fn bytes_to_read_at(&self, column: usize, rows: &[usize]) -> usize {
        let _ = rows;
        self.bytes_to_read(column)
    }

    /// The bytes of values that the reader holds and its table does not. The default is 0.
    fn bytes(&self) -> usize {
        0
    }
}

/// What holds values in a [`StoredTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Pages, if the table has some and knows them.
    pub pages: Option<usize>,
    /// Bytes as they are stored.
    pub bytes: usize,
}

impl Default for Held {
    fn default() -> Self {
        Self {
            pages: Some(0),
            bytes: 0,
        }
    }
}

impl Held {
    pub(crate) fn add(&mut self, other: Self) {
        self.pages = self.pages.zip(other.pages).map(|(pages, others)| pages + others);
        self.bytes += other.bytes;
    }
}

/// A table whose morsels are fetched first, so that opening them does not wait.
///
/// [`TableSource::open`] of such a table fetches and opens.
pub trait StoredTable: TableSource {
    /// The bytes that [`fetch`](Self::fetch) reads of `morsel` for these columns.
    fn bytes_to_fetch(&self, morsel: usize, projection: &[usize]) -> usize;

    /// Whether [`open`](TableSource::open) would not wait. Such a morsel is not fetched: its reader
    /// reads, and counts the bytes as those it [allocates](MorselReader::bytes_to_read). The default
    /// says no.
    fn is_at_hand(&self, morsel: usize, projection: &[usize]) -> bool {
        let _ = (morsel, projection);
        false
    }

    /// What holds `rows` of a column of `morsel`, for people. The default: bytes of all rows, and no
    /// pages.
    fn held(&self, morsel: usize, column: usize, rows: Range<usize>) -> Held {
        let _ = rows;
        Held {
            pages: None,
            bytes: self.bytes_to_fetch(morsel, &[column]),
        }
    }

    /// The most bytes that [`open_fetched`](Self::open_fetched) allocates beyond the fetched ones.
    /// Those that the reader keeps are [`MorselReader::bytes`]. The default is 0, for readers that
    /// decode by the column.
    fn bytes_to_open(&self, morsel: usize, projection: &[usize]) -> usize {
        let _ = (morsel, projection);
        0
    }

    /// Reads the bytes that opening `morsel` for the columns `projection` needs, and waits for
    /// them.
    ///
    /// # Errors
    ///
    /// As [`TableSource::open`].
    fn fetch(&self, morsel: usize, projection: &[usize]) -> Result<Fetched, ReadError>;

    /// [`fetch`](Self::fetch) as a future. The default is `None`: reading blocks a thread. For one
    /// morsel, all projections answer alike.
    fn fetch_async<'a>(&'a self, morsel: usize, projection: &'a [usize]) -> Option<Fetching<'a>> {
        let _ = (morsel, projection);
        None
    }

    /// The approximate number of requests that fetching `morsel` makes at the same time. The
    /// default is 1.
    fn requests(&self, morsel: usize, projection: &[usize]) -> usize {
        let _ = (morsel, projection);
        1
    }

    /// Opens `morsel` for the columns that it was fetched for, without waiting.
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
