//! Steps of workers and endings in the [protocol of jobs that
//! grow](mod@crate::policy::executor::grow).

use crate::policy::guard::quietly_drop;
use crate::policy::job::handle::JobHandle;
use crate::policy::job::ledger::Ledger;
use crate::policy::job::tasks::{Paused, STAGE, Tasks};
use crate::policy::ports::{InnerEvent, PipelineEvent, PipelinePorts, StateOf};
use crate::task::Turn;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterTurn {
    Parked,
    Ready,
    /// At this time, in nanoseconds; others are left.
    Dropped(u64),
    /// The caller ends the job.
    LastDropped(u64),
}

pub(crate) fn change<E: PipelinePorts, R>(
    env: &E,
    state: &StateOf<E>,
    change: impl FnOnce(&mut Tasks) -> R,
) -> R {
    env.change(&state.ledger, |ledger: &mut Ledger| change(ledger.tasks()))
}

pub(crate) fn turn_over<E: PipelinePorts>(
    env: &E,
    state: &StateOf<E>,
    job: JobHandle,
    task: usize,
    paused: Paused,
    turn: Turn,
) -> AfterTurn {
    let put_back = change(env, state, |tasks| tasks.put_back(task, paused, turn));
    env.observe(PipelineEvent::Inner(InnerEvent::TurnOver { job, task, turn }));
    let paused = match put_back {
        Ok(true) => return AfterTurn::Ready,
        Ok(false) => return AfterTurn::Parked,
        Err(paused) => paused,
    };
    quietly_drop(paused);
    env.observe(PipelineEvent::Inner(InnerEvent::TaskOver { job, task }));
    let now_ns = env.now_ns();
    if change(env, state, |tasks| tasks.finish([task])) && last_task_over(env, state, job) {
        AfterTurn::LastDropped(now_ns)
    } else {
        AfterTurn::Dropped(now_ns)
    }
}

/// Returns the time if no task is left: the caller ends the job.
pub(crate) fn close_tasks<E: PipelinePorts>(env: &E, state: &StateOf<E>, job: JobHandle) -> Option<u64> {
    let dropped = change(env, state, Tasks::close)
        .into_iter()
        .map(|(task, paused)| {
            quietly_drop(paused);
            env.observe(PipelineEvent::Inner(InnerEvent::TaskOver { job, task }));
            task
        });
    let dropped: Vec<usize> = dropped.collect();
    if !change(env, state, |tasks| tasks.finish(dropped)) {
        return None;
    }
    let now_ns = env.now_ns();
    last_task_over(env, state, job).then_some(now_ns)
}

/// Accounts for the job's slot. Returns whether the caller ends the job.
pub(crate) fn last_task_over<E: PipelinePorts>(env: &E, state: &StateOf<E>, job: JobHandle) -> bool {
    env.observe(PipelineEvent::StageOver { job, stage: STAGE });
    state.claims.give_up(env, &[(STAGE, 1)])
}
