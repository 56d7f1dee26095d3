//! Queue ends: which actor takes the newest task, and which the oldest.
//!
//! The oracle mirrors each queue as a list, into which tasks go at the back:
//!
//! | queue | out |
//! |---|---|
//! | a worker's public queue | its owner takes the newest, thieves the oldest |
//! | the injector | the oldest; a run keeps its order |
//! | a worker's private tasks | it runs the newest, and publishes the oldest first |
//! | the rest of a run from the injector | in order, before private tasks; what returns to the injector goes from the end, in order |

use std::collections::VecDeque;

use executor_core::ExecutorConfig;

use super::{Oracle, TaskId, Violation};

#[derive(Debug, Default)]
pub(crate) struct OrderOracle {
    injector: VecDeque<TaskId>,
    workers: Vec<Queues>,
}

#[derive(Clone, Debug, Default)]
struct Queues {
    public: VecDeque<TaskId>,
    kept: VecDeque<TaskId>,
    run: VecDeque<TaskId>,
    /// The last task that returned to the injector; more of its batch may follow.
    returned_from: Option<usize>,
}

impl OrderOracle {
    pub(crate) fn begin(&mut self, config: &ExecutorConfig) {
        self.workers = vec![Queues::default(); config.workers];
    }

    pub(crate) fn pushed(&mut self, task: TaskId, worker: Option<usize>) {
        match worker {
            None => self.injector.push_back(task),
            Some(worker) => self.workers[worker].public.push_back(task),
        }
    }

    pub(crate) fn popped(&mut self, task: TaskId, worker: usize) -> Result<(), Violation> {
        let newest = self.workers[worker].public.pop_back();
        expect(newest, task, || {
            format!("worker {worker} took from its own queue")
        })
    }

    pub(crate) fn stolen(&mut self, task: TaskId, victim: usize) -> Result<(), Violation> {
        let oldest = self.workers[victim].public.pop_front();
        expect(oldest, task, || format!("a thief took from worker {victim}"))
    }

    pub(crate) fn left_injector(&mut self, task: TaskId) -> Result<(), Violation> {
        let oldest = self.injector.pop_front();
        expect(oldest, task, || "an actor took from the injector".to_owned())
    }

    pub(crate) fn kept(&mut self, task: TaskId, worker: usize) {
        self.workers[worker].kept.push_back(task);
    }

    pub(crate) fn arrived(&mut self, task: TaskId, worker: usize) {
        self.workers[worker].run.push_back(task);
    }

    pub(crate) fn reached(&mut self, task: TaskId, worker: usize) -> Result<(), Violation> {
        let queues = &mut self.workers[worker];
        let next = queues.run.pop_front().or_else(|| queues.kept.pop_back());
        expect(next, task, || format!("worker {worker} took of what it keeps"))
    }

    pub(crate) fn exposes(&mut self, worker: usize) {
        self.workers[worker].returned_from = None;
    }

    pub(crate) fn exposed(&mut self, task: TaskId, worker: usize) -> Result<(), Violation> {
        let oldest = self.workers[worker].kept.pop_front();
        expect(oldest, task, || format!("worker {worker} made public"))
    }

    pub(crate) fn returned(&mut self, task: TaskId, worker: usize) -> Result<(), Violation> {
        let queues = &mut self.workers[worker];
        let place = match queues.returned_from {
            Some(place) => place,
            // All that follow the first of a batch in the run go with it.
            None => (queues.run.iter().position(|&other| other == task)).unwrap_or(0),
        };
        queues.returned_from = Some(place);
        expect(queues.run.remove(place), task, || {
            format!("worker {worker} gave back of a run")
        })
    }
}

fn expect(next: Option<TaskId>, task: TaskId, did: impl FnOnce() -> String) -> Result<(), Violation> {
    if next == Some(task) {
        return Ok(());
    }
    let due = next.map_or("none was there".to_owned(), |next| format!("task {next} was due"));
    Err(Violation::new(
        Oracle::Order,
        format!("{} task {task}, but {due}", did()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oracle() -> OrderOracle {
        let mut oracle = OrderOracle::default();
        oracle.begin(&ExecutorConfig::new(2));
        oracle
    }

    #[test]
    fn an_owner_that_takes_the_oldest_and_a_thief_that_takes_the_newest_are_noticed() {
        let mut oracle = oracle();
        (1..=4).for_each(|task| oracle.pushed(task, Some(0)));
        assert_eq!(oracle.popped(4, 0), Ok(()));
        assert_eq!(oracle.stolen(1, 0), Ok(()));
        let mut other = OrderOracle {
            workers: oracle.workers.clone(),
            ..OrderOracle::default()
        };
        let violation = oracle.popped(2, 0).expect_err("task 3 is newer");
        assert_eq!(violation.oracle, Oracle::Order);
        assert!(other.stolen(3, 0).is_err(), "task 2 is older");
    }

    #[test]
    fn the_injector_gives_the_oldest() {
        let mut oracle = oracle();
        (1..=3).for_each(|task| oracle.pushed(task, None));
        assert_eq!(oracle.left_injector(1), Ok(()));
        assert!(oracle.left_injector(3).is_err());
    }

    #[test]
    fn what_is_kept_runs_newest_first_and_becomes_public_oldest_first() {
        let mut oracle = oracle();
        (1..=4).for_each(|task| oracle.kept(task, 1));
        assert_eq!(oracle.reached(4, 1), Ok(()));
        oracle.exposes(1);
        assert_eq!(oracle.exposed(1, 1), Ok(()));
        assert!(oracle.exposed(3, 1).is_err());
    }

    #[test]
    fn a_run_comes_in_its_order_and_before_what_is_kept() {
        let mut oracle = oracle();
        oracle.kept(9, 0);
        (1..=3).for_each(|task| oracle.arrived(task, 0));
        assert_eq!(oracle.reached(1, 0), Ok(()));
        assert_eq!(oracle.reached(2, 0), Ok(()));
        assert!(oracle.reached(9, 0).is_err());
    }

    #[test]
    fn what_goes_back_of_a_run_goes_in_its_order() {
        let mut right = oracle();
        (1..=4).for_each(|task| right.arrived(task, 0));
        let mut wrong = OrderOracle {
            workers: right.workers.clone(),
            ..OrderOracle::default()
        };
        right.exposes(0);
        assert_eq!([right.returned(3, 0), right.returned(4, 0)], [Ok(()), Ok(())]);
        right.exposes(0);
        assert_eq!([right.returned(1, 0), right.returned(2, 0)], [Ok(()), Ok(())]);
        wrong.exposes(0);
        assert_eq!(wrong.returned(4, 0), Ok(()));
        assert!(wrong.returned(3, 0).is_err());
    }
}
