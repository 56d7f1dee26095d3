//! A file of a table, its morsels, and where their columns lie in it.

use std::fmt::Display;
use std::ops::Range;
use std::sync::OnceLock;

use ::parquet::arrow::arrow_reader::ArrowReaderMetadata;
use ::parquet::file::page_index::offset_index::OffsetIndexMetaData;
use columnar::{MORSEL_ROWS, ReadError};

use super::super::byte_source::SharedSource;
use super::super::opening::OpeningReads;
use super::bounds::Bounds;
use super::cuts::cuts;
use super::damage::guarded;
use super::{chunks, footer};

/// Rows of a range of a long row group.
const RANGE_ROWS: usize = 2 * MORSEL_ROWS;
/// Ranges of a row group at most. Groups of more than 5 · 10⁸ rows get longer ranges.
const RANGES_MAX: usize = 4_096;

#[derive(Debug)]
pub(super) struct ParquetFile {
    pub(super) source: SharedSource,
    pub(super) metadata: ArrowReaderMetadata,
    /// `None` for a column without statistics.
    pub(super) bounds: Vec<OnceLock<Option<Bounds>>>,
}

impl ParquetFile {
    pub(super) fn open<R: OpeningReads>(source: SharedSource, reads: &R) -> Result<Self, R::Error> {
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

    pub(super) fn error(&self, message: impl Display) -> ReadError {
        ReadError::new(self.source.origin(), message.to_string())
    }

    pub(super) fn check_same_columns(&self, first: &Self) -> Result<(), ReadError> {
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

    pub(super) fn ranges(
        &self,
        row_group: usize,
        rows: &Range<usize>,
        projection: &[usize],
    ) -> Result<Vec<Range<u64>>, String> {
        let rows = (*rows != self.all_rows(row_group)).then(|| rows.clone());
        guarded(|| chunks::ranges(&self.metadata, row_group, rows, projection, self.source.bytes()))
    }

    /// Where the pages of all columns lie; `None` if the file does not say it of each.
    pub(super) fn index(&self, row_group: usize) -> Option<&[OffsetIndexMetaData]> {
        let index = self.metadata.metadata().offset_index()?.get(row_group)?;
        let is_known = |column: &OffsetIndexMetaData| !column.page_locations().is_empty();
        (!index.is_empty() && index.iter().all(is_known)).then_some(&index[..])
    }

    pub(super) fn all_rows(&self, row_group: usize) -> Range<usize> {
        let rows = self.metadata.metadata().row_group(row_group).num_rows();
        0..usize::try_from(rows).unwrap_or(0)
    }

    /// Of `rows` in the morsel's row group.
    pub(super) fn ranges_to_read(
        &self,
        morsel: &Morsel,
        rows: &Range<usize>,
        projection: &[usize],
    ) -> Result<Vec<Range<u64>>, ReadError> {
        let ranges = self.ranges(morsel.row_group, rows, projection);
        ranges.map_err(|message| morsel.located(self.error(message)))
    }

    pub(super) fn morsels(&self, file: usize) -> Vec<Morsel> {
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

#[derive(Debug, Clone)]
pub(super) struct Morsel {
    pub(super) file: usize,
    pub(super) row_group: usize,
    pub(super) rows: Range<usize>,
}

impl Morsel {
    pub(super) fn located(&self, error: ReadError) -> ReadError {
        error.in_part(format!("row group {}", self.row_group))
    }

    /// Rows of the morsel as rows of its row group.
    pub(super) fn within(&self, rows: &Range<usize>) -> Range<usize> {
        self.rows.start + rows.start..self.rows.start + rows.end
    }
}
