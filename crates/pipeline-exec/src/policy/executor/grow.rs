#![doc = include_str!("grow/README.md")]

use std::sync::Arc;
use std::task::Waker;

use crate::policy::board::ending::{Closing, changed, end};
use crate::policy::board::growing::{change, last_task_over};
use crate::policy::board::reconcile::Change;
use crate::policy::job::handle::JobHandle;
use crate::policy::job::tasks::Tasks;
use crate::policy::ports::{InnerEvent, PipelineEvent, PipelinePorts, StateOf};
use crate::task::Task;

/// Returns the task's number. `waker` makes a waker that calls [`wake`] with that number.
///
/// # Errors
///
/// The task, if the job was closed or is over.
pub fn spawn<E: PipelinePorts>(
    env: &E,
    state: &Arc<StateOf<E>>,
    job: JobHandle,
    task: Box<dyn Task>,
    waker: impl FnOnce(usize) -> Waker,
) -> Result<usize, Box<dyn Task>> {
    let task = change(env, state, |tasks| tasks.spawn(task, waker))?;
    env.observe(PipelineEvent::Inner(InnerEvent::TaskSpawned { job, task }));
    say(env, state, job);
    Ok(task)
}

/// A parked task becomes claimable now, a running one after its turn.
pub fn wake<E: PipelinePorts>(env: &E, state: &Arc<StateOf<E>>, job: JobHandle, task: usize) {
    let is_ready = change(env, state, |tasks| tasks.wake(task));
    env.observe(PipelineEvent::Inner(InnerEvent::TaskWoken { job, task }));
    if is_ready {
        say(env, state, job);
    }
}

/// A worker drops the task instead of running another turn.
pub fn cancel_task<E: PipelinePorts>(env: &E, state: &Arc<StateOf<E>>, job: JobHandle, task: usize) {
    let is_ready = change(env, state, |tasks| tasks.cancel(task));
    env.observe(PipelineEvent::Inner(InnerEvent::TaskCancelled { job, task }));
    if is_ready {
        say(env, state, job);
    }
}

/// The job ends with its last task, or now if it has none.
pub fn leave<E: PipelinePorts>(env: &E, state: &Arc<StateOf<E>>, job: JobHandle) {
    if !change(env, state, Tasks::leave) {
        return;
    }
    let now_ns = env.now_ns();
    if last_task_over(env, state, job) {
        end(env, state, job, Closing::Touched, now_ns);
    }
}

fn say<E: PipelinePorts>(env: &E, state: &Arc<StateOf<E>>, job: JobHandle) {
    state.claims.give_back(env, 1);
    changed(env, state, job, Change::Ready { workers: 1 });
}
