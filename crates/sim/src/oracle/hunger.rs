//! A worker with private tasks does not let others go hungry.
//!
//! Nobody else can find what a worker keeps to itself, and nobody is woken for it. So while others search or sleep, and
//! the worker knows it, and has nothing public that they could take, it may do so many operations on its private tasks
//! and no more; then some must have become public. A single private task is its own next one, and stays.

use executor_core::ExecutorConfig;
use executor_core::sleep::SleepWord;

use super::{Oracle, Violation};

/// Counts the operations that each worker does over the heads of the hungry.
#[derive(Debug, Default)]
pub(crate) struct HungerOracle {
    /// The sleep word as each worker read it last.
    read: Vec<Option<SleepWord>>,
    operations: Vec<u32>,
    most: u32,
}

impl HungerOracle {
    pub(crate) fn begin(&mut self, config: &ExecutorConfig) {
        self.read = vec![None; config.workers];
        self.operations = vec![0; config.workers];
        self.most = operations_max(config);
    }

    /// `worker` read the sleep word. Whether it is another one than before.
    pub(crate) fn read(&mut self, worker: usize, word: SleepWord) -> bool {
        let before = self.read[worker].replace(word);
        before.is_some_and(|before| before != word)
    }

    /// The sleep word as `worker` read it last.
    pub(crate) fn word(&self, worker: usize) -> Option<SleepWord> {
        self.read[worker]
    }

    /// `worker` has kept a task to itself or has taken such a task, and now has so many private tasks and so many in
    /// its queue.
    pub(crate) fn operated(&mut self, worker: usize, private: usize, public: usize) -> Result<(), Violation> {
        let hungry = self.read[worker].is_some_and(|word| word.searchers() + word.sleepers() > 0);
        let operations = &mut self.operations[worker];
        if !hungry || private < 2 || public > 0 {
            *operations = 0;
            return Ok(());
        }
        *operations += 1;
        if *operations > self.most {
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
        self.operations[worker] = 0;
    }
}

/// The most operations that a worker may do before it feeds the hungry.
fn operations_max(config: &ExecutorConfig) -> u32 {
    // A look at which there is something public sets a distance to the next one: for sleepers the threshold, for
    // searchers a few. In that distance there may be as many pops, as many pushes that make up for them, and as many
    // pushes more. At the next look some are given away, unless somebody who sleeps is not yet worth it for lack of
    // operations, and then there were none.
    const SEARCHED: u32 = 8;
    3 * config.hoard_threshold.max(SEARCHED)
}

#[cfg(test)]
mod tests {
    use executor_core::ports::{Native, NativeWord};
    use executor_core::sleep::Sleep;

    use super::*;

    /// The sleep word while one of two workers searches, or nobody.
    fn word(searched: bool) -> SleepWord {
        let sleep = Sleep::new(2, NativeWord::new);
        assert!(!searched || sleep.begin_search(&Native));
        sleep.peek(&Native)
    }

    fn config() -> ExecutorConfig {
        ExecutorConfig {
            workers: 2,
            hoard_threshold: 8,
            ..ExecutorConfig::default()
        }
    }

    /// The operation of worker 0 at which the oracle spoke, if in a hundred.
    fn spoke(oracle: &mut HungerOracle, private: usize, public: usize) -> Option<u32> {
        (1..=100).find(|_| oracle.operated(0, private, public).is_err())
    }

    #[test]
    fn a_worker_that_keeps_tasks_over_the_heads_of_the_hungry_is_noticed() {
        let mut oracle = HungerOracle::default();
        oracle.begin(&config());
        assert!(!oracle.read(0, word(true)));
        assert_eq!(spoke(&mut oracle, 1, 0), None, "it is its own next one");
        assert_eq!(spoke(&mut oracle, 2, 1), None, "there is something to take");
        assert_eq!(spoke(&mut oracle, 2, 0), Some(25));
        oracle.exposed(0);
        assert_eq!(spoke(&mut oracle, 2, 0), Some(25));
        assert!(oracle.read(0, word(false)), "it has changed");
        assert_eq!(spoke(&mut oracle, 2, 0), None, "nobody is hungry");
    }
}
