//! The statements that run or wait to run.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use datafusion::execution::memory_pool::MemoryPool;
use pipeline_exec::lock;
use tokio_util::sync::CancellationToken;
use windlass_datafusion::Class;
use windlass_datafusion::pools::{AsyncJob, JobUse};

use crate::recent::{Recent, Times};
use crate::wire::SqlError;

/// Letters of a statement that are kept.
const TEXT_MAX: usize = 1_000;

/// All statements that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Queries {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    begun: u64,
    open: BTreeMap<u64, Arc<Query>>,
    recent: Recent,
}

/// A statement that has not ended.
pub(crate) struct Query {
    pub(crate) number: u64,
    pub(crate) process: u32,
    pub(crate) user: Arc<str>,
    pub(crate) text: String,
    pub(crate) class: Class,
    pub(crate) since: Instant,
    job: OnceLock<AsyncJob>,
    memory: OnceLock<Arc<dyn MemoryPool>>,
    cancelled: CancellationToken,
    /// Held while a cancel looks for the job, and while the job looks for a cancel.
    order: Mutex<()>,
}

/// What a statement has used so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueryUse {
    pub(crate) job: JobUse,
    pub(crate) memory: usize,
}

/// A statement's place in the table, until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenQuery {
    all: Arc<Queries>,
    query: Arc<Query>,
    outcome: Result<(), &'static str>,
    /// Cancelled if the client has asked for the statement's end.
    cancelled: CancellationToken,
}

/// The outcome of a statement that ended before its outcome was noted: its client left or has
/// enough.
const ABANDONED: &str = "abandoned";

/// Time from which on a statement's end is a line of the log.
const SLOW: Duration = Duration::from_secs(1);

impl Queries {
    pub(crate) fn enter(
        self: &Arc<Self>,
        process: u32,
        user: &Arc<str>,
        text: &str,
        class: Class,
        cancelled: CancellationToken,
    ) -> OpenQuery {
        let mut table = lock(&self.table);
        table.begun += 1;
        let query = Arc::new(Query {
            number: table.begun,
            process,
            user: Arc::clone(user),
            text: text.chars().take(TEXT_MAX).collect(),
            class,
            since: Instant::now(),
            job: OnceLock::new(),
            memory: OnceLock::new(),
            cancelled: CancellationToken::new(),
            order: Mutex::default(),
        });
        table.open.insert(query.number, Arc::clone(&query));
        OpenQuery {
            all: Arc::clone(self),
            query,
            outcome: Err(ABANDONED),
            cancelled,
        }
    }

    /// The open statements, in the order in which they came.
    pub(crate) fn open(&self) -> Vec<Arc<Query>> {
        lock(&self.table).open.values().cloned().collect()
    }

    pub(crate) fn find(&self, number: u64) -> Option<Arc<Query>> {
        lock(&self.table).open.get(&number).cloned()
    }

    /// Times of the statements that ended lately, by class.
    pub(crate) fn times(&self) -> Times {
        lock(&self.table).recent.times(Instant::now())
    }
}

impl Query {
    /// Notes that the statement runs as `job`, within `memory`.
    pub(crate) fn runs(&self, job: AsyncJob, memory: Arc<dyn MemoryPool>) {
        // A statement runs once.
        let _ = self.memory.set(memory);
        let _order = lock(&self.order);
        let job = self.job.get_or_init(|| job);
        if self.cancelled.is_cancelled() {
            job.cancel();
        }
    }

    /// Ends the statement, whether it runs or waits.
    pub(crate) fn cancel(&self) {
        let order = lock(&self.order);
        self.cancelled.cancel();
        let job = self.job.get();
        drop(order);
        // Its futures are dropped outside of the lock.
        if let Some(job) = job {
            job.cancel();
        }
    }

    /// Waits for a [`cancel`](Self::cancel).
    pub(crate) async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }

    /// The text, for its own user alone.
    pub(crate) fn text_for(&self, user: Option<&str>) -> Option<&str> {
        (user == Some(&*self.user)).then_some(self.text.as_str())
    }

    pub(crate) fn is_running(&self) -> bool {
        self.job.get().is_some()
    }

    pub(crate) fn used(&self) -> QueryUse {
        QueryUse {
            job: self.job.get().map(AsyncJob::used).unwrap_or_default(),
            memory: self.memory.get().map_or(0, |memory| memory.reserved()),
        }
    }

    pub(crate) fn open_for(&self) -> Duration {
        self.since.elapsed()
    }
}

impl OpenQuery {
    pub(crate) fn query(&self) -> &Arc<Query> {
        &self.query
    }
}

impl OpenQuery {
    /// Notes how the statement ended: well, or by an error with this code.
    pub(crate) fn ended(&mut self, outcome: Result<(), &'static str>) {
        self.outcome = outcome;
    }

    /// Notes that a further part of the statement's rows is asked for, which this token ends.
    pub(crate) fn goes_on(&mut self, cancelled: CancellationToken) {
        self.cancelled = cancelled;
    }

    /// A statement that a request has ended was dropped before it could say so.
    fn outcome(&self) -> &'static str {
        match self.outcome {
            Ok(()) => "ok",
            Err(ABANDONED) if self.cancelled.is_cancelled() => SqlError::cancelled_by_user().code,
            Err(code) => code,
        }
    }

    /// Counts the statement, and logs it if it was slow or failed.
    fn report(&self) {
        let query = &*self.query;
        let (took, used) = (query.open_for(), query.used());
        let outcome = self.outcome();
        metrics::counter!("windlass_statements_total", "outcome" => outcome).increment(1);
        metrics::histogram!("windlass_statement_seconds", "class" => query.class.name()).record(took);
        if took >= SLOW || self.outcome.is_err() {
            tracing::info!(
                statement = query.number,
                process = query.process,
                user = &*query.user,
                class = query.class.name(),
                outcome,
                took_ms = took.as_millis() as u64,
                cpu_ms = used.job.busy.as_millis() as u64,
                waited_ms = used.job.waited.as_millis() as u64,
                longest_turn_ms = used.job.longest_turn.as_millis() as u64,
                "a statement ended"
            );
        }
    }
}

impl Drop for OpenQuery {
    fn drop(&mut self) {
        self.report();
        let mut table = lock(&self.all.table);
        let query = &self.query;
        table.recent.push(Instant::now(), query.class, query.open_for());
        let removed = table.open.remove(&query.number);
        drop(table);
        // May be the last handle of a job, whose futures are dropped outside of the lock.
        drop(removed);
    }
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query")
            .field("number", &self.number)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_that_a_request_has_ended_is_counted_as_its_client_was_told() {
        let queries = Arc::<Queries>::default();
        let enter = |token: &CancellationToken| {
            queries.enter(
                1,
                &Arc::from("alice"),
                "select 1",
                Class::default(),
                token.clone(),
            )
        };
        let (first, second) = (CancellationToken::new(), CancellationToken::new());
        let mut open = enter(&first);
        assert_eq!(open.outcome(), ABANDONED);
        first.cancel();
        assert_eq!(open.outcome(), "57014");
        open.goes_on(second.clone());
        assert_eq!(open.outcome(), ABANDONED);
        open.ended(Ok(()));
        second.cancel();
        assert_eq!(open.outcome(), "ok");
        drop(open);
        assert!(queries.open().is_empty());
    }
}
