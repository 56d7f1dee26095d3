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
mod footer;
mod hybrid;
mod numbers;
mod pages;
mod texts;
mod validity;
#[cfg(test)]
mod written;

use std::fmt::Display;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder, RowSelection};
use ::parquet::file::page_index::offset_index::OffsetIndexMetaData;
use arrow::array::{Array, ArrayRef};
use arrow::compute::concat;
use arrow::datatypes::{Field, Schema, SchemaRef};
use columnar::{
    Codes, ColumnStatistics, Fetched, Fetching, Held, MORSEL_ROWS, MorselReader, PassingTexts, ReadError,
    StoredTable, TableSource, TextCondition,
};

use self::bounds::Bounds;
use self::chunks::Chunks;
use self::cuts::cuts;
use self::damage::guarded;
pub use self::damage::is_reading_damaged;
use self::pages::FlatColumn;
use super::byte_source::{self, LocalFile, SharedSource};
use super::file_name::is_parquet_name;
use super::opening::{OpeningReads, Unstopped};

const RANGE_ROWS: usize = 2 * MORSEL_ROWS;
/// Groups of more than 5 · 10⁸ rows get longer ranges.
const RANGES_MAX: usize = 4_096;
/// Rows decoded at once, bounded since the footer's count sizes the allocation.
const BATCH_ROWS: usize = 1 << 20;

/// A Parquet file or a folder of files with the same columns.
#[derive(Debug)]
pub struct ParquetTable {
    name: String,
    schema: SchemaRef,
    files: Vec<ParquetFile>,
    morsels: Vec<Morsel>,
}

#[derive(Debug)]
struct ParquetFile {
    source: SharedSource,
    metadata: ArrowReaderMetadata,
    /// `None` for a column without statistics.
    bounds: Vec<OnceLock<Option<Bounds>>>,
}

#[derive(Debug, Clone)]
struct Morsel {
    file: usize,
    row_group: usize,
    rows: Range<usize>,
}

impl Morsel {
    fn located(&self, error: ReadError) -> ReadError {
        error.in_part(format!("row group {}", self.row_group))
    }

    /// Rows of the morsel as rows of its row group.
    fn within(&self, rows: &Range<usize>) -> Range<usize> {
        self.rows.start + rows.start..self.rows.start + rows.end
    }
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
        Ok(Box::new(ParquetReader {
            file: &self.files[morsel.file],
            morsel,
            rows: morsel.rows.clone(),
            fetched: Arc::new(fetched),
        }))
    }
}

impl ParquetFile {
    fn open<R: OpeningReads>(source: SharedSource, reads: &R) -> Result<Self, R::Error> {
        let metadata = footer::load(source.as_ref(), reads)?;
        let bounds = metadata
            .schema()
            .fields()
            .iter()
            .map(|_| OnceLock::new())
            .collect();
        Ok(Self {
            source,
            metadata,
            bounds,
        })
    }

    fn error(&self, message: impl Display) -> ReadError {
        ReadError::new(self.source.origin(), message.to_string())
    }

    fn check_same_columns(&self, first: &Self) -> Result<(), ReadError> {
        let (ours, theirs) = (self.metadata.schema().fields(), first.metadata.schema().fields());
        let differs = |what: String| {
            let message = format!("not the same columns as {}: {what}", first.source.origin());
            ReadError::new(self.source.origin(), message)
        };
        for (index, (our, their)) in ours.iter().zip(theirs).enumerate() {
            let (our_type, their_type) = (our.data_type(), their.data_type());
            if our.name() != their.name() {
                let at = index + 1;
                return Err(differs(format!(
                    "column {at} is `{}` instead of `{}`",
                    our.name(),
                    their.name()
                )));
            }
            if our_type != their_type {
                return Err(differs(format!(
                    "column `{}` is {our_type} instead of {their_type}",
                    our.name()
                )));
            }
        }
        if ours.len() != theirs.len() {
            return Err(differs(format!(
                "{} columns instead of {}",
                ours.len(),
                theirs.len()
            )));
        }
        Ok(())
    }

    fn ranges(
        &self,
        row_group: usize,
        rows: &Range<usize>,
        projection: &[usize],
    ) -> Result<Vec<Range<u64>>, String> {
        let rows = (*rows != self.all_rows(row_group)).then(|| rows.clone());
        guarded(|| chunks::ranges(&self.metadata, row_group, rows, projection, self.source.bytes()))
    }

