//! Generated tables as Parquet files.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Schema, SchemaRef};
use columnar::TableSource;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use query::source::TpchTable;

/// The places of the columns with these names, ascending.
///
/// # Errors
///
/// When there is no such column.
pub fn indices(schema: &SchemaRef, columns: &[&str]) -> anyhow::Result<Vec<usize>> {
    let found: Result<Vec<usize>, _> = columns.iter().map(|name| schema.index_of(name)).collect();
    let mut found = found?;
    found.sort_unstable();
    Ok(found)
}

/// The named columns of a morsel, in that order.
///
/// # Errors
///
/// When there is no such column.
pub fn read(table: &TpchTable, morsel: usize, columns: &[&str]) -> anyhow::Result<Vec<ArrayRef>> {
    let schema = table.schema();
    let mut reader = table.open(morsel, &indices(&schema, columns)?)?;
    let arrays = columns
        .iter()
        .map(|name| Ok(reader.column(schema.index_of(name)?)?));
    arrays.collect()
}

/// Writes the named columns of `table` to `path`.
///
/// # Errors
///
/// When there is no such column, or the file cannot be written.
pub fn write(
    table: &TpchTable,
    columns: &[&str],
    properties: Option<WriterProperties>,
    path: &Path,
) -> anyhow::Result<()> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let whole = table.schema();
    let fields = columns.iter().map(|name| whole.field_with_name(name).cloned());
    let schema = Arc::new(Schema::new(fields.collect::<Result<Vec<_>, _>>()?));
    let mut writer = ArrowWriter::try_new(file, Arc::clone(&schema), properties)?;
    for morsel in 0..table.morsels() {
        let rows = RecordBatch::try_new(Arc::clone(&schema), read(table, morsel, columns)?)?;
        writer.write(&rows)?;
    }
    writer.close()?;
    Ok(())
}
