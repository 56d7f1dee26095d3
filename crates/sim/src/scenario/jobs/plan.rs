//! The jobs of a run, drawn from its seed, and their stages.
//!
//! A stage counts its own slots: `finish` must find that each ran once.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pipeline_exec::policy::{self, Class, JobSpec, Terms};
use pipeline_exec::{JobId, Stage, StageGraph, StageId, StepCx, StepError};

use super::grown::GrownPlan;
use super::{Handed, Jobs};
use crate::fault::InjectedPanic;
use crate::oracle::{Oracle, Violation};
use crate::scheduler::Dice;

#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) complaints: Arc<Mutex<Vec<Violation>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behaviour {
    Plain,
    /// Asks whether to stop and to yield; both questions are steps.
    Asks,
    Fails,
    Panics,
    /// Each slot has its own nested job, with this number.
    Nests(usize),
}

#[derive(Clone, Copy)]
enum Shape {
    Chain,
    Fan,
    Any,
}

struct PlannedStage {
    name: String,
    slots: Vec<Behaviour>,
    finish: Behaviour,
    runs: Vec<AtomicUsize>,
    asked: AtomicUsize,
    finished: AtomicUsize,
    inner: Vec<Inner>,
    complaints: Arc<Mutex<Vec<Violation>>>,
}

pub(super) struct Inner {
    pub(super) spec: JobSpec,
    stage: Arc<PlannedStage>,
}

const DEPTH_MAX: usize = 3;

impl Plan {
    pub(super) fn any(&self, dice: &mut Dice, n: usize, jobs: &Jobs) -> Handed {
        if jobs.tasks == 0 || dice.below(2) == 0 {
            return self.job(dice, n, jobs).into();
        }
        let grows = GrownPlan::draw(dice, self, jobs);
        let stages = JobSpec::of_tasks("", JobId::new(0)).stages;
        Handed {
            spec: Self::spec(dice, n, jobs, stages),
            grows: Some(grows),
        }
    }

    pub(super) fn job(&self, dice: &mut Dice, n: usize, jobs: &Jobs) -> JobSpec {
        let stages = self.graph(dice, n, jobs);
        Self::spec(dice, n, jobs, stages)
    }

    fn spec(dice: &mut Dice, n: usize, jobs: &Jobs, stages: StageGraph) -> JobSpec {
        let late = jobs.troubles && dice.below(8) == 0;
        JobSpec {
            table_name: "planned".into(),
            id: JobId::new(n as u64),
            // Few costs, so that ties are common.
            cost: [None, Some(1), Some(5), Some(5), Some(9)][dice.below(5)],
            terms: Terms {
                class: [Class::Interactive, Class::Normal, Class::Normal, Class::Batch][dice.below(4)],
                deadline: late.then(|| Duration::from_nanos(1 + dice.below(20_000) as u64)),
                workers_max: [usize::MAX, usize::MAX, usize::MAX, 1, 2][dice.below(5)],
            }
            .boxed(),
            stages,
            output: None,
        }
    }

    fn graph(&self, dice: &mut Dice, job: usize, jobs: &Jobs) -> StageGraph {
        let (mut graph, mut ids) = (StageGraph::default(), Vec::new());
        let shape = [Shape::Chain, Shape::Fan, Shape::Fan, Shape::Any][dice.below(4)];
        for stage in 0..1 + dice.below(jobs.stages as usize) {
            let added = self.stage(dice, job, stage, jobs);
            let id = match shape {
                Shape::Chain => graph.then(added),
                Shape::Fan if stage == 1 || stage == 2 => graph.after(&ids[..1], added),
                Shape::Fan => graph.then(added),
                Shape::Any => {
                    let before: Vec<StageId> = ids.iter().copied().filter(|_| dice.below(3) == 0).collect();
                    graph.after(&before, added)
                }
            };
            ids.push(id);
        }
        graph
    }

    pub(super) fn complaint(&self) -> Option<Violation> {
        let complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        complaints.first().cloned()
    }

    fn stage(&self, dice: &mut Dice, job: usize, stage: usize, jobs: &Jobs) -> Arc<dyn Stage> {
        let slots = dice.below(jobs.slots as usize + 1);
        self.planned(dice, format!("stage {stage} of job {job}"), slots, jobs, 0)
    }

    fn planned(
        &self,
        dice: &mut Dice,
        name: String,
        slots: usize,
        jobs: &Jobs,
        depth: usize,
    ) -> Arc<PlannedStage> {
        let mut inner = Vec::new();
        let behave = |dice: &mut Dice| match dice.below(if jobs.troubles { 40 } else { 38 }) {
            0..10 => Behaviour::Asks,
            10..38 => Behaviour::Plain,
            38 => Behaviour::Fails,
            _ => Behaviour::Panics,
        };
        let mut slots: Vec<Behaviour> = (0..slots).map(|_| behave(dice)).collect();
        let finish = behave(dice);
        if jobs.nests && depth < DEPTH_MAX {
            for (slot, behaviour) in slots.iter_mut().enumerate() {
                if dice.below(4 << depth) == 0 {
                    *behaviour = Behaviour::Nests(inner.len());
                    inner.push(self.inner(dice, format!("slot {slot} of {name}"), jobs, depth + 1));
                }
            }
        }
        Arc::new(PlannedStage {
            runs: slots.iter().map(|_| AtomicUsize::new(0)).collect(),
            name,
            slots,
            finish,
            asked: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
            inner,
            complaints: Arc::clone(&self.complaints),
        })
    }

