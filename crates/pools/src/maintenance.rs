//! Runs housekeeping on a few threads, which start on demand and stop when idle. A process may end
//! while one of them runs.

mod schedule;
pub(crate) mod state;

use std::fmt;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use crate::error::{MaintenanceError, PoolKind};
use crate::inner::Inner;
use crate::snapshot::MaintenanceSnapshot;
use crate::thread::refuse_cpu;
use state::MaintenanceState;

/// Runs housekeeping, at once or at intervals.
#[derive(Clone, Debug)]
pub struct MaintenancePool {
    pub(crate) inner: Arc<Inner>,
}

impl MaintenancePool {
    /// Runs a task soon. A panic in it is counted and logged.
    ///
    /// # Errors
    ///
    /// In a CPU task, after a shutdown, or if the pool has no thread and cannot start one.
    pub fn spawn(&self, task: impl FnOnce() + Send + 'static) -> Result<(), MaintenanceError> {
        refuse_cpu(PoolKind::Maintenance)?;
        MaintenanceState::add(&self.inner.maintenance, |schedule| {
            schedule.push(Box::new(task), Instant::now());
        })
    }

    /// Runs a task every `period`, first after one, until the guard is dropped. A late run skips
    /// those that were due meanwhile.
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

    /// Returns the pool's counters.
    #[must_use]
    pub fn snapshot(&self) -> MaintenanceSnapshot {
        self.inner.maintenance.lock().snapshot()
    }
}

/// Ends a task's repetition when dropped.
#[must_use = "dropping it ends the repetition"]
pub struct Repeating {
    state: Arc<MaintenanceState>,
    number: Option<u64>,
}

/// A [wake-up](crate::Pools::wake_at) to come; a drop revokes it.
#[derive(Debug)]
#[must_use = "dropping it revokes the wake-up"]
pub struct Delayed {
    _timer: Repeating,
}

impl Delayed {
    pub(crate) fn set(
        clock: &Arc<MaintenanceState>,
        at: Instant,
        waker: Waker,
    ) -> Result<Self, MaintenanceError> {
        let mut number = 0;
        MaintenanceState::add(clock, |schedule| {
            number = schedule.once(at, Box::new(move || waker.wake_by_ref()));
        })?;
        Ok(Self {
            _timer: Repeating {
                state: Arc::clone(clock),
                number: Some(number),
            },
        })
    }
}

impl Repeating {
    /// Lets the task repeat until the pool ends.
    pub fn detach(mut self) {
        self.number = None;
    }
}

impl Drop for Repeating {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let task = self.state.lock().cancel(number);
            // User code, so outside the lock.
            drop(task);
        }
    }
}

impl fmt::Debug for Repeating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repeating").finish_non_exhaustive()
    }
}
