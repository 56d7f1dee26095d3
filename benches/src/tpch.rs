//! Generated tables of TPC-H, the columns that the benches read, and their Parquet files.

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

/// Columns of `lineitem` that Q1 and Q6 read.
pub(crate) const LINEITEM: [&str; 7] = [
    "l_quantity",
    "l_extendedprice",
    "l_discount",
    "l_tax",
    "l_returnflag",
    "l_linestatus",
    "l_shipdate",
];

/// Q1 with the date computed.
pub(crate) const Q1: &str = "select l_returnflag, l_linestatus, sum(l_quantity) as sum_qty, sum(l_extendedprice) as \
     sum_base_price, sum(l_extendedprice * (1 - l_discount)) as sum_disc_price, sum(l_extendedprice \
     * (1 - l_discount) * (1 + l_tax)) as sum_charge, avg(l_quantity) as avg_qty, \
     avg(l_extendedprice) as avg_price, avg(l_discount) as avg_disc, count(*) as count_order from \
     lineitem where l_shipdate <= date '1998-09-02' group by l_returnflag, l_linestatus order by \
     l_returnflag, l_linestatus";

/// The places of the named columns, ascending.
pub(crate) fn indices(schema: &SchemaRef, columns: &[&str]) -> anyhow::Result<Vec<usize>> {
    let found: Result<Vec<usize>, _> = columns.iter().map(|name| schema.index_of(name)).collect();
    let mut found = found?;
    found.sort_unstable();
    Ok(found)
}

/// Columns in the order of `columns`.
pub(crate) fn read(table: &TpchTable, morsel: usize, columns: &[&str]) -> anyhow::Result<Vec<ArrayRef>> {
    let schema = table.schema();
    let mut reader = table.open(morsel, &indices(&schema, columns)?)?;
    let arrays = columns
        .iter()
        .map(|name| Ok(reader.column(schema.index_of(name)?)?));
    arrays.collect()
}

pub(crate) fn write(
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
