//! Who is let in: never more jobs than the capacity, and nobody is turned away without a reason.
//!
//! A job takes a place from its submission to its end, and the table holds it that long. The oracle looks at the table, which has
//! more places than the capacity here, and keeps count of submissions that are under way and of jobs that have not been told to have
//! ended. That count is never below the policy's own: a place is given back before the end is told. So it says
//!
//! - when more jobs than the capacity are in the table;
//! - when a job is refused as one too many although at no time of its submission so many could have been in flight;
//! - when a job is refused because of a close or a shutdown that nobody has begun, or let in by a submission that began after
//!   the gate was closed;
//! - when a party that began to look for a job after a shutdown had begun claims something.

use std::collections::BTreeSet;

use super::{Oracle, Violation};

/// Counts jobs.
#[derive(Debug)]
pub(crate) struct AdmissionOracle {
    capacity: usize,
    /// Jobs that were let in and have not ended.
    in_flight: usize,
    calls: Vec<Call>,
    /// Somebody has begun to close the gate.
    closing: bool,
    /// It has been closed.
    closed: bool,
    /// Somebody has begun to shut down.
    stopping: bool,
    /// Everybody can see that.
    stops: bool,
    /// Parties that began to look for a job since.
    late: BTreeSet<usize>,
}

/// A submission under way.
#[derive(Clone, Copy, Debug)]
struct Call {
    party: usize,
    /// Its own job is let in.
    in_flight: bool,
    /// The most others that may have been in flight since it began.
    most: usize,
    began_closed: bool,
}

/// What a submission came to.
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

    /// `party` begins to submit a job.
    pub(crate) fn call_began(&mut self, party: usize) {
        self.calls.push(Call {
            party,
            in_flight: false,
            most: 0,
            began_closed: self.closed,
        });
        self.note_most();
    }

    /// `party` let its job in, and so many are in the table now.
    pub(crate) fn submitted(&mut self, party: usize, in_table: usize) -> Result<(), Violation> {
        if let Some(call) = self.calls.iter_mut().find(|call| call.party == party) {
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

    /// A job has ended.
    pub(crate) fn ended(&mut self) {
        self.in_flight -= 1;
    }

    /// Somebody begins to close the gate, or, `stopping`, to shut down.
    pub(crate) fn closes(&mut self, stopping: bool) {
        self.closing = true;
        self.stopping |= stopping;
    }

    /// From now on whoever looks for a job finds that the executor shuts down.
    pub(crate) fn stops(&mut self) {
        self.stops = true;
    }

    /// Whether a shutdown has begun, so that somebody may have seen it.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping
    }

    /// `party` begins to look for a job.
    pub(crate) fn scan_began(&mut self, party: usize) {
        if self.stops {
            self.late.insert(party);
        }
    }

    /// `party` claims slots.
    pub(crate) fn claimed(&self, party: usize) -> Result<(), Violation> {
        if self.late.contains(&party) {
            return Err(violation(format!(
                "party {party} went into a job that it looked for after the shutdown had begun"
            )));
        }
        Ok(())
    }

    /// The gate has been closed.
    pub(crate) fn closed(&mut self) {
        self.closed = true;
    }

    /// The submission of `party` is over.
    pub(crate) fn call_ended(&mut self, party: usize, answer: Answer) -> Result<(), Violation> {
        let Some(place) = self.calls.iter().position(|call| call.party == party) else {
            return Err(violation(format!(
                "party {party} was told {answer:?} without a question"
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
            Answer::Stopped => (!self.stopping).then(|| "a job was stopped, and nobody shuts down".to_owned()),
            Answer::Admitted => call
                .began_closed
                .then(|| "a job was let in after the gate had been closed".to_owned()),
        };
        wrong.map_or(Ok(()), |message| Err(violation(message)))
    }

    /// Nothing but the beginning of a submission makes more.
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
    fn a_close_or_a_stop_that_nobody_began_is_noticed() {
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
