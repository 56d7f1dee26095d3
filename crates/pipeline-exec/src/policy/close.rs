//! How a job ends: early, because somebody closed it, or because its last stage is over.
//!
//! Closing is one bit of the claim word. Whoever sets it is told what nobody had claimed, takes the job off the board and accounts
//! for the rest and for what was given back, so the last finisher comes, whoever it is: a worker whose slot was still running, or the closer
//! itself. The last finisher ends the job; there is exactly one, so the ticket fires exactly once.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use executor_core::ports::Fetch;
use executor_core::run_state::{Closed, Settled};

use super::board::JobHandle;
use super::claim::Unclaimed;
use super::ledger::{CloseReason, Failure, Ran};
use super::ports::{BodyOf, PipelineEvent, PipelinePorts, StateOf};
use super::standing::settle;
use super::{grow, guard};
use crate::error::JobErrorKind;
use crate::mutant;

/// Cancels a job: no further slot is claimed, and the ticket fires when those that run have returned. Nothing happens if it has
/// ended.
pub fn cancel<E: PipelinePorts>(env: &E, state: &Arc<StateOf<E>>, job: JobHandle) {
    close(env, state, job, CloseReason::Cancelled);
}

/// Closes a job whose deadline has passed. Nothing happens otherwise, or if it has ended.
pub(crate) fn stop_if_late<E: PipelinePorts>(env: &E, state: &Arc<StateOf<E>>, job: JobHandle) {
    if state.is_past_deadline(env.now_ns()) {
        close(env, state, job, CloseReason::DeadlineExceeded);
    }
}

/// Lets in no more jobs; those that were let in go on. [`PipelinePorts::all_ended`] is called when the last of them has ended, here
/// if there is none.
pub fn close_gate<E: PipelinePorts>(env: &E) {
    if env.shared().admission.close_gate(env) == Closed::Ended {
        env.all_ended();
    }
}

