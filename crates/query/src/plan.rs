//! A query that was checked against its table, and the queries in its FROM.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use columnar::{Expr, LevelPlan, MemoryPool, NestedScan, SelectPlan};

use crate::error::QueryError;

/// A checked query: every name is a column, and every operator fits its types. Its text is what
/// `--explain` shows.
///
/// ```
/// use std::sync::Arc;
/// use arrow::array::{ArrayRef, Int64Array, RecordBatch};
/// use columnar::MemoryTable;
/// use query::{Catalog, QueryPlanner};
///
/// let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef)])?;
/// let mut tables = Catalog::new();
/// tables.register(Arc::new(MemoryTable::try_new("numbers", batch.schema(), [batch])?))?;
/// let plan = QueryPlanner::plan("select sum(n) from numbers where n > 1", &tables)?;
/// assert_eq!(plan.table(), "numbers");
/// assert_eq!(plan.filters()[0].to_string(), "n > 1");
/// assert!(plan.to_string().contains("aggregate sum(n)"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct QueryPlan {
    /// The first reads a table, each later one the result of the one before.
    levels: Vec<LevelPlan>,
    any_order: bool,
}

impl QueryPlan {
    pub(crate) fn new(levels: Vec<LevelPlan>) -> Self {
        Self {
            levels,
            any_order: false,
        }
    }

    /// The name of the table.
    pub fn table(&self) -> &str {
        self.scan().table.name()
    }

    /// The conjuncts of the table's filter: WHERE as written, of a query in FROM as well.
    pub fn filters(&self) -> Vec<Expr> {
        self.scan().filter.clone().map_or_else(Vec::new, Expr::conjuncts)
    }

    /// The columns of the table that the query reads, ascending.
    pub fn columns(&self) -> Vec<usize> {
        self.scan().projection()
    }

    /// The columns of the result.
    pub fn schema(&self) -> SchemaRef {
        self.levels[self.levels.len() - 1].schema()
    }

    /// Limits the query's memory: fetched and decoded parts of files, kept and sorted rows, and
    /// groups; not a returned result. A query that needs more fails with
    /// [`QueryError::Quota`](crate::QueryError::Quota). Real use exceeds the quota by at most a
    /// tenth and half a MiB for each worker.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    /// use columnar::{MemoryTable, MemoryPool};
    /// use pipeline_exec::PipelineExecutor;
    /// use query::{QueryError, QueryPlanner, Session};
    ///
    /// let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..50_000));
    /// let batch = RecordBatch::try_from_iter([("n", numbers)])?;
    /// let mut session = Session::new(PipelineExecutor::new(2)?);
    /// session.register(Arc::new(MemoryTable::try_new("numbers", batch.schema(), [batch])?))?;
    ///
    /// let plan = QueryPlanner::plan("select n, count(*) from numbers group by n", session.tables())?;
    /// let quota = Arc::new(MemoryPool::new("count numbers", 1_000_000));
    /// let error = session.query(plan.with_quota(Arc::clone(&quota))).run().unwrap_err();
    /// assert!(matches!(error, QueryError::Quota(_)));
    /// assert!(error.to_string().starts_with("query count numbers is over its memory quota"));
    /// assert!(quota.peak() <= 1_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_quota(mut self, quota: Arc<MemoryPool>) -> Self {
        for level in &mut self.levels {
            level.select.memory_pool = Some(Arc::clone(&quota));
        }
        self
    }

    /// Partitions groups by these columns instead of the table's shard key, if all are keys of
    /// GROUP BY.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    /// use columnar::MemoryTable;
    /// use query::{Catalog, QueryPlanner};
    ///
    /// let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    /// let batch = RecordBatch::try_from_iter([("flag", numbers.clone()), ("supplier", numbers)])?;
    /// let table = MemoryTable::try_new("items", batch.schema(), [batch])?.with_shard_key(vec![1]);
    /// let mut tables = Catalog::new();
    /// tables.register(Arc::new(table))?;
    ///
    /// let plan = QueryPlanner::plan("select count(*) from items group by flag, supplier", &tables)?;
    /// assert!(plan.to_string().contains("partitions by supplier, the shard key of the table"));
    /// let plan = plan.with_shard_key(&["flag"])?;
    /// assert!(plan.to_string().contains("partitions by flag, the shard key of the query"));
    /// assert!(plan.with_shard_key(&["color"]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`QueryError::UnknownColumn`] when the table has no such column.
    pub fn with_shard_key(mut self, columns: &[&str]) -> Result<Self, QueryError> {
        let schema = self.scan().table.schema();
        let place = |name: &&str| {
            schema.index_of(name).map_err(|_| QueryError::UnknownColumn {
                name: (*name).to_owned(),
                candidates: schema.fields().iter().map(|field| field.name().clone()).collect(),
                position: None,
            })
        };
        let places: Result<Vec<usize>, QueryError> = columns.iter().map(place).collect();
        self.levels[0].select.shard_key = Some(places?);
        Ok(self)
    }

    /// Lets groups of a query without ORDER BY come in any order, another one in each run, which takes
    /// less time for many groups.
    #[must_use]
    pub fn in_any_order(mut self) -> Self {
        self.any_order = true;
        self
    }

    pub(crate) fn memory_pool(&self) -> Option<&Arc<MemoryPool>> {
        self.scan().memory_pool.as_ref()
    }

    pub(crate) fn into_scan(self) -> NestedScan {
        NestedScan::new(self.levels, self.any_order)
    }

    fn scan(&self) -> &SelectPlan {
        &self.levels[0].select
    }
}

/// A query that the caller has built, on a table that no catalog needs to have.
impl From<SelectPlan> for QueryPlan {
    fn from(scan: SelectPlan) -> Self {
        Self::new(vec![scan.into()])
    }
}

impl fmt::Display for QueryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&NestedScan::explain_plans(&self.levels))
    }
}
