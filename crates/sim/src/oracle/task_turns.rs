//! Tasks of growing jobs: a turn has a reason and one worker, and each task is dropped once, in
//! time.
//!
//! The oracle fails a run for
//!
//! - a task with the number of another task of its job;
//! - a claimed turn of a task that was not spawned, did not return `Again` and was not woken since
//!   it parked, or that is over or another worker's;
//! - a turn of a task that was cancelled before the claim;
//! - a task dropped twice, by another actor than its own, or in an open job while neither done nor
//!   cancelled;
//! - a job that ends before all its tasks were dropped, or changes its tasks afterwards.
//!
//! A woken task without a turn ends in an [`Oracle::Deadlock`].

use std::collections::HashMap;

use pipeline_exec::policy::{InnerEvent, PipelineEvent};
use pipeline_exec::{open_job::Turn, policy::JobHandle};

use super::{Oracle, Violation};

#[derive(Debug, Default)]
pub(crate) struct TaskTurnOracle {
    jobs: HashMap<usize, Record>,
}

#[derive(Debug, Default)]
struct Record {
    tasks: HashMap<usize, Task>,
    has_ended: bool,
}

#[derive(Clone, Copy, Debug)]
struct Task {
    state: State,
    woken: bool,
    cancelled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Parked,
    Ready,
    Claimed { by: usize, cancelled: bool },
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Parked,
    Ready,
    InTurn,
    Over,
}

impl TaskTurnOracle {
    pub(crate) fn observe(
        &mut self,
        event: PipelineEvent<'_>,
        actor: usize,
        is_closed: impl Fn() -> bool,
    ) -> Result<Option<Found>, Violation> {
        match event {
            PipelineEvent::Inner(InnerEvent::TaskSpawned { job, task }) => {
                self.spawned(job, task).map(|()| None)
            }
            PipelineEvent::Inner(InnerEvent::TaskWoken { job, task }) => {
                self.woken(job, task, false).map(Some)
            }
            PipelineEvent::Inner(InnerEvent::TaskCancelled { job, task }) => {
                self.woken(job, task, true).map(Some)
            }
            PipelineEvent::Claimed { job, first, .. } => self.claimed(job, first, actor).map(|()| None),
            PipelineEvent::SlotRan { job, slot, .. } => self.ran(job, slot, actor).map(|()| None),
            PipelineEvent::Inner(InnerEvent::TurnOver { job, task, turn }) => {
                self.turn_over(job, task, turn, actor).map(|()| None)
            }
            PipelineEvent::Inner(InnerEvent::TaskOver { job, task }) => {
                self.over(job, task, actor, is_closed()).map(|()| None)
            }
            PipelineEvent::Ended { job, .. } => self.ended(job).map(|()| None),
            _ => Ok(None),
        }
    }

    pub(crate) fn has_parked(&self, job: JobHandle) -> bool {
        let tasks = self.jobs.get(&job.seq).into_iter();
        tasks
            .flat_map(|record| record.tasks.values())
            .any(|task| task.state == State::Parked)
    }

    fn spawned(&mut self, job: JobHandle, task: usize) -> Result<(), Violation> {
        let record = self.jobs.entry(job.seq).or_default();
        if record.has_ended {
            return Err(said(job, task, "was added after its job had ended"));
        }
        let added = Task {
            state: State::Ready,
            woken: false,
            cancelled: false,
        };
        match record.tasks.insert(task, added) {
            None => Ok(()),
            Some(_) => Err(said(job, task, "has the number of another one")),
        }
    }

    fn woken(&mut self, job: JobHandle, task: usize, cancels: bool) -> Result<Found, Violation> {
        let task = self.find(job, task)?;
        task.cancelled |= cancels;
        Ok(match task.state {
            State::Parked => {
                task.state = State::Ready;
                Found::Parked
            }
            State::Claimed { .. } => {
                task.woken = true;
                Found::InTurn
            }
            State::Ready => Found::Ready,
            State::Over => Found::Over,
        })
    }

