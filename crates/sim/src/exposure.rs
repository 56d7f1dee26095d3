//! Why private tasks become public: what the world makes of it, for the coverage marks.
//!
//! Core does not say why. It is told from what its worker does: how many of how many tasks it pushes before the
//! fence of its wake-up, and what the sleep word was when it read it last. What could be two things is none.

use executor_core::ExecutorConfig;
use executor_core::sleep::SleepWord;

use crate::mark::Mark;

/// What the world has seen of each worker that makes private tasks public.
#[derive(Debug, Default)]
pub(crate) struct Exposures {
    workers: Vec<Exposure>,
    capacity: usize,
}

/// What it has seen of one worker.
#[derive(Clone, Debug, Default)]
struct Exposure {
    /// When it read the sleep word last, it had private tasks and the word was another one than before.
    changed: bool,
    /// A task on it publishes.
    publishing: bool,
    /// Tasks pushed since the last fence that had been private, and private tasks before the first of them.
    pushed: usize,
    of: usize,
}

impl Exposures {
    pub(crate) fn begin(&mut self, config: &ExecutorConfig) {
        self.workers = vec![Exposure::default(); config.workers];
        self.capacity = config.private_tasks;
    }

    /// `worker` read the sleep word; whether it was another one than before, and the worker has private tasks.
    pub(crate) fn read_sleep_word(&mut self, worker: usize, changed: bool) {
        self.workers[worker].changed = changed;
    }

    /// `worker` read the clock.
    pub(crate) fn read_clock(&mut self, worker: usize) -> Option<Mark> {
        std::mem::take(&mut self.workers[worker].changed).then_some(Mark::ChangeExamined)
    }

    /// A task on `worker` begins to publish, or is done with it.
    pub(crate) fn publishing(&mut self, worker: usize, begins: bool) {
        self.workers[worker].publishing = begins;
    }

    /// `worker` pushed a private task, the one of `private` that it had.
    pub(crate) fn pushed(&mut self, worker: usize, private: usize) {
        let exposure = &mut self.workers[worker];
        if exposure.pushed == 0 {
            exposure.of = private;
        }
        exposure.pushed += 1;
    }

    /// `worker`, which read `word` last, came to a fence: what it pushed became public at once. Gives why.
    pub(crate) fn fenced(&mut self, worker: usize, word: SleepWord) -> Option<Mark> {
        let capacity = self.capacity;
        let exposure = &mut self.workers[worker];
        let (pushed, of) = (std::mem::take(&mut exposure.pushed), exposure.of);
        if pushed == 0 {
            return None;
        }
        if exposure.publishing {
            Some(Mark::Published)
        } else if pushed == of {
            // One may be the half of one.
            (of > 1).then_some(Mark::ExposedLong)
        } else if pushed > FED_MAX.min(of / 2) {
            (of == capacity).then_some(Mark::ExposedFull)
        } else if of == capacity && pushed == of.div_ceil(2) {
            None
        } else if word.searchers() > 0 {
            Some(Mark::ExposedToSearcher)
        } else {
            (word.sleepers() > 0).then_some(Mark::ExposedToSleeper)
        }
    }
}

/// The most that the hungry are given at once.
const FED_MAX: usize = 32;
