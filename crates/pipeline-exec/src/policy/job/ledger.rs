//! The part of a job's state that is under a lock: why it ended, which parties wait, what its
//! ticket says. It is touched a few times in a job's life, and never once for each slot.

use std::collections::VecDeque;
use std::fmt;
use std::task::Waker;

use super::claim::Piece;
use super::tasks::Tasks;
use crate::error::{JobError, JobErrorKind, StepError};

pub(crate) type Outcome = Result<JobTimes, Box<JobError>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JobTimes {
    pub(crate) wait_ns: u64,
    pub(crate) run_ns: u64,
}

#[derive(Debug, Default)]
pub struct Ledger {
    started_ns: Option<u64>,
    closed: Option<CloseReason>,
    failure: Option<Box<Failure>>,
    returned: Returned,
    end: End,
    waker: Option<Waker>,
    /// Wakers of sleeping helpers.
    sleepers: Vec<Waker>,
    tasks: Option<Box<Tasks>>,
}

/// Why a job was closed before its last slot ran. The first reason counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    Failed,
    Cancelled,
    DeadlineExceeded,
    Stopped,
}

pub struct Failure {
    pub(crate) stage: usize,
    pub(crate) slot: Option<usize>,
    pub(crate) name: String,
    pub(crate) panicked: bool,
    pub(crate) error: StepError,
}

#[derive(Debug)]
enum Returned {
    Taken(VecDeque<Piece>),
    Refused,
}

impl Default for Returned {
    fn default() -> Self {
        Self::Taken(VecDeque::new())
    }
}

#[derive(Debug, Default)]
enum End {
    #[default]
    Pending,
    Told(Outcome),
    Taken(Option<JobErrorKind>),
}

/// How far a job has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobStatus {
    /// No slot has been claimed yet.
    Queued,
    /// Slots run, or were running when the job was closed.
    Running,
    /// Every slot has run and every stage has finished.
    Completed,
    /// It ended without completing.
    Ended(JobErrorKind),
}

impl Ledger {
    pub(crate) fn stopped(&self) -> Option<JobErrorKind> {
        Some(match self.closed? {
            CloseReason::Failed => JobErrorKind::Failed,
            CloseReason::Cancelled => JobErrorKind::Cancelled,
            CloseReason::DeadlineExceeded => JobErrorKind::DeadlineExceeded,
            CloseReason::Stopped => JobErrorKind::HandedBack,
        })
    }

    pub(crate) fn grow(&mut self) {
        self.tasks = Some(Box::new(Tasks::new()));
    }

    pub(crate) fn tasks(&mut self) -> &mut Tasks {
        self.tasks.as_mut().expect("only a job that grows has tasks")
    }

    #[must_use]
    pub fn status(&self) -> JobStatus {
        match &self.end {
            End::Pending if self.started_ns.is_none() => JobStatus::Queued,
            End::Pending => JobStatus::Running,
            End::Told(Err(error)) => JobStatus::Ended(error.kind),
            End::Told(Ok(_)) => JobStatus::Completed,
            End::Taken(kind) => kind.map_or(JobStatus::Completed, JobStatus::Ended),
        }
    }

    /// Takes the end out. Before the end, swaps `waker` with the registered one, which the caller
    /// drops outside the lock.
    pub(crate) fn poll(&mut self, waker: &mut Option<Waker>) -> Option<Outcome> {
        match std::mem::take(&mut self.end) {
            End::Pending => {
                std::mem::swap(&mut self.waker, waker);
                None
            }
            End::Told(end) => {
                self.end = End::Taken(end.as_ref().err().map(|error| error.kind));
                Some(end)
            }
            taken @ End::Taken(_) => {
                self.end = taken;
                panic!("a job's ticket was polled after it had told how the job ended")
            }
        }
    }

    pub(crate) fn start(&mut self, now_ns: u64) -> bool {
        let first = self.started_ns.is_none();
        self.started_ns.get_or_insert(now_ns);
        first
    }

