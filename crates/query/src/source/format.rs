//! The format of a file or object, and the table that it becomes.

use std::sync::Arc;

use columnar::{ReadError, TableSource};

use super::byte_source::{self, ByteSource, SharedSource};
use super::csv::CsvTable;
use super::parquet::{ParquetTable, begins_like_parquet};
use crate::error::QueryError;
use crate::work::Work;

/// Opens a source whose name ends in `extension`, as [`open`](super::open).
pub(super) fn open_source(
    name: &str,
    source: SharedSource,
    extension: String,
    work: &Work,
) -> Result<Arc<dyn TableSource>, QueryError> {
    match format_of(source.as_ref(), &extension)? {
        Format::Parquet => Ok(Arc::new(ParquetTable::of(name, [Ok(source)])?)),
        Format::Csv => Ok(Arc::new(CsvTable::of(name, source, work)?)),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Parquet,
    Csv,
}

fn format_of(source: &dyn ByteSource, extension: &str) -> Result<Format, ReadError> {
    match extension {
        "parquet" | "parq" | "pq" => Ok(Format::Parquet),
        _ if begins_like_parquet(&byte_source::head(source)?) => Ok(Format::Parquet),
        "csv" | "tsv" | "txt" => Ok(Format::Csv),
        _ => Err(ReadError::new(
            source.origin(),
            "cannot tell what this is: it does not begin like Parquet and is not called .csv, .tsv or .txt",
        )),
    }
}
