//! Where rows come from: Parquet files on this machine, or batches in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use columnar::TableSource;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::execution::TaskContext;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::object_store::local::LocalFileSystem;
use datafusion::object_store::path::Path;
use query::source::ParquetTable;

use super::batches::Batches;
use crate::windlass::Windlass;

#[derive(Debug)]
pub(super) enum Source {
    Files {
        name: String,
        files: Vec<Path>,
        /// As DataFusion reads it.
        schema: SchemaRef,
    },
    Memory(Arc<Batches>),
}

impl Source {
    /// The files of a scan; `None` if the stages do not read all of them, and whole.
    pub(super) fn of_files(scan: &FileScanConfig) -> Option<Self> {
        if scan.limit.is_some()
            || scan.expr_adapter_factory.is_some()
            || scan.object_store_url != ObjectStoreUrl::local_filesystem()
        {
            return None;
        }
        Some(Self::Files {
            name: name(scan),
            files: whole_files(scan)?,
            schema: Arc::clone(scan.file_source.table_schema().file_schema()),
        })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        match self {
            Self::Files { schema, .. } => Arc::clone(schema),
            Self::Memory(batches) => batches.schema(),
        }
    }

    /// The table to read. An error says why the stages do not read it.
    pub(super) async fn open(
        &self,
        windlass: &Windlass,
        context: &TaskContext,
    ) -> Result<Arc<dyn TableSource>, String> {
        let (name, files) = match self {
            Self::Memory(batches) => return Ok(Arc::clone(batches) as _),
            Self::Files { name, files, .. } => (name.clone(), files),
        };
        let local = LocalFileSystem::new();
        let store = context
            .runtime_env()
            .object_store(ObjectStoreUrl::local_filesystem());
        let store = store.map_err(|error| error.to_string())?;
        if store.to_string() != local.to_string() {
            return Err(format!("files are read from {store}"));
        }
        let paths = files.iter().map(|file| local.path_to_filesystem(file));
        let paths: Result<Vec<PathBuf>, _> = paths.collect();
        let paths = paths.map_err(|error| error.to_string())?;
        let opens = move || ParquetTable::open_files(&name, paths);
        let opening = windlass.pools().mixed().run_blocking(opens);
        let opening = opening.map_err(|error| error.to_string())?;
        let table = opening.await.map_err(|error| error.to_string())?;
        Ok(Arc::new(table.map_err(|error| error.to_string())?))
    }
}

/// `None` if a part of a file is left out, or a reader has plans of its own for a file.
fn whole_files(scan: &FileScanConfig) -> Option<Vec<Path>> {
    let mut missing: BTreeMap<&Path, i128> = BTreeMap::new();
    for file in scan.file_groups.iter().flat_map(|group| group.iter()) {
        if !file.extensions.is_empty() {
            return None;
        }
        let size = i128::from(file.object_meta.size);
        let part = match &file.range {
            Some(range) => i128::from(range.end) - i128::from(range.start),
            None => size,
        };
        *missing.entry(&file.object_meta.location).or_insert(size) -= part;
    }
    let is_whole = !missing.is_empty() && missing.values().all(|&bytes| bytes == 0);
    is_whole.then(|| missing.into_keys().cloned().collect())
}

fn name(scan: &FileScanConfig) -> String {
    let mut files = scan.file_groups.iter().flat_map(|group| group.iter());
    let Some(file) = files.next() else {
        return "no files".to_owned();
    };
    match &file.table_reference {
        Some(table) => table.to_string(),
        None => file.object_meta.location.to_string(),
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files { name, files, .. } => write!(f, "{name}, files={}", files.len()),
            Self::Memory(batches) => write!(f, "memory, batches={}", batches.morsels()),
        }
    }
}
