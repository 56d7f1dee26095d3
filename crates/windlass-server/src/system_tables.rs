//! The schema `windlass`: who runs what, and the workers.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::memory::MemorySchemaProvider;
use datafusion::catalog::{SchemaProvider, Session, TableProvider};
use datafusion::datasource::{MemTable, TableType};
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use pipeline_exec::metrics::Activity;
use windlass_datafusion::Windlass;

use crate::queries::Queries;

/// The user of a session, for tables that show a user's own.
#[derive(Debug)]
pub(crate) struct SessionUser(pub(crate) Arc<str>);

/// The tables of the schema.
pub(crate) fn schema(queries: &Arc<Queries>, windlass: &Windlass) -> Arc<dyn SchemaProvider> {
    let schema = MemorySchemaProvider::new();
    let tables = [
        ("queries", Live::new(QUERIES, Of::Queries(Arc::clone(queries)))),
        ("workers", Live::new(WORKERS, Of::Workers(windlass.clone()))),
    ];
    for (name, table) in tables {
        // The names differ, so no table is there before.
        let registered = schema.register_table(name.to_owned(), Arc::new(table));
        debug_assert!(matches!(registered, Ok(None)));
    }
    Arc::new(schema)
}

type Columns = &'static [(&'static str, DataType)];

const QUERIES: Columns = &[
    ("number", DataType::Int64),
    ("process", DataType::Int32),
    ("user_name", DataType::Utf8),
    ("state", DataType::Utf8),
    ("class", DataType::Utf8),
    ("since_ms", DataType::Float64),
    ("cpu_ms", DataType::Float64),
    ("waited_ms", DataType::Float64),
    ("longest_turn_ms", DataType::Float64),
    ("memory_bytes", DataType::Int64),
    // NULL for another user's statement.
    ("query", DataType::Utf8),
];

const WORKERS: Columns = &[
    ("worker", DataType::Int32),
    ("role", DataType::Utf8),
    ("turns", DataType::Int64),
    ("visits", DataType::Int64),
    ("busy_ms", DataType::Float64),
];

/// A table that is looked at when it is asked for.
struct Live {
    schema: SchemaRef,
    of: Of,
}

enum Of {
    Queries(Arc<Queries>),
    Workers(Windlass),
}

impl Live {
    fn new(columns: Columns, of: Of) -> Self {
        let fields = columns
            .iter()
            .map(|(name, kind)| Field::new(*name, kind.clone(), true));
        Self {
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            of,
        }
    }

    fn rows(&self, user: Option<&str>) -> Result<RecordBatch> {
        let columns = match &self.of {
            Of::Queries(queries) => query_columns(queries, user),
            Of::Workers(windlass) => worker_columns(windlass),
        };
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}

fn query_columns(queries: &Queries, user: Option<&str>) -> Vec<ArrayRef> {
    let open = queries.open();
    let used: Vec<_> = open.iter().map(|query| query.used()).collect();
    let state = |is_running| if is_running { "running" } else { "waiting" };
    vec![
        Arc::new(
            open.iter()
                .map(|query| Some(query.number as i64))
                .collect::<Int64Array>(),
        ),
        Arc::new(
            open.iter()
                .map(|query| Some(query.process as i32))
                .collect::<Int32Array>(),
        ),
        Arc::new(
            open.iter()
                .map(|query| Some(&*query.user))
                .collect::<StringArray>(),
        ),
        Arc::new(
            open.iter()
                .map(|query| Some(state(query.is_running())))
                .collect::<StringArray>(),
        ),
        Arc::new(
            open.iter()
                .map(|query| Some(query.class.name()))
                .collect::<StringArray>(),
        ),
        Arc::new(
            open.iter()
                .map(|query| Some(millis(query.open_for())))
                .collect::<Float64Array>(),
        ),
        Arc::new(
            used.iter()
                .map(|used| Some(millis(used.job.busy)))
                .collect::<Float64Array>(),
        ),
        Arc::new(
            used.iter()
                .map(|used| Some(millis(used.job.waited)))
                .collect::<Float64Array>(),
        ),
        Arc::new(
            used.iter()
                .map(|used| Some(millis(used.job.longest_turn)))
                .collect::<Float64Array>(),
        ),
        Arc::new(
            used.iter()
                .map(|used| Some(used.memory as i64))
                .collect::<Int64Array>(),
        ),
        Arc::new(
            open.iter()
                .map(|query| query.text_for(user))
                .collect::<StringArray>(),
        ),
    ]
}

fn worker_columns(windlass: &Windlass) -> Vec<ArrayRef> {
    let executor = windlass.snapshot().pools.cpu.unwrap_or_default();
    let workers = &executor.workers;
    let role = |worker| {
        if worker < executor.workers_main {
            "main"
        } else {
            "reserve"
        }
    };
    let turns = |worker: &Activity| worker.slots_main + worker.slots_reserve;
    let busy = |worker: &Activity| millis(worker.busy_main + worker.busy_reserve);
    vec![
        Arc::new(
            (0..workers.len())
                .map(|worker| Some(worker as i32))
                .collect::<Int32Array>(),
        ),
        Arc::new(
            (0..workers.len())
                .map(|worker| Some(role(worker)))
                .collect::<StringArray>(),
        ),
        Arc::new(
            workers
                .iter()
                .map(|worker| Some(turns(worker) as i64))
                .collect::<Int64Array>(),
        ),
        Arc::new(
            workers
                .iter()
                .map(|worker| Some(worker.visits as i64))
                .collect::<Int64Array>(),
        ),
        Arc::new(
            workers
                .iter()
                .map(|worker| Some(busy(worker)))
                .collect::<Float64Array>(),
        ),
    ]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[async_trait]
impl TableProvider for Live {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let user = session.config().get_extension::<SessionUser>();
        let rows = self.rows(user.as_deref().map(|user| &*user.0))?;
        let table = MemTable::try_new(self.schema(), vec![vec![rows]])?;
        table.scan(session, projection, filters, limit).await
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live")
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}
