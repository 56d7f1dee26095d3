//! Tasks of jobs that grow: a turn has a reason, one worker at a time is in a task, and each task is dropped
//! once, before its job's end is told.
//!
//! The oracle follows each task by the policy's events, which are told in the micro-step in which the job's
//! table changes. What it holds against a run:
//!
//! - a task whose number another task of the job has, or had;
//! - a turn that is claimed of a task that has not been spawned, has not said `Again` and was not woken since it
//!   parked, or of one that another worker has, or that is over;
//! - a turn of a task that was cancelled before the turn was claimed;
//! - a task that is dropped twice, or by another party than the one that has it, or in a job that is open,
//!   though it is neither done nor cancelled;
//! - a job that ends before all its tasks were dropped, or changes its tasks afterwards.
//!
//! That a task that was woken gets a turn shows at the end: a job whose tasks are not over does not end, and
//! [`Oracle::Deadlock`] says so.

use std::collections::HashMap;

use pipeline_exec::policy::PipelineEvent;
use pipeline_exec::{JobHandle, Turn};

use super::{Oracle, Violation};

/// Follows the tasks of all jobs that grow.
#[derive(Debug, Default)]
pub(crate) struct TaskTurnOracle {
    /// By the job's number.
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
    /// It was woken, or cancelled, since its turn was claimed.
    woken: bool,
    cancelled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Parked,
    Ready,
    /// A party has claimed a turn of it.
    Claimed {
        by: usize,
        /// It had been cancelled before.
        cancelled: bool,
    },
    Over,
}

/// In which state a wake or a cancel has found a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Parked,
    Ready,
    InTurn,
    Over,
}

impl TaskTurnOracle {
    /// The policy says on `party` that something happened. `is_closed` says whether the job is closed.
    /// Gives in which state a task was found by a wake or a cancel.
    pub(crate) fn observe(
        &mut self,
        event: PipelineEvent<'_>,
        party: usize,
        is_closed: impl Fn() -> bool,
    ) -> Result<Option<Found>, Violation> {
        match event {
            PipelineEvent::TaskSpawned { job, task } => self.spawned(job, task).map(|()| None),
            PipelineEvent::TaskWoken { job, task } => self.woken(job, task, false).map(Some),
            PipelineEvent::TaskCancelled { job, task } => self.woken(job, task, true).map(Some),
            PipelineEvent::Claimed { job, first, .. } => self.claimed(job, first, party).map(|()| None),
            PipelineEvent::SlotRan { job, slot, .. } => self.ran(job, slot, party).map(|()| None),
            PipelineEvent::TurnOver { job, task, turn } => {
                self.turn_over(job, task, turn, party).map(|()| None)
            }
            PipelineEvent::TaskOver { job, task } => self.over(job, task, party, is_closed()).map(|()| None),
            PipelineEvent::Ended { job, .. } => self.ended(job).map(|()| None),
            _ => Ok(None),
        }
    }

    /// Whether a task of `job` is parked.
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
                let message = format!("is in a turn of party {other}, and party {by} claims another");
                Err(said(job, number, &message))
            }
            State::Over => Err(said(job, number, "is over, and has a turn")),
        }
    }

    fn ran(&mut self, job: JobHandle, number: usize, party: usize) -> Result<(), Violation> {
        match self.find(job, number)?.state {
            State::Claimed { by, cancelled: false } if by == party => Ok(()),
            State::Claimed { by, .. } if by == party => {
                Err(said(job, number, "was cancelled, and has a turn"))
            }
            _ => Err(said(job, number, "has a turn that its party has not claimed")),
        }
    }

    fn turn_over(
        &mut self,
        job: JobHandle,
        number: usize,
        turn: Turn,
        party: usize,
    ) -> Result<(), Violation> {
        let task = self.find(job, number)?;
        if !matches!(task.state, State::Claimed { by, .. } if by == party) {
            return Err(said(job, number, "ends a turn that its party has not claimed"));
        }
        match turn {
            // It is that party's to drop.
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
        party: usize,
        is_closed: bool,
    ) -> Result<(), Violation> {
        let task = self.find(job, number)?;
        let cancelled = task.cancelled;
        match std::mem::replace(&mut task.state, State::Over) {
            State::Claimed { by, .. } if by != party => Err(said(
                job,
                number,
                "is dropped by another party than the one that has it",
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
        // The first by number, so that two runs say the same.
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
        cost: 1,
        seq: 3,
        index: 0,
    };

    /// What happens to task 0 of [`JOB`], an event after the other, each on its party; and whether the last
    /// one is held against the run. `is_closed`: the job is.
    fn course(is_closed: bool, events: &[(usize, PipelineEvent<'_>)]) -> bool {
        let mut oracle = TaskTurnOracle::default();
        let (last, before) = events.split_last().expect("there is one");
        for (party, event) in before {
            let verdict = oracle.observe(*event, *party, || is_closed);
            assert!(verdict.is_ok(), "{verdict:?}");
        }
        let verdict = oracle.observe(last.1, last.0, || is_closed);
        verdict.is_err_and(|violation| violation.oracle == Oracle::TaskTurns)
    }

    const SPAWNED: PipelineEvent<'_> = PipelineEvent::TaskSpawned { job: JOB, task: 0 };
    const WOKEN: PipelineEvent<'_> = PipelineEvent::TaskWoken { job: JOB, task: 0 };
    const CANCELLED: PipelineEvent<'_> = PipelineEvent::TaskCancelled { job: JOB, task: 0 };
    const OVER: PipelineEvent<'_> = PipelineEvent::TaskOver { job: JOB, task: 0 };
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
        PipelineEvent::TurnOver {
            job: JOB,
            task: 0,
            turn,
        }
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
    fn two_parties_in_one_task_are_noticed() {
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