    /// Where the pages of all columns lie; `None` if the file does not say it of each.
    fn index(&self, row_group: usize) -> Option<&[OffsetIndexMetaData]> {
        let index = self.metadata.metadata().offset_index()?.get(row_group)?;
        let is_known = |column: &OffsetIndexMetaData| !column.page_locations().is_empty();
        (!index.is_empty() && index.iter().all(is_known)).then_some(&index[..])
    }

    fn all_rows(&self, row_group: usize) -> Range<usize> {
        let rows = self.metadata.metadata().row_group(row_group).num_rows();
        0..usize::try_from(rows).unwrap_or(0)
    }

    /// Of `rows` in the morsel's row group.
    fn ranges_to_read(
        &self,
        morsel: &Morsel,
        rows: &Range<usize>,
        projection: &[usize],
    ) -> Result<Vec<Range<u64>>, ReadError> {
        let ranges = self.ranges(morsel.row_group, rows, projection);
        ranges.map_err(|message| morsel.located(self.error(message)))
    }

    fn morsels(&self, file: usize) -> Vec<Morsel> {
        let metadata = self.metadata.metadata();
        let mut morsels = Vec::new();
        for (row_group, group) in metadata.row_groups().iter().enumerate() {
            let rows = self.all_rows(row_group).end;
            let cuts = match self.index(row_group) {
                Some(index) => cuts(group, index, rows, RANGE_ROWS.max(rows.div_ceil(RANGES_MAX))),
                None => std::iter::once(0..rows).collect(),
            };
            let cuts = cuts.into_iter().filter(|rows| !rows.is_empty());
            morsels.extend(cuts.map(|rows| Morsel {
                file,
                row_group,
                rows,
            }));
        }
        morsels
    }
}

struct ParquetReader<'a> {
    file: &'a ParquetFile,
    morsel: &'a Morsel,
    /// Those to read of the row group.
    rows: Range<usize>,
    /// No bytes if they were at hand.
    fetched: Arc<Fetched>,
}

impl MorselReader for ParquetReader<'_> {
    fn column(&mut self, column: usize) -> Result<ArrayRef, ReadError> {
        let chunks = self.chunks(column, &self.rows)?;
        let read = || {
            let flat = self.flat(column).filter(numbers::may_be);
            Ok(flat.and_then(|flat| numbers::read(&flat, &chunks, &self.rows)))
        };
        // What fails here fails again, with its place, in the reader that knows all encodings.
        if let Some(values) = guarded(read).unwrap_or(None) {
            return Ok(values);
        }
        guarded(|| self.read(column, chunks)).map_err(|message| {
            self.file
                .error(message)
                .in_part(format!("row group {}", self.morsel.row_group))
                .in_column(self.file.metadata.schema().field(column).name())
        })
    }

    fn codes(&mut self, column: usize) -> Result<Option<Codes>, ReadError> {
        let Some(flat) = self.flat(column).filter(coded::may_be) else {
            return Ok(None);
        };
        let chunks = self.chunks(column, &self.rows)?;
        let read = || Ok(coded::read(&flat, &chunks, &self.rows));
        // What fails here fails again, with its place, when the column is read.
        Ok(guarded(read).unwrap_or(None))
    }

    fn values_at(&mut self, column: usize, rows: &[usize]) -> Result<Option<ArrayRef>, ReadError> {
        let Some(flat) = self.flat(column).filter(FlatColumn::is_without_nulls) else {
            return Ok(None);
        };
        let read_at = match numbers::may_be(&flat) {
            true => numbers::read_at,
            false if has_own_texts(&flat) => texts::read_at,
            false => return Ok(None),
        };
        let wanted = self.around(rows);
        let chunks = self.chunks(column, &wanted)?;
        let rows: Vec<usize> = rows.iter().map(|row| self.morsel.rows.start + row).collect();
        let read = || Ok(read_at(&flat, &chunks, &wanted, &rows));
        // What fails here fails again, with its place, when the column is read.
        Ok(guarded(read).unwrap_or(None))
    }

    fn texts_where(
        &mut self,
        column: usize,
        condition: &dyn TextCondition,
    ) -> Result<Option<Box<dyn PassingTexts>>, ReadError> {
        let Some(flat) = self.flat(column).filter(has_own_texts) else {
            return Ok(None);
        };
        let chunks = self.chunks(column, &self.rows)?;
        let read = || Ok(texts::passing(&flat, &chunks, &self.rows, condition));
        // What fails here fails again, with its place, when the column is read.
        let passing = guarded(read).unwrap_or(None);
        Ok(passing.map(|passing| -> Box<dyn PassingTexts> { Box::new(passing) }))
    }

    fn need(&mut self, rows: Range<usize>) -> bool {
        if self.is_indexed() {
            self.rows = self.morsel.within(&rows);
        }
        self.is_indexed()
    }

    fn bytes_to_read(&self, column: usize) -> usize {
        let (row_group, rows) = (self.morsel.row_group, &self.rows);
        guarded(|| {
            let read = self.bytes_to_fetch(column, rows)?;
            let as_codes = self.flat(column).is_some_and(|flat| coded::is(&flat));
            let decoded = chunks::bytes_to_read(&self.file.metadata, row_group, rows.len(), column, as_codes);
            Ok(decoded.saturating_add(read))
        })
        .unwrap_or(0)
    }

    fn bytes_to_read_at(&self, column: usize, rows: &[usize]) -> usize {
        let wanted = self.around(rows);
        guarded(|| {
            let read = self.bytes_to_fetch(column, &wanted)?;
            let (metadata, row_group) = (&self.file.metadata, self.morsel.row_group);
            let decoded = chunks::bytes_to_read_at(metadata, row_group, &wanted, rows.len(), column);
            Ok(decoded.saturating_add(read))
        })
        .unwrap_or(0)
    }
}