    /// Returns whether `reason` counts.
    pub(crate) fn note_reason(&mut self, reason: CloseReason) -> bool {
        matches!(self.end, End::Pending) && *self.closed.get_or_insert(reason) == reason
    }

    /// Returns a failure that does not count; the caller drops it outside the lock.
    pub(crate) fn fail(&mut self, failure: Box<Failure>) -> Option<Box<Failure>> {
        if *self.closed.get_or_insert(CloseReason::Failed) != CloseReason::Failed {
            return Some(failure);
        }
        match &mut self.failure {
            Some(first) if first.place() <= failure.place() => Some(failure),
            first => first.replace(failure),
        }
    }

    /// Returns the pieces if the job is closed; the caller then accounts for them.
    pub(crate) fn give_back(&mut self, pieces: Vec<Piece>) -> Result<(), Vec<Piece>> {
        match &mut self.returned {
            Returned::Taken(kept) => {
                kept.extend(pieces);
                Ok(())
            }
            Returned::Refused => Err(pieces),
        }
    }

    /// Returns `None` if a closer came first.
    pub(crate) fn take_returned(&mut self) -> Option<Piece> {
        match &mut self.returned {
            Returned::Taken(kept) => kept.pop_front(),
            Returned::Refused => None,
        }
    }

    /// The closer accounts for the returned pieces.
    pub(crate) fn refuse_returned(&mut self) -> VecDeque<Piece> {
        match std::mem::replace(&mut self.returned, Returned::Refused) {
            Returned::Taken(kept) => kept,
            Returned::Refused => VecDeque::new(),
        }
    }

    pub(crate) fn sum_up(&mut self, untouched: bool) -> (Option<u64>, Option<JobError>) {
        (self.started_ns, self.error(untouched))
    }

    fn error(&mut self, untouched: bool) -> Option<JobError> {
        let kind = match self.closed? {
            CloseReason::Failed => {
                return Some(match self.failure.take() {
                    Some(failure) => failure.into_error(),
                    None => JobError::plain(JobErrorKind::Failed),
                });
            }
            CloseReason::Cancelled => JobErrorKind::Cancelled,
            CloseReason::DeadlineExceeded => JobErrorKind::DeadlineExceeded,
            CloseReason::Stopped if untouched => JobErrorKind::HandedBack,
            CloseReason::Stopped => JobErrorKind::Cancelled,
        };
        Some(JobError::plain(kind))
    }

    pub(crate) fn tell(&mut self, end: Outcome) -> (Option<Waker>, Vec<Waker>) {
        debug_assert!(matches!(self.end, End::Pending), "a job ended twice");
        self.end = End::Told(end);
        (self.waker.take(), self.take_sleepers())
    }

    /// Returns whether the job has ended.
    pub(crate) fn await_news(&mut self, waker: &Waker) -> bool {
        if !matches!(self.end, End::Pending) {
            return true;
        }
        if !self.sleepers.iter().any(|known| known.will_wake(waker)) {
            self.sleepers.push(waker.clone());
        }
        false
    }

    pub(crate) fn take_sleepers(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.sleepers)
    }
}

impl Failure {
    /// The failure with the lowest place is reported; a stage's own comes after those of its slots.
    fn place(&self) -> (usize, usize) {
        (self.stage, self.slot.unwrap_or(usize::MAX))
    }

    pub(crate) fn into_error(self) -> JobError {
        JobError {
            kind: if self.panicked {
                JobErrorKind::Panicked
            } else {
                JobErrorKind::Failed
            },
            step: Some(self.name),
            slot: self.slot,
            source: Some(self.error.into_source()),
        }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("stage", &self.stage)
            .field("slot", &self.slot)
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_debug_form_of_a_failure_says_where_and_what() {
        let failure = Failure {
            stage: 2,
            slot: Some(5),
            name: "cities".to_owned(),
            panicked: false,
            error: StepError::from("no luck"),
        };
        let shown = format!("{failure:?}");
        for part in ["stage: 2", "slot: Some(5)", "no luck"] {
            assert!(shown.contains(part), "`{part}` is not in {shown}");
        }
    }
}
