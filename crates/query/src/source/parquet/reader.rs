//! Reads the columns of a morsel: each in the first way that its pages allow.
//!
//! ```text
//!   few rows are left       their values              numbers, texts
//!   all pages have codes    codes and values          coded
//!   a text is searched      the texts that hold it    texts
//!   numbers                 all values                numbers
//!   else                    all values                general: the `parquet` crate's reader
//! ```

use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use columnar::{Codes, Fetched, MorselReader, PassingTexts, ReadError, TextCondition};

use super::super::byte_source;
use super::chunks::{self, Chunks};
use super::damage::guarded;
use super::file::{Morsel, ParquetFile};
use super::pages::FlatColumn;
use super::{coded, general, numbers, texts};

/// Bytes of a dictionary in the file for each row wanted, above which texts are copied out of it: to make
/// all its values would take longer than to group or compare texts instead of codes.
const ROW_BYTES: usize = 8;

pub(super) struct ParquetReader<'a> {
    file: &'a ParquetFile,
    morsel: &'a Morsel,
    /// Those to read of the row group.
    rows: Range<usize>,
    /// No bytes if they were at hand.
    fetched: Arc<Fetched>,
}

impl<'a> ParquetReader<'a> {
    pub(super) fn new(file: &'a ParquetFile, morsel: &'a Morsel, fetched: Fetched) -> Self {
        Self {
            file,
            morsel,
            rows: morsel.rows.clone(),
            fetched: Arc::new(fetched),
        }
    }
}

impl MorselReader for ParquetReader<'_> {
    fn column(&mut self, column: usize) -> Result<ArrayRef, ReadError> {
        let chunks = self.chunks(column, &self.rows)?;
        let read = || {
            Ok(self.flat(column).and_then(|flat| match numbers::may_be(&flat) {
                true => numbers::read(&flat, &chunks, &self.rows),
                false if flat.is_snappy() => general::read_flat(&flat, &chunks, &self.rows),
                false => None,
            }))
        };
        // What fails here fails again, with its place, in the reader that knows all encodings.
        if let Some(values) = guarded(read).unwrap_or(None) {
            return Ok(values);
        }
        let (metadata, row_group) = (&self.file.metadata, self.morsel.row_group);
        let read = || {
            general::read(
                metadata,
                row_group,
                self.file.all_rows(row_group),
                column,
                chunks,
                &self.rows,
            )
        };
        guarded(read).map_err(|message| {
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
            false if are_texts_copied(&flat, rows.len()) => texts::read_at,
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

impl ParquetReader<'_> {
    /// For readers that decode all rows at once.
    fn flat(&self, column: usize) -> Option<FlatColumn<'_>> {
        let flat = FlatColumn::of(&self.file.metadata, self.morsel.row_group, column);
        flat.filter(|_| self.rows.len() <= general::BATCH_ROWS)
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
}

/// Whether the texts of few `rows` are copied one by one.
fn are_texts_copied(column: &FlatColumn<'_>, rows: usize) -> bool {
    let is_long = || rows * ROW_BYTES < chunks::dictionary_bytes(column.chunk);
    texts::may_be(column) && (!coded::may_be(column) || is_long())
}

/// Whether a column of texts does not come as codes, by which rows are grouped and filtered faster.
fn has_own_texts(column: &FlatColumn<'_>) -> bool {
    texts::may_be(column) && !coded::may_be(column)
}
