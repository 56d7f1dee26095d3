//! Why private tasks become public, for the coverage points.
//!
//! Core reports no reason. The world infers it from the private tasks pushed before the wake-up's
//! fence, and from the sleep word read last. Ambiguous cases count as none.

use executor_core::ExecutorConfig;

use crate::coverage::CoveragePoint;

#[derive(Debug, Default)]
pub(crate) struct Exposures {
    workers: Vec<Exposure>,
    /// Workers that have pushed and not yet reached a fence.
    open: usize,
}

#[derive(Clone, Debug, Default)]
struct Exposure {
    publishing: bool,
    /// Private tasks pushed since the last fence, and private tasks before these pushes.
    pushed: usize,
    of: usize,
}

impl Exposures {
    pub(crate) fn begin(&mut self, config: &ExecutorConfig) {
        self.workers = vec![Exposure::default(); config.workers];
    }

    pub(crate) fn publishing(&mut self, worker: usize, begins: bool) {
        self.workers[worker].publishing = begins;
    }

    pub(crate) fn pushed(&mut self, worker: usize, private: usize) {
        let exposure = &mut self.workers[worker];
        if exposure.pushed == 0 {
            exposure.of = private;
            self.open += 1;
        }
        exposure.pushed += 1;
    }

    #[inline]
    pub(crate) fn is_any_open(&self) -> bool {
        self.open > 0
    }

    /// A fence made the pushes of `worker` public. Returns why.
    pub(crate) fn fenced(&mut self, worker: usize, searched: bool) -> Option<CoveragePoint> {
        let exposure = &mut self.workers[worker];
        let (pushed, of) = (std::mem::take(&mut exposure.pushed), exposure.of);
        if pushed == 0 {
            return None;
        }
        self.open -= 1;
        if exposure.publishing {
            Some(CoveragePoint::Published)
        } else if pushed == of {
            // One task may be half of one.
            (of > 1).then_some(CoveragePoint::ExposedLong)
        } else if searched {
            Some(CoveragePoint::ExposedToSearcher)
        } else {
            Some(CoveragePoint::ExposedToSleeper)
        }
    }
}
