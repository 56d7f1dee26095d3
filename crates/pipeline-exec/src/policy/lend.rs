#![doc = include_str!("lend/README.md")]
//!
//! This file is that protocol.

use std::sync::Arc;
use std::task::Waker;

use super::allowance::Pays;
use super::board::JobHandle;
use super::close::{find, quietly_drop};
use super::ledger::Ledger;
use super::ports::{PipelinePorts, StateOf};
use super::role::stops;
use super::visit::{Visitor, visit};
use crate::mutant;
use crate::step_cx::Role;

/// Runs slots of `job`, and of no other, on the caller's thread until it has ended. While none can be claimed, `sleep` blocks until
/// `waker` has been woken since it last returned; it may also return for no reason.
///
/// One thread at a time runs slots of a job like this, because they share a worker's number. Another one that comes only waits.
pub fn lend<E: PipelinePorts>(
    env: &E,
    state: &Arc<StateOf<E>>,
    job: JobHandle,
    waker: &Waker,
    mut sleep: impl FnMut(),
) {
    let runs = state.take_lent_number(env) || mutant::m75_lent_number_shared();
    loop {
        let went = if runs { go_in(env, job) } else { Went::Gone };
        if went == Went::Claimed {
            continue;
        }
        // Step register.
        if env.change(&state.ledger, |ledger| ledger.await_news(waker)) {
            return;
        }
        // Step look-again.
        if went == Went::Nothing && state.has_room(env) && !mutant::m73_sleeps_without_a_last_look() {
            continue;
        }
        sleep();
    }
}

/// The number of a lent thread, in every table that has a place for each worker: one behind the last worker.
pub(crate) fn lent_number(workers: usize) -> usize {
    workers
}

/// Step tell: something of the job can be claimed that could not be before, or there is room in it. Whoever lends it a thread
/// and sleeps goes on.
pub(crate) fn tell<E: PipelinePorts>(env: &E, state: &StateOf<E>) {
    for waker in env.change(&state.ledger, Ledger::take_sleepers) {
        env.wake(waker);
    }
}

/// What a visit came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Went {
    /// Slots were claimed.
    Claimed,
    /// There was nothing to claim, or no room.
    Nothing,
    /// There is nothing to go into for this thread: it does not run slots, or the job is ending, or a shutdown is about to close it, and it
    /// will be told to have ended.
    Gone,
}

/// One visit.
fn go_in<E: PipelinePorts>(env: &E, job: JobHandle) -> Went {
    let shared = env.shared();
    // For one visit only: a thread that sleeps must not keep what the user gave.
    let Some(body) = find(env, job) else {
        return Went::Gone;
    };
    if stops(env) {
        quietly_drop(body);
        return Went::Gone;
    }
    let now_ns = env.now_ns();
    let visitor = Visitor {
        worker: lent_number(shared.workers()),
        role: Role::Lent,
        now_ns,
        until_ns: now_ns.saturating_add(shared.quantum_ns()),
        gives_way: None,
        pays: Pays::Nothing,
        single: false,
    };
    let ended_ns = visit(env, job, &body, visitor);
    quietly_drop(body);
    if ended_ns.is_some() {
        Went::Claimed
    } else {
        Went::Nothing
    }
}
