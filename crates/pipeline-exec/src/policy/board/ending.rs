//! How a job ends: because a party closed it, or because its last stage is over.
//!
//! [Claims](mod@crate::policy::job::claim) say why it ends once.

use std::sync::Arc;

use executor_core::ports::Fetch;
use executor_core::run_state::Released;

use super::growing;
use super::publish::Published;
use super::reconcile::{Change, reconcile};
use super::select::find;
use crate::policy::guard::quietly_drop;
use crate::policy::job::claim::Unclaimed;
use crate::policy::job::handle::JobHandle;
use crate::policy::job::ledger::{CloseReason, Failure, JobTimes};
use crate::policy::ports::{PipelineEvent, PipelinePorts, StateOf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    /// The job is open, or had a claimed slot, or another party closed it.
    Touched,
    /// A shutdown closed the job before any claim: its submitter gets it back.
    Untouched,
}

/// Reconciles `job`, and closes it if it meets a shutdown.
pub(crate) fn changed<E: PipelinePorts>(
    env: &E,
    state: &Arc<StateOf<E>>,
    job: JobHandle,
    change: Change,
) -> Closing {
    match reconcile(env, state, job, change) {
        Published::Open => Closing::Touched,
        Published::Stopping => close(env, state, job, state.stop_reason()),
    }
}

/// Closes every admitted job whose deadline has passed, the earliest first. Returns whether there
/// was one.
pub(crate) fn enforce_all_deadlines<E: PipelinePorts>(env: &E, now_ns: u64) -> bool {
    let shared = env.shared();
    let mut any = false;
    while let Some((deadline_ns, key)) = shared.board.first_deadline(env) {
        if now_ns < deadline_ns {
            break;
        }
        any = true;
        if forget_deadline(env, key, deadline_ns)
            && let Some(body) = find(env, key)
        {
            close(
                env,
                body.state(),
                body.handle(key.index),
                CloseReason::DeadlineExceeded,
            );
            quietly_drop(body);
        }
    }
    any
}

fn forget_deadline<E: PipelinePorts>(env: &E, job: JobHandle, deadline_ns: u64) -> bool {
    let was_there = env.shared().board.remove_deadline(env, job, deadline_ns);
    if was_there {
        env.shared().count_deadlines(env, Fetch::Sub(1));
    }
    was_there
}

/// Closes the job if its deadline has passed. Returns whether it has.
#[inline]
pub(crate) fn enforce_deadline<E: PipelinePorts>(
    env: &E,
    state: &Arc<StateOf<E>>,
    job: JobHandle,
    now_ns: u64,
) -> bool {
    let is_past = state.is_past_deadline(now_ns);
    if is_past {
        close(env, state, job, CloseReason::DeadlineExceeded);
    }
    is_past
}

pub(crate) fn close<E: PipelinePorts>(
    env: &E,
    state: &Arc<StateOf<E>>,
    job: JobHandle,
    reason: CloseReason,
) -> Closing {
    let counts = env.change(&state.ledger, |ledger| ledger.note_reason(reason));
    // The job is returned only if the shutdown both gave the reason and closed the claims. A cancel
    // may come in between, in either order.
    close_claims(env, state, job, counts && reason == CloseReason::Stopped)
}

/// Called before the failed slot or stage is accounted for.
pub(crate) fn fail<E: PipelinePorts>(env: &E, state: &Arc<StateOf<E>>, job: JobHandle, failure: Failure) {
    env.observe(PipelineEvent::Failed {
        job,
        failure: &failure,
    });
    let failure = Box::new(failure);
    let superseded = env.change(&state.ledger, |ledger| ledger.fail(failure));
    // The drop of a user's error may run any code, so it happens outside the ledger.
    quietly_drop(superseded);
    close_claims(env, state, job, false);
}

fn abandon<E: PipelinePorts>(
    env: &E,
    state: &Arc<StateOf<E>>,
    job: JobHandle,
    mut left: Unclaimed,
) -> Closing {
    let returned = env.change(&state.ledger, |ledger| ledger.refuse_returned());
    let returned = returned.into_iter().map(|piece| (piece.stage, piece.slots.len()));
    left.stages.extend(returned);
    let published = reconcile(env, state, job, Change::Closed);
    debug_assert_eq!(
        published,
        Published::Open,
        "nothing of a closed job can be claimed"
    );
    let closing = if left.untouched {
        Closing::Untouched
    } else {
        Closing::Touched
    };
    if state.claims.give_up(env, &left.stages) {
        end(env, state, job, closing, env.now_ns());
    }
    if state.grows
        && let Some(now_ns) = growing::close_tasks(env, state, job)
    {
        end(env, state, job, Closing::Touched, now_ns);
    }
    closing
}

fn close_claims<E: PipelinePorts>(
    env: &E,
    state: &Arc<StateOf<E>>,
    job: JobHandle,
    may_come_back: bool,
) -> Closing {
    match state.claims.close(env) {
        Some(left) => {
            let untouched = left.untouched && may_come_back;
            abandon(env, state, job, Unclaimed { untouched, ..left })
        }
        None => Closing::Touched,
    }
}

/// The party that finds the last stage over calls this once; the job has been over since `now_ns`.
pub(crate) fn end<E: PipelinePorts>(
    env: &E,
    state: &Arc<StateOf<E>>,
    job: JobHandle,
    closing: Closing,
    now_ns: u64,
) {
    let shared = env.shared();
    let _nothing_left = state.claims.close(env);
    if let Some(deadline_ns) = state.deadline_ns {
        // The deadline of a job that is closed during its submission may stay on the board; a later
        // look removes it.
        forget_deadline(env, job, deadline_ns);
    }
    let body = env.clear(&shared.jobs, job.index);
    let spans = body.as_ref().map(|body| body.spans.clone()).unwrap_or_default();
    // The user's data is dropped before the ticket fires, unless a worker in the job still holds
    // it.
    quietly_drop(body);
    let (settled, was_full) = shared.admission.release_and_free(env, 1);

    let (started, error) = env.change(&state.ledger, |ledger| {
        ledger.sum_up(closing == Closing::Untouched)
    });
    let started_or_now = started.unwrap_or(now_ns);
    let wait_ns = started_or_now.saturating_sub(state.submitted_ns);
    let run_ns = started.map(|started| now_ns.saturating_sub(started));
    // The cost of one job's tasks predicts nothing about another job.
    if error.is_none() && !state.grows {
        shared
            .experience
            .learn(env, state.cost_kind(), state.claims.worked_ns(env));
    }
    env.observe(PipelineEvent::Ended {
        job,
        spans: &spans,
        class: state.class(),
        error: error.as_ref(),
        slots: state.slots_ran(env),
        wait_ns,
        run_ns,
        at_ns: now_ns,
    });
    let outcome = match error {
        Some(error) => Err(Box::new(error)),
        None => Ok(JobTimes {
            wait_ns,
            run_ns: run_ns.unwrap_or(0),
        }),
    };
    let (waiter, sleepers) = env.change(&state.ledger, |ledger| ledger.tell(outcome));
    for waker in waiter.into_iter().chain(sleepers) {
        env.wake(waker);
    }
    if was_full {
        env.place_freed();
    }
    if settled == Released::Ended {
        env.all_ended();
    }
}
