//! The answer of a query: columns with names, rows in order.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use columnar::ScanResult;

/// The rows a query gave.
#[derive(Clone, Debug)]
pub struct QueryResult {
    /// The columns. Names may repeat, as in SQL.
    pub schema: SchemaRef,
    /// The rows, in order; no batch is empty.
    pub batches: Vec<RecordBatch>,
}

impl QueryResult {
    /// The number of rows.
    pub fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

impl From<ScanResult> for QueryResult {
    fn from(ScanResult { schema, batches }: ScanResult) -> Self {
        Self { schema, batches }
    }
}
