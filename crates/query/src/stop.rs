//! What stops work: a cancelled token, or a deadline that has passed.
//!
//! ```text
//!   caller's token ──► child token ──► every wait of the work ends
//!   one timer ────────────┘
//! ```
//!
//! Each run has a child token and a timer of its own, so runs under one token do not affect each other.

use std::future::Future;
use std::time::Instant;

use pools::{Delayed, MaintenancePool};
use tokio_util::sync::CancellationToken;

use crate::error::QueryError;

/// Stops one run of work.
#[derive(Debug)]
pub(crate) struct Stop {
    caller: CancellationToken,
    token: CancellationToken,
    deadline: Option<Instant>,
    /// Cancels `token` at the deadline.
    _timer: Option<Delayed>,
}

impl Stop {
    /// Arms the timer, if there is a deadline.
    ///
    /// # Errors
    ///
    /// When the run is stopped already, or the pool takes no timer.
    pub(crate) fn arm(
        caller: &CancellationToken,
        deadline: Option<Instant>,
        timers: &MaintenancePool,
    ) -> Result<Self, QueryError> {
        let mut stop = Self {
            caller: caller.clone(),
            token: caller.child_token(),
            deadline,
            _timer: None,
        };
        stop.check()?;
        if let Some(deadline) = deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            let token = stop.token.clone();
            let timer = timers.after(left, move || token.cancel());
            stop._timer = Some(timer.map_err(|error| QueryError::Unavailable {
                message: format!("the deadline cannot be watched: {error}"),
            })?);
        }
        Ok(stop)
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Whether the deadline has passed.
    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }

    /// # Errors
    ///
    /// Why the run is stopped, if it is; also when the deadline has passed and the timer is late.
    pub(crate) fn check(&self) -> Result<(), QueryError> {
        match self.token.is_cancelled() || self.is_late() {
            true => Err(self.why()),
            false => Ok(()),
        }
    }

    /// Why the run is stopped. A cancel wins over a deadline.
    pub(crate) fn why(&self) -> QueryError {
        match !self.caller.is_cancelled() && self.is_late() {
            true => QueryError::DeadlineExceeded,
            false => QueryError::Cancelled,
        }
    }

    /// Waits for `future`, but not longer than until the run is stopped.
    ///
    /// # Errors
    ///
    /// Why the run is stopped.
    pub(crate) async fn unless_stopped<F: Future>(&self, future: F) -> Result<F::Output, QueryError> {
        let output = self.token.run_until_cancelled(future).await;
        output.ok_or_else(|| self.why())
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::time::Duration;

    use pools::Pools;

    use super::*;

    /// How a wait without end under this stop ends.
    fn waited(pools: &Pools, stop: &Stop) -> QueryError {
        let waited = pools.mixed().block_on(stop.unless_stopped(pending::<()>()));
        waited.expect("a plain thread").expect_err("it is stopped")
    }

    #[test]
    fn one_token_stops_two_runs_and_a_deadline_stops_its_own_run_only() {
        let pools = Pools::builder().build().expect("defaults are in range");
        let caller = CancellationToken::new();
        let soon = Instant::now() + Duration::from_millis(5);
        let late = Stop::arm(&caller, Some(soon), &pools.maintenance()).expect("it may run");
        let others = [0, 1].map(|_| Stop::arm(&caller, None, &pools.maintenance()).expect("it may run"));
        assert!(matches!(waited(&pools, &late), QueryError::DeadlineExceeded));
        for other in &others {
            other.check().expect("the deadline is not its own");
        }
        caller.cancel();
        for other in &others {
            assert!(matches!(waited(&pools, other), QueryError::Cancelled));
        }
    }

    #[test]
    fn a_deadline_is_one_timer_of_the_callers_pools_until_the_run_ends() {
        let pools = Pools::builder().build().expect("defaults are in range");
        let timers = || pools.maintenance().snapshot();
        let deadline = Instant::now() + Duration::from_secs(3_600);
        let token = CancellationToken::new();
        let stop = Stop::arm(&token, Some(deadline), &pools.maintenance()).expect("there is an hour");
        assert_eq!(timers().repeating, 1);
        drop(stop);
        assert_eq!(timers().repeating, 0);

        let soon = Instant::now() + Duration::from_millis(1);
        let stop = Stop::arm(&token, Some(soon), &pools.maintenance());
        if let Ok(stop) = &stop {
            assert!(matches!(waited(&pools, stop), QueryError::DeadlineExceeded));
        }
        // The run has not ended, and its timer ran once.
        std::thread::sleep(Duration::from_millis(20));
        assert!(timers().ran <= 1, "{:?}", timers());
        assert_eq!(timers().repeating, 0);
    }

    #[test]
    fn nothing_begins_after_a_cancel_or_a_deadline() {
        let pools = Pools::builder().build().expect("defaults are in range");
        let token = CancellationToken::new();
        let late = Stop::arm(&token, Some(Instant::now()), &pools.maintenance());
        assert!(matches!(late, Err(QueryError::DeadlineExceeded)), "{late:?}");
        token.cancel();
        let cancelled = Stop::arm(&token, Some(Instant::now()), &pools.maintenance());
        assert!(matches!(cancelled, Err(QueryError::Cancelled)), "{cancelled:?}");
    }
}
