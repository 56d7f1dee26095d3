//! No worker sleeps while work is queued or private to it, and searchers stay within their bound.
//!
//! If a task is queued and no publisher is between its push and the end of its operation, some
//! worker is working or searching, which the oracle checks at every park and after every operation
//! of the environment. A worker with a private task neither parks nor leaves.

use executor_core::ExecutorConfig;
use executor_core::sleep::SleepWord;

use super::{Oracle, Violation};

/// Checks that no worker sleeps beside queued work.
#[derive(Debug, Default)]
pub struct SleepOracle {
    workers: usize,
    searchers_max: usize,
    lengths: Vec<usize>,
    queued: usize,
    private: Vec<usize>,
    /// Workers that sleep.
    pub parked: usize,
    /// Workers that have left.
    pub left: usize,
    /// Actors between a push and the end of its wakes.
    pub publishing: usize,
}

impl SleepOracle {
    pub(crate) fn begin(&mut self, config: &ExecutorConfig) {
        self.workers = config.workers;
        self.searchers_max = config.searchers_max();
        self.lengths = vec![0; config.workers + 1];
        self.private = vec![0; config.workers];
    }

    pub(crate) fn pushed(&mut self, worker: Option<usize>) {
        self.queued += 1;
        self.lengths[worker.map_or(0, |worker| worker + 1)] += 1;
    }

    pub(crate) fn taken(&mut self, worker: Option<usize>) {
        self.queued -= 1;
        self.lengths[worker.map_or(0, |worker| worker + 1)] -= 1;
    }

    /// A task went into some queue.
    pub fn pushed_somewhere(&mut self) {
        self.queued += 1;
    }

    /// A task left one of the queues.
    pub fn taken_somewhere(&mut self) {
        self.queued -= 1;
    }

    /// Tasks in all queues.
    pub fn queued(&self) -> usize {
        self.queued
    }

    /// `worker` keeps one more private task.
    pub fn kept(&mut self, worker: usize) {
        self.private[worker] += 1;
    }

    /// A private task of `worker` was published or taken.
    pub fn kept_no_longer(&mut self, worker: usize) {
        self.private[worker] -= 1;
    }

    pub(crate) fn kept_by(&self, worker: usize) -> usize {
        self.private[worker]
    }

    pub(crate) fn offered_by(&self, worker: usize) -> usize {
        self.lengths[worker + 1] + self.lengths[0]
    }

    /// Fails if `worker` has a private task.
    pub fn keeps_nothing(&self, worker: usize, what: &str) -> Result<(), Violation> {
        match self.private[worker] {
            0 => Ok(()),
            kept => Err(Violation::new(
                Oracle::HiddenWork,
                format!("worker {worker} {what}, and keeps {kept} tasks to itself"),
            )),
        }
    }

    pub(crate) fn word_changed(&self, word: SleepWord) -> Result<(), Violation> {
        if word.is_done() {
            // The end wakes by slots and takes no tickets, so the counts are unused.
            return Ok(());
        }
        if word.searchers() > self.searchers_max {
            return Err(Violation::new(
                Oracle::Searchers,
                format!("{word:?}: more than {} search", self.searchers_max),
            ));
        }
        if word.searchers() + word.sleepers() > self.workers {
            return Err(Violation::new(
                Oracle::Searchers,
                format!("{word:?}: more than all {} workers", self.workers),
            ));
        }
        Ok(())
    }

    /// Fails if all workers sleep over a queued task that is not being published.
    pub fn quiet(&self) -> Result<(), Violation> {
        let asleep = self.parked + self.left == self.workers && self.workers > 0;
        if asleep && self.queued > 0 && self.publishing == 0 {
            return Err(Violation::new(
                Oracle::LostWakeUp,
                format!("all workers sleep, and {} tasks are queued", self.queued),
            ));
        }
        Ok(())
    }

    /// Describes the lengths of the queues.
    pub fn queues(&self) -> String {
        let mut text = String::new();
        for (queue, &length) in self.lengths.iter().enumerate().filter(|(_, length)| **length > 0) {
            let name = match queue {
                0 => "injector".to_owned(),
                n => format!("queue of worker {}", n - 1),
            };
            text.push_str(&format!("  {length} tasks in the {name}\n"));
        }
        for (worker, &kept) in self.private.iter().enumerate().filter(|(_, kept)| **kept > 0) {
            text.push_str(&format!("  {kept} tasks that worker {worker} keeps to itself\n"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oracle() -> SleepOracle {
        let mut oracle = SleepOracle::default();
        oracle.begin(&ExecutorConfig::new(2));
        oracle
    }

    #[test]
    fn a_queued_task_over_which_all_sleep_is_noticed() {
        let mut oracle = oracle();
        oracle.pushed(None);
        oracle.parked = 1;
        assert_eq!(oracle.quiet(), Ok(()));
        oracle.left = 1;
        let violation = oracle.quiet().expect_err("no worker is awake");
        assert_eq!(violation.oracle, Oracle::LostWakeUp);
        oracle.taken(None);
        assert_eq!(oracle.quiet(), Ok(()));
    }

    #[test]
    fn only_a_worker_that_parks_on_a_task_of_its_own_is_noticed() {
        let mut oracle = oracle();
        oracle.kept(1);
        assert_eq!(oracle.keeps_nothing(0, "parks"), Ok(()));
        let violation = oracle.keeps_nothing(1, "parks").expect_err("it keeps one");
        assert_eq!(violation.oracle, Oracle::HiddenWork);
        oracle.kept_no_longer(1);
        assert_eq!(oracle.keeps_nothing(1, "parks"), Ok(()));
    }

    #[test]
    fn a_private_task_is_in_no_queue() {
        let mut oracle = oracle();
        oracle.kept(0);
        (oracle.parked, oracle.left) = (1, 1);
        assert_eq!(oracle.quiet(), Ok(()));
        assert!(oracle.queues().contains("worker 0 keeps"));
    }
}
