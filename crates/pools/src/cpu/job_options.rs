//! The options of a job for async work.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use pipeline_exec::{Class, Terms};

use super::turn_observer::{Observer, TurnObserver};

/// Name and limits of a job for [`CpuPool::open`](super::CpuPool::open).
///
/// ```
/// use pipeline_exec::Class;
/// use pools::JobOptions;
/// use std::time::Duration;
///
/// let report = JobOptions::new()
///     .name("nightly report")
///     .class(Class::Batch)
///     .deadline(Duration::from_secs(600))
///     .max_workers(2)
///     .memory(256 << 20);
/// assert_eq!(report.memory_limit(), Some(268_435_456));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "`CpuPool::open` opens a job with them"]
pub struct JobOptions {
    pub(super) name: Cow<'static, str>,
    pub(super) terms: Terms,
    memory: Option<usize>,
    observer: Option<Observer>,
}

impl Default for JobOptions {
    fn default() -> Self {
        Self {
            name: Cow::Borrowed("async"),
            terms: Terms::default(),
            memory: None,
            observer: None,
        }
    }
}

impl JobOptions {
    /// Options of a normal job without limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Name in events, spans and traces. Default `async`.
    pub fn name(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.name = name.into();
        self
    }

    /// How urgent the job is. Default [`Class::Normal`].
    pub fn class(mut self, class: Class) -> Self {
        self.terms.class = class;
        self
    }

    /// Time from the job's opening, after which its tasks return
    /// [`TaskError::DeadlineExceeded`](super::TaskError::DeadlineExceeded). Default: none.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.terms.deadline = Some(deadline);
        self
    }

    /// Most workers that run its tasks at once. Default: all.
    ///
    /// # Panics
    ///
    /// If it is 0.
    pub fn max_workers(mut self, workers: usize) -> Self {
        assert!(workers > 0, "a job needs a worker");
        self.terms.workers_max = workers;
        self
    }

    /// Bytes that the query engine lets the job hold. Default: no limit.
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Tells `observer` of each poll of the job's futures. Default: none.
    pub fn observer(mut self, observer: Arc<dyn TurnObserver>) -> Self {
        self.observer = Some(Observer(observer));
        self
    }

    pub(super) fn turn_observer(&self) -> Option<&dyn TurnObserver> {
        self.observer.as_ref().map(|observer| &*observer.0)
    }

    /// Returns the name.
    #[must_use]
    pub fn job_name(&self) -> &str {
        &self.name
    }

    /// Returns the bytes that the job may hold, if limited.
    #[must_use]
    pub fn memory_limit(&self) -> Option<usize> {
        self.memory
    }
}
