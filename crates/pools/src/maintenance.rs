//! The maintenance pool: cache refresh, housekeeping, metrics. A few threads of its own, made when they are needed and gone when they
//! are not, which nobody waits for: a process ends while one of them runs.

mod schedule;

use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{MaintenanceError, PoolKind};
use crate::mixed;
use crate::pools::Inner;
use crate::snapshot::MaintenanceSnapshot;
use crate::thread::{Work, as_work, refuse_cpu};
use schedule::{Next, Schedule, Task, Timer, Wake};

/// Runs housekeeping, at once or at intervals. A handle; clones are the same pool.
#[derive(Clone, Debug)]
pub struct MaintenancePool {
    pub(crate) inner: Arc<Inner>,
}

/// What is known of the maintenance pool before it is used.
#[derive(Clone, Debug)]
pub(crate) struct MaintenanceConfig {
    pub(crate) threads_max: usize,
    pub(crate) keep_alive: Duration,
    pub(crate) name: String,
}

/// The maintenance pool as the pools and its own threads have it.
#[derive(Debug)]
pub(crate) struct MaintenanceState {
    config: MaintenanceConfig,
    schedule: Mutex<Schedule>,
    news: Condvar,
}

impl MaintenancePool {
    /// Runs a task soon. A panic in it is counted and logged, and disturbs nobody.
    ///
    /// # Errors
    ///
    /// In a CPU task, after a shutdown, or when there is no thread and none can be had.
    pub fn spawn(&self, task: impl FnOnce() + Send + 'static) -> Result<(), MaintenanceError> {
        refuse_cpu(PoolKind::Maintenance)?;
        MaintenanceState::add(&self.inner.maintenance, |schedule| {
            schedule.push(Box::new(task), Instant::now());
        })
    }

    /// Runs a task every `period` from now on, the first time when one is over. A run that takes longer delays the next; those
    /// that were due meanwhile are left out. It goes on until what this gives is dropped.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// use pools::Pools;
    ///
    /// let pools = Pools::builder().build()?;
    /// let (send, runs) = mpsc::channel();
    /// let repeating = pools.maintenance().every(Duration::from_millis(1), move || drop(send.send(())))?;
    /// runs.iter().take(3).for_each(drop);
    /// drop(repeating);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn every(
        &self,
        period: Duration,
        task: impl FnMut() + Send + 'static,
    ) -> Result<Repeating, MaintenanceError> {
        refuse_cpu(PoolKind::Maintenance)?;
        self.repeat(period, task)
    }

    /// The same, wherever this is called from: for what does not hold up a CPU worker.
    pub(crate) fn repeat(
        &self,
        period: Duration,
        task: impl FnMut() + Send + 'static,
    ) -> Result<Repeating, MaintenanceError> {
        let state = &self.inner.maintenance;
        let mut number = 0;
        MaintenanceState::add(state, |schedule| {
            number = schedule.repeat(period, Box::new(task), Instant::now());
        })?;
        Ok(Repeating {
            state: Arc::clone(state),
            number: Some(number),
        })
    }

    /// What is in it now, and what it has counted.
    #[must_use]
    pub fn snapshot(&self) -> MaintenanceSnapshot {
        self.inner.maintenance.lock().snapshot()
    }
}

/// A task that runs at intervals, until this is dropped.
#[must_use = "dropping it ends the repetition"]
pub struct Repeating {
    state: Arc<MaintenanceState>,
    number: Option<u64>,
}

impl Repeating {
    /// Lets it go on until the pool ends.
    pub fn detach(mut self) {
        self.number = None;
    }
}

impl Drop for Repeating {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let task = self.state.lock().cancel(number);
            // Outside the lock: it is the user's.
            drop(task);
        }
    }
}

impl fmt::Debug for Repeating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repeating").finish_non_exhaustive()
    }
}

impl MaintenanceState {
    pub(crate) fn new(config: MaintenanceConfig) -> Arc<Self> {
        Arc::new(Self {
            config,
            schedule: Mutex::default(),
            news: Condvar::new(),
        })
    }

