//! A table of local files, as one listing found it: its snapshot, and the files that it is of.

use std::path::PathBuf;
use std::sync::Arc;

use datafusion::datasource::table_schema::TableSchemaBuilder;
use datafusion::execution::object_store::ObjectStoreUrl;

use super::columns::{self, Columns};
use super::error::TablesError;
use super::listing::{ListedFile, Listing};
use super::partitions::Partitions;
use super::snapshot::{Snapshot, SnapshotFile};
use super::store::TablesStore;

#[derive(Debug)]
pub(crate) struct ListedSnapshot {
    /// The table's file or folder.
    path: PathBuf,
    /// One for each file of the snapshot.
    listed: Vec<(ListedFile, Arc<Columns>)>,
    pub(crate) snapshot: Arc<Snapshot>,
}

impl ListedSnapshot {
    /// Reads the columns of files that `before` lacks. `None` if all files are gone.
    pub(crate) fn new(
        listing: &Listing,
        before: Option<&Self>,
        store: &TablesStore,
    ) -> Result<Option<Self>, TablesError> {
        let before = before.filter(|before| before.path == listing.path);
        let mut files = Vec::with_capacity(listing.files.len());
        for listed in &listing.files {
            if let Some((columns, _)) = before.and_then(|before| before.file(listed)) {
                files.push((listed.clone(), Arc::clone(columns)));
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
        let before = before.filter(|before| before.snapshot.schema.table_schema() == schema.table_schema());
        let planned = files.iter().zip(partitions.values);
        let planned = planned.map(|((listed, _), partition)| {
            let known = before.and_then(|before| before.file(listed));
            if let Some((_, known)) = known.filter(|(_, known)| known.partition == partition) {
                return Ok(Arc::clone(known));
            }
            let path = listing.path_of(listed);
            let meta = store
                .meta(&path, &listed.version)
                .ok_or_else(|| TablesError::unreadable(&path, "its path cannot be named in a plan"))?;
            Ok(Arc::new(SnapshotFile::new(meta, partition)))
        });
        let snapshot = Snapshot {
            store: ObjectStoreUrl::local_filesystem(),
            format: listing.format,
            line_breaks,
            files: planned.collect::<Result<_, TablesError>>()?,
            schema,
        };
        Ok(Some(Self {
            path: listing.path.clone(),
            listed: files,
            snapshot: Arc::new(snapshot),
        }))
    }

    fn file(&self, listed: &ListedFile) -> Option<(&Arc<Columns>, &Arc<SnapshotFile>)> {
        let index = self
            .listed
            .binary_search_by(|(file, _)| file.below.cmp(&listed.below))
            .ok()?;
        let (file, columns) = self.listed.get(index)?;
        let planned = self.snapshot.files.get(index)?;
        (file == listed).then_some((columns, planned))
    }

    /// The same files, unchanged.
    pub(crate) fn is_of(&self, listing: &Listing) -> bool {
        let files = self.listed.iter().map(|(file, _)| file);
        self.path == listing.path && self.snapshot.format == listing.format && files.eq(&listing.files)
    }
}
