//! How long a store is waited for, and how often it is asked.

use std::time::Duration;

/// How long a store is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The longest wait for a connection, an answer, or the next part of it.
    pub silence: Duration,
    /// Retries of a request after failures that may pass.
    pub retries: usize,
    /// No retry begins after this time.
    pub retry_for: Duration,
}

impl Default for Patience {
    /// 30 seconds; three more requests, within two minutes.
    fn default() -> Self {
        Self {
            silence: Duration::from_secs(30),
            retries: 3,
            retry_for: Duration::from_secs(120),
        }
    }
}
