//! Admission: jobs stay within the capacity, and a refusal has a reason.
//!
//! A job holds a place in the table from submission to end. The oracle counts submissions under way
//! and jobs whose end was not reported: never fewer than the policy. A run fails when
//!
//! - the table, which has places to spare, holds more jobs than the capacity;
//! - a job is refused as full although that count was below the capacity throughout its submission;
//! - a job is refused as closed before a close or shutdown began, or accepted by a submission that
//!   began after the gate closed;
//! - an actor claims in a search that began after a shutdown.

use std::collections::BTreeSet;

use super::{Oracle, Violation};

#[derive(Debug)]
pub(crate) struct AdmissionOracle {
    capacity: usize,
    in_flight: usize,
    calls: Vec<Call>,
    closing: bool,
    closed: bool,
    stopping: bool,
    /// A shutdown is visible to all actors; before, it may be visible.
    stops: bool,
    /// Actors whose search for a job began since.
    late: BTreeSet<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    actor: usize,
    in_flight: bool,
    /// The most other jobs that may have been in flight since it began.
    most: usize,
    began_closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Admitted,
    Full,
    Closed,
    Stopped,
}

impl AdmissionOracle {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            in_flight: 0,
            calls: Vec::new(),
            closing: false,
            closed: false,
            stopping: false,
            stops: false,
            late: BTreeSet::new(),
        }
    }

    pub(crate) fn call_began(&mut self, actor: usize) {
        self.calls.push(Call {
            actor,
            in_flight: false,
            most: 0,
            began_closed: self.closed,
        });
        self.note_most();
    }

    pub(crate) fn submitted(&mut self, actor: usize, in_table: usize) -> Result<(), Violation> {
        if let Some(call) = self.calls.iter_mut().find(|call| call.actor == actor) {
            call.in_flight = true;
        }
        self.in_flight += 1;
        if in_table > self.capacity {
            return Err(violation(format!(
                "{in_table} jobs are in flight, and the capacity is {}",
                self.capacity
            )));
        }
        Ok(())
    }

    pub(crate) fn ended(&mut self) {
        self.in_flight -= 1;
    }

    pub(crate) fn closes(&mut self, stopping: bool) {
        self.closing = true;
        self.stopping |= stopping;
    }

    pub(crate) fn stops(&mut self) {
        self.stops = true;
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping
    }

    pub(crate) fn scan_began(&mut self, actor: usize) {
        if self.stops {
            self.late.insert(actor);
        }
    }

    pub(crate) fn claimed(&self, actor: usize) -> Result<(), Violation> {
        if self.late.contains(&actor) {
            return Err(violation(format!(
                "actor {actor} went into a job that it looked for after the shutdown had begun"
            )));
        }
        Ok(())
    }

    pub(crate) fn closed(&mut self) {
        self.closed = true;
    }

    pub(crate) fn call_ended(&mut self, actor: usize, answer: Answer) -> Result<(), Violation> {
        let Some(place) = self.calls.iter().position(|call| call.actor == actor) else {
            return Err(violation(format!(
                "actor {actor} was told {answer:?} without a question"
            )));
        };
        let call = self.calls.swap_remove(place);
        let wrong = match answer {
            Answer::Full => (call.most < self.capacity).then(|| {
                format!(
                    "a job was refused as one too many, but no more than {} others were in flight, and the capacity is {}",
                    call.most, self.capacity
                )
            }),
            Answer::Closed => (!self.closing).then(|| "a job was refused by an open gate".to_owned()),
            Answer::Stopped => (!self.stopping).then(|| "a job was stopped without a shutdown".to_owned()),
            Answer::Admitted => call
                .began_closed
                .then(|| "a job was accepted after the gate had been closed".to_owned()),
        };
        wrong.map_or(Ok(()), |message| Err(violation(message)))
    }

    fn note_most(&mut self) {
        let coming = self.calls.iter().filter(|call| !call.in_flight).count();
        let in_all = self.in_flight + coming;
        for call in &mut self.calls {
            call.most = call.most.max(in_all - 1);
        }
    }
}

fn violation(message: String) -> Violation {
    Violation::new(Oracle::Admission, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(verdict: Result<(), Violation>) -> Oracle {
        verdict.expect_err("the oracle speaks").oracle
    }

    #[test]
    fn more_jobs_than_the_capacity_are_noticed() {
        let mut oracle = AdmissionOracle::new(1);
        oracle.call_began(0);
        assert_eq!(oracle.submitted(0, 1), Ok(()));
        oracle.call_began(1);
        assert_eq!(says(oracle.submitted(1, 2)), Oracle::Admission);
    }

    #[test]
    fn a_job_that_is_refused_though_there_is_room_is_noticed() {
        let mut oracle = AdmissionOracle::new(1);
        oracle.call_began(0);
        assert_eq!(says(oracle.call_ended(0, Answer::Full)), Oracle::Admission);
        oracle.call_began(0);
        oracle.call_began(1);
        assert_eq!(
            oracle.call_ended(0, Answer::Full),
            Ok(()),
            "the other was before it"
        );
        assert_eq!(oracle.submitted(1, 1), Ok(()));
        assert_eq!(oracle.call_ended(1, Answer::Admitted), Ok(()));
        oracle.call_began(0);
        oracle.ended();
        assert_eq!(
            oracle.call_ended(0, Answer::Full),
            Ok(()),
            "it was in flight before"
        );
        oracle.call_began(0);
        assert_eq!(says(oracle.call_ended(0, Answer::Full)), Oracle::Admission);
    }

    #[test]
    fn a_close_or_a_stop_without_a_beginning_is_noticed() {
        let mut oracle = AdmissionOracle::new(1);
        for answer in [Answer::Closed, Answer::Stopped] {
            oracle.call_began(0);
            assert_eq!(says(oracle.call_ended(0, answer)), Oracle::Admission);
        }
        oracle.closes(true);
        for answer in [Answer::Closed, Answer::Stopped] {
            oracle.call_began(0);
            assert_eq!(oracle.call_ended(0, answer), Ok(()));
        }
    }

    #[test]
    fn a_job_that_is_let_in_after_the_close_is_noticed() {
        let mut oracle = AdmissionOracle::new(2);
        oracle.call_began(0);
        oracle.closes(false);
        oracle.closed();
        oracle.call_began(1);
        assert_eq!(oracle.call_ended(0, Answer::Admitted), Ok(()), "it came before");
        assert_eq!(says(oracle.call_ended(1, Answer::Admitted)), Oracle::Admission);
    }
    #[test]
    fn a_job_that_begins_during_a_shutdown_is_noticed() {
        let mut oracle = AdmissionOracle::new(1);
        oracle.scan_began(0);
        oracle.stops();
        assert_eq!(oracle.claimed(0), Ok(()), "it looked before the shutdown");
        oracle.scan_began(0);
        assert_eq!(says(oracle.claimed(0)), Oracle::Admission);
    }
}
