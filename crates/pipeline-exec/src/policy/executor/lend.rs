#![doc = include_str!("lend/README.md")]

use std::sync::Arc;
use std::task::Waker;

use crate::policy::board::allowance::Pays;
use crate::policy::board::select::{find, stops};
use crate::policy::guard::quietly_drop;
use crate::policy::job::handle::JobHandle;
use crate::policy::job::numbers::lent_number;
use crate::policy::ports::{PipelinePorts, StateOf};
use crate::policy::worker::stay::Visitor;
use crate::policy::worker::visit::visit;
use crate::step_cx::Role;

/// `sleep` blocks until `waker` is woken after its last return, and may return spuriously.
pub fn lend<E: PipelinePorts>(
    env: &E,
    state: &Arc<StateOf<E>>,
    job: JobHandle,
    waker: &Waker,
    mut sleep: impl FnMut(),
) {
    let runs = state.take_lent_number(env);
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
        if went == Went::Nothing && state.has_room(env) {
            continue;
        }
        sleep();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Went {
    Claimed,
    Nothing,
    /// The thread has no number, or the job is ending.
    Gone,
}

fn go_in<E: PipelinePorts>(env: &E, job: JobHandle) -> Went {
    let shared = env.shared();
    // The body is held for one visit: a sleeping thread must not keep the user's data.
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
