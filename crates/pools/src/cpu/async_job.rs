//! A job for async work: futures that run as its tasks.
//!
//! ```text
//!   AsyncJob::spawn(future) ──► Polled, a task of an open job ──► turns on CPU workers
//!          │                          │ ready, or dropped
//!          ▼                          ▼
//!      AsyncTask  ◄──────────────  Output
//! ```

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use pipeline_exec::{JobControl, JobErrorKind, OpenJob};
use tokio::runtime::Handle;

use super::CpuPool;
use super::async_task::{AsyncTask, Ended, HandedBack, Output, TaskError, TaskFuture};
use super::job_options::JobOptions;
use super::polled::Polled;
use crate::maintenance::Repeating;
use crate::pools::Pools;

/// A job for async work. A handle; clones are the same job.
///
/// Futures that are [spawned](Self::spawn) into it run on CPU workers, in turns. To the
/// workers the job is one among others, however many futures it has: they share its class, its
/// deadline, its limit of workers and its share of the time. While a future waits it has no worker.
///
/// A poll should end after about a millisecond, or young jobs wait for it. Streams that take part
/// in tokio's cooperative budget are paused in time; a future that computes for long in one poll
/// says `tokio::task::yield_now().await` in between.
///
/// The job ends when all handles are dropped and all futures are over.
///
/// ```
/// use pools::{JobOptions, Pools};
/// use std::time::Duration;
///
/// let pools = Pools::builder().cpu_threads(2).build()?;
/// let cpu = pools.cpu();
/// let sums = pools.mixed().block_on(async move {
///     let job = cpu.open(JobOptions::new().name("sums"));
///     let parts: Vec<_> = (0..4_u64)
///         .map(|part| job.spawn(async move {
///             // Timers are those of the runtime in which the job was opened.
///             tokio::time::sleep(Duration::from_millis(1)).await;
///             (part * 1_000..(part + 1) * 1_000).sum::<u64>()
///         }))
///         .collect();
///     let mut sums = Vec::new();
///     for part in parts {
///         sums.push(part.await?);
///     }
///     Ok::<_, pools::TaskError<u64>>(sums)
/// })??;
/// assert_eq!(sums.iter().sum::<u64>(), 3_999 * 4_000 / 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct AsyncJob {
    inner: Arc<Inner>,
}

struct Inner {
    options: JobOptions,
    /// `None` if the pool did not admit the job.
    admitted: Option<Admitted>,
    used: Counters,
    /// Ends the job in time while all its futures wait.
    alarm: OnceLock<Repeating>,
}

struct Admitted {
    open: OpenJob,
    control: JobControl,
    runtime: Handle,
}

#[derive(Debug, Default)]
struct Counters {
    turns: AtomicU64,
    busy_ns: AtomicU64,
    waited_ns: AtomicU64,
    longest_turn_ns: AtomicU64,
}

/// What a job has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobUse {
    /// Polls of its futures: each of them is a boundary at which a worker can leave the job.
    pub turns: u64,
    /// The time that they were on a core together, on all workers; where the operating system does
    /// not tell, the time that they took.
    pub busy: Duration,
    /// How long the longest of them took: a worker was not to be had meanwhile.
    pub longest_turn: Duration,
    /// The time for which its futures waited for a worker, added up over the futures: from a spawn
    /// or a wake to the turn.
    pub waited: Duration,
}

thread_local! {
    /// The job whose code this thread runs.
    static CURRENT: RefCell<Option<AsyncJob>> = const { RefCell::new(None) };
}

impl AsyncJob {
    pub(super) fn open(cpu: &CpuPool, options: JobOptions) -> Self {
        let inner = Arc::new(Inner {
            admitted: Admitted::open(cpu, &options),
            options,
            used: Counters::default(),
            alarm: OnceLock::new(),
        });
        let job = Self { inner };
        job.set_alarm(cpu);
        job
    }

