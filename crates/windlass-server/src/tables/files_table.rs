//! A table of files, as DataFusion scans it.
//!
//! It is DataFusion's `ListingTable` without its listing: the files are those of the look-up's
//! snapshot. A later execution of a prepared plan looks again, once however often it names the
//! table.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use async_trait::async_trait;
use datafusion::arrow::array::{Array as _, ArrayRef, AsArray as _, RecordBatch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::common::{ColumnStatistics, DFSchema, Statistics, project_schema};
use datafusion::config::TableParquetOptions;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{PartitionedFile, helpers};
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::scalar::ScalarValue;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use object_store::ObjectStore;
use pipeline_exec::lock;

use super::current::{Current, CurrentTables, current};
use super::error::TablesError;
use super::listing::Format;
use super::snapshot::{Collected, Snapshot, SnapshotFile};

/// Made by one look-up, for one statement.
pub(crate) struct FilesTable {
    tables: Arc<CurrentTables>,
    name: String,
    schema: SchemaRef,
    current: Mutex<Current>,
}

impl FilesTable {
    pub(crate) fn new(tables: Arc<CurrentTables>, name: String, current: Current) -> Self {
        Self {
            tables,
            name,
            schema: Arc::clone(current.snapshot.table_schema()),
            current: Mutex::new(current),
        }
    }

    /// For the statement that began at the session's time.
    async fn snapshot(&self, session: &dyn Session) -> Result<Arc<Snapshot>> {
        let held = self.held(None);
        let began = session.execution_props().query_execution_start_time;
        if began.is_some_and(|began| SystemTime::from(began) <= held.since) {
            return Ok(held.snapshot);
        }
        let table = || self.name.clone();
        let Some(current) = current(&self.tables, &self.name).await? else {
            return Err(TablesError::Gone { table: table() }.into());
        };
        let columns = current.snapshot.partition_columns();
        // The plan may have left a filter to the folders' names.
        let same_columns = columns == held.snapshot.partition_columns();
        if !same_columns || *current.snapshot.table_schema() != self.schema {
            return Err(TablesError::ColumnsChanged { table: table() }.into());
        }
        Ok(self.held(Some(current)).snapshot)
    }

    fn held(&self, newer: Option<Current>) -> Current {
        let mut held = lock(&self.current);
        if let Some(newer) = newer {
            *held = newer;
        }
        held.clone()
    }
}

impl fmt::Debug for FilesTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilesTable")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for FilesTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let partition_columns = self.held(None).snapshot.partition_columns();
        let support = |filter: &&Expr| match is_of_partitions(filter, &partition_columns) {
            true => TableProviderFilterPushDown::Exact,
            false => TableProviderFilterPushDown::Inexact,
        };
        Ok(filters.iter().map(support).collect())
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let snapshot = self.snapshot(session).await?;
        Scan {
            session,
            snapshot: &snapshot,
            format: format(session, &snapshot),
        }
        .plan(projection, filters, limit)
        .await
    }
}

struct Scan<'a> {
    session: &'a dyn Session,
    snapshot: &'a Snapshot,
    format: Arc<dyn FileFormat>,
}

