//! Where work runs, and what stops it.

use std::time::Instant;

use pipeline_exec::{Class, Job, JobReport, PipelineExecutor, PipelineHandle};
use pools::{MixedPool, Pools};
use tokio_util::sync::CancellationToken;

use crate::error::QueryError;
use crate::progress::Progress;
use crate::run::Run;
use crate::stop::Stop;

/// The pools that work runs on, the token and deadline that stop it, and its progress.
///
/// ```
/// use query::pipeline_exec::{Job, PipelineExecutor, step};
/// use query::{CancellationToken, QueryError, Work};
///
/// let token = CancellationToken::new();
/// let work = Work::from(PipelineExecutor::new(1)?).cancelled_by(token.clone());
/// token.cancel();
/// let refused = work.run(Job::from_steps("cities", vec![step(|_cx| Ok(()))]));
/// assert!(matches!(refused, Err(QueryError::Cancelled)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Work {
    pools: Pools,
    token: CancellationToken,
    deadline: Option<Instant>,
    class: Class,
    max_workers: Option<usize>,
    progress: Progress,
}

impl Work {
    /// Creates work without a deadline, whose token is new.
    #[must_use]
    pub fn new(pools: &Pools) -> Self {
        Self {
            pools: pools.clone(),
            token: CancellationToken::new(),
            deadline: None,
            class: Class::Normal,
            max_workers: None,
            progress: Progress::default(),
        }
    }

    /// Replaces the token that cancels the work.
    #[must_use]
    pub fn cancelled_by(mut self, token: CancellationToken) -> Self {
        self.token = token;
        self
    }

    /// Stops the work at `deadline`. The earliest of several deadlines counts.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use query::pipeline_exec::{Job, PipelineExecutor, step};
    /// use query::{QueryError, Work};
    ///
    /// let soon = Instant::now() + Duration::from_millis(1);
    /// let work = Work::from(PipelineExecutor::new(1)?).deadline(soon);
    /// let until_stopped = step(|cx| { while !cx.is_cancelled() { std::thread::yield_now() } Ok(()) });
    /// let late = work.run(Job::from_steps("cities", vec![until_stopped]));
    /// assert!(matches!(late, Err(QueryError::DeadlineExceeded)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(self.deadline.map_or(deadline, |known| known.min(deadline)));
        self
    }

    /// Sets how urgent the work's jobs are; [`Class::Normal`] by default. While a stored table is
    /// read, the later jobs of normal work are [`Class::Batch`].
    #[must_use]
    pub fn class(mut self, class: Class) -> Self {
        self.class = class;
        self
    }

    /// Bounds the workers that compute a job of the work at once.
    #[must_use]
    pub fn max_workers(mut self, workers: usize) -> Self {
        self.max_workers = Some(workers);
        self
    }

    /// How far the work is, while it runs.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// The pools.
    #[must_use]
    pub fn pools(&self) -> &Pools {
        &self.pools
    }

    /// Runs `job` and blocks until it has ended, after waiting for room in a full executor.
    ///
    /// # Errors
    ///
    /// The job's failure, or why it stopped; [`QueryError::Unavailable`] in async code and in CPU
    /// tasks.
    pub fn run<T: Send + 'static>(&self, job: Job<T>) -> Result<JobReport<T>, QueryError> {
        self.block_on(async {
            let run = self.begin(format!("running {}", job.table_name))?;
            run.job(job).await
        })
    }

    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }

    pub(crate) fn mixed(&self) -> MixedPool {
        self.pools.mixed()
    }

    pub(crate) fn arm_stop(&self) -> Result<Stop, QueryError> {
        Stop::arm(&self.token, self.deadline, &self.pools)
    }

    pub(crate) fn begin(&self, activity: String) -> Result<Run, QueryError> {
        let stop = self.arm_stop()?;
        self.progress.begin(activity);
        Ok(Run {
            executor: self.executor()?,
            mixed: self.mixed(),
            progress: self.progress.clone(),
            class: self.class,
            max_workers: self.max_workers,
            stop,
        })
    }

    /// Blocks, so the calling thread must be allowed to.
    pub(crate) fn block_on<T>(
        &self,
        answer: impl Future<Output = Result<T, QueryError>>,
    ) -> Result<T, QueryError> {
        self.mixed().block_on(answer)?
    }

    fn executor(&self) -> Result<PipelineHandle, QueryError> {
        Ok(self.pools.cpu().executor()?)
    }
}

impl Clone for Work {
    /// Everything is shared but the progress.
    fn clone(&self) -> Self {
        Self {
            pools: self.pools.clone(),
            token: self.token.clone(),
            deadline: self.deadline,
            class: self.class,
            max_workers: self.max_workers,
            progress: Progress::default(),
        }
    }
}

impl From<Pools> for Work {
    fn from(pools: Pools) -> Self {
        Self::new(&pools)
    }
}

impl From<PipelineExecutor> for Work {
    fn from(executor: PipelineExecutor) -> Self {
        Self::new(&Pools::from_executor(executor))
    }
}