    /// Runs a future in this job.
    ///
    /// If the job cannot run it, the task gives it back when it is awaited: [`TaskError::NotRun`].
    pub fn spawn<F>(&self, future: F) -> AsyncTask<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.spawn_boxed(Box::pin(future))
    }

    /// The same for the future that the whole job is for: dropping the task cancels the job, and
    /// with it at once all that was spawned in it. To drop the task of [`spawn`](Self::spawn) is
    /// less and later: a worker drops that future when the job has its next turn.
    pub fn spawn_root<F>(&self, future: F) -> AsyncTask<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.spawn(future).root_of(self.clone())
    }

    /// The same as [`spawn`](Self::spawn) for a future that is boxed already.
    pub fn spawn_boxed<T: Send + 'static>(&self, future: TaskFuture<T>) -> AsyncTask<T> {
        let output = Output::pending();
        let Some(Admitted { open, runtime, .. }) = &self.inner.admitted else {
            output.end(Ended::Failed(TaskError::NotRun(HandedBack::new(future))));
            return AsyncTask::new(output, None);
        };
        let polled = Polled::new(future, Arc::clone(&output), self.clone(), runtime.clone());
        // A task that the job does not take tells so as it is dropped.
        let task = open.spawn(Box::new(polled)).ok();
        AsyncTask::new(output, task)
    }

    /// The job whose code this thread runs now: in one of its futures, or inside
    /// [`enter`](Self::enter) or a future in its [`scope`](Self::scope).
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT
            .try_with(|current| current.borrow().clone())
            .ok()
            .flatten()
    }

    /// Calls `call` with this job as the [`current`](Self::current) one. It runs here, on this
    /// thread.
    pub fn enter<R>(&self, call: impl FnOnce() -> R) -> R {
        struct Before(Option<AsyncJob>);

        impl Drop for Before {
            fn drop(&mut self) {
                // A thread that ends has none.
                let entered = CURRENT.try_with(|current| current.replace(self.0.take()));
                drop(entered);
            }
        }

        let before = CURRENT.try_with(|current| current.replace(Some(self.clone())));
        let _before = Before(before.ok().flatten());
        call()
    }

    /// A future that is polled with this job as the [`current`](Self::current) one, by the
    /// thread that polls it. To run it on the job's workers, [`spawn`](Self::spawn) it.
    pub fn scope<F: Future>(&self, future: F) -> Scoped<F> {
        Scoped {
            job: self.clone(),
            future: Box::pin(future),
        }
    }

    /// Ends it: no future of it is polled again, those that wait are dropped now, those that run
    /// are dropped after their poll. Nothing happens if it has ended.
    pub fn cancel(&self) {
        if let Some(admitted) = &self.inner.admitted {
            admitted.control.cancel();
        }
    }

    /// Futures that are over, and futures that were spawned. Both only grow.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        let admitted = self.inner.admitted.as_ref();
        admitted.map_or((0, 0), |admitted| admitted.control.progress())
    }

    /// What it was opened with.
    pub fn options(&self) -> &JobOptions {
        &self.inner.options
    }

    /// What its futures have used so far.
    #[must_use]
    pub fn used(&self) -> JobUse {
        let Counters {
            turns,
            busy_ns,
            waited_ns,
            longest_turn_ns,
        } = &self.inner.used;
        // Ordering: Relaxed, all. Numbers for people.
        JobUse {
            turns: turns.load(Ordering::Relaxed),
            busy: Duration::from_nanos(busy_ns.load(Ordering::Relaxed)),
            longest_turn: Duration::from_nanos(longest_turn_ns.load(Ordering::Relaxed)),
            waited: Duration::from_nanos(waited_ns.load(Ordering::Relaxed)),
        }
    }

    /// Why its futures are not polled any more; `None` as long as they may be, and if the job was
    /// not admitted. [`HandedBack`](JobErrorKind::HandedBack): the pool ends.
    #[must_use]
    pub fn stopped(&self) -> Option<JobErrorKind> {
        self.inner.admitted.as_ref()?.control.stopped()
    }

    /// Whether the pool admitted it. If not, it hands back every future.
    #[must_use]
    pub fn is_admitted(&self) -> bool {
        self.inner.admitted.is_some()
    }

    /// A poll of one of its futures has used a core for `busy` and lasted for `lasted`, and the
    /// future had waited for it for `waited`. Gives for how long all polls have used a core.
    pub(super) fn note_turn(&self, busy: Duration, lasted: Duration, waited: Duration) -> Duration {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let used = &self.inner.used;
        // Ordering: Relaxed, all. Numbers for people.
        used.turns.fetch_add(1, Ordering::Relaxed);
        let busy_before = used.busy_ns.fetch_add(nanos(busy), Ordering::Relaxed);
        used.waited_ns.fetch_add(nanos(waited), Ordering::Relaxed);
        used.longest_turn_ns.fetch_max(nanos(lasted), Ordering::Relaxed);
        Duration::from_nanos(busy_before).saturating_add(busy)
    }

    /// Workers end a job that is late when they look at the board. They do not look while every job
    /// waits.
    fn set_alarm(&self, cpu: &CpuPool) {
        let Some(deadline) = self.inner.options.terms.deadline else {
            return;
        };
        let Some(admitted) = &self.inner.admitted else {
            return;
        };
        let pools = Pools {
            inner: Arc::clone(&cpu.inner),
        };
        let job = Arc::downgrade(&self.inner);
        let look = move || {
            if let Some(admitted) = job.upgrade().as_deref().and_then(|inner| inner.admitted.as_ref()) {
                admitted.control.stop_if_late();
            }
        };
        match pools.maintenance().repeat(deadline, look) {
            Ok(alarm) => drop(self.inner.alarm.set(alarm)),
            // Maintenance ends last: the pools have ended, and the job with them.
            Err(_closed) => admitted.control.cancel(),
        }
    }
}

impl Admitted {
    fn open(cpu: &CpuPool, options: &JobOptions) -> Option<Self> {
        let executor = cpu.executor().ok()?;
        let runtime = Handle::try_current().ok();
        let runtime = runtime.or_else(|| cpu.inner.mixed.handle().ok())?;
        let (open, ticket) = executor.open(options.name.clone(), options.terms).ok()?;
        Some(Self {
            open,
            control: ticket.control(),
            runtime,
        })
    }
}

/// A future that is polled as code of a job: see [`AsyncJob::scope`].
#[must_use = "a future does nothing unless it is polled"]
pub struct Scoped<F> {
    job: AsyncJob,
    future: Pin<Box<F>>,
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Self { job, future } = &mut *self;
        job.enter(|| future.as_mut().poll(cx))
    }
}

impl<F> fmt::Debug for Scoped<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scoped")
            .field("job", &self.job)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for AsyncJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncJob")
            .field("options", &self.inner.options)
            .field("progress", &self.progress())
            .finish_non_exhaustive()
    }
}
