//! The state word covers exactly what is in flight.
//!
//! The oracle keeps a balance for each actor: what it added to the word, less what it took off,
//! less the tasks that began with it, plus the tasks that ended with it. A task begins when it is
//! queued or kept private. A worker's balance is its credits; a producer's is what was accepted and
//! is not pushed yet. Hence
//!
//! ```text
//!   count in the word = tasks in flight + sum of all balances
//! ```
//!
//! and *no balance is negative* means that the word never under-counts. A sleeping worker must have
//! a balance of zero, as it must not delay the end; so must all actors at the end.

use executor_core::{ExecutorConfig, in_flight, is_accepting};

use super::{Oracle, Violation};

/// Checks that the count covers exactly what is in flight.
#[derive(Debug, Default)]
pub struct CountOracle {
    balances: Vec<i64>,
    /// Tasks that began with each actor; for a producer, since its hand-over began.
    began: Vec<u64>,
    in_flight: i64,
    held_max: i64,
}

impl CountOracle {
    pub(crate) fn begin(&mut self, config: &ExecutorConfig) {
        self.held_max = held_max(config);
    }

    /// Adds an actor, by number.
    pub fn add_actor(&mut self) {
        self.balances.push(0);
        self.began.push(0);
    }

    pub(crate) fn begin_hand_over(&mut self, actor: usize) {
        self.began[actor] = 0;
    }

    pub(crate) fn queued_by(&self, actor: usize) -> u64 {
        self.began[actor]
    }

    pub(crate) fn state_changed(
        &mut self,
        actor: usize,
        environment: bool,
        before: usize,
        after: usize,
    ) -> Result<(), Violation> {
        let added = in_flight(after) as i64 - in_flight(before) as i64;
        if added > 0 && environment && !is_accepting(before) {
            return Err(Violation::new(
                Oracle::Gate,
                format!("{added} tasks were accepted after the gate had closed"),
            ));
        }
        if !is_accepting(before) && is_accepting(after) {
            return Err(Violation::new(Oracle::Gate, "a closed gate opened again"));
        }
        self.balances[actor] += added;
        self.check(actor)
    }

    /// `actor` queued a task for the first time, or keeps it private.
    pub fn began(&mut self, actor: usize) -> Result<(), Violation> {
        self.in_flight += 1;
        self.began[actor] += 1;
        self.balances[actor] -= 1;
        self.check(actor)
    }

    /// `actor` has finished a task.
    pub fn ended(&mut self, actor: usize) {
        self.in_flight -= 1;
        self.balances[actor] += 1;
    }

    /// Fails if `worker` parks and still holds counts.
    pub fn parked(&self, actor: usize, worker: usize) -> Result<(), Violation> {
        match self.balances[actor] {
            0 => Ok(()),
            held => Err(violation(format!(
                "worker {worker} parks and keeps {held} counts"
            ))),
        }
    }

    pub(crate) fn is_any_between_accept_and_push(&self, workers: usize, actor: usize) -> bool {
        (workers..self.balances.len()).any(|other| other != actor && self.balances[other] > 0)
    }

    /// Fails if the balance of the environment's `actor` is not zero after an operation.
    pub fn environment_is_even(&self, actor: usize) -> Result<(), Violation> {
        match self.balances[actor] {
            0 => Ok(()),
            n => Err(violation(format!(
                "a producer was counted for {n} tasks that it did not hand over"
            ))),
        }
    }

    /// The run ends with the state word at `word`.
    pub fn end(&self, word: usize) -> Result<(), Violation> {
        if self.in_flight != 0 || self.balances.iter().any(|&balance| balance != 0) || in_flight(word) != 0 {
            return Err(violation(format!(
                "at the end {} tasks are in flight, the word counts {}, and the actors hold {:?}",
                self.in_flight,
                in_flight(word),
                self.balances
            )));
        }
        Ok(())
    }

    fn check(&self, actor: usize) -> Result<(), Violation> {
        let balance = self.balances[actor];
        if balance < 0 {
            return Err(violation(format!(
                "the word counts too little: actor {actor} holds {balance}, with {} tasks in flight",
                self.in_flight
            )));
        }
        Ok(())
    }

    /// Fails if the credits of the worker `actor` between two tasks exceed the bound.
    pub fn between_tasks(&self, actor: usize) -> Result<(), Violation> {
        let balance = self.balances[actor];
        if balance > self.held_max {
            return Err(violation(format!(
                "worker {actor} holds {balance} counts, more than {}",
                self.held_max
            )));
        }
        Ok(())
    }
}

fn held_max(config: &ExecutorConfig) -> i64 {
    // Two blocks, the task just ended, and private tasks taken since the last tick.
    2 * config.tuning.credit_block as i64 + 1 + config.tuning.private_tasks as i64
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
        oracle.add_actor();
        oracle.add_actor();
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
    fn no_producer_is_accepted_through_a_closed_gate_but_a_worker_may_acquire() {
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
