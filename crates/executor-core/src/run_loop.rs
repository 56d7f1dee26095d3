//! A worker's life: step, park, catch panics, leave.
//!
//! Panics are caught around the loop, not around each task, so that a task that does not panic pays nothing. What
//! the task had in hand, and what the worker holds, lives outside the catch.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::event::{ExecTraceEvent, TraceHooks};
use crate::idle::IdleHooks;
use crate::ports::{Faults, ProducerPorts};
use crate::sleep::Slept;
use crate::step::{NothingToRun, PopSource, bring_up_to_date, look_everywhere, step};
use crate::task_ctx::WorkerCtxLike;

/// How a worker left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerExit {
    /// The executor has ended.
    Done,
    /// The executor has ended, and a task on this worker has panicked.
    Panicked,
}

/// Runs a worker until the executor has ended.
///
/// A panic of the runner goes to [`Faults::record_panic`] and aborts the executor; the worker then stays on and hands
/// back what is left, like all the others.
pub fn run_worker<T, S, C, R, I, H>(cx: &mut C, runner: &R, idle: &mut I, trace: &mut H) -> WorkerExit
where
    C: WorkerCtxLike<T, S>,
    R: Fn(T, &mut C) + ?Sized,
    I: IdleHooks,
    H: TraceHooks<T>,
{
    let exit = loop {
        // Unwind safety: after a panic the scratch value, which alone may be half changed, is not touched again
        // by the policy, and the spawner's state is settled below.
        match catch_unwind(AssertUnwindSafe(|| run_until_exit(cx, runner, idle, trace))) {
            Ok(exit) => break exit,
            Err(payload) => {
                let spawner = cx.spawner();
                spawner.ports.record_panic(payload);
                spawner.panicked = true;
                spawner.scheduler().abort(&spawner.ports);
                // The task's count is in the purse. Others may wait for the end, which this worker's credits must not hold up.
                spawner.return_credits();
                let over = spawner.sleep_word().is_done();
                cx.metrics().panicked += 1;
                // Settled is what counts; a hook that panics here, or panics again when the worker leaves, must
                // neither keep it from handing back nor keep it from leaving.
                if let Err(payload) = catch_unwind(AssertUnwindSafe(|| trace.event(ExecTraceEvent::Panicked)))
                {
                    cx.spawner().ports.record_panic(payload);
                }
                if over {
                    break WorkerExit::Panicked;
                }
            }
        }
    };
    bring_up_to_date(cx);
    exit
}

fn run_until_exit<T, S, C, R, I, H>(cx: &mut C, runner: &R, idle: &mut I, trace: &mut H) -> WorkerExit
where
    C: WorkerCtxLike<T, S>,
    R: Fn(T, &mut C) + ?Sized,
    I: IdleHooks,
    H: TraceHooks<T>,
{
    let mut left = cx.spawner().pops_left();
    loop {
        match step(cx, runner, idle, trace, &mut left) {
            Ok(_) | Err(NothingToRun::Again) => {}
            Err(NothingToRun::Park { timeout }) => park(cx, timeout, trace),
            Err(NothingToRun::Exit(exit)) => return exit,
        }
    }
}

/// Goes through the sleep protocol once.
#[inline(never)]
fn park<T, S, C, H>(cx: &mut C, timeout: Option<Duration>, trace: &mut H)
where
    C: WorkerCtxLike<T, S>,
    H: TraceHooks<T>,
{
    trace.event(ExecTraceEvent::Park);
    let spawner = cx.spawner();
    let woken_for_nothing = std::mem::take(&mut spawner.woken);
    let (ports, me) = (&spawner.ports, spawner.worker);
    let mut steals_tried = 0;
    let slept = ports
        .scheduler()
        .sleep()
        .sleep(ports, me, spawner.searching, timeout, || {
            look_everywhere(ports, me, &mut steals_tried)
        });
    spawner.searching = matches!(slept, Slept::Woken | Slept::FoundAndWoken(_));
    spawner.woken = matches!(slept, Slept::Woken);
    let woken = spawner.woken;
    let parked = matches!(slept, Slept::Woken | Slept::Over);
    let stolen = match &slept {
        Slept::Found(popped) | Slept::FoundAndWoken(popped) => popped.source == PopSource::Steal,
        Slept::Woken | Slept::Over => false,
    };
    match slept {
        Slept::Found(popped) => {
            spawner.in_hand = Some(popped);
            spawner.found_work(true);
        }
        Slept::FoundAndWoken(popped) => spawner.in_hand = Some(popped),
        Slept::Woken | Slept::Over => {}
    }
    let metrics = cx.metrics();
    metrics.steals_tried += steals_tried;
    metrics.steals_won += u64::from(stolen);
    metrics.parks += u64::from(parked);
    metrics.wakes_for_nothing += u64::from(woken_for_nothing);
    trace.event(ExecTraceEvent::Awake { woken });
}
