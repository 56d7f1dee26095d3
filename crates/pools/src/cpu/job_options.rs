//! What a job for async work may take.

use std::borrow::Cow;
use std::time::Duration;

use pipeline_exec::{Class, Terms};

/// What a job for async work is called and may take: plain data, for
/// [`CpuPool::open`](super::CpuPool::open).
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
}

impl Default for JobOptions {
    fn default() -> Self {
        Self {
            name: Cow::Borrowed("async"),
            terms: Terms::default(),
            memory: None,
        }
    }
}

impl JobOptions {
    /// A normal job without limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// What it is about, in events, spans and traces. Default `async`.
    pub fn name(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.name = name.into();
        self
    }

    /// How urgent it is. Default [`Class::Normal`].
    pub fn class(mut self, class: Class) -> Self {
        self.terms.class = class;
        self
    }

    /// How long it may take, from its opening on. A job that is late gets no further turn, and its
    /// tasks give [`TaskError::DeadlineExceeded`](super::TaskError::DeadlineExceeded). By default
    /// as long as it needs.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.terms.deadline = Some(deadline);
        self
    }

    /// The most workers that run its tasks at the same time, at least 1. By default as many as
    /// there are.
    ///
    /// # Panics
    ///
    /// If it is 0: the job would never run.
    pub fn max_workers(mut self, workers: usize) -> Self {
        assert!(workers > 0, "a job needs a worker");
        self.terms.workers_max = workers;
        self
    }

    /// The bytes that it may hold. The pools do not account for memory; whoever runs queries in the
    /// job does, and reads this ([`memory_limit`](Self::memory_limit)). By default without a limit.
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// What it is called.
    #[must_use]
    pub fn job_name(&self) -> &str {
        &self.name
    }

    /// The bytes that it may hold, if that is limited.
    #[must_use]
    pub fn memory_limit(&self) -> Option<usize> {
        self.memory
    }
}
