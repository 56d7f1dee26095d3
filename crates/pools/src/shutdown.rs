//! Ends mixed work first, since it feeds the others, then CPU, then maintenance.

use std::fmt;
use std::time::{Duration, Instant};

use crate::error::{PoolKind, WrongPool};
use crate::inner::Inner;
use crate::moment::after;
use crate::thread::pool_here;

/// What was left at the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "it says whether anything was cut short"]
pub struct ShutdownReport {
    /// Mixed tasks, which end at their next await, and blocking calls left behind.
    pub mixed_left: usize,
    /// Cancelled CPU jobs.
    pub cpu_left: usize,
    /// Maintenance tasks left behind.
    pub maintenance_left: usize,
    /// Duration of the shutdown.
    pub took: Duration,
}

impl ShutdownReport {
    /// Returns whether everything ended by itself.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.mixed_left + self.cpu_left + self.maintenance_left == 0
    }
}

impl fmt::Display for ShutdownReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            mixed_left,
            cpu_left,
            maintenance_left,
            took,
        } = self;
        write!(
            f,
            "left after {took:?}: {mixed_left} mixed, {cpu_left} CPU, {maintenance_left} maintenance"
        )
    }
}

pub(crate) fn shut_down(inner: &Inner, now: Instant, timeout: Duration) -> Result<ShutdownReport, WrongPool> {
    if let Some(from) = pool_here() {
        return Err(WrongPool {
            from,
            to: PoolKind::Mixed,
        });
    }
    let deadline = after(now, timeout);
    inner.mixed.gate.close();
    let mixed_left = inner.mixed.gate.wait_empty(deadline);
    let cpu_left = inner.cpu.end_by(deadline);
    if mixed_left > 0 {
        inner.mixed.gate.abort_all();
    }
    inner.mixed.end();
    inner.maintenance.close();
    let maintenance_left = inner.maintenance.wait_quiet(deadline);
    inner.clock.close();
    Ok(ShutdownReport {
        mixed_left,
        cpu_left,
        maintenance_left,
        took: now.elapsed(),
    })
}
