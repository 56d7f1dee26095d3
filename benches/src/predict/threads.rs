//! A load on threads, by the clock: from its hand-over until the caller knows that all has run.
//!
//! As in the simulator the executor is new, and its workers sleep when the load comes.

use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::burn::burn;
use executor_threaded::{Executor, ExecutorConfig, WorkerCtx};
use pipeline_exec::{Job, PipelineExecutor, Stage, StepCx, StepError};

use super::disturbance::waited_for_cores;
use crate::predict::load::{self, Load, Slots, Task, What, Works};

/// Time until started threads sleep.
const QUIET: Duration = Duration::from_millis(4);

/// Given the time of a step of [`burn`] and of calling it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Burner {
    step_ns: f64,
    call_ns: f64,
}

impl Burner {
    pub(crate) fn measure() -> Self {
        let ns_of = |steps, calls: u32| {
            let start = Instant::now();
            for seed in 0..calls {
                black_box(burn(seed.into(), steps));
            }
            start.elapsed().as_nanos() as f64 / f64::from(calls)
        };
        let least = |steps, calls| (0..15).map(|_| ns_of(steps, calls)).fold(f64::INFINITY, f64::min);
        let (short, long) = (least(50, 2_000), least(20_050, 5));
        let step_ns = (long - short) / 20_000.0;
        Self {
            step_ns,
            call_ns: (short - 50.0 * step_ns).max(0.0),
        }
    }

    /// A burner for loads with nothing to burn.
    pub(crate) fn idle() -> Self {
        Self {
            step_ns: 1.0,
            call_ns: 0.0,
        }
    }

    pub(crate) fn step_ns(self) -> f64 {
        self.step_ns
    }

    fn burns(self) -> Burns {
        Burns {
            steps_a_ns: (FIXED / self.step_ns) as u64,
            call_steps: (self.call_ns / self.step_ns * FIXED) as u64,
            ash: 0,
        }
    }
}

/// Parts of a step, so that a task needs no division.
const FIXED: f64 = 1_048_576.0;
const FIXED_BITS: u32 = 20;

/// A worker's scratch.
#[derive(Clone, Debug)]
struct Burns {
    steps_a_ns: u64,
    call_steps: u64,
    ash: u64,
}

impl Burns {
    #[inline]
    fn burn(&mut self, ns: u32) {
        let steps = (u64::from(ns) * self.steps_a_ns).saturating_sub(self.call_steps) >> FIXED_BITS;
        if ns > 0 {
            self.ash ^= burn(self.ash, steps);
        }
    }
}

impl Works for WorkerCtx<Task, Burns> {
    #[inline]
    fn work(&mut self, ns: u32) {
        self.scratch.burn(ns);
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) elapsed: Duration,
    /// Time that its threads together waited for cores.
    pub(crate) waited: Option<Duration>,
}

impl Run {
    fn clocked(run: impl FnOnce()) -> Self {
        let before = waited_for_cores();
        let start = Instant::now();
        run();
        let elapsed = start.elapsed();
        let waited = waited_for_cores().zip(before);
        Self {
            elapsed,
            waited: waited.map(|(after, before)| after.saturating_sub(before)),
        }
    }

    pub(crate) fn is_undisturbed(&self) -> bool {
        self.waited
            .is_none_or(|waited| waited * UNDISTURBED < self.elapsed)
    }
}

/// Waiting must be less than one part in this many of the time.
const UNDISTURBED: u32 = 50;

pub(crate) fn measure(load: &Load, workers: usize, burner: Burner) -> Run {
    match load.what {
        What::Tasks(root) => tasks(root, workers, burner),
        What::Job(slots) => job(slots, workers, burner),
    }
}

fn tasks(root: Task, workers: usize, burner: Burner) -> Run {
    let config = ExecutorConfig::new(workers);
    let executor = Executor::new(config, move |_| burner.burns(), load::run).expect("the executor starts");
    thread::sleep(QUIET);
    let run = Run::clocked(|| {
        assert!(executor.spawn_external(root).is_ok(), "the gate is open");
        executor.wait_idle();
    });
    executor.join();
    run
}

fn job(slots: Slots, workers: usize, burner: Burner) -> Run {
    let executor = PipelineExecutor::new(workers).expect("the executor starts");
    let stage = Arc::new(BurningStage {
        slots,
        burns: burner.burns(),
    });
    let builder = (0..slots.stages).fold(Job::builder("burning"), |job, _| job.stage(stage.clone()));
    let job = builder.build();
    thread::sleep(QUIET);
    let run = Run::clocked(|| {
        let ticket = executor.submit(job).expect("there is room");
        let report = ticket.wait().expect("no slot fails");
        assert_eq!(report.slots, slots.stages * slots.slots, "every slot has run");
    });
    executor.drain();
    run
}

struct BurningStage {
    slots: Slots,
    burns: Burns,
}

impl Stage for BurningStage {
    fn slots(&self) -> usize {
        self.slots.slots
    }

    fn run(&self, slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        let mut burns = self.burns.clone();
        burns.burn(self.slots.lengths.ns(slot as u64));
        black_box(burns.ash);
        Ok(())
    }
}
