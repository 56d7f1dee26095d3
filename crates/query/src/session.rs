//! Sessions: tables and queries over them.

mod query;
mod report;

use std::path::Path;
use std::sync::Arc;

use columnar::TableSource;

use crate::catalog::Catalog;
use crate::error::QueryError;
use crate::plan::QueryPlan;
use crate::planner::QueryPlanner;
use crate::progress::Progress;
use crate::source::{self, ScaleFactor, TpchTable, TpchTableKind};
use crate::work::Work;

pub use query::{Explain, Query};
pub use report::QueryReport;

/// Tables, and the pools that queries over them run on.
///
/// ```
/// use query::Session;
/// use query::pipeline_exec::PipelineExecutor;
///
/// # let path = std::env::temp_dir().join(format!("windlass-session-{}.csv", std::process::id()));
/// # std::fs::write(&path, "item,price\npen,1.50\nink,12.25\nnib,NA\n")?;
/// let mut session = Session::new(PipelineExecutor::new(2)?);
/// session.open("items", &path)?;
/// let report = session.sql("select count(*), sum(price) from items where price > 1")?.run()?;
/// assert_eq!(report.rows.num_rows(), 1);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Session {
    work: Work,
    tables: Catalog,
    generated: Vec<Arc<TpchTable>>,
}

impl Session {
    /// Creates a session on an executor, on [`Pools`](pools::Pools), or with a [`Work`] whose token
    /// and deadline apply to every call.
    pub fn new(work: impl Into<Work>) -> Self {
        Self {
            work: work.into(),
            tables: Catalog::new(),
            generated: Vec::new(),
        }
    }

    /// Registers a table under its own name.
    ///
    /// # Errors
    ///
    /// [`QueryError::DuplicateTable`] when the name is taken.
    pub fn register(&mut self, table: Arc<dyn TableSource>) -> Result<(), QueryError> {
        self.tables.register(table)
    }

    /// Opens the file, folder or URL at `path` as the table `name`. The call blocks: every value of
    /// a CSV file is read to infer types.
    ///
    /// # Errors
    ///
    /// As [`source::open`] and [`register`](Self::register).
    pub fn open(&mut self, name: &str, path: impl AsRef<Path>) -> Result<(), QueryError> {
        self.register(source::open(name, path, &self.work)?)
    }

    /// Registers the TPC-H tables `lineitem`, `orders` and `customer`, whose columns the first
    /// query over them generates.
    ///
    /// ```
    /// use query::Session;
    /// use query::pipeline_exec::PipelineExecutor;
    /// use query::source::ScaleFactor;
    ///
    /// let mut session = Session::new(PipelineExecutor::new(2)?);
    /// session.generate(ScaleFactor::new(0.001)?)?;
    /// let report = session.sql("select count(o_orderkey) from orders")?.run()?;
    /// assert!(report.generated.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register).
    pub fn generate(&mut self, scale: ScaleFactor) -> Result<(), QueryError> {
        for kind in TpchTableKind::ALL {
            let table = Arc::new(TpchTable::new(kind, scale));
            self.register(table.clone())?;
            self.generated.push(table);
        }
        Ok(())
    }

    /// The registered tables.
    #[must_use]
    pub fn tables(&self) -> &Catalog {
        &self.tables
    }

    /// How far this session's [`open`](Self::open) is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.work.progress()
    }

    /// Plans a query.
    ///
    /// # Errors
    ///
    /// The fault in `text` and its place: see [`QueryPlanner::plan`].
    pub fn sql(&self, text: &str) -> Result<Query, QueryError> {
        Ok(self.query(QueryPlanner::plan(text, &self.tables)?))
    }

    /// A query with a plan that the caller made.
    pub fn query(&self, plan: QueryPlan) -> Query {
        let mut generated = self.generated.iter();
        let generated = generated.find(|table| table.is_called(plan.table()));
        Query::new(self.work.clone(), plan, generated.cloned())
    }
}
