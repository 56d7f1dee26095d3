//! A stage whose slots compute, summed in a place of each worker's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam::utils::CachePadded;
use pipeline_exec::{Job, Stage, StepCx, StepError};

use crate::THREADS;
use crate::burn::burn;

/// Slots of `steps` steps of [`burn`], each seeded with its number.
#[derive(Debug)]
pub(super) struct Burning {
    slots: usize,
    steps: u64,
    /// One more for a lent thread.
    sums: [CachePadded<AtomicU64>; THREADS + 1],
}

impl Burning {
    pub(super) fn new(slots: usize, steps: u64) -> Arc<Self> {
        Arc::new(Self {
            slots,
            steps,
            sums: Default::default(),
        })
    }

    pub(super) fn burn(&self, slot: usize, thread: usize) {
        let sum = &self.sums[thread];
        let result = burn(slot as u64, self.steps);
        sum.store(
            sum.load(Ordering::Relaxed).wrapping_add(result),
            Ordering::Relaxed,
        );
    }

    pub(super) fn sum(&self) -> u64 {
        let sums = self.sums.iter().map(|sum| sum.load(Ordering::Relaxed));
        sums.fold(0, u64::wrapping_add)
    }

    /// Its cost is the number of steps, in thousands.
    pub(super) fn job(self: &Arc<Self>) -> Job {
        let stage: Arc<dyn Stage> = Arc::clone(self) as _;
        let cost = self.slots as u64 * self.steps / 1_000;
        Job::builder("burning").cost(cost).stage(stage).build()
    }
}

impl Stage for Burning {
    fn name(&self) -> &str {
        "burning"
    }

    fn slots(&self) -> usize {
        self.slots
    }

    fn run(&self, slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
        self.burn(slot, cx.worker_id());
        Ok(())
    }
}

pub(super) fn serial(slots: usize, steps: u64) -> u64 {
    (0..slots as u64)
        .map(|slot| burn(slot, steps))
        .fold(0, u64::wrapping_add)
}
