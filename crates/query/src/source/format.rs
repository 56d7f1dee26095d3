//! The format of a file or object, and the table that it becomes.

use std::sync::Arc;

use bytes::Bytes;
use columnar::{ReadError, TableSource};

use super::byte_source::SharedSource;
use super::csv::CsvTable;
use super::opening::{Opening, OpeningReads};
use super::parquet::{ParquetTable, begins_like_parquet};
use crate::error::QueryError;

pub(super) fn open_source(
    name: &str,
    source: SharedSource,
    extension: String,
    opening: &Opening<'_>,
) -> Result<Arc<dyn TableSource>, QueryError> {
    match format_of(&source, &extension, opening)? {
        Format::Parquet => Ok(Arc::new(ParquetTable::of(name, [Ok(source)], opening)?)),
        Format::Csv => Ok(Arc::new(CsvTable::of(name, source, opening)?)),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Parquet,
    Csv,
}

fn format_of(source: &SharedSource, extension: &str, opening: &Opening<'_>) -> Result<Format, QueryError> {
    match extension {
        "parquet" | "parq" | "pq" => Ok(Format::Parquet),
        _ if begins_like_parquet(&head(source, opening)?) => Ok(Format::Parquet),
        "csv" | "tsv" | "txt" => Ok(Format::Csv),
        _ => Err(ReadError::new(
            source.origin(),
            "cannot tell what this is: it does not begin like Parquet and is not called .csv, .tsv or .txt",
        )
        .into()),
    }
}

/// The first four bytes, or fewer of a shorter source.
fn head(source: &SharedSource, opening: &Opening<'_>) -> Result<Bytes, QueryError> {
    opening.read_one(source.as_ref(), 0..source.bytes().min(4))
}
