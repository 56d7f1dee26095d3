#![doc = include_str!("stand_in/README.md")]

use std::sync::atomic::Ordering;

use super::role::Search;
use crate::policy::board::publish::{arm, call_up};
use crate::policy::board::select::{has_work, stops, young_waits};
use crate::policy::ports::PipelinePorts;
use crate::step_cx::Role;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Work,
    Later(u64),
    Nothing,
}

/// `sleep` blocks until the given time; given none, until the thread [is
/// awake](PipelinePorts::wake_spare). It may return early, and returns `false` when the executor
/// ends.
pub fn run_spare<E: PipelinePorts>(env: &E, spare: usize, mut sleep: impl FnMut(Option<u64>) -> bool) {
    while sleep(None) {
        if env.shared().stand_ins.is_awake(env, spare) && !stay_awake(env, spare, &mut sleep) {
            return;
        }
    }
}

/// Returns `false` when the executor ends.
fn stay_awake<E: PipelinePorts>(env: &E, spare: usize, sleep: &mut impl FnMut(Option<u64>) -> bool) -> bool {
    let stand_ins = &env.shared().stand_ins;
    let mut watches = true;
    loop {
        match next(env) {
            Next::Work => {
                if std::mem::take(&mut watches) {
                    stand_ins.unwatch(env);
                }
                stand_in(env, spare);
            }
            Next::Later(at_ns) if watches || stand_ins.take_watch(env, Some(spare)) => {
                watches = true;
                stand_ins.sleeps_until(env, at_ns);
                if !sleep(Some(at_ns)) {
                    return false;
                }
            }
            Next::Later(_) | Next::Nothing => {
                rest(env, spare, watches);
                return true;
            }
        }
    }
}

fn ready_ns<E: PipelinePorts>(env: &E) -> Option<u64> {
    let since_ns = env.shared().stand_ins.latest(env)?;
    Some(since_ns.saturating_add(env.shared().stand_in_ns()))
}

fn next<E: PipelinePorts>(env: &E) -> Next {
    if stops(env) || !young_waits(env) {
        return Next::Nothing;
    }
    let now_ns = env.now_ns();
    // A worker that is in no job has a look, or there is nothing for it.
    let ready_ns = ready_ns(env).unwrap_or_else(|| now_ns.saturating_add(env.shared().stand_in_ns()));
    if now_ns >= ready_ns {
        Next::Work
    } else {
        Next::Later(ready_ns)
    }
}

fn stand_in<E: PipelinePorts>(env: &E, spare: usize) {
    let shared = env.shared();
    let now_ns = env.now_ns();
    let until_ns = now_ns.saturating_add(shared.quantum_ns());
    let worker = shared.spare_number(spare);
    Search::begin(env, worker, Role::Spare, now_ns, until_ns).take_young();
    leave(env);
}

/// Steps leave-fence and hand-on.
fn leave<E: PipelinePorts>(env: &E) {
    // Ordering: SeqCst fence, step leave-fence. Edge `look/publish`: pairs with the fence in
    // `lay_down`. The side that comes second sees the other's write: claimable work, or one look
    // fewer.
    env.fence(Ordering::SeqCst);
    if has_work(env) {
        call_up(env, 1);
    }
}

/// Cleans up after a panic out of a visit. The thread did not watch, because no thread in a job
/// does.
pub(crate) fn recover<E: PipelinePorts>(env: &E, spare: usize) {
    let shared = env.shared();
    shared.stand_ins.rests(env, shared.spare_number(spare));
    leave(env);
    rest(env, spare, false);
}

/// Steps rest, rest-fence and look-again.
fn rest<E: PipelinePorts>(env: &E, spare: usize, watches: bool) {
    let stand_ins = &env.shared().stand_ins;
    if watches {
        stand_ins.unwatch(env);
    }
    stand_ins.sleeps(env, spare);
    // Ordering: SeqCst fence, step rest-fence. Edge `stand-in/rest`: pairs with the fences in
    // `publish`, `goes_in` and `arm`. The side that comes second sees the other's write: the young
    // job, or that no thread watches and this one is parked.
    env.fence(Ordering::SeqCst);
    if !stops(env) && young_waits(env) {
        arm(env);
    }
}
