//! A layer's verdict on a build with a bug.

use std::time::Duration;

use crate::process::Limit;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) killed: bool,
    /// The test, oracle or model that noticed, or a summary of those that did not.
    pub(super) how: String,
}

impl Verdict {
    pub(super) fn killed(how: String) -> Self {
        Self { killed: true, how }
    }

    pub(super) fn survived(how: String) -> Self {
        Self { killed: false, how }
    }

    /// The matrix cell: the killer, or a dash and what ran in vain.
    pub(super) fn cell(&self) -> String {
        if self.killed {
            self.how.clone()
        } else {
            format!("– ({})", self.how)
        }
    }
}

/// A limit of `seconds` from now: a bug may make a program spin.
pub(super) fn limit(seconds: u64) -> Limit {
    Limit::of(Duration::from_secs(seconds))
}