impl Scan<'_> {
    async fn plan(
        &self,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = self.snapshot.table_schema();
        let partition_columns = self.snapshot.partition_columns();
        let (partition_filters, filters): (Vec<_>, Vec<_>) = filters
            .iter()
            .cloned()
            .partition(|filter| is_of_partitions(filter, &partition_columns));
        let files = self.prune(partition_filters)?;
        // With filters, the limit may need rows of every file.
        let limit_of_files = limit.filter(|_| filters.is_empty());
        let (files, is_all) = self.collect(files, limit_of_files).await?;
        if files.is_empty() {
            return Ok(Arc::new(EmptyExec::new(project_schema(schema, projection)?)));
        }
        let mut statistics = merged(&files, schema)?;
        if !is_all {
            statistics = statistics.to_inexact();
        }
        let ordering = common_ordering(&files);
        let partitions = self.session.config().target_partitions().max(1);
        let groups = FileGroup::new(files)
            .split_files(partitions)
            .into_iter()
            .map(|group| {
                let statistics = merged(group.files(), schema)?;
                Ok(group.with_statistics(Arc::new(statistics)))
            })
            .collect::<Result<Vec<_>>>()?;
        let source = self.format.file_source(self.snapshot.schema.clone());
        let scan = FileScanConfigBuilder::new(self.snapshot.store.clone(), source)
            .with_file_groups(groups)
            .with_statistics(statistics)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .with_output_ordering(ordering.into_iter().collect())
            .build();
        self.format.create_physical_plan(self.session, scan).await
    }

    /// The files whose folders' values fit the filters.
    fn prune(&self, filters: Vec<Expr>) -> Result<Vec<&Arc<SnapshotFile>>> {
        let files = self.snapshot.files.iter();
        let Some(filter) = conjunction(filters) else {
            return Ok(files.collect());
        };
        let columns = self.snapshot.schema.table_partition_cols();
        let arrays = (0..columns.len()).map(|column| {
            let values = self
                .snapshot
                .files
                .iter()
                .map(|file| file.partition[column].clone());
            ScalarValue::iter_to_array(values)
        });
        let fields = columns.iter().map(|field| field.as_ref().clone()).collect();
        let schema = DFSchema::from_unqualified_fields(fields, Default::default())?;
        let filter = self.session.create_physical_expr(filter, &schema)?;
        let arrays = arrays.collect::<Result<Vec<ArrayRef>>>()?;
        let batch = RecordBatch::try_new(Arc::clone(schema.inner()), arrays)?;
        let matches = filter.evaluate(&batch)?.into_array(batch.num_rows())?;
        let matches = matches.as_boolean();
        let is_match = |index: usize| matches.is_valid(index) && matches.value(index);
        Ok(files
            .enumerate()
            .filter(|(index, _)| is_match(*index))
            .map(|(_, file)| file)
            .collect())
    }

    /// The first files with enough rows for the limit, and whether these are all.
    async fn collect(
        &self,
        files: Vec<&Arc<SnapshotFile>>,
        limit: Option<usize>,
    ) -> Result<(Vec<PartitionedFile>, bool)> {
        let unknown = Collected {
            statistics: Arc::new(Statistics::new_unknown(self.snapshot.table_schema())),
            ordering: None,
        };
        let with = |file: &SnapshotFile, collected: &Collected| {
            let mut planned = PartitionedFile::new_from_meta(file.meta.clone());
            planned.partition_values.clone_from(&file.partition);
            planned.statistics = Some(Arc::clone(&collected.statistics));
            planned.with_ordering(collected.ordering.clone())
        };
        let count = files.len();
        if !self.session.config().collect_statistics() || self.snapshot.format == Format::Csv {
            return Ok((files.into_iter().map(|file| with(file, &unknown)).collect(), true));
        }
        let store = self
            .session
            .runtime_env()
            .object_store(self.snapshot.store.clone())?;
        let at_once = self.session.config_options().execution.meta_fetch_concurrency;
        let mut planned = stream::iter(files.into_iter().map(Arc::clone))
            .map(|file| {
                let store = &store;
                async move {
                    let collected = self.collected(&file, store).await?;
                    Ok::<_, DataFusionError>(with(&file, &collected))
                }
            })
            .buffered(at_once.get());
        let mut taken = Vec::with_capacity(count);
        let mut rows = 0_usize;
        while let Some(file) = planned.try_next().await? {
            let exact = file.statistics.as_ref().map(|statistics| statistics.num_rows);
            if let Some(Precision::Exact(more)) = exact {
                rows = rows.saturating_add(more);
            }
            taken.push(file);
            if limit.is_some_and(|limit| rows >= limit) {
                break;
            }
        }
        let is_all = taken.len() == count;
        Ok((taken, is_all))
    }

    async fn collected(&self, file: &SnapshotFile, store: &Arc<dyn ObjectStore>) -> Result<Collected> {
        if self.snapshot.store == ObjectStoreUrl::local_filesystem() {
            let collected = file.collected.get_or_try_init(|| self.read(file, store));
            return collected.await.cloned();
        }
        // One that waits for a server must not hold up others, whose waits would add up.
        if let Some(collected) = file.collected.get() {
            return Ok(collected.clone());
        }
        let collected = self.read(file, store).await?;
        // Another may have been faster.
        let _ = file.collected.set(collected.clone());
        Ok(collected)
    }

    async fn read(&self, file: &SnapshotFile, store: &Arc<dyn ObjectStore>) -> Result<Collected> {
        let schema = Arc::clone(self.snapshot.schema.file_schema());
        let read = self
            .format
            .infer_stats_and_ordering(self.session, store, schema, &file.meta)
            .await?;
        let mut statistics = read.statistics;
        let rows = statistics.num_rows;
        let partition = file.partition.iter().map(|value| of_partition(value, rows));
        statistics.column_statistics.extend(partition);
        Ok(Collected {
            statistics: Arc::new(statistics),
            ordering: read.ordering,
        })
    }
}