    /// Adds something to do, and sees to it that a thread comes to it.
    fn add(state: &Arc<Self>, add: impl FnOnce(&mut Schedule)) -> Result<(), MaintenanceError> {
        let mut schedule = state.lock();
        if schedule.is_closed() {
            return Err(MaintenanceError::Closed);
        }
        match schedule.wanted(state.config.threads_max) {
            Wake::Sleeper => {}
            Wake::NewThread => match Self::start_thread(state, &mut schedule) {
                Ok(()) => {}
                // Those that are there will come to it.
                Err(_) if schedule.has_threads() => {}
                Err(error) => return Err(MaintenanceError::Unavailable(error)),
            },
        }
        add(&mut schedule);
        drop(schedule);
        state.news.notify_all();
        Ok(())
    }

    fn start_thread(state: &Arc<Self>, schedule: &mut Schedule) -> io::Result<()> {
        let own = Arc::clone(state);
        let name = format!("{}-maintenance-{}", state.config.name, schedule.next_thread());
        // Nobody joins it.
        thread::Builder::new().name(name).spawn(move || own.work())?;
        schedule.thread_started();
        Ok(())
    }

    /// A thread's life.
    fn work(self: &Arc<Self>) {
        let mut schedule = self.lock();
        loop {
            match schedule.next(Instant::now()) {
                Next::Run(task) => {
                    let started = if schedule.lacks_thread(self.config.threads_max) {
                        Self::start_thread(self, &mut schedule)
                    } else {
                        Ok(())
                    };
                    drop(schedule);
                    if let Err(error) = started {
                        // Whoever becomes free comes to it.
                        quietly(
                            || tracing::warn!(%error, "maintenance tasks wait, and no thread can be had"),
                        );
                    }
                    let panicked = run(task, |timer| self.lock().put_back(timer, Instant::now()));
                    schedule = self.lock();
                    schedule.ran(panicked);
                    self.news.notify_all();
                }
                Next::Wait(due) => {
                    let keep_alive = self.config.keep_alive;
                    // One stays for what is due later.
                    let wait = match due {
                        Some(due) if !schedule.may_leave() => due,
                        due => due.map_or(keep_alive, |due| due.min(keep_alive)),
                    };
                    schedule.sleeps();
                    let (woken, timeout) = self
                        .news
                        .wait_timeout(schedule, wait)
                        .unwrap_or_else(PoisonError::into_inner);
                    schedule = woken;
                    schedule.wakes();
                    if timeout.timed_out() && wait >= keep_alive && schedule.may_leave() {
                        break;
                    }
                }
                Next::Leave => break,
            }
        }
        schedule.thread_ended();
        drop(schedule);
        self.news.notify_all();
    }

    /// Takes nothing any more, and forgets what has not started.
    pub(crate) fn close(&self) {
        let forgotten = self.lock().close();
        self.news.notify_all();
        // Outside the lock: these are the user's.
        drop(forgotten);
    }

    /// Waits until no task runs, or until `deadline`. Gives how many do.
    pub(crate) fn wait_quiet(&self, deadline: Instant) -> usize {
        let left = deadline.saturating_duration_since(Instant::now());
        let waited = self
            .news
            .wait_timeout_while(self.lock(), left, |schedule| schedule.running() > 0);
        waited.unwrap_or_else(PoisonError::into_inner).0.running()
    }

    fn lock(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a task; a timer goes back by `put_back`, which gives it back if it is not to go on. Whether any of it panicked.
fn run(task: Task, put_back: impl FnOnce(Timer) -> Option<Timer>) -> bool {
    let panics = match task {
        Task::Once(call) => [caught(call), None],
        Task::Again(mut timer) => {
            let ran = caught(|| (timer.call)());
            let over = put_back(timer);
            [ran, caught(|| drop(over))]
        }
    };
    let panicked = panics.iter().any(Option::is_some);
    for payload in panics.into_iter().flatten() {
        // What a panic carried may panic as it is dropped, and so may a subscriber; neither ends the thread's loop.
        quietly(|| {
            let message = mixed::message(&*payload);
            tracing::error!(message, "a maintenance task panicked");
        });
        quietly(|| drop(payload));
    }
    panicked
}

/// Runs the user's code as maintenance. What it panicked with, if it did.
fn caught(call: impl FnOnce()) -> Option<Box<dyn Any + Send>> {
    as_work(Work::Maintenance, || catch_unwind(AssertUnwindSafe(call)).err())
}

/// Runs a call that nobody expects to panic. What comes of it then is leaked, since its drop might as well.
fn quietly(call: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(call)) {
        std::mem::forget(payload);
    }
}
