#![doc = include_str!("grow/README.md")]
//!
//! This file is the steps of that protocol; `policy::tasks` has the table that they change.

use std::sync::Arc;
use std::task::Waker;

use super::board::JobHandle;
use super::close::{Closing, end, quietly_drop};
use super::ledger::Ledger;
use super::lend;
use super::ports::{PipelineEvent, PipelinePorts, StateOf};
use super::standing::settle;
use super::tasks::{Paused, Tasks};
use crate::mutant;
use crate::task::{Task, Turn};

/// The only stage of a job that grows. Its one slot is claimed from the beginning, by all tasks together.
pub(crate) const STAGE: usize = 0;

/// Adds a task to `job`, which is claimable at once. `waker` makes the waker of the task with the number
/// that it is given; it calls [`wake`].
///
/// # Errors
///
/// The task, if the job takes none any more: it was closed, or is over.
pub fn spawn<E: PipelinePorts>(
    env: &E,
    state: &Arc<StateOf<E>>,
    job: JobHandle,
    task: Box<dyn Task>,
    waker: impl FnOnce(usize) -> Waker,
) -> Result<usize, Box<dyn Task>> {
    let task = change(env, state, |tasks| tasks.spawn(task, waker))?;
    env.observe(PipelineEvent::TaskSpawned { job, task });
    say(env, state, job, 1);
    Ok(task)
}

/// Wakes task number `task` of `job`: if it is parked, it is claimable now; if it runs, it is claimable
/// after this turn. Nothing happens if it is ready already, or over.
pub fn wake<E: PipelinePorts>(env: &E, state: &Arc<StateOf<E>>, job: JobHandle, task: usize) {
    let is_ready = change(env, state, |tasks| tasks.wake(task));
    env.observe(PipelineEvent::TaskWoken { job, task });
    if is_ready && !mutant::m115_wake_makes_nothing_claimable() {
        say(env, state, job, 1);
    }
}

/// Task number `task` of `job` has no further turn: a worker drops it. Nothing happens if it is over.
pub fn cancel_task<E: PipelinePorts>(env: &E, state: &Arc<StateOf<E>>, job: JobHandle, task: usize) {
    let is_ready = change(env, state, |tasks| tasks.cancel(task));
    env.observe(PipelineEvent::TaskCancelled { job, task });
    if is_ready {
        say(env, state, job, 1);
    }
}

/// The handle through which tasks come from outside is gone. The job ends when its last task is over, now
/// if it has none. Called once.
pub fn leave<E: PipelinePorts>(env: &E, state: &Arc<StateOf<E>>, job: JobHandle) {
    if change(env, state, Tasks::leave) {
        over(env, state, job, Closing::Touched, env.now_ns());
    }
}

/// A turn of task number `task` came to `turn` at `now_ns`. Gives the time, which has gone on if the task
/// was dropped.
pub(crate) fn turn_over<E: PipelinePorts>(
    env: &E,
    state: &Arc<StateOf<E>>,
    job: JobHandle,
    task: usize,
    paused: Paused,
    turn: Turn,
    now_ns: u64,
) -> u64 {
    let put_back = change(env, state, |tasks| tasks.put_back(task, paused, turn));
    env.observe(PipelineEvent::TurnOver { job, task, turn });
    match put_back {
        // This worker stays, or looks at the board again.
        Ok(true) => say(env, state, job, 0),
        Ok(false) => {}
        Err(paused) => {
            // Before the job can end by it.
            quietly_drop(paused);
            env.observe(PipelineEvent::TaskOver { job, task });
            let now_ns = env.now_ns();
            if change(env, state, |tasks| tasks.finish([task])) {
                over(env, state, job, Closing::Touched, now_ns);
            }
            return now_ns;
        }
    }
    now_ns
}

/// The job is closed: drops the tasks that no worker runs, and ends the job if a worker runs none.
pub(crate) fn close_tasks<E: PipelinePorts>(env: &E, state: &Arc<StateOf<E>>, job: JobHandle) {
    let dropped = change(env, state, Tasks::close)
        .into_iter()
        .map(|(task, paused)| {
            quietly_drop(paused);
            env.observe(PipelineEvent::TaskOver { job, task });
            task
        });
    let dropped: Vec<usize> = dropped.collect();
    if change(env, state, |tasks| tasks.finish(dropped)) {
        over(env, state, job, Closing::Touched, env.now_ns());
    }
}

/// Step say: a task can be claimed that could not be before, and `lookers` more workers are wanted for
/// it.
fn say<E: PipelinePorts>(env: &E, state: &Arc<StateOf<E>>, job: JobHandle, lookers: usize) {
    state.claims.give_back(env, 1);
    lend::tell(env, state);
    settle(env, state, job, Some(lookers));
}

/// The job takes no more tasks and has none. Called once.
fn over<E: PipelinePorts>(env: &E, state: &Arc<StateOf<E>>, job: JobHandle, closing: Closing, now_ns: u64) {
    env.observe(PipelineEvent::StageOver { job, stage: STAGE });
    if state.claims.give_up(env, &[(STAGE, 1)]) {
        end(env, state, job, closing, now_ns);
    }
}

pub(crate) fn change<E: PipelinePorts, R>(
    env: &E,
    state: &StateOf<E>,
    change: impl FnOnce(&mut Tasks) -> R,
) -> R {
    env.change(&state.ledger, |ledger: &mut Ledger| change(ledger.tasks()))
}