    fn claimed(&mut self, job: JobHandle, number: usize, by: usize) -> Result<(), Violation> {
        let task = self.find(job, number)?;
        let before = task.state;
        (task.state, task.woken) = (
            State::Claimed {
                by,
                cancelled: task.cancelled,
            },
            false,
        );
        match before {
            State::Ready => Ok(()),
            State::Parked => Err(said(job, number, "parks, was not woken, and has a turn")),
            State::Claimed { by: other, .. } => {
                let message = format!("is in a turn of actor {other}, and actor {by} claims another");
                Err(said(job, number, &message))
            }
            State::Over => Err(said(job, number, "is over, and has a turn")),
        }
    }

    fn ran(&mut self, job: JobHandle, number: usize, actor: usize) -> Result<(), Violation> {
        match self.find(job, number)?.state {
            State::Claimed { by, cancelled: false } if by == actor => Ok(()),
            State::Claimed { by, .. } if by == actor => {
                Err(said(job, number, "was cancelled, and has a turn"))
            }
            _ => Err(said(job, number, "has a turn that its actor has not claimed")),
        }
    }

    fn turn_over(
        &mut self,
        job: JobHandle,
        number: usize,
        turn: Turn,
        actor: usize,
    ) -> Result<(), Violation> {
        let task = self.find(job, number)?;
        if !matches!(task.state, State::Claimed { by, .. } if by == actor) {
            return Err(said(job, number, "ends a turn that its actor has not claimed"));
        }
        match turn {
            Turn::Done => {}
            Turn::Parked if !task.woken => task.state = State::Parked,
            Turn::Parked | Turn::Again => task.state = State::Ready,
        }
        Ok(())
    }

    fn over(
        &mut self,
        job: JobHandle,
        number: usize,
        actor: usize,
        is_closed: bool,
    ) -> Result<(), Violation> {
        let task = self.find(job, number)?;
        let cancelled = task.cancelled;
        match std::mem::replace(&mut task.state, State::Over) {
            State::Claimed { by, .. } if by != actor => Err(said(
                job,
                number,
                "is dropped by another actor than the one that has it",
            )),
            State::Parked | State::Ready if !is_closed && !cancelled => {
                Err(said(job, number, "is dropped, and is neither done nor cancelled"))
            }
            State::Over => Err(said(job, number, "is dropped twice")),
            State::Claimed { .. } | State::Parked | State::Ready => Ok(()),
        }
    }

    fn ended(&mut self, job: JobHandle) -> Result<(), Violation> {
        let Some(record) = self.jobs.get_mut(&job.seq) else {
            return Ok(());
        };
        record.has_ended = true;
        let left = record.tasks.iter().filter(|(_, task)| task.state != State::Over);
        // The first by number, so that two runs report the same.
        match left.map(|(&number, _)| number).min() {
            None => Ok(()),
            Some(number) => Err(said(job, number, "is not over, and its job has ended")),
        }
    }

    fn find(&mut self, job: JobHandle, number: usize) -> Result<&mut Task, Violation> {
        let record = self.jobs.get_mut(&job.seq);
        let task = record.and_then(|record| record.tasks.get_mut(&number));
        task.ok_or_else(|| said(job, number, "was never added"))
    }
}

fn said(job: JobHandle, task: usize, what: &str) -> Violation {
    Violation::new(Oracle::TaskTurns, format!("task {task} of {job:?} {what}"))
}

#[cfg(test)]
mod tests {
    use pipeline_exec::Role;

    use super::*;

    const JOB: JobHandle = JobHandle {
        rank: 1,
        seq: 3,
        index: 0,
    };

