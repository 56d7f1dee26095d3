//! The threads of the maintenance pool.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use executor_threaded::lock;
use pipeline_exec::panic_message;

use super::schedule::{Next, Schedule, Task, Timer, Wake};
use crate::error::MaintenanceError;
use crate::thread::{Work, as_work};

#[derive(Clone, Debug)]
pub(crate) struct MaintenanceConfig {
    pub(crate) threads_max: usize,
    pub(crate) keep_alive: Duration,
    pub(crate) name: String,
}

#[derive(Debug)]
pub(crate) struct MaintenanceState {
    config: MaintenanceConfig,
    schedule: Mutex<Schedule>,
    news: Condvar,
}

impl MaintenanceState {
    pub(crate) fn new(config: MaintenanceConfig) -> Arc<Self> {
        Arc::new(Self {
            config,
            schedule: Mutex::default(),
            news: Condvar::new(),
        })
    }

    pub(super) fn add(state: &Arc<Self>, add: impl FnOnce(&mut Schedule)) -> Result<(), MaintenanceError> {
        let mut schedule = state.lock();
        if schedule.is_closed() {
            return Err(MaintenanceError::Closed);
        }
        match schedule.wanted(state.config.threads_max) {
            Wake::Sleeper => {}
            Wake::NewThread => match Self::start_thread(state, &mut schedule) {
                Ok(()) => {}
                // The running threads will take the work.
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
        let name = format!("{}-{}", state.config.name, schedule.next_thread());
        // Not joined: a process may end while it runs.
        thread::Builder::new().name(name).spawn(move || own.work())?;
        schedule.thread_started();
        Ok(())
    }

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
                    // One thread stays for later work.
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

    pub(crate) fn timers(&self) -> usize {
        self.lock().timers()
    }

    pub(crate) fn close(&self) {
        let forgotten = self.lock().close();
        self.news.notify_all();
        drop(forgotten);
    }

    pub(crate) fn wait_quiet(&self, deadline: Instant) -> usize {
        let left = deadline.saturating_duration_since(Instant::now());
        let waited = self
            .news
            .wait_timeout_while(self.lock(), left, |schedule| schedule.running() > 0);
        waited.unwrap_or_else(PoisonError::into_inner).0.running()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Schedule> {
        lock(&self.schedule)
    }
}

/// `put_back` returns a cancelled timer. True if user code panicked.
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
        // A payload's drop or a subscriber may panic too; the thread survives.
        quietly(|| {
            let message = panic_message(&*payload);
            tracing::error!(message, "a maintenance task panicked");
        });
        quietly(|| drop(payload));
    }
    panicked
}

fn caught(call: impl FnOnce()) -> Option<Box<dyn Any + Send>> {
    as_work(Work::Maintenance, || catch_unwind(AssertUnwindSafe(call)).err())
}

fn quietly(call: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(call)) {
        std::mem::forget(payload);
    }
}