fn format(session: &dyn Session, snapshot: &Snapshot) -> Arc<dyn FileFormat> {
    let options = session.default_table_options();
    match snapshot.format {
        Format::Parquet => {
            let parquet: TableParquetOptions = options.parquet;
            Arc::new(ParquetFormat::default().with_options(parquet))
        }
        Format::Csv => {
            let csv = CsvFormat::default().with_has_header(true);
            Arc::new(match snapshot.line_breaks {
                true => csv.with_newlines_in_values(true),
                false => csv,
            })
        }
    }
}

/// The folders' names alone decide it.
fn is_of_partitions(filter: &Expr, partition_columns: &[String]) -> bool {
    let names: Vec<&str> = partition_columns.iter().map(String::as_str).collect();
    !names.is_empty()
        && !filter.column_refs().is_empty()
        && !has_subquery(filter)
        && helpers::expr_applicable_for_cols(&names, filter)
}

fn has_subquery(filter: &Expr) -> bool {
    let mut has = false;
    let visited = filter.apply(|expr| {
        has |= matches!(
            expr,
            Expr::Exists(_)
                | Expr::InSubquery(_)
                | Expr::ScalarSubquery(_)
                | Expr::SetComparison(_)
                | Expr::OuterReferenceColumn(_, _)
                | Expr::ScalarVariable(_, _)
        );
        Ok(match has {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    });
    has || visited.is_err()
}

/// The column has one value in all rows of a file.
fn of_partition(value: &ScalarValue, rows: Precision<usize>) -> ColumnStatistics {
    if value.is_null() {
        return ColumnStatistics {
            null_count: rows,
            distinct_count: Precision::Exact(0),
            ..ColumnStatistics::new_unknown()
        };
    }
    let width = value.data_type().primitive_width();
    ColumnStatistics {
        null_count: Precision::Exact(0),
        max_value: Precision::Exact(value.clone()),
        min_value: Precision::Exact(value.clone()),
        distinct_count: Precision::Exact(1),
        byte_size: width.map_or(Precision::Absent, |width| rows.multiply(&Precision::Exact(width))),
        ..ColumnStatistics::new_unknown()
    }
}

fn merged(files: &[PartitionedFile], schema: &SchemaRef) -> Result<Statistics> {
    let statistics = files.iter().filter_map(|file| file.statistics.as_deref());
    Statistics::try_merge_iter(statistics, schema)
}

/// The order of all files' rows, if it is one.
fn common_ordering(files: &[PartitionedFile]) -> Option<LexOrdering> {
    let first = files.first()?.ordering.as_ref()?;
    let is_common = files.iter().all(|file| file.ordering.as_ref() == Some(first));
    is_common.then(|| first.clone())
}
