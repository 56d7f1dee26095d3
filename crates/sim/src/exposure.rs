//! Why private tasks become public: what the world makes of it, for the coverage marks.
//!
//! Core does not say why. It is told from what its worker does: how many of how many tasks it pushes before the
//! fence of its wake-up, and what the sleep word was when it read it last. What could be two things is none.

use executor_core::ExecutorConfig;

use crate::mark::Mark;

/// What the world has seen of each worker that makes private tasks public.
#[derive(Debug, Default)]
pub(crate) struct Exposures {
    workers: Vec<Exposure>,
    /// How many of them have pushed and have not come to a fence.
    open: usize,
}

/// What it has seen of one worker.
#[derive(Clone, Debug, Default)]
struct Exposure {
    /// A task on it publishes.
    publishing: bool,
    /// Tasks pushed since the last fence that had been private, and private tasks before the first of them.
    pushed: usize,
    of: usize,
}

impl Exposures {
    pub(crate) fn begin(&mut self, config: &ExecutorConfig) {
        self.workers = vec![Exposure::default(); config.workers];
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
            self.open += 1;
        }
        exposure.pushed += 1;
    }

    /// Whether any worker is between a push and its fence.
    #[inline]
    pub(crate) fn is_any_open(&self) -> bool {
        self.open > 0
    }

    /// `worker`, which has seen whether others search, came to a fence: what it pushed became public at once. Gives why.
    pub(crate) fn fenced(&mut self, worker: usize, searched: bool) -> Option<Mark> {
        let exposure = &mut self.workers[worker];
        let (pushed, of) = (std::mem::take(&mut exposure.pushed), exposure.of);
        if pushed == 0 {
            return None;
        }
        self.open -= 1;
        if exposure.publishing {
            Some(Mark::Published)
        } else if pushed == of {
            // One may be the half of one.
            (of > 1).then_some(Mark::ExposedLong)
        } else if searched {
            Some(Mark::ExposedToSearcher)
        } else {
            Some(Mark::ExposedToSleeper)
        }
    }
}
