//! Limits of waits for a store.

use std::time::Duration;

/// Limits of waits for a store and of retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The longest wait for a connection, an answer, or its next part.
    pub silence: Duration,
    /// Retries of a request after transient failures.
    pub retries: usize,
    /// No retry begins after this time.
    pub retry_for: Duration,
}

impl Default for Patience {
    /// 30 seconds, and three retries within two minutes.
    fn default() -> Self {
        Self {
            silence: Duration::from_secs(30),
            retries: 3,
            retry_for: Duration::from_secs(120),
        }
    }
}