/// Whether a column of texts does not come as codes, by which rows are grouped and filtered faster.
fn has_own_texts(column: &FlatColumn<'_>) -> bool {
    texts::may_be(column) && !coded::may_be(column)
}

impl ParquetReader<'_> {
    /// For readers that decode all rows at once.
    fn flat(&self, column: usize) -> Option<FlatColumn<'_>> {
        let flat = FlatColumn::of(&self.file.metadata, self.morsel.row_group, column);
        flat.filter(|_| self.rows.len() <= BATCH_ROWS)
    }

    /// Whether the pages with some rows can be found.
    fn is_indexed(&self) -> bool {
        self.file.index(self.morsel.row_group).is_some()
    }

    /// Those from the first to the last of `rows`, as rows of the row group, if their pages can be found.
    fn around(&self, rows: &[usize]) -> Range<usize> {
        match rows.first().zip(rows.last()) {
            Some((first, last)) if self.is_indexed() => self.morsel.within(&(*first..*last + 1)),
            _ => self.rows.clone(),
        }
    }

    /// If the reader reads by itself.
    fn bytes_to_fetch(&self, column: usize, rows: &Range<usize>) -> Result<usize, String> {
        match self.fetched.bytes() {
            0 => {
                let ranges = self.file.ranges(self.morsel.row_group, rows, &[column])?;
                Ok(chunks::bytes_of(&ranges))
            }
            _ => Ok(0),
        }
    }

    fn chunks(&self, column: usize, rows: &Range<usize>) -> Result<Chunks, ReadError> {
        let file_bytes = self.file.source.bytes();
        if self.fetched.bytes() > 0 {
            return Ok(Chunks::new(file_bytes, Arc::clone(&self.fetched)));
        }
        let ranges = self.file.ranges_to_read(self.morsel, rows, &[column])?;
        let read = byte_source::fetch(self.file.source.as_ref(), &ranges);
        let read = read.map_err(|error| self.morsel.located(error))?;
        Ok(Chunks::new(file_bytes, Arc::new(read)))
    }

    fn read(&self, column: usize, chunks: Chunks) -> Result<ArrayRef, String> {
        let (row_group, rows) = (self.morsel.row_group, &self.rows);
        let group_rows = self.file.all_rows(row_group);
        let mask = ProjectionMask::roots(self.file.metadata.parquet_schema(), [column]);
        let mut builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(chunks, self.file.metadata.clone())
                .with_row_groups(vec![row_group])
                .with_projection(mask)
                .with_batch_size(rows.len().min(BATCH_ROWS));
        if *rows != group_rows {
            let rows = std::iter::once(rows.clone());
            let selection = RowSelection::from_consecutive_ranges(rows, group_rows.end);
            builder = builder.with_row_selection(selection);
        }
        let mut reader = builder.build().map_err(|error| error.to_string())?;
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(1);
        let mut found = 0;
        // A further call at the reader's end would allocate an unreserved batch.
        while found < rows.len()
            && let Some(batch) = reader.next()
        {
            let batch = batch.map_err(|error| error.to_string())?;
            found += batch.num_rows();
            arrays.push(batch.column(0).clone());
        }
        if found != rows.len() {
            return Err(format!(
                "the column has {found} values where the row group has {} rows",
                rows.len()
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
