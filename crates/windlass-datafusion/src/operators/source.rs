//! Where rows come from: Parquet files on this machine, or batches in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use columnar::TableSource;
use datafusion::catalog::memory::{DataSourceExec, MemorySourceConfig};
use datafusion::datasource::physical_plan::{FileScanConfig, FileSource as _, ParquetSource};
use datafusion::execution::TaskContext;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::object_store::local::LocalFileSystem;
use datafusion::object_store::path::Path;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::DynamicFilterPhysicalExpr;
use datafusion::physical_expr::projection::{ProjectionExpr, ProjectionExprs};
use datafusion::physical_expr::utils::split_conjunction;
use datafusion::physical_plan::ExecutionPlan as _;
use query::source::ParquetTable;

use super::batches::Batches;
use crate::windlass::Windlass;

/// What a node of DataFusion reads.
pub(super) struct Scan {
    pub(super) source: Source,
    /// Rows for which one of them is not true are dropped by the node itself.
    pub(super) filters: Vec<Arc<dyn PhysicalExpr>>,
    /// Filters that joins and sorts fill while they run. They only save work.
    pub(super) hints: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) columns: Vec<ProjectionExpr>,
}

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

impl Scan {
    /// `None` if the stages do not read it.
    pub(super) fn of(scan: &DataSourceExec) -> Option<Self> {
        if let Some((files, parquet)) = scan.downcast_to_file_source::<ParquetSource>() {
            return Self::parquet(files, parquet);
        }
        let memory = scan.data_source().downcast_ref::<MemorySourceConfig>()?;
        if scan.fetch().is_some() {
            return None;
        }
        let schema = memory.original_schema();
        let columns = match memory.projection() {
            Some(kept) => ProjectionExprs::from_indices(kept, &schema),
            None => all_columns(&schema),
        };
        let batches = Batches::of(Arc::clone(scan.data_source()))?;
        Some(Self {
            source: Source::Memory(Arc::new(batches)),
            filters: Vec::new(),
            hints: Vec::new(),
            columns: columns.iter().cloned().collect(),
        })
    }

    fn parquet(scan: &FileScanConfig, parquet: &ParquetSource) -> Option<Self> {
        if scan.limit.is_some()
            || scan.expr_adapter_factory.is_some()
            || scan.object_store_url != ObjectStoreUrl::local_filesystem()
        {
            return None;
        }
        let table = scan.file_source.table_schema();
        let columns = match scan.file_source.projection() {
            Some(columns) => columns.clone(),
            None => all_columns(table.table_schema()),
        };
        let source = Source::Files {
            name: name(scan),
            files: whole_files(scan)?,
            schema: Arc::clone(table.file_schema()),
        };
        let predicate = parquet.filter();
        let conditions = predicate.iter().flat_map(split_conjunction).cloned();
        let (hints, mut filters): (Vec<_>, Vec<_>) =
            conditions.partition(|condition| condition.is::<DynamicFilterPhysicalExpr>());
        if !parquet.table_parquet_options().global.pushdown_filters {
            // They only prune, and the plan filters above.
            filters.clear();
        }
        Some(Self {
            source,
            filters,
            hints,
            columns: columns.iter().cloned().collect(),
        })
    }
}

impl Source {
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

fn all_columns(schema: &Schema) -> ProjectionExprs {
    let all: Vec<usize> = (0..schema.fields().len()).collect();
    ProjectionExprs::from_indices(&all, schema)
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
