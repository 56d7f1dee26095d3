//! Parquet files, and folders of them, as tables.
//!
//! ```text
//!   folder ──► files by name ──► row groups ──► morsels        a.parquet  rg 0 │ rg 1 │ rg 2
//!                                                              b.parquet  rg 0 ┊ rg 0 ┊ rg 0   (long, with a page index)
//! ```
//!
//! A morsel is a row group, or a range of a large group if the file has a page index. The columns'
//! bytes are fetched together, unless they are at hand, and each column is decoded on first use, in the
//! pages with rows that are left: strings as `Utf8View`, which share the pages' bytes. The row group's
//! statistics are its zone map.

mod bounds;
mod chunks;
mod coded;
mod cuts;
mod damage;
mod file;
mod footer;
mod general;
mod hybrid;
mod numbers;
mod pages;
mod reader;
mod snappy;
mod texts;
mod validity;
#[cfg(test)]
mod written;

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use columnar::{
    ColumnStatistics, Fetched, Fetching, Held, MorselReader, ReadError, StoredTable, TableSource,
};

use self::bounds::Bounds;
use self::damage::guarded;
pub use self::damage::is_reading_damaged;
use self::file::{Morsel, ParquetFile};
use self::reader::ParquetReader;
use super::byte_source::{self, LocalFile, SharedSource};
use super::file_name::is_parquet_name;
use super::opening::{OpeningReads, Unstopped};

/// A Parquet file or a folder of files with the same columns.
#[derive(Debug)]
pub struct ParquetTable {
    name: String,
    schema: SchemaRef,
    files: Vec<ParquetFile>,
    morsels: Vec<Morsel>,
}

impl ParquetTable {
    /// Opens a file or a folder as the table `name`. A folder's files end in `.parquet`, `.parq` or
    /// `.pq`, do not begin with `.` or `_`, and are sorted by name.
    ///
    /// # Errors
    ///
    /// [`ReadError`] with the path of a file that is unreadable, not Parquet, cut short, or has
    /// other columns than the first, or of a folder without Parquet files or with subfolders.
    pub fn open(name: &str, path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref();
        let paths = if path.is_dir() {
            files_of(path)?
        } else {
            vec![path.to_owned()]
        };
        Self::open_files(name, paths)
    }

    /// Opens files as the table `name`, in this order.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    ///
    /// # Panics
    ///
    /// If there is no file.
    pub fn open_files(name: &str, paths: impl IntoIterator<Item = PathBuf>) -> Result<Self, ReadError> {
        let files = paths.into_iter().map(|path| LocalFile::shared(&path));
        Self::of(name, files, &Unstopped)
    }

    pub(crate) fn of<R: OpeningReads>(
        name: &str,
        sources: impl IntoIterator<Item = Result<SharedSource, R::Error>>,
        reads: &R,
    ) -> Result<Self, R::Error> {
        let mut files: Vec<ParquetFile> = Vec::new();
        for source in sources {
            let file = ParquetFile::open(source?, reads)?;
            if let Some(first) = files.first() {
                file.check_same_columns(first)?;
            }
            files.push(file);
        }
        let schema = files[0].metadata.schema();
        let columns = schema
            .fields()
            .iter()
            .map(|field| Field::new(field.name(), field.data_type().clone(), true));
        let schema = Arc::new(Schema::new(columns.collect::<Vec<_>>()));
        let morsels = files
            .iter()
            .enumerate()
            .flat_map(|(index, file)| file.morsels(index))
            .collect();
        Ok(Self {
            name: name.to_owned(),
            schema,
            files,
            morsels,
        })
    }
}

impl TableSource for ParquetTable {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn morsels(&self) -> usize {
        self.morsels.len()
    }

    fn rows(&self, morsel: usize) -> usize {
        self.morsels[morsel].rows.len()
    }

    fn statistics(&self, morsel: usize, column: usize) -> ColumnStatistics {
        let Morsel { file, row_group, .. } = self.morsels[morsel];
        let file = &self.files[file];
        let bounds = file.bounds[column].get_or_init(|| {
            // A plan works without unreadable bounds.
            guarded(|| Ok(Bounds::of(&file.metadata, column, &self.schema))).unwrap_or(None)
        });
        let rows = &self.morsels[morsel].rows;
        let is_whole = *rows == file.all_rows(row_group);
        match bounds {
            Some(bounds) => bounds.of_rows(row_group, rows.len(), is_whole),
            None => ColumnStatistics::unknown(),
        }
    }

