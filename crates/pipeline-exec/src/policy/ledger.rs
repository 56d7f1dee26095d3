//! What a job keeps beside its words: why it ended, who waits for it, what it will tell.
//!
//! One party at a time touches it ([`Exclusive`](executor_core::ports::Exclusive)), a few times in a job's life and not once a slot.

use std::collections::VecDeque;
use std::fmt;
use std::task::Waker;

use super::claim::Piece;
use super::tasks::Tasks;
use crate::error::{JobError, JobErrorKind, StepError};
use crate::mutant;

/// How a job ended: what is not in its words. Its report is made of both when somebody asks,
/// [`JobState::poll`](super::JobState::poll).
pub(crate) type Told = Result<Ran, Box<JobError>>;

/// When a job that completed ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    /// Nanoseconds from its submission to the first claim.
    pub(crate) wait_ns: u64,
    /// Nanoseconds from the first claim to the end.
    pub(crate) run_ns: u64,
}

/// The part of a job's state that is no word.
#[derive(Debug, Default)]
pub struct Ledger {
    started_ns: Option<u64>,
    closed: Option<CloseReason>,
    failure: Option<Box<Failure>>,
    returned: Returned,
    end: End,
    /// Of whoever awaits the ticket.
    waker: Option<Waker>,
    /// Of those who lend the job a thread, and found nothing to claim.
    sleepers: Vec<Waker>,
    /// The tasks of a job that grows.
    tasks: Option<Box<Tasks>>,
}

/// Why a job is closed before its last slot has run. The first reason counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// A slot, `slots` or `finish` failed.
    Failed,
    /// Somebody cancelled it.
    Cancelled,
    /// Its deadline has passed.
    DeadlineExceeded,
    /// The executor is shut down.
    Stopped,
}

/// A slot, a `slots` or a `finish` that failed.
pub struct Failure {
    /// Number of the stage.
    pub(crate) stage: usize,
    /// Number of the slot; `None` if it was the stage itself.
    pub(crate) slot: Option<usize>,
    /// What it is called.
    pub(crate) name: String,
    /// Whether it panicked.
    pub(crate) panicked: bool,
    /// What it said.
    pub(crate) error: StepError,
}

/// Claimed slots that were given back, for whoever claims next.
#[derive(Debug)]
enum Returned {
    Taken(VecDeque<Piece>),
    /// The job is closed: nobody will claim them.
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
    Told(Told),
    Taken(Option<JobErrorKind>),
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobStatus {
    /// No slot of it has been claimed yet.
    Queued,
    /// It runs, or has been stopped and its last slots still run.
    Running,
    /// Every slot has run and every stage has finished.
    Completed,
    /// It ended without completing.
    Ended(JobErrorKind),
}

impl Ledger {
    /// Why the job is closed, if it is.
    pub(crate) fn stopped(&self) -> Option<JobErrorKind> {
        Some(match self.closed? {
            CloseReason::Failed => JobErrorKind::Failed,
            CloseReason::Cancelled => JobErrorKind::Cancelled,
            CloseReason::DeadlineExceeded => JobErrorKind::DeadlineExceeded,
            CloseReason::Stopped => JobErrorKind::HandedBack,
        })
    }

    /// The ledger of a job that grows.
    pub(crate) fn grow(&mut self) {
        self.tasks = Some(Box::new(Tasks::new()));
    }

    /// The tasks of a job that grows.
    ///
    /// # Panics
    ///
    /// If the job does not grow.
    pub(crate) fn tasks(&mut self) -> &mut Tasks {
        self.tasks.as_mut().expect("only a job that grows has tasks")
    }

    /// Where the job stands.
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

    /// Takes the end out if there is one; if not, `waker` is woken once there is, and its predecessor is in its place. A waker may
    /// do anything when it is cloned or dropped, so neither happens in here.
    ///
    /// # Panics
    ///
    /// If it was taken before.
    pub(crate) fn poll(&mut self, waker: &mut Option<Waker>) -> Option<Told> {
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

    /// Notes the first claim. Whether it is the first.
    pub(crate) fn start(&mut self, now_ns: u64) -> bool {
        let first = self.started_ns.is_none();
        self.started_ns.get_or_insert(now_ns);
        first
    }

    /// Closes for `reason`, unless the job has ended or was closed before. Whether this is the reason that counts.
    pub(crate) fn close(&mut self, reason: CloseReason) -> bool {
        matches!(self.end, End::Pending) && *self.closed.get_or_insert(reason) == reason
    }

    /// Closes because of `failure`. Gives back a failure that does not count, so that it is dropped elsewhere.
    pub(crate) fn fail(&mut self, failure: Box<Failure>) -> Option<Box<Failure>> {
        if *self.closed.get_or_insert(CloseReason::Failed) != CloseReason::Failed {
            return Some(failure);
        }
        match &mut self.failure {
            Some(first) if first.place() <= failure.place() => Some(failure),
            first => first.replace(failure),
        }
    }

    /// Keeps pieces for whoever claims next.
    ///
    /// # Errors
    ///
    /// The pieces, if the job is closed: the caller accounts for them.
    pub(crate) fn give_back(&mut self, pieces: Vec<Piece>) -> Result<(), Vec<Piece>> {
        match &mut self.returned {
            Returned::Taken(kept) => {
                kept.extend(pieces);
                Ok(())
            }
            Returned::Refused if mutant::m67_given_back_to_a_closed_job() => Ok(()),
            Returned::Refused => Err(pieces),
        }
    }

    /// A piece that was given back. `None` if somebody who closed the job came first.
    pub(crate) fn take_returned(&mut self) -> Option<Piece> {
        match &mut self.returned {
            Returned::Taken(kept) if mutant::m68_returned_piece_stays() => kept.front().cloned(),
            Returned::Taken(kept) => kept.pop_front(),
            Returned::Refused => None,
        }
    }

    /// Nothing is given back any more. What was and nobody has taken is the caller's to account for, who has closed the job.
    pub(crate) fn refuse_returned(&mut self) -> VecDeque<Piece> {
        match std::mem::replace(&mut self.returned, Returned::Refused) {
            Returned::Taken(kept) => kept,
            Returned::Refused => VecDeque::new(),
        }
    }

    /// When the first claim was, and what the job ends with.
    pub(crate) fn sum_up(&mut self, untouched: bool) -> (Option<u64>, Option<JobError>) {
        (self.started_ns, self.error(untouched))
    }

    /// What the job ends with; `untouched` if nothing of it was ever claimed. `None`: it completed.
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

    /// Notes the end and gives those who wait for it: with the ticket, and as sleepers.
    pub(crate) fn tell(&mut self, end: Told) -> (Option<Waker>, Vec<Waker>) {
        debug_assert!(matches!(self.end, End::Pending), "a job ended twice");
        self.end = End::Told(end);
        (self.waker.take(), self.take_sleepers())
    }

    /// Registers somebody who lends the job a thread and is about to sleep. `true` if the job has ended, and there is nothing to wait
    /// for.
    pub(crate) fn await_news(&mut self, waker: &Waker) -> bool {
        if !matches!(self.end, End::Pending) {
            return true;
        }
        if !self.sleepers.iter().any(|known| known.will_wake(waker)) {
            self.sleepers.push(waker.clone());
        }
        false
    }

    /// Takes out those who registered.
    pub(crate) fn take_sleepers(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.sleepers)
    }
}

impl Failure {
    /// Failures are compared by where they happened. A stage's own come after those of its slots.
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
