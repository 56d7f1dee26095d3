//! A table as one listing found it.

use std::path::PathBuf;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Statistics;
use datafusion::datasource::table_schema::{TableSchema, TableSchemaBuilder};
use datafusion::physical_expr::LexOrdering;
use datafusion::scalar::ScalarValue;
use object_store::ObjectMeta;
use tokio::sync::OnceCell;

use super::columns::{self, Columns};
use super::error::TablesError;
use super::listing::{Format, ListedFile, Listing};
use super::partitions::Partitions;
use super::store::TablesStore;

/// Immutable: the next listing makes another.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// The table's file or folder.
    path: PathBuf,
    pub(crate) format: Format,
    /// The files' columns, then the partitions'.
    pub(crate) schema: TableSchema,
    /// CSV: a value has a line break, so files are not cut for several workers.
    pub(crate) line_breaks: bool,
    pub(crate) files: Vec<Arc<SnapshotFile>>,
}

#[derive(Debug)]
pub(crate) struct SnapshotFile {
    listed: ListedFile,
    columns: Arc<Columns>,
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
    /// Reads the columns of files that `before` lacks. `None` if all files are gone.
    pub(crate) fn new(
        listing: &Listing,
        before: Option<&Self>,
        store: &TablesStore,
    ) -> Result<Option<Self>, TablesError> {
        let before = before.filter(|before| before.path == listing.path);
        let mut files = Vec::with_capacity(listing.files.len());
        for listed in &listing.files {
            if let Some(known) = before.and_then(|before| before.file(listed)) {
                files.push((listed.clone(), Arc::clone(&known.columns)));
                continue;
            }
            // The opened version may be later than the listed one.
            let Some((version, columns)) = columns::read(&listing.root, &listed.in_root, listing.format)?
            else {
                continue;
            };
            let listed = ListedFile {
                version,
                ..listed.clone()
            };
            let same = files
                .last()
                .map(|(_, last): &(_, Arc<Columns>)| last)
                .filter(|last| ***last == columns);
            let columns = same.map_or_else(|| Arc::new(columns), Arc::clone);
            files.push((listed, columns));
        }
        if files.is_empty() {
            return Ok(None);
        }
        let paths: Vec<(PathBuf, &Columns)> = files
            .iter()
            .map(|(listed, columns)| (listing.path_of(listed), columns.as_ref()))
            .collect();
        let partitions = Partitions::of(
            &listing.path,
            files.iter().map(|(listed, _)| listed.below.as_str()),
        )?;
        let file_schema = columns::merge(&paths, listing.format)?;
        for column in &partitions.columns {
            let holds = |(_, columns): &&(PathBuf, &Columns)| columns.schema.index_of(column.name()).is_ok();
            if let Some((path, _)) = paths.iter().find(holds) {
                return Err(TablesError::unreadable(
                    path,
                    format!(
                        "its column \"{}\" is in the names of its folders, too",
                        column.name()
                    ),
                ));
            }
        }
        let line_breaks = files.iter().any(|(_, columns)| columns.line_breaks);
        let schema = TableSchemaBuilder::new(file_schema)
            .with_table_partition_cols(partitions.columns)
            .build();
        // Statistics have the table's columns.
        let before = before.filter(|before| before.schema.table_schema() == schema.table_schema());
        let files = files.into_iter().zip(partitions.values);
        let files = files.map(|((listed, columns), partition)| {
            let known = before.and_then(|before| before.file(&listed));
            if let Some(known) = known.filter(|known| known.partition == partition) {
                return Ok(Arc::clone(known));
            }
            let path = listing.path_of(&listed);
            let meta = store
                .meta(&path, &listed.version)
                .ok_or_else(|| TablesError::unreadable(&path, "its path cannot be named in a plan"))?;
            Ok(Arc::new(SnapshotFile {
                listed,
                columns,
                meta,
                partition,
                collected: OnceCell::new(),
            }))
        });
        Ok(Some(Self {
            path: listing.path.clone(),
            format: listing.format,
            line_breaks,
            files: files.collect::<Result<_, TablesError>>()?,
            schema,
        }))
    }

    pub(crate) fn table_schema(&self) -> &SchemaRef {
        self.schema.table_schema()
    }

    pub(crate) fn partition_columns(&self) -> Vec<String> {
        let columns = self.schema.table_partition_cols().iter();
        columns.map(|column| column.name().clone()).collect()
    }

    fn file(&self, listed: &ListedFile) -> Option<&Arc<SnapshotFile>> {
        let index = self
            .files
            .binary_search_by(|file| file.listed.below.cmp(&listed.below))
            .ok()?;
        self.files.get(index).filter(|file| file.listed == *listed)
    }

    /// The same files, unchanged.
    pub(crate) fn is_of(&self, listing: &Listing) -> bool {
        let files = self.files.iter().map(|file| &file.listed);
        self.path == listing.path && self.format == listing.format && files.eq(&listing.files)
    }
}
