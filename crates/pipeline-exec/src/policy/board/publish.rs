//! Announces claimable work to workers, spare threads and helpers.

use std::sync::atomic::Ordering;

use super::select::{stops, young_waits};
use crate::policy::job::ledger::Ledger;
use crate::policy::ports::{PipelinePorts, StateOf};
use crate::step_cx::Role;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a job that meets a shutdown is to be closed"]
pub(crate) enum Published {
    Open,
    /// A shutdown has begun, or the workers are leaving; the caller closes the job.
    Stopping,
}

/// The job's keys are on the board. A job that grows is never [`Published::Stopping`]: a wake may
/// come under a lock that its tasks' drop takes, and a shutdown finds the job in the table.
pub(crate) fn publish<E: PipelinePorts>(env: &E, state: &StateOf<E>, lookers: usize) -> Published {
    let shared = env.shared();
    // Ordering: SeqCst fence, step publish-fence. Edges `look/publish` and `stop/publish`: pairs
    // with the fences in `lay_down` and in `stop`. Edge `stand-in/rest`: pairs with those in `rest`
    // and in `goes_in`. The side that comes second sees the other's write. Edge `young/arrival`:
    // pairs with the Acquire in `young_arrivals`. A worker that reads the arrival finds the job.
    env.fence(Ordering::SeqCst);
    if !state.grows && stops(env) {
        return Published::Stopping;
    }
    let is_young = state.service(env) < shared.young_tag();
    if is_young {
        shared.young_arrived(env);
    }
    if !call_up(env, lookers) && !state.grows {
        return Published::Stopping;
    }
    if is_young && shared.spares() > 0 && shared.looks.out(env) >= shared.workers() {
        arm(env);
    }
    Published::Open
}

pub(crate) fn meet_shutdown<E: PipelinePorts>(env: &E) -> Published {
    // Ordering: SeqCst fence. Edge `stop/publish`: pairs with the fence in `stop`. The side that
    // comes second sees the other's write.
    env.fence(Ordering::SeqCst);
    if stops(env) {
        Published::Stopping
    } else {
        Published::Open
    }
}

/// The caller has passed a sequentially consistent fence. Returns `false` if the workers are
/// leaving.
pub(crate) fn call_up<E: PipelinePorts>(env: &E, wanted: usize) -> bool {
    let looks = &env.shared().looks;
    let taken = looks.take_up(env, wanted);
    if taken > 0 && !env.hand_over(taken) {
        looks.drop_taken(env, taken);
        return false;
    }
    true
}

/// Step tell of [helping](mod@crate::policy::executor::lend).
pub(crate) fn wake_helpers<E: PipelinePorts>(env: &E, state: &StateOf<E>) {
    for waker in env.change(&state.ledger, Ledger::take_sleepers) {
        env.wake(waker);
    }
}

/// Step arm, after a sequentially consistent fence.
pub(crate) fn arm<E: PipelinePorts>(env: &E) {
    let stand_ins = &env.shared().stand_ins;
    if stand_ins.spares() == 0 {
        return;
    }
    while stand_ins.take_watch(env, None) {
        if let Some(spare) = stand_ins.tell(env) {
            return env.wake_spare(spare);
        }
        // Every spare thread stands in, and looks again after its job.
        stand_ins.unwatch(env);
        // Ordering: SeqCst fence, step arm-fence. Edge `stand-in/rest`: pairs with the fence in
        // `rest`. The side that comes second sees the other's write: no watcher, or a parked spare
        // thread.
        env.fence(Ordering::SeqCst);
        if !stand_ins.is_one_parked(env) {
            return;
        }
    }
    // The watcher's alarm may belong to an ended turn.
    if let Some(spare) = stand_ins.watcher(env)
        && stand_ins.sleeps_too_long(env, env.shared().stand_in_ns(), env.shared().quantum_ns() / 2)
    {
        env.wake_spare(spare);
    }
}

/// Step go-in, after a visit's first claim.
pub(crate) fn goes_in<E: PipelinePorts>(env: &E, role: Role) {
    let shared = env.shared();
    let may_wait = match role {
        Role::Main | Role::Reserve => shared.spares() > 0 && shared.looks.out(env) >= shared.workers(),
        Role::Spare => true,
        Role::Lent => false,
    };
    if !may_wait {
        return;
    }
    // Ordering: SeqCst fence, step go-in-fence. Edge `stand-in/rest`: pairs with the fence in
    // `publish`. The side that comes second sees the other's write: the young job, or that no
    // thread watches, or that this worker's look is out.
    env.fence(Ordering::SeqCst);
    if young_waits(env) {
        arm(env);
    }
}
