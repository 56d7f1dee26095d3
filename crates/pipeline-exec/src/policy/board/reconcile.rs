//! What follows a change of a job's claims: its keys are moved, and workers and helpers learn of
//! it. The [membership word](crate::policy::job::standing) guards the keys.

use std::sync::Arc;

use super::need;
use super::publish::{Published, meet_shutdown, publish, wake_helpers};
use crate::policy::job::handle::JobHandle;
use crate::policy::ports::{InnerEvent, PipelineEvent, PipelinePorts, StateOf};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// `slots` slots start with the job.
    Submitted { slots: usize },
    /// A single; `put_back` handles of other jobs went back into the queue behind it.
    Queued { put_back: usize },
    /// The job grows, and has no task yet.
    Opened,
    /// Perhaps the last slots, or the first of a visit.
    Claimed,
    /// The visitor's time is charged.
    Left,
    /// In `pieces` ranges.
    Returned { pieces: usize },
    /// With `slots` slots, over all stages that started.
    Started { slots: usize },
    /// More than were invited.
    WorthMore { workers: usize },
    /// A task; `workers` more workers are wanted.
    Ready { workers: usize },
    /// Closed to claims.
    Closed,
}

pub(crate) fn reconcile<E: PipelinePorts>(
    env: &E,
    state: &Arc<StateOf<E>>,
    job: JobHandle,
    change: Change,
) -> Published {
    let lookers = match change {
        Change::Opened => return meet_shutdown(env),
        Change::Queued { put_back } => return publish(env, state, 1 + put_back),
        Change::WorthMore { workers } => return publish(env, state, workers),
        Change::Left => {
            let claimable = state.claims.is_claimable(env);
            let wanted = claimable.then(|| place_keys(env, state, job, None)).flatten();
            let published = wanted.map_or(Published::Open, |wanted| publish(env, state, wanted));
            if state.is_limited() {
                wake_helpers(env, state);
            }
            return published;
        }
        Change::Claimed | Change::Closed => None,
        Change::Submitted { slots } => {
            let worth = need::of_stages(&env.shared().experience, env, state, slots);
            Some(state.invites_anew(env, worth))
        }
        Change::Started { slots } => {
            wake_helpers(env, state);
            let worth = need::of_stages(&env.shared().experience, env, state, slots);
            // The worker that started the stages stays or looks again, so it is not counted.
            Some(state.invites_anew(env, worth) - 1)
        }
        Change::Returned { pieces } => {
            wake_helpers(env, state);
            Some(state.usable(pieces))
        }
        Change::Ready { workers } => {
            wake_helpers(env, state);
            Some(workers)
        }
    };
    match place_keys(env, state, job, lookers) {
        Some(lookers) => publish(env, state, lookers),
        None => Published::Open,
    }
}

/// Returns `lookers`, or more if this party put the keys on the board for others.
fn place_keys<E: PipelinePorts>(
    env: &E,
    state: &Arc<StateOf<E>>,
    job: JobHandle,
    mut lookers: Option<usize>,
) -> Option<usize> {
    let (board, standing) = (&env.shared().board, &state.standing);
    let mut is_holder = standing.enter(env);
    let mut is_own = true;
    while is_holder {
        let on = standing.begin_round(env);
        env.observe(PipelineEvent::Inner(InnerEvent::Reconciles { job }));
        let claimable = state.claims.is_claimable(env);
        let shared = env.shared();
        if claimable && !on && state.grows {
            state.line_up(env, shared.young_tag(), shared.service_floor(env));
        }
        let tag = state.tag(env, shared.young_tag());
        if claimable && on {
            standing.retag(env, tag, |from| board.rekey(env, job, from, tag));
        } else if claimable {
            standing.tag(env, tag);
            board.insert(env, job, tag);
            if lookers.is_none() || !is_own {
                // Other parties made it claimable, and may rely on this one to publish.
                lookers = lookers.max(Some(state.usable(state.claims.unclaimed_slots(env))));
            }
        } else if on {
            board.remove(env, job, standing.tagged(env));
        }
        is_holder = !standing.leave(env, on, claimable);
        is_own = false;
    }
    lookers
}
