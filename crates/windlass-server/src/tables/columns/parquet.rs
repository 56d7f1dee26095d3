//! The footer of a Parquet file.

use std::fs::File;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::datasource::physical_plan::parquet::transform_schema_to_view;
use datafusion::parquet::arrow::parquet_to_arrow_schema;
use datafusion::parquet::errors::ParquetError;
use datafusion::parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};

use crate::tables::shape::{Columns, Part};

pub(super) fn read(file: &File) -> Result<Columns, String> {
    let metadata = ParquetMetaDataReader::new()
        .with_page_index_policy(PageIndexPolicy::Skip)
        .parse_and_finish(file)
        .map_err(|error| error.to_string())?;
    columns(&metadata)
}

/// From the end of a file of `len` bytes.
pub(super) fn read_end(end: &Bytes, len: u64) -> Result<Part, String> {
    let mut reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Skip);
    match reader.try_parse_sized(end, len) {
        Ok(()) => {}
        Err(ParquetError::NeedMoreData(needed)) => return Ok(Part::Needs(needed as u64)),
        Err(error) => return Err(error.to_string()),
    }
    let metadata = reader.finish().map_err(|error| error.to_string())?;
    columns(&metadata).map(Part::Columns)
}

fn columns(metadata: &ParquetMetaData) -> Result<Columns, String> {
    let metadata = metadata.file_metadata();
    let schema = parquet_to_arrow_schema(metadata.schema_descr(), metadata.key_value_metadata())
        .map_err(|error| error.to_string())?;
    // As DataFusion does: strings become views, and the writers' metadata is dropped.
    let schema = transform_schema_to_view(&super::merge::without_metadata(&schema));
    Ok(Columns {
        schema: Arc::new(schema),
        line_breaks: false,
    })
}
