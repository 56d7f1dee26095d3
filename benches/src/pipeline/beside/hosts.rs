//! Hosts of the jobs: ours, rayon, or a thread for each job.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use pipeline_exec::{Job, JobErrorKind, PipelineExecutor, Stage, StepCx, StepError, step};
use rayon::ThreadPool;
use rayon::prelude::*;

use super::load::{Heavy, SLOTS, Short};

/// A job's panic does not end its host.
pub(super) trait Host: Sync {
    /// Does not wait for it.
    fn short(&self, short: Short);

    /// Returns at its end.
    fn heavy(&self, heavy: &Arc<Heavy>);
}

struct HeavyStage(Arc<Heavy>);

impl Stage for HeavyStage {
    fn slots(&self) -> usize {
        SLOTS
    }

    fn run(&self, slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        self.0.slot(slot);
        Ok(())
    }
}

impl Host for PipelineExecutor {
    fn short(&self, short: Short) {
        let run = move |_: &StepCx<'_>| {
            short.run();
            Ok(())
        };
        // As with the others, its slot notes its end.
        drop(
            self.submit(Job::from_steps("short", vec![step(run)]))
                .expect("there is room"),
        );
    }

    fn heavy(&self, heavy: &Arc<Heavy>) {
        let job = Job::builder("heavy")
            .cost(SLOTS as u64)
            .stage(Arc::new(HeavyStage(Arc::clone(heavy))))
            .build();
        let end = self.submit(job).expect("there is room").wait();
        if let Err(error) = &end {
            assert_eq!(error.kind, JobErrorKind::Panicked, "{error}");
        }
        heavy.check(end.is_err());
    }
}

/// Tasks catch their panics.
pub(super) struct Pool(pub(super) ThreadPool);

impl Host for Pool {
    fn short(&self, short: Short) {
        self.0
            .spawn(move || drop(catch_unwind(AssertUnwindSafe(|| short.run()))));
    }

    fn heavy(&self, heavy: &Arc<Heavy>) {
        let slots = || {
            let slots = (0..SLOTS).into_par_iter().with_max_len(1);
            slots.for_each(|slot| heavy.slot(slot));
        };
        let end = catch_unwind(AssertUnwindSafe(|| self.0.install(slots)));
        heavy.check(end.is_err());
    }
}

/// A thread for each job.
pub(super) struct Threads;

impl Host for Threads {
    fn short(&self, short: Short) {
        // A panic ends the thread alone.
        drop(thread::spawn(move || short.run()));
    }

    fn heavy(&self, heavy: &Arc<Heavy>) {
        let heavy = Arc::clone(heavy);
        let check = Arc::clone(&heavy);
        let job = thread::spawn(move || (0..SLOTS).for_each(|slot| heavy.slot(slot)));
        check.check(job.join().is_err());
    }
}
