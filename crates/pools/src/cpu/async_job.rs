//! A job for async work.

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::Wake;
use std::time::{Duration, Instant};

use pipeline_exec::{JobControl, JobErrorKind, open_job::OpenJob};
use tokio::runtime::Handle;

use super::job_options::JobOptions;
use crate::inner::Inner as PoolsInner;
use crate::maintenance::Delayed;
use crate::moment::{after, nanos};

/// A job for async work, whose [spawned](Self::spawn) futures CPU workers poll. It ends when all
/// clones are dropped and all futures have ended.
///
/// The futures share the job's class, deadline, limit of workers and share of time. A poll should
/// end within about a millisecond, because young jobs wait for it: a future that computes longer
/// calls `tokio::task::yield_now().await`, unless its streams use tokio's cooperative budget.
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
    admitted: Option<Admitted>,
    used: Counters,
    /// Enforces the deadline while all futures wait.
    alarm: OnceLock<Delayed>,
}

struct EndsIfLate(Weak<Inner>);

pub(super) struct Admitted {
    pub(super) open: OpenJob,
    control: JobControl,
    pub(super) runtime: Handle,
}

#[derive(Debug, Default)]
struct Counters {
    turns: AtomicU64,
    busy_ns: AtomicU64,
    waited_ns: AtomicU64,
    longest_turn_ns: AtomicU64,
}

/// What a job has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobUse {
    /// Polls of its futures.
    pub turns: u64,
    /// Time of the polls on a core, or elapsed time where the operating system does not report
    /// that; summed over workers.
    pub busy: Duration,
    /// Elapsed time of the longest poll.
    pub longest_turn: Duration,
    /// Time from spawn or wake to poll, summed over the futures.
    pub waited: Duration,
}

thread_local! {
    static CURRENT: RefCell<Option<AsyncJob>> = const { RefCell::new(None) };
}

impl AsyncJob {
    pub(super) fn open(pools: &PoolsInner, options: JobOptions) -> Self {
        let inner = Arc::new(Inner {
            admitted: Admitted::open(pools, &options),
            options,
            used: Counters::default(),
            alarm: OnceLock::new(),
        });
        let job = Self { inner };
        job.set_alarm(pools);
        job
    }

    pub(super) fn admitted(&self) -> Option<&Admitted> {
        self.inner.admitted.as_ref()
    }

    /// Returns the job that this thread runs, by a poll, [`enter`](Self::enter) or
    /// [`scope`](Self::scope).
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT
            .try_with(|current| current.borrow().clone())
            .ok()
            .flatten()
    }

    /// Calls `call` on this thread, with this job as the [`current`](Self::current) one.
    pub fn enter<R>(&self, call: impl FnOnce() -> R) -> R {
        struct Before(Option<AsyncJob>);

        impl Drop for Before {
            fn drop(&mut self) {
                // An ending thread has no thread-locals.
                let entered = CURRENT.try_with(|current| current.replace(self.0.take()));
                drop(entered);
            }
        }

        let before = CURRENT.try_with(|current| current.replace(Some(self.clone())));
        let _before = Before(before.ok().flatten());
        call()
    }

    /// Ends the job: waiting futures are dropped now, running ones after their poll.
    pub fn cancel(&self) {
        if let Some(admitted) = &self.inner.admitted {
            admitted.control.cancel();
        }
    }

    /// Returns the number of ended and of spawned futures.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        let admitted = self.inner.admitted.as_ref();
        admitted.map_or((0, 0), |admitted| admitted.control.progress())
    }

    /// Returns the options of the job.
    pub fn options(&self) -> &JobOptions {
        &self.inner.options
    }

    /// Returns what its futures have used so far.
    #[must_use]
    pub fn used(&self) -> JobUse {
        let Counters {
            turns,
            busy_ns,
            waited_ns,
            longest_turn_ns,
        } = &self.inner.used;
        // Ordering: Relaxed, all. Statistics.
        JobUse {
            turns: turns.load(Ordering::Relaxed),
            busy: Duration::from_nanos(busy_ns.load(Ordering::Relaxed)),
            longest_turn: Duration::from_nanos(longest_turn_ns.load(Ordering::Relaxed)),
            waited: Duration::from_nanos(waited_ns.load(Ordering::Relaxed)),
        }
    }

    /// Returns why no future is polled any more; `None` while they may be, and for a job that was
    /// not admitted.
    #[must_use]
    pub fn stopped(&self) -> Option<JobErrorKind> {
        self.inner.admitted.as_ref()?.control.stopped()
    }

    /// Returns whether the pool admitted the job.
    #[must_use]
    pub fn is_admitted(&self) -> bool {
        self.inner.admitted.is_some()
    }

    /// Returns the CPU time of all polls.
    pub(super) fn note_turn(&self, busy: Duration, lasted: Duration, waited: Duration) -> Duration {
        let used = &self.inner.used;
        // Ordering: Relaxed, all. Statistics.
        used.turns.fetch_add(1, Ordering::Relaxed);
        let busy_before = used.busy_ns.fetch_add(nanos(busy), Ordering::Relaxed);
        used.waited_ns.fetch_add(nanos(waited), Ordering::Relaxed);
        used.longest_turn_ns.fetch_max(nanos(lasted), Ordering::Relaxed);
        Duration::from_nanos(busy_before).saturating_add(busy)
    }

    /// The pools' clock ends a late job, because workers do so only while they have work.
    fn set_alarm(&self, pools: &PoolsInner) {
        let Some(deadline) = self.inner.options.terms.deadline else {
            return;
        };
        let Some(admitted) = &self.inner.admitted else {
            return;
        };
        let ends = Arc::new(EndsIfLate(Arc::downgrade(&self.inner)));
        match Delayed::set(&pools.clock, after(Instant::now(), deadline), ends.into()) {
            Ok(alarm) => drop(self.inner.alarm.set(alarm)),
            Err(_closed) => admitted.control.cancel(),
        }
    }
}

impl Wake for EndsIfLate {
    fn wake(self: Arc<Self>) {
        if let Some(admitted) = self
            .0
            .upgrade()
            .as_deref()
            .and_then(|inner| inner.admitted.as_ref())
        {
            admitted.control.enforce_deadline();
        }
    }
}

impl Admitted {
    fn open(pools: &PoolsInner, options: &JobOptions) -> Option<Self> {
        let executor = pools.cpu.executor().ok()?;
        let runtime = Handle::try_current().ok();
        let runtime = runtime.or_else(|| pools.mixed.handle().ok())?;
        let (open, ticket) = executor.open(options.name.clone(), options.terms).ok()?;
        Some(Self {
            open,
            control: ticket.control(),
            runtime,
        })
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