    fn as_stored(&self) -> Option<&dyn StoredTable> {
        Some(self)
    }

    fn open(&self, morsel: usize, projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        let fetched = match self.is_at_hand(morsel, projection) {
            true => Fetched::default(),
            false => self.fetch(morsel, projection)?,
        };
        self.open_fetched(morsel, projection, fetched)
    }
}

impl StoredTable for ParquetTable {
    fn bytes_to_fetch(&self, morsel: usize, projection: &[usize]) -> usize {
        let morsel = &self.morsels[morsel];
        let ranges = self.files[morsel.file].ranges(morsel.row_group, &morsel.rows, projection);
        // The fetch reports this failure.
        ranges.map_or(0, |ranges| chunks::bytes_of(&ranges))
    }

    fn is_at_hand(&self, morsel: usize, projection: &[usize]) -> bool {
        let morsel = &self.morsels[morsel];
        let file = &self.files[morsel.file];
        // A read reports damage.
        let ranges = file.ranges(morsel.row_group, &morsel.rows, projection);
        ranges.is_ok_and(|ranges| file.source.is_at_hand(&ranges))
    }

    fn held(&self, morsel: usize, column: usize, rows: Range<usize>) -> Held {
        let morsel = &self.morsels[morsel];
        let file = &self.files[morsel.file];
        let rows = morsel.within(&rows);
        // A read reports damage.
        let ranges = file
            .ranges(morsel.row_group, &rows, &[column])
            .unwrap_or_default();
        Held {
            pages: chunks::pages(&file.metadata, morsel.row_group, &rows, &[column]),
            bytes: chunks::bytes_of(&ranges),
        }
    }

    fn fetch(&self, morsel: usize, projection: &[usize]) -> Result<Fetched, ReadError> {
        let morsel = &self.morsels[morsel];
        let file = &self.files[morsel.file];
        let ranges = file.ranges_to_read(morsel, &morsel.rows, projection)?;
        byte_source::fetch(file.source.as_ref(), &ranges).map_err(|error| morsel.located(error))
    }

    fn fetch_async<'a>(&'a self, morsel: usize, projection: &'a [usize]) -> Option<Fetching<'a>> {
        let morsel = &self.morsels[morsel];
        let file = &self.files[morsel.file];
        let source = file.source.as_awaited()?;
        Some(Box::pin(async move {
            let ranges = file.ranges_to_read(morsel, &morsel.rows, projection)?;
            let fetched = byte_source::fetch_async(source, &ranges).await;
            fetched.map_err(|error| morsel.located(error))
        }))
    }

    fn requests(&self, morsel: usize, projection: &[usize]) -> usize {
        let morsel = &self.morsels[morsel];
        let file = &self.files[morsel.file];
        let ranges = file.ranges(morsel.row_group, &morsel.rows, projection);
        match (file.source.as_awaited(), ranges) {
            (Some(source), Ok(ranges)) => source.requests(&ranges),
            _ => 1,
        }
    }

    fn open_fetched(
        &self,
        morsel: usize,
        _projection: &[usize],
        fetched: Fetched,
    ) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        let morsel = &self.morsels[morsel];
        let file = &self.files[morsel.file];
        Ok(Box::new(ParquetReader::new(file, morsel, fetched)))
    }
}

pub(super) fn begins_like_parquet(head: &[u8]) -> bool {
    head == b"PAR1"
}

pub(super) fn files_of(folder: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let fail = |error: io::Error| ReadError::new(folder.display().to_string(), error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        if name.starts_with(['.', '_']) {
            continue;
        }
        if path.is_dir() {
            let message =
                format!("the folder holds another folder, `{name}`; a table is one folder of files");
            return Err(ReadError::new(folder.display().to_string(), message));
        }
        if is_parquet_name(&path) {
            files.push(path);
        }
    }
    if files.is_empty() {
        let message = "the folder holds no file that ends in .parquet";
        return Err(ReadError::new(folder.display().to_string(), message));
    }
    files.sort();
    Ok(files)
}
