//! A worker with private tasks does not let others go hungry.
//!
//! Nobody else can find what a worker keeps to itself, and nobody is woken for it. So while others search or sleep, and
//! the worker knows it, and has nothing public that they could take, it may do so many operations on its private tasks
//! and no more; then some must have become public. A single private task is its own next one, and stays.

use executor_core::sleep::SleepWord;
use executor_core::{ExecutorConfig, SEARCHED_LOOK_MAX};

use super::{Oracle, Violation};

/// Counts the operations that each worker does over the heads of the hungry.
#[derive(Debug, Default)]
pub(crate) struct HungerOracle {
    workers: Vec<Sight>,
    most: u32,
}

/// What a worker has seen, and what it has done since.
#[derive(Clone, Debug, Default)]
struct Sight {
    /// The value of the sleep word as it read it last: at first that of a word that says nothing.
    value: usize,
    /// Whether it says that somebody searches or sleeps, and whether that somebody searches.
    hungry: bool,
    searched: bool,
    /// Whether that was another one than before.
    changed: bool,
    operations: u32,
}

impl HungerOracle {
    pub(crate) fn begin(&mut self, config: &ExecutorConfig) {
        self.workers = vec![Sight::default(); config.workers];
        self.most = operations_max(config);
    }

    /// `party`, which is a worker's number or that of somebody outside, read the `value` of the sleep word. Whether it
    /// was a worker and is to be told what that [says](HungerOracle::learns).
    #[inline]
    pub(crate) fn read(&mut self, party: usize, value: usize) -> bool {
        let Some(sight) = self.workers.get_mut(party) else {
            return false;
        };
        sight.changed = value != sight.value;
        sight.value = value;
        sight.changed
    }

    /// What `worker` read says so.
    #[cold]
    pub(crate) fn learns(&mut self, worker: usize, word: SleepWord) {
        let sight = &mut self.workers[worker];
        sight.hungry = word.searchers() + word.sleepers() > 0;
        sight.searched = word.searchers() > 0;
        if !sight.hungry {
            sight.operations = 0;
        }
    }

    /// Whether anybody searched or slept when `worker` read the sleep word last.
    #[inline]
    pub(crate) fn is_hungry(&self, worker: usize) -> bool {
        self.workers[worker].hungry
    }

    /// Whether the sleep word was another one when `worker` read it last than the time before.
    pub(crate) fn saw_change(&self, worker: usize) -> bool {
        self.workers[worker].changed
    }

    /// Whether anybody searched when `worker` read the sleep word last.
    pub(crate) fn is_searched(&self, worker: usize) -> bool {
        self.workers[worker].searched
    }

    /// `worker` has kept a task to itself or has taken such a task, and now has so many private tasks, and so many are in
    /// its queue or in the injector.
    pub(crate) fn operated(&mut self, worker: usize, private: usize, public: usize) -> Result<(), Violation> {
        let sight = &mut self.workers[worker];
        if !sight.hungry || private < 2 || public > 0 {
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

    /// `worker` has made a private task public.
    pub(crate) fn exposed(&mut self, worker: usize) {
        self.workers[worker].operations = 0;
    }
}

/// The most operations that a worker may do before it feeds the hungry.
fn operations_max(config: &ExecutorConfig) -> u32 {
    // A look at which there is something public sets a distance to the next one: for sleepers the threshold, for
    // searchers a few. In that distance there may be as many pops, as many pushes that make up for them, and as many
    // pushes more. At the next look some are given away, unless somebody who sleeps is not yet worth it for lack of
    // operations, and then there were none.
    3 * config.hoard_threshold.max(SEARCHED_LOOK_MAX)
}

#[cfg(test)]
mod tests {
    use executor_core::ports::{Native, NativeWord};
    use executor_core::sleep::Sleep;

    use super::*;

    /// Worker 0 reads that one of two workers searches, or nobody.
    fn reads(oracle: &mut HungerOracle, searched: bool) {
        let sleep = Sleep::new(2, 1, NativeWord::new);
        assert!(!searched || sleep.begin_search(&Native));
        if oracle.read(0, usize::from(searched)) {
            oracle.learns(0, sleep.peek(&Native));
        }
    }

    fn config() -> ExecutorConfig {
        ExecutorConfig {
            workers: 2,
            hoard_threshold: 8,
            ..ExecutorConfig::default()
        }
    }

    /// The operation of worker 0 at which the oracle spoke, if in a thousand.
    fn spoke(oracle: &mut HungerOracle, private: usize, public: usize) -> Option<u32> {
        (1..=1_000).find(|_| oracle.operated(0, private, public).is_err())
    }

    #[test]
    fn a_worker_that_keeps_tasks_over_the_heads_of_the_hungry_is_noticed() {
        let mut oracle = HungerOracle::default();
        oracle.begin(&config());
        reads(&mut oracle, true);
        assert_eq!(spoke(&mut oracle, 1, 0), None, "it is its own next one");
        assert_eq!(spoke(&mut oracle, 2, 1), None, "there is something to take");
        assert_eq!(spoke(&mut oracle, 2, 0), Some(3 * SEARCHED_LOOK_MAX + 1));
        oracle.exposed(0);
        assert_eq!(spoke(&mut oracle, 2, 0), Some(3 * SEARCHED_LOOK_MAX + 1));
        assert!(oracle.saw_change(0));
        reads(&mut oracle, true);
        assert!(!oracle.saw_change(0));
        reads(&mut oracle, false);
        assert_eq!(spoke(&mut oracle, 2, 0), None, "nobody is hungry");
    }
}
