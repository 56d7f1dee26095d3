//! How callers close one job, or all jobs with the executor.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use executor_core::run_state::Closed;

use crate::policy::board::ending::{self, Closing, close};
use crate::policy::guard::quietly_drop;
use crate::policy::job::handle::JobHandle;
use crate::policy::job::ledger::CloseReason;
use crate::policy::ports::{BodyOf, InnerEvent, PipelineEvent, PipelinePorts, StateOf};

/// A job that has ended is not affected.
pub fn cancel<E: PipelinePorts>(env: &E, state: &Arc<StateOf<E>>, job: JobHandle) {
    close(env, state, job, CloseReason::Cancelled);
}

pub(crate) fn enforce_deadline<E: PipelinePorts>(env: &E, state: &Arc<StateOf<E>>, job: JobHandle) {
    ending::enforce_deadline(env, state, job, env.now_ns());
}

/// The jobs inside go on. [`PipelinePorts::all_ended`] is called when the last one has ended.
pub fn close_gate<E: PipelinePorts>(env: &E) {
    if env.shared().admission.close_gate(env) == Closed::Ended {
        env.all_ended();
    }
}

/// Closes the gate and every job. Returns the jobs without a claimed slot. A job that is being
/// submitted is among those, or its submitter closes it.
pub fn stop<E: PipelinePorts>(env: &E) -> Vec<Arc<BodyOf<E>>> {
    let shared = env.shared();
    close_gate(env);
    shared.set_stopping(env);
    // Ordering: SeqCst fence. Edge `stop/publish`: pairs with the fences in `publish` and in
    // `meet_shutdown`. The side that comes second sees the other's write: the job and what can be
    // claimed of it, or the stop. Edge `stop/close`: a party that finds a job closed below sees the
    // stop as well.
    env.fence(Ordering::SeqCst);
    env.observe(PipelineEvent::Inner(InnerEvent::Stops));
    let mut handed_back = Vec::new();
    for index in 0..env.used(&shared.jobs) {
        // If nothing can be claimed, the running slots may complete the job; a worker that starts
        // another stage closes it. A job that grows does not end by itself.
        let Some(body) = env.get(&shared.jobs, index) else {
            continue;
        };
        if (body.state.claims.is_claimable(env) || body.state.grows)
            && close(env, body.state(), body.handle(index), body.state().stop_reason()) == Closing::Untouched
        {
            handed_back.push(body);
        } else {
            quietly_drop(body);
        }
    }
    handed_back
}