    pub(super) fn inner(&self, dice: &mut Dice, of: String, jobs: &Jobs, depth: usize) -> Inner {
        let slots = dice.below(4);
        let stage = self.planned(dice, format!("the job in {of}"), slots, jobs, depth);
        let spec = JobSpec {
            table_name: "inner".into(),
            id: JobId::new(depth as u64),
            cost: [None, Some(1), Some(5)][dice.below(3)],
            terms: Terms {
                workers_max: [usize::MAX, usize::MAX, 1][dice.below(3)],
                ..Terms::default()
            }
            .boxed(),
            stages: StageGraph::from(vec![Arc::clone(&stage) as Arc<dyn Stage>]),
            output: None,
        };
        Inner { spec, stage }
    }
}

impl PlannedStage {
    fn behave(&self, behaviour: Behaviour, cx: &StepCx<'_>) -> Result<(), StepError> {
        match behaviour {
            Behaviour::Plain => Ok(()),
            Behaviour::Asks => {
                let _ = cx.is_cancelled() || cx.should_yield();
                Ok(())
            }
            Behaviour::Fails => Err("as planned".into()),
            Behaviour::Panics => resume_unwind(Box::new(InjectedPanic)),
            Behaviour::Nests(number) => {
                let Inner { spec, stage } = &self.inner[number];
                let end = policy::nest(cx, spec.clone());
                if end.is_ok() && Self::counted(&stage.finished) != 1 {
                    self.complain(
                        Oracle::Ticket,
                        format!("its inner job {number} completed and was not finished"),
                    );
                }
                Ok(end.map(drop)?)
            }
        }
    }

    fn complain(&self, oracle: Oracle, about: String) {
        let mut complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        complaints.push(Violation::new(oracle, format!("{}: {about}", self.name)));
    }

    fn count(place: &AtomicUsize) -> usize {
        // Ordering: Relaxed. There is one thread.
        place.fetch_add(1, Ordering::Relaxed)
    }

    fn counted(place: &AtomicUsize) -> usize {
        // Ordering: Relaxed. There is one thread.
        place.load(Ordering::Relaxed)
    }
}

impl Stage for PlannedStage {
    fn name(&self) -> &str {
        &self.name
    }

    fn slots(&self) -> usize {
        Self::count(&self.asked);
        self.slots.len()
    }

    fn run(&self, slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
        if Self::counted(&self.finished) > 0 {
            self.complain(Oracle::Claims, format!("slot {slot} runs after `finish`"));
        }
        let ran = self.behave(self.slots[slot], cx);
        // So that an early `finish` finds it missing.
        if Self::count(&self.runs[slot]) > 0 {
            self.complain(Oracle::Claims, format!("slot {slot} ran twice"));
        }
        ran
    }

    fn finish(&self, cx: &StepCx<'_>) -> Result<(), StepError> {
        if Self::count(&self.finished) > 0 {
            self.complain(Oracle::Claims, "`finish` ran twice".to_owned());
        }
        for (slot, runs) in self.runs.iter().enumerate() {
            if Self::counted(runs) != 1 {
                self.complain(
                    Oracle::Claims,
                    format!(
                        "`finish` found that slot {slot} ran {} times",
                        Self::counted(runs)
                    ),
                );
            }
        }
        self.behave(self.finish, cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::jobs::PLAN;
    use crate::search::configurations::{CHAIN, DIAMOND, NEST};

    #[test]
    fn the_jobs_that_are_searched_exhaustively_are_what_their_configurations_say() {
        let followers = |graph: &StageGraph| -> Vec<Vec<usize>> {
            (0..graph.len())
                .map(|stage| graph.followers(stage).to_vec())
                .collect()
        };
        for (seed, stages, slots, made_of, followed_by) in [
            (CHAIN, 2, 2, vec![1, 2], vec![vec![1], vec![]]),
            (
                DIAMOND,
                4,
                1,
                vec![1; 4],
                vec![vec![1, 2], vec![3], vec![3], vec![]],
            ),
        ] {
            let jobs = Jobs {
                stages,
                slots,
                ..Jobs::default()
            };
            let spec = Plan::default().job(&mut Dice::new(seed ^ PLAN), 0, &jobs);
            let graph = &spec.stages;
            let slots: Vec<usize> = (0..graph.len()).map(|stage| graph.stage(stage).slots()).collect();
            assert_eq!((slots, followers(graph)), (made_of, followed_by), "seed {seed}");
            assert_eq!(spec.terms().workers_max, usize::MAX, "seed {seed}");
        }
    }

    #[test]
    fn the_job_that_runs_one_of_its_own_is_what_its_configuration_says() {
        let jobs = Jobs {
            stages: 1,
            slots: 1,
            nests: true,
            ..Jobs::default()
        };
        let (plan, mut dice) = (Plan::default(), Dice::new(NEST ^ PLAN));
        // `Plan::graph` draws these before its stage.
        let _shape_and_stages = (dice.below(4), dice.below(1));
        let slots = dice.below(jobs.slots as usize + 1);
        let stage = plan.planned(&mut dice, String::new(), slots, &jobs, 0);
        let [Inner { spec, stage: inner }] = &stage.inner[..] else {
            panic!("it runs {} jobs of its own", stage.inner.len());
        };
        assert!(matches!(stage.slots[..], [Behaviour::Nests(0)]));
        assert_eq!((inner.slots.len(), inner.inner.len()), (2, 0));
        assert_eq!(spec.terms().workers_max, usize::MAX);
        let spec = plan.job(&mut Dice::new(NEST ^ PLAN), 0, &jobs);
        assert_eq!((spec.stages.len(), spec.terms().workers_max), (1, usize::MAX));
    }
}
