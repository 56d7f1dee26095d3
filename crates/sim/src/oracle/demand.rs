//! A worker with private tasks shares them with idle workers.
//!
//! A worker that knows of idle workers and has nothing public may do a bounded number of operations
//! on its private tasks; then some must be public. A single private task is its own next one, and
//! stays.

use executor_core::sleep::SleepWord;
use executor_core::{ExecutorConfig, SEARCH_TICK_MAX};

use super::{Oracle, Violation};

#[derive(Debug, Default)]
pub(crate) struct DemandOracle {
    workers: Vec<Sight>,
    most: u32,
}

#[derive(Clone, Debug, Default)]
struct Sight {
    /// The sleep word as last read; at first a value without information.
    value: usize,
    has_idle_workers: bool,
    searched: bool,
    changed: bool,
    operations: u32,
}

impl DemandOracle {
    pub(crate) fn begin(&mut self, config: &ExecutorConfig) {
        self.workers = vec![Sight::default(); config.workers];
        self.most = operations_max(config);
    }

    /// Returns whether to call [`learns`](DemandOracle::learns).
    #[inline]
    pub(crate) fn read(&mut self, actor: usize, value: usize) -> bool {
        let Some(sight) = self.workers.get_mut(actor) else {
            return false;
        };
        sight.changed = value != sight.value;
        sight.value = value;
        sight.changed
    }

    #[cold]
    pub(crate) fn learns(&mut self, worker: usize, word: SleepWord) {
        let sight = &mut self.workers[worker];
        sight.has_idle_workers = word.searchers() + word.sleepers() > 0;
        sight.searched = word.searchers() > 0;
        if !sight.has_idle_workers {
            sight.operations = 0;
        }
    }

    #[inline]
    pub(crate) fn has_idle_workers(&self, worker: usize) -> bool {
        self.workers[worker].has_idle_workers
    }

    pub(crate) fn saw_change(&self, worker: usize) -> bool {
        self.workers[worker].changed
    }

    pub(crate) fn is_searched(&self, worker: usize) -> bool {
        self.workers[worker].searched
    }

    pub(crate) fn operated(&mut self, worker: usize, private: usize, public: usize) -> Result<(), Violation> {
        let sight = &mut self.workers[worker];
        if !sight.has_idle_workers || private < 2 || public > 0 {
            sight.operations = 0;
            return Ok(());
        }
        sight.operations += 1;
        let operations = sight.operations;
        if operations > self.most {
            return Err(Violation::new(
                Oracle::HiddenWork,
                format!(
                    "worker {worker} keeps {private} tasks to itself over {operations} operations, and knows that others have nothing"
                ),
            ));
        }
        Ok(())
    }

    pub(crate) fn exposed(&mut self, worker: usize) {
        self.workers[worker].operations = 0;
    }
}

fn operations_max(config: &ExecutorConfig) -> u32 {
    // The distance between two ticks holds as many pops, as many pushes that make up for them, and
    // as many more pushes.
    3 * config.tuning.wake_threshold.max(SEARCH_TICK_MAX)
}

#[cfg(test)]
mod tests {
    use executor_core::ports::{Native, NativeWord};
    use executor_core::sleep::Sleep;

    use super::*;

    fn reads(oracle: &mut DemandOracle, searched: bool) {
        let sleep = Sleep::new(2, 1, NativeWord::new);
        assert!(!searched || sleep.begin_search(&Native));
        if oracle.read(0, usize::from(searched)) {
            oracle.learns(0, sleep.peek(&Native));
        }
    }

    fn config() -> ExecutorConfig {
        ExecutorConfig::new(2).tune(|tuning| tuning.wake_threshold = 8)
    }

    fn spoke(oracle: &mut DemandOracle, private: usize, public: usize) -> Option<u32> {
        (1..=1_000).find(|_| oracle.operated(0, private, public).is_err())
    }

    #[test]
    fn a_worker_that_keeps_tasks_beside_idle_workers_is_noticed() {
        let mut oracle = DemandOracle::default();
        oracle.begin(&config());
        reads(&mut oracle, true);
        assert_eq!(spoke(&mut oracle, 1, 0), None, "it is its own next one");
        assert_eq!(spoke(&mut oracle, 2, 1), None, "there is something to take");
        assert_eq!(spoke(&mut oracle, 2, 0), Some(3 * SEARCH_TICK_MAX + 1));
        oracle.exposed(0);
        assert_eq!(spoke(&mut oracle, 2, 0), Some(3 * SEARCH_TICK_MAX + 1));
        assert!(oracle.saw_change(0));
        reads(&mut oracle, true);
        assert!(!oracle.saw_change(0));
        reads(&mut oracle, false);
        assert_eq!(spoke(&mut oracle, 2, 0), None, "no worker is idle");
    }
}
