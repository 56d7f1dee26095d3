//! Stops work when a token is cancelled or a deadline has passed.
//!
//! ```text
//!   caller's token ──► child token ──► every wait of the work ends
//!   one timer ────────────┘
//! ```
//!
//! Runs under one token do not affect each other.

use std::future::Future;
use std::sync::Arc;
use std::task::Wake;
use std::time::Instant;

use pools::{Delayed, Pools};
use tokio_util::sync::CancellationToken;

use crate::error::QueryError;

#[derive(Debug)]
pub(crate) struct Stop {
    caller: CancellationToken,
    token: CancellationToken,
    deadline: Option<Instant>,
    _timer: Option<Delayed>,
}

impl Stop {
    /// An error means that the run is stopped already, or the pools have no clock.
    pub(crate) fn arm(
        caller: &CancellationToken,
        deadline: Option<Instant>,
        pools: &Pools,
    ) -> Result<Self, QueryError> {
        let mut stop = Self {
            caller: caller.clone(),
            token: caller.child_token(),
            deadline,
            _timer: None,
        };
        stop.check()?;
        if let Some(deadline) = deadline {
            let cancels = Arc::new(Cancels(stop.token.clone()));
            let timer = pools.wake_at(deadline, cancels.into());
            stop._timer = Some(timer.map_err(|error| QueryError::Unavailable {
                message: format!("the deadline cannot be watched: {error}"),
            })?);
        }
        Ok(stop)
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn is_past_deadline(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }

    /// Also finds a deadline that has passed while the timer is late.
    pub(crate) fn check(&self) -> Result<(), QueryError> {
        match self.token.is_cancelled() || self.is_past_deadline() {
            true => Err(self.why()),
            false => Ok(()),
        }
    }

    /// A cancel wins over a deadline.
    pub(crate) fn why(&self) -> QueryError {
        match !self.caller.is_cancelled() && self.is_past_deadline() {
            true => QueryError::DeadlineExceeded,
            false => QueryError::Cancelled,
        }
    }

    pub(crate) async fn unless_stopped<F: Future>(&self, future: F) -> Result<F::Output, QueryError> {
        let output = self.token.run_until_cancelled(future).await;
        output.ok_or_else(|| self.why())
    }
}

struct Cancels(CancellationToken);

impl Wake for Cancels {
    fn wake(self: Arc<Self>) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::time::Duration;

    use super::*;

    fn waited(pools: &Pools, stop: &Stop) -> QueryError {
        let waited = pools.mixed().block_on(stop.unless_stopped(pending::<()>()));
        waited.expect("a plain thread").expect_err("it is stopped")
    }

    #[test]
    fn one_token_stops_two_runs_and_a_deadline_stops_its_own_run_only() {
        let pools = Pools::builder().build().expect("defaults are in range");
        let caller = CancellationToken::new();
        let soon = Instant::now() + Duration::from_millis(5);
        let late = Stop::arm(&caller, Some(soon), &pools).expect("it may run");
        let others = [0, 1].map(|_| Stop::arm(&caller, None, &pools).expect("it may run"));
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
        let wake_ups = || pools.snapshot().wake_ups;
        let deadline = Instant::now() + Duration::from_secs(3_600);
        let token = CancellationToken::new();
        let stop = Stop::arm(&token, Some(deadline), &pools).expect("there is an hour");
        assert_eq!(wake_ups(), 1);
        drop(stop);
        assert_eq!(wake_ups(), 0);

        let soon = Instant::now() + Duration::from_millis(1);
        let stop = Stop::arm(&token, Some(soon), &pools);
        if let Ok(stop) = &stop {
            assert!(matches!(waited(&pools, stop), QueryError::DeadlineExceeded));
        }
        while wake_ups() > 0 {
            std::thread::yield_now();
        }
    }

    #[test]
    fn nothing_begins_after_a_cancel_or_a_deadline() {
        let pools = Pools::builder().build().expect("defaults are in range");
        let token = CancellationToken::new();
        let late = Stop::arm(&token, Some(Instant::now()), &pools);
        assert!(matches!(late, Err(QueryError::DeadlineExceeded)), "{late:?}");
        token.cancel();
        let cancelled = Stop::arm(&token, Some(Instant::now()), &pools);
        assert!(matches!(cancelled, Err(QueryError::Cancelled)), "{cancelled:?}");
    }
}