    /// Returns whether the last event fails the run.
    fn course(is_closed: bool, events: &[(usize, PipelineEvent<'_>)]) -> bool {
        let mut oracle = TaskTurnOracle::default();
        let (last, before) = events.split_last().expect("there is one");
        for (actor, event) in before {
            let verdict = oracle.observe(*event, *actor, || is_closed);
            assert!(verdict.is_ok(), "{verdict:?}");
        }
        let verdict = oracle.observe(last.1, last.0, || is_closed);
        verdict.is_err_and(|violation| violation.oracle == Oracle::TaskTurns)
    }

    const SPAWNED: PipelineEvent<'_> = PipelineEvent::Inner(InnerEvent::TaskSpawned { job: JOB, task: 0 });
    const WOKEN: PipelineEvent<'_> = PipelineEvent::Inner(InnerEvent::TaskWoken { job: JOB, task: 0 });
    const CANCELLED: PipelineEvent<'_> =
        PipelineEvent::Inner(InnerEvent::TaskCancelled { job: JOB, task: 0 });
    const OVER: PipelineEvent<'_> = PipelineEvent::Inner(InnerEvent::TaskOver { job: JOB, task: 0 });
    const CLAIMED: PipelineEvent<'_> = PipelineEvent::Claimed {
        job: JOB,
        stage: 0,
        first: 0,
        slots: 1,
        worker: 0,
        role: Role::Main,
    };
    const RAN: PipelineEvent<'_> = PipelineEvent::SlotRan {
        job: JOB,
        stage: 0,
        slot: 0,
        worker: 0,
        role: Role::Main,
    };

    fn turn(turn: Turn) -> PipelineEvent<'static> {
        PipelineEvent::Inner(InnerEvent::TurnOver {
            job: JOB,
            task: 0,
            turn,
        })
    }

    #[test]
    fn a_turn_without_a_reason_is_noticed() {
        let parks = [(0, SPAWNED), (1, CLAIMED), (1, RAN), (1, turn(Turn::Parked))];
        let then = |rest: &[(usize, PipelineEvent<'static>)]| course(false, &[&parks[..], rest].concat());
        assert!(then(&[(1, CLAIMED)]));
        assert!(!then(&[(0, WOKEN), (2, CLAIMED)]));
        assert!(!then(&[(0, CANCELLED), (2, CLAIMED)]));
        assert!(
            then(&[(0, CANCELLED), (2, CLAIMED), (2, RAN)]),
            "it was cancelled"
        );
    }

    #[test]
    fn a_wake_during_a_turn_is_a_reason_for_the_next_one() {
        let woken = [(0, SPAWNED), (1, CLAIMED), (0, WOKEN), (1, turn(Turn::Parked))];
        assert!(!course(false, &[&woken[..], &[(2, CLAIMED)]].concat()));
        let again = [(0, SPAWNED), (1, CLAIMED), (1, turn(Turn::Again)), (2, CLAIMED)];
        assert!(!course(false, &again));
    }

    #[test]
    fn two_actors_in_one_task_are_noticed() {
        assert!(course(false, &[(0, SPAWNED), (1, CLAIMED), (2, CLAIMED)]));
        assert!(course(false, &[(0, SPAWNED), (1, CLAIMED), (2, RAN)]));
        assert!(course(
            false,
            &[(0, SPAWNED), (1, CLAIMED), (2, turn(Turn::Done))]
        ));
    }

    #[test]
    fn a_task_that_is_dropped_twice_or_without_a_reason_is_noticed() {
        assert!(course(false, &[(0, SPAWNED), (0, OVER)]));
        assert!(!course(true, &[(0, SPAWNED), (0, OVER)]));
        assert!(course(true, &[(0, SPAWNED), (0, OVER), (0, OVER)]));
        assert!(
            course(true, &[(0, SPAWNED), (1, CLAIMED), (0, OVER)]),
            "another has it"
        );
        assert!(course(true, &[(0, SPAWNED), (0, OVER), (1, CLAIMED)]));
        assert!(
            course(true, &[(0, SPAWNED), (0, OVER), (1, SPAWNED)]),
            "a number twice"
        );
    }

    #[test]
    fn a_task_that_outlives_its_job_is_noticed() {
        let mut oracle = TaskTurnOracle::default();
        assert_eq!(oracle.ended(JOB), Ok(()), "it has none");
        let mut oracle_of = |task| oracle.spawned(JOB, task);
        assert_eq!(oracle_of(0), Ok(()));
        assert!(oracle.ended(JOB).is_err());
        assert!(oracle.spawned(JOB, 1).is_err());
    }
}