/// Shuts down: nothing is let in any more, and every job is closed. Gives those of which nothing had been claimed; their tickets say
/// that they are handed back. Jobs of which slots still run end when those return; workers that come back from one go into no other, though
/// it may take a moment until that is closed.
///
/// A job that is just being submitted is either among them, or its submitter closes it.
pub fn stop<E: PipelinePorts>(env: &E) -> Vec<Arc<BodyOf<E>>> {
    let shared = env.shared();
    close_gate(env);
    shared.set_stopping(env);
    // Ordering: SeqCst fence. Edge `stop/publish`: pairs with the fences in `publish` and in
    // `close_if_stopping`. Whichever comes second, its side sees the other's write: the job and what can
    // be claimed of it, or that the executor stops. Edge `stop/close`: whoever finds a job closed below
    // sees that as well.
    env.fence(Ordering::SeqCst);
    env.observe(PipelineEvent::Stops);
    let mut handed_back = Vec::new();
    for index in 0..env.used(&shared.jobs) {
        // Where nothing can be claimed, the last slots run and may complete the job; the worker that starts another stage closes it.
        // A job that grows may wait without a worker, and does not end by itself.
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

/// Closes the jobs whose deadline has passed by `now_ns`. Whether there were any.
pub(crate) fn close_late<E: PipelinePorts>(env: &E, now_ns: u64) -> bool {
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

/// Nobody needs to close the job in time any more. `false` if somebody else has come to that.
fn forget_deadline<E: PipelinePorts>(env: &E, job: JobHandle, deadline_ns: u64) -> bool {
    let was_there = env.shared().board.remove_deadline(env, job, deadline_ns);
    if was_there {
        env.shared().count_deadlines(env, Fetch::Sub(1));
    }
    was_there
}

/// What closing came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    /// It was closed by somebody else, or fully claimed, or slots of it ran or run.
    Touched,
    /// A shutdown closed it, nothing of it had been claimed, and nothing will be: it comes back.
    Untouched,
}

pub(crate) fn close<E: PipelinePorts>(
    env: &E,
    state: &Arc<StateOf<E>>,
    job: JobHandle,
    reason: CloseReason,
) -> Closing {
    let counts = env.change(&state.ledger, |ledger| ledger.close(reason));
    // A job comes back from a shutdown, and its ticket says so, if the shutdown both gave the reason and closed the claims:
    // somebody who cancels may come in between, in either order.
    close_claims(env, state, job, counts && reason == CloseReason::Stopped)
}

/// Something of `stage` failed on a worker that has not accounted for its slot, or for the stage, yet.
pub(crate) fn fail<E: PipelinePorts>(env: &E, state: &Arc<StateOf<E>>, job: JobHandle, failure: Failure) {
    env.observe(PipelineEvent::Failed {
        job,
        failure: &failure,
    });
    let failure = Box::new(failure);
    let superseded = env.change(&state.ledger, |ledger| ledger.fail(failure));
    // A user's error may do anything when it is dropped; not inside the ledger.
    quietly_drop(superseded);
    close_claims(env, state, job, false);
}

/// The job is closed: takes it off the board, and accounts for what nobody had claimed and for what was given back.
fn abandon<E: PipelinePorts>(
    env: &E,
    state: &Arc<StateOf<E>>,
    job: JobHandle,
    mut left: Unclaimed,
) -> Closing {
    let returned = env.change(&state.ledger, |ledger| ledger.refuse_returned());
    let returned = returned.into_iter().map(|piece| (piece.stage, piece.slots.len()));
    left.stages.extend(returned);
    settle(env, state, job, None);
    let closing = if left.untouched {
        Closing::Untouched
    } else {
        Closing::Touched
    };
    if state.claims.give_up(env, &left.stages) {
        end(env, state, job, closing, env.now_ns());
    }
    if state.grows {
        grow::close_tasks(env, state, job);
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

/// The job is over since `now_ns`. Called once, by its last finisher.
pub(crate) fn end<E: PipelinePorts>(
    env: &E,
    state: &Arc<StateOf<E>>,
    job: JobHandle,
    closing: Closing,
    now_ns: u64,
) {
    let shared = env.shared();
    // So that a cancel that comes now finds nothing to do.
    let _nothing_left = state.claims.close(env);
    if let Some(deadline_ns) = state.deadline_ns {
        // A job that is closed while it is being submitted leaves its key to the look that finds it late.
        forget_deadline(env, job, deadline_ns);
    }
    let body = env.clear(&shared.jobs, job.index);
    let spans = body.as_ref().map(|body| body.spans.clone()).unwrap_or_default();
    // What the user gave goes before the ticket fires, but for workers that are in the job: they let go of it as they leave.
    quietly_drop(body);
    let (settled, was_full) = shared.admission.settle_and_free(env, 1);

    let (started, error) = env.change(&state.ledger, |ledger| {
        ledger.sum_up(closing == Closing::Untouched)
    });
    let started_or_now = started.unwrap_or(now_ns);
    let wait_ns = started_or_now.saturating_sub(state.submitted_ns);
    let run_ns = started.map(|started| now_ns.saturating_sub(started));
    // What the tasks of one query took says nothing of the next job.
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
    let error = error.filter(|error| {
        error.kind != JobErrorKind::Cancelled || !mutant::m41_cancelled_is_told_as_completed()
    });
    let end = match error {
        Some(error) => Err(Box::new(error)),
        None => Ok(Ran {
            wait_ns,
            run_ns: run_ns.unwrap_or(0),
        }),
    };
    let (waiter, sleepers) = env.change(&state.ledger, |ledger| ledger.tell(end));
    for waker in waiter.into_iter().chain(sleepers) {
        env.wake(waker);
    }
    if was_full {
        env.place_freed();
    }
    if settled == Settled::Ended {
        env.all_ended();
    }
}

/// The body of `job`, unless the job has ended: its place may be another job's by now.
pub(crate) fn find<E: PipelinePorts>(env: &E, job: JobHandle) -> Option<Arc<BodyOf<E>>> {
    let body = env.get(&env.shared().jobs, job.index)?;
    if body.is(job) {
        return Some(body);
    }
    // That job may have ended meanwhile, and then this is the last hold on what its user gave.
    quietly_drop(body);
    None
}

/// Drops what a user gave. If that panics, nothing here depends on it.
pub(crate) fn quietly_drop<T>(value: T) {
    guard::quietly(|| drop(value));
}
