//! What a statement sees of a table: columns and files, each in one version.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Statistics;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::physical_expr::LexOrdering;
use datafusion::scalar::ScalarValue;
use object_store::ObjectMeta;
use tokio::sync::OnceCell;

use super::listing::Format;

/// Immutable: the next look makes another.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// What the files are read by.
    pub(crate) store: ObjectStoreUrl,
    pub(crate) format: Format,
    /// The files' columns, then the partitions'.
    pub(crate) schema: TableSchema,
    /// CSV: a value has a line break, so files are not cut for several workers.
    pub(crate) line_breaks: bool,
    pub(crate) files: Vec<Arc<SnapshotFile>>,
}

#[derive(Debug)]
pub(crate) struct SnapshotFile {
    pub(crate) meta: ObjectMeta,
    pub(crate) partition: Vec<ScalarValue>,
    /// Read when the first statement needs it.
    pub(crate) collected: OnceCell<Collected>,
}

/// From a file's footer.
#[derive(Clone, Debug)]
pub(crate) struct Collected {
    /// Of the table's columns, partitions included.
    pub(crate) statistics: Arc<Statistics>,
    pub(crate) ordering: Option<LexOrdering>,
}

impl Snapshot {
    pub(crate) fn table_schema(&self) -> &SchemaRef {
        self.schema.table_schema()
    }

    pub(crate) fn partition_columns(&self) -> Vec<String> {
        let columns = self.schema.table_partition_cols().iter();
        columns.map(|column| column.name().clone()).collect()
    }
}

impl SnapshotFile {
    pub(crate) fn new(meta: ObjectMeta, partition: Vec<ScalarValue>) -> Self {
        Self {
            meta,
            partition,
            collected: OnceCell::new(),
        }
    }
}
