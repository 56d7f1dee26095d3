//! What a layer said about a build with a bug.

use std::time::Duration;

use crate::process::Limit;

/// Whether a layer noticed, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) killed: bool,
    /// Which test, oracle or model, or what all of them made of it.
    pub(super) how: String,
}

impl Verdict {
    pub(super) fn killed(how: String) -> Self {
        Self { killed: true, how }
    }

    pub(super) fn survived(how: String) -> Self {
        Self { killed: false, how }
    }

    /// The cell in the matrix: who noticed, or a dash and what was run in vain.
    pub(super) fn cell(&self) -> String {
        if self.killed {
            self.how.clone()
        } else {
            format!("– ({})", self.how)
        }
    }
}

/// So many seconds from now on. A bug may make a program spin.
pub(super) fn limit(seconds: u64) -> Limit {
    Limit::of(Duration::from_secs(seconds))
}
