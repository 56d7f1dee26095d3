//! Counts of jobs, activities and times.

use std::time::Duration;

use executor_core::{TimeHistogram, thousands};

/// Numbers of jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobCounts {
    /// Admitted.
    pub submitted: u64,
    /// Refused by a full executor; a job that waits for room is not refused.
    pub refused_full: u64,
    /// Completed.
    pub completed: u64,
    /// Failed by an error.
    pub failed: u64,
    /// Failed by a panic.
    pub panicked: u64,
    /// Cancelled by a caller, or by a shutdown while they ran.
    pub cancelled: u64,
    /// Closed by their deadline.
    pub deadline_exceeded: u64,
    /// Returned by a shutdown.
    pub handed_back: u64,
}

/// What one worker did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Activity {
    /// Slots run in the main role, failed ones included.
    pub slots_main: u64,
    /// Slots run in the reserve role.
    pub slots_reserve: u64,
    /// Slots run by helpers.
    pub slots_lent: u64,
    /// Slots run by spare threads.
    pub slots_spare: u64,
    /// Claims of slots.
    pub claims: u64,
    /// Visits of jobs.
    pub visits: u64,
    /// Jobs that ended on it.
    pub jobs_ended: u64,
    /// Time in jobs in the main role, a worker's current visit included.
    pub busy_main: Duration,
    /// Time in jobs in the reserve role.
    pub busy_reserve: Duration,
    /// Time of helpers in jobs, counted when they leave.
    pub busy_lent: Duration,
    /// Time of spare threads in jobs, counted when they leave.
    pub busy_spare: Duration,
}

/// How long jobs took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Times {
    /// From submission to the first claim, or to the end if there was none.
    pub wait: TimeHistogram,
    /// From the first claim to the end, in whatever way the job ended.
    pub run: TimeHistogram,
}

impl JobCounts {
    /// Number of jobs that have ended, in any way.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.ends().into_iter().map(|(count, _)| count).sum()
    }

    pub(super) fn ends(&self) -> [(u64, &'static str); 6] {
        [
            (self.completed, "completed"),
            (self.failed, "failed"),
            (self.panicked, "panicked"),
            (self.cancelled, "cancelled"),
            (self.deadline_exceeded, "past their deadlines"),
            (self.handed_back, "handed back"),
        ]
    }

    pub(super) fn each(&self, other: &Self, with: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            submitted: with(self.submitted, other.submitted),
            refused_full: with(self.refused_full, other.refused_full),
            completed: with(self.completed, other.completed),
            failed: with(self.failed, other.failed),
            panicked: with(self.panicked, other.panicked),
            cancelled: with(self.cancelled, other.cancelled),
            deadline_exceeded: with(self.deadline_exceeded, other.deadline_exceeded),
            handed_back: with(self.handed_back, other.handed_back),
        }
    }
}

impl Activity {
    /// Slots run in all roles.
    #[must_use]
    pub fn slots(&self) -> u64 {
        self.slots_main + self.slots_reserve + self.slots_lent + self.slots_spare
    }

    /// Time in jobs in all roles.
    #[must_use]
    pub fn busy(&self) -> Duration {
        self.busy_main + self.busy_reserve + self.busy_lent + self.busy_spare
    }

    pub(super) fn since(&self, earlier: &Self) -> Self {
        self.each(earlier, u64::saturating_sub, Duration::saturating_sub)
    }

    pub(super) fn and(&self, other: &Self) -> Self {
        self.each(other, u64::saturating_add, Duration::saturating_add)
    }

    pub(super) fn each(
        &self,
        other: &Self,
        with: impl Fn(u64, u64) -> u64,
        time: impl Fn(Duration, Duration) -> Duration,
    ) -> Self {
        Self {
            slots_main: with(self.slots_main, other.slots_main),
            slots_reserve: with(self.slots_reserve, other.slots_reserve),
            slots_lent: with(self.slots_lent, other.slots_lent),
            slots_spare: with(self.slots_spare, other.slots_spare),
            claims: with(self.claims, other.claims),
            visits: with(self.visits, other.visits),
            jobs_ended: with(self.jobs_ended, other.jobs_ended),
            busy_main: time(self.busy_main, other.busy_main),
            busy_reserve: time(self.busy_reserve, other.busy_reserve),
            busy_lent: time(self.busy_lent, other.busy_lent),
            busy_spare: time(self.busy_spare, other.busy_spare),
        }
    }

    pub(super) fn row(&self, name: String, role: &str) -> [String; 9] {
        [
            name,
            role.to_owned(),
            thousands(self.slots()),
            thousands(self.slots_main),
            thousands(self.slots_reserve),
            thousands(self.claims),
            thousands(self.visits),
            thousands(self.jobs_ended),
            format!("{:.1?}", self.busy()),
        ]
    }
}
