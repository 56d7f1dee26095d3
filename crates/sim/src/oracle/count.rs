//! The state word covers all that is in flight, and nothing else.
//!
//! The oracle keeps a balance for each party: what it added to the word, less what it took off, less the tasks that began
//! with it, plus the tasks that ended with it. A task begins when it is put into a queue, or when it has been spawned and
//! its worker keeps it to itself; that it becomes public later moves nothing. For a worker the balance is the credits it
//! holds; for a producer, what it was let in with and has not pushed yet. So at every moment
//!
//! ```text
//!   count in the word = tasks in flight + sum of all balances
//! ```
//!
//! holds by book-keeping, and *no balance is negative* says that the word never under-counts. A worker that sleeps
//! must have a balance of zero, for it must not hold up the end; and so must everybody when it is over.

use executor_core::{ExecutorConfig, in_flight, is_accepting};

use super::{Oracle, Violation};

/// Keeps the balances.
#[derive(Debug, Default)]
pub(crate) struct CountOracle {
    balances: Vec<i64>,
    /// Tasks that began with each party, a producer's since its hand-over began.
    began: Vec<u64>,
    in_flight: i64,
    held_max: i64,
}

impl CountOracle {
    pub(crate) fn begin(&mut self, config: &ExecutorConfig) {
        self.held_max = held_max(config);
    }

    pub(crate) fn add_party(&mut self) {
        self.balances.push(0);
        self.began.push(0);
    }

    /// `party`, a producer, hands something over.
    pub(crate) fn begin_hand_over(&mut self, party: usize) {
        self.began[party] = 0;
    }

    /// What `party` has put into a queue since then.
    pub(crate) fn queued_by(&self, party: usize) -> u64 {
        self.began[party]
    }

    /// `party` changed the state word.
    pub(crate) fn state_changed(
        &mut self,
        party: usize,
        outside: bool,
        before: usize,
        after: usize,
    ) -> Result<(), Violation> {
        let added = in_flight(after) as i64 - in_flight(before) as i64;
        if added > 0 && outside && !is_accepting(before) {
            return Err(Violation::new(
                Oracle::Gate,
                format!("{added} tasks were let in after the gate had closed"),
            ));
        }
        if !is_accepting(before) && is_accepting(after) {
            return Err(Violation::new(Oracle::Gate, "a closed gate opened again"));
        }
        self.balances[party] += added;
        self.check(party)
    }

    /// A task is in flight from now on: `party` has put it into a queue for the first time, or keeps it to itself.
    pub(crate) fn began(&mut self, party: usize) -> Result<(), Violation> {
        self.in_flight += 1;
        self.began[party] += 1;
        self.balances[party] -= 1;
        self.check(party)
    }

    /// A task ended with `party`.
    pub(crate) fn ended(&mut self, party: usize) {
        self.in_flight -= 1;
        self.balances[party] += 1;
    }

    /// `party`, a worker, parks.
    pub(crate) fn parked(&self, party: usize, worker: usize) -> Result<(), Violation> {
        match self.balances[party] {
            0 => Ok(()),
            held => Err(violation(format!(
                "worker {worker} parks and keeps {held} counts"
            ))),
        }
    }

    /// Whether anybody but `party` was let in and has not pushed yet.
    pub(crate) fn anybody_between_accept_and_push(&self, workers: usize, party: usize) -> bool {
        (workers..self.balances.len()).any(|other| other != party && self.balances[other] > 0)
    }

    /// An operation of `party`, which is outside, is over: it holds nothing.
    pub(crate) fn outside_is_even(&self, party: usize) -> Result<(), Violation> {
        match self.balances[party] {
            0 => Ok(()),
            n => Err(violation(format!(
                "a producer was counted for {n} tasks that it did not hand over"
            ))),
        }
    }

    /// At the end.
    pub(crate) fn end(&self, word: usize) -> Result<(), Violation> {
        if self.in_flight != 0 || self.balances.iter().any(|&balance| balance != 0) || in_flight(word) != 0 {
            return Err(violation(format!(
                "at the end {} tasks are in flight, the word counts {}, and the parties hold {:?}",
                self.in_flight,
                in_flight(word),
                self.balances
            )));
        }
        Ok(())
    }

    fn check(&self, party: usize) -> Result<(), Violation> {
        let balance = self.balances[party];
        if balance < 0 {
            return Err(violation(format!(
                "the word counts too little: party {party} holds {balance}, with {} tasks in flight",
                self.in_flight
            )));
        }
        Ok(())
    }

    /// `party`, a worker, looks for its next task: between two tasks its purse is bounded.
    pub(crate) fn between_tasks(&self, party: usize) -> Result<(), Violation> {
        let balance = self.balances[party];
        if balance > self.held_max {
            return Err(violation(format!(
                "worker {party} holds {balance} counts, more than {}",
                self.held_max
            )));
        }
        Ok(())
    }
}

/// The most that a worker may hold between two tasks.
fn held_max(config: &ExecutorConfig) -> i64 {
    // Two blocks, the count of the task that is just over, and what covered private tasks that were taken since the last look.
    2 * config.credit_block as i64 + 1 + config.private_tasks as i64
}

fn violation(message: String) -> Violation {
    Violation::new(Oracle::Count, message)
}

#[cfg(test)]
mod tests {
    use executor_core::{ACCEPTING_BIT, COUNT_UNIT};

    use super::*;

    fn oracle() -> CountOracle {
        let mut oracle = CountOracle::default();
        oracle.begin(&ExecutorConfig::default());
        oracle.add_party();
        oracle.add_party();
        oracle
    }

    #[test]
    fn a_task_that_begins_without_having_been_counted_is_noticed() {
        assert!(oracle().began(0).is_err());
    }

    #[test]
    fn a_completion_that_is_counted_twice_is_noticed() {
        let mut oracle = oracle();
        let (one, two) = (ACCEPTING_BIT + COUNT_UNIT, ACCEPTING_BIT + 2 * COUNT_UNIT);
        assert_eq!(oracle.state_changed(1, true, ACCEPTING_BIT, two), Ok(()));
        assert_eq!(oracle.began(1), Ok(()));
        assert_eq!(oracle.began(1), Ok(()));
        oracle.ended(0);
        assert_eq!(oracle.state_changed(0, false, two, one), Ok(()));
        assert!(oracle.state_changed(0, false, one, ACCEPTING_BIT).is_err());
    }

    #[test]
    fn nobody_outside_is_let_in_through_a_closed_gate_but_a_worker_may_borrow() {
        assert_eq!(
            oracle().state_changed(0, false, COUNT_UNIT, 3 * COUNT_UNIT),
            Ok(())
        );
        let violation = oracle()
            .state_changed(1, true, COUNT_UNIT, 2 * COUNT_UNIT)
            .expect_err("the gate was closed");
        assert_eq!(violation.oracle, Oracle::Gate);
    }

    #[test]
    fn a_worker_that_parks_with_credits_is_noticed() {
        let mut oracle = oracle();
        oracle
            .state_changed(0, false, COUNT_UNIT, 2 * COUNT_UNIT)
            .expect("it borrows");
        assert!(oracle.parked(0, 0).is_err());
    }
}
