//! The three pools together, and their shutdown.

use std::fmt;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use crate::cpu::CpuPool;
use crate::error::{MaintenanceError, WrongPool};
use crate::inner::Inner;
use crate::maintenance::{Delayed, MaintenancePool};
use crate::mixed::MixedPool;
use crate::shutdown::{self, ShutdownReport};
use crate::snapshot::PoolsSnapshot;

/// Three pools: [mixed](MixedPool), [CPU](CpuPool), [maintenance](MaintenancePool). Clones share
/// them.
///
/// Dropping the last handle to any ends all: mixed tasks end at their next await, running CPU
/// closures are waited for (in async code by another thread), other CPU tasks never start, and
/// maintenance is left behind. [`shutdown`](Self::shutdown) ends them in order.
#[derive(Clone)]
pub struct Pools {
    pub(crate) inner: Arc<Inner>,
}

impl Pools {
    /// Returns the pool for work that may block.
    #[must_use]
    pub fn mixed(&self) -> MixedPool {
        MixedPool {
            inner: Arc::clone(&self.inner),
        }
    }

    /// Returns the pool for work that computes.
    #[must_use]
    pub fn cpu(&self) -> CpuPool {
        CpuPool {
            inner: Arc::clone(&self.inner),
        }
    }

    /// Returns the pool for housekeeping.
    #[must_use]
    pub fn maintenance(&self) -> MaintenancePool {
        MaintenancePool {
            inner: Arc::clone(&self.inner),
        }
    }

    /// Wakes `waker` at `at`, unless the guard is dropped before. Its thread runs no work of the
    /// pools, so it is in time.
    ///
    /// ```
    /// use std::sync::{Arc, mpsc};
    /// use std::task::Wake;
    /// use std::time::Instant;
    /// use pools::Pools;
    ///
    /// struct Rings(mpsc::Sender<()>);
    ///
    /// impl Wake for Rings {
    ///     fn wake(self: Arc<Self>) {
    ///         self.0.send(()).expect("the receiver is there");
    ///     }
    /// }
    ///
    /// let pools = Pools::builder().build()?;
    /// let (send, rung) = mpsc::channel();
    /// let alarm = pools.wake_at(Instant::now(), Arc::new(Rings(send)).into())?;
    /// rung.recv()?;
    /// drop(alarm);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// After a shutdown, or if the thread cannot start.
    pub fn wake_at(&self, at: Instant, waker: Waker) -> Result<Delayed, MaintenanceError> {
        Delayed::set(&self.inner.clock, at, waker)
    }

    /// Returns the counters of all pools.
    #[must_use]
    pub fn snapshot(&self) -> PoolsSnapshot {
        PoolsSnapshot {
            mixed: self.mixed().snapshot(),
            cpu: self.cpu().snapshot(),
            maintenance: self.maintenance().snapshot(),
            wake_ups: self.inner.clock.timers(),
        }
    }

    /// Ends the pools in order, and blocks for about `timeout` at most: the mixed pool closes and
    /// is waited for, since its tasks may still compute; CPU work is drained; what remains is
    /// aborted or left behind.
    ///
    /// ```
    /// use std::time::Duration;
    /// use pools::{CpuError, Pools};
    ///
    /// let pools = Pools::builder().cpu_threads(1).build()?;
    /// let task = pools.cpu().run(|_cx| 1);
    /// assert!(pools.shutdown(Duration::from_secs(60))?.is_clean());
    /// assert_eq!(task.wait()?, 1);
    /// assert!(matches!(pools.cpu().run(|_cx| 2).wait(), Err(CpuError::Closed)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Async code calls it in `tokio::task::spawn_blocking`.
    ///
    /// # Errors
    ///
    /// In work of a pool, destructors included, since it would wait for itself. No pool ends then.
    pub fn shutdown(&self, timeout: Duration) -> Result<ShutdownReport, WrongPool> {
        shutdown::shut_down(&self.inner, Instant::now(), timeout)
    }
}

impl fmt::Debug for Pools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pools")
            .field("snapshot", &self.snapshot())
            .finish_non_exhaustive()
    }
}
