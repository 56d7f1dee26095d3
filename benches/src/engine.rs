//! Our query engine as a client uses it: text in, rows out, planned anew each time as the peers do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use columnar::TableSource;
use query::pipeline_exec::{PipelineExecutor, PipelineHandle};
use query::{Catalog, PipelineBuilder, QueryPlanner, QueryResult, Session, Work};

use crate::THREADS;

#[derive(Debug)]
pub(crate) struct Engine {
    work: Work,
    executor: PipelineHandle,
    tables: Catalog,
}

/// Times from the client's call to its answer, in order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Phases {
    pub(crate) plan: Duration,
    /// From plan to submitted job.
    pub(crate) submit: Duration,
    /// Until a worker claimed the first slot.
    pub(crate) wait: Duration,
    /// Until the end of the job.
    pub(crate) run: Duration,
    /// Until the client had the answer: mostly its wake-up.
    pub(crate) wake: Duration,
}

#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) result: QueryResult,
    pub(crate) end: Instant,
    pub(crate) phases: Phases,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ahead {
    /// Slots read by themselves.
    Off,
    /// A morsel, while the one before is computed.
    OneMorsel,
    /// The default distance, with this many requests at a time, or their default number.
    Default(Option<usize>),
}

/// Pools with as many threads as every row gets.
pub(crate) fn work() -> Result<Work> {
    Ok(Work::from(PipelineExecutor::new(THREADS)?))
}

impl Engine {
    /// Starts an executor of its own.
    pub(crate) fn new(tables: impl IntoIterator<Item = Arc<dyn TableSource>>) -> Result<Self> {
        Self::on(work()?, tables)
    }

    pub(crate) fn on(work: Work, tables: impl IntoIterator<Item = Arc<dyn TableSource>>) -> Result<Self> {
        let mut catalog = Catalog::new();
        for table in tables {
            catalog.register(table)?;
        }
        Ok(Self {
            executor: work.pools().cpu().executor()?,
            work,
            tables: catalog,
        })
    }

    pub(crate) fn run(&self, sql: &str) -> Result<Answered> {
        let called = Instant::now();
        let plan = QueryPlanner::plan(sql, &self.tables)?;
        let planned = Instant::now();
        let job = PipelineBuilder::new(plan).build();
        let ticket = self.executor.submit(job).context("the executor took no job")?;
        let submitted = Instant::now();
        let report = ticket.wait()?;
        let result = report.output;
        let end = Instant::now();
        let phases = Phases {
            plan: planned - called,
            submit: submitted - planned,
            wait: report.wait,
            run: report.run,
            // The job's own times begin inside the call that submits it.
            wake: (end - planned).saturating_sub(report.wait + report.run),
        };
        Ok(Answered { result, end, phases })
    }

    pub(crate) fn run_ahead(&self, sql: &str, ahead: Ahead) -> Result<QueryResult> {
        if ahead == Ahead::Off {
            return Ok(self.run(sql)?.result);
        }
        let plan = QueryPlanner::plan(sql, &self.tables)?;
        let mut query = Session::new(self.work.clone()).query(plan);
        match ahead {
            Ahead::OneMorsel => query = query.read_ahead(1),
            Ahead::Default(Some(requests)) => query = query.requests_at_once(requests),
            Ahead::Off | Ahead::Default(None) => {}
        }
        Ok(query.run()?.rows)
    }

    /// Sum over the workers of their time in slots.
    pub(crate) fn busy(&self) -> Duration {
        let total = self.executor.snapshot().total();
        total.busy_main + total.busy_reserve + total.busy_lent
    }
}
