//! A load in the simulator, by virtual time.

use std::sync::Arc;

use executor_core::ExecutorConfig;
use pipeline_exec::policy::{JobSpec, PipelineConfig};
use pipeline_exec::{JobId, Stage, StepCx, StepError, split_threads};
use sim::{Costs, Ending, Profile, SimCtx, Simulation, StrategyKind};

use super::load::{self, Load, Slots, Task, What, Works};

/// All workers sleep by then.
const BEGIN_NS: u64 = 20_000_000;

impl Works for SimCtx<'_, Task, ()> {
    fn work(&mut self, ns: u32) {
        if ns > 0 {
            SimCtx::work(self, ns.into());
        }
    }
}

/// Each worker has a core of its own. Panics if an oracle finds a violation.
pub(crate) fn predict(load: &Load, workers: usize, costs: &Costs, seed: u64) -> Profile {
    let simulation = Simulation::new(seed)
        .strategy(StrategyKind::Earliest)
        .ending(Ending::Idle)
        .begin_ns(BEGIN_NS)
        .costs(costs.clone())
        .step_limit(u64::MAX)
        .keep_choices(false);
    match load.what {
        What::Tasks(root) => {
            let config = ExecutorConfig::new(workers);
            let run = simulation
                .config(config)
                .run([root], |_| (), |task, cx| load::run(task, cx));
            run.unwrap_or_else(|failure| panic!("{failure}")).profile
        }
        What::Job(slots) => {
            let (main, reserve) = split_threads(workers.try_into().expect("there is a worker"));
            let config = PipelineConfig {
                main,
                reserve,
                quantum: QUANTUM,
                capacity: 1,
            };
            // As on threads, except that the number of workers follows from the roles.
            let run = simulation.config(ExecutorConfig::default()).run_job(
                config,
                spec(slots),
                move |_stage, slot| slots.lengths.ns(slot as u64).into(),
            );
            run.unwrap_or_else(|failure| panic!("{failure}")).profile
        }
    }
}

/// The default on threads.
const QUANTUM: std::time::Duration = std::time::Duration::from_millis(2);

fn spec(slots: Slots) -> JobSpec {
    let stage: Arc<dyn Stage> = Arc::new(IdleStage(slots.slots));
    JobSpec::new("simulated", JobId::new(0), vec![stage; slots.stages].into())
}

struct IdleStage(usize);

impl Stage for IdleStage {
    fn slots(&self) -> usize {
        self.0
    }

    fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        Ok(())
    }
}
