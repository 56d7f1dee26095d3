//! A worker's life: step, park, catch panics, leave.
//!
//! Panics are caught around the loop, not around each task, so that a task that does not panic pays nothing. What
//! the task had in hand, and what the worker holds, lives outside the catch.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::config::OnPanic;
use crate::event::{ExecTraceEvent, Rest, TraceHooks};
use crate::idle::{IdleAction, IdleHooks, IdleRound, ParkOptions};
use crate::ports::{Faults, ProducerPorts};
use crate::sleep::Slept;
use crate::step::{NothingToRun, PopSource, bring_up_to_date, look_everywhere, step};
use crate::task_ctx::WorkerCtxLike;

/// What a panic carried.
type Payload = Box<dyn Any + Send>;

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
/// back what is left, like all the others. Under [`OnPanic::Isolate`] it goes to [`WorkerCtxLike::isolate`] instead,
/// and the worker goes on running.
pub fn run_worker<T, S, C, R, I, H>(cx: &mut C, runner: &R, idle: &mut I, trace: &mut H) -> WorkerExit
where
    C: WorkerCtxLike<T, S>,
    R: Fn(T, &mut C) + ?Sized,
    I: IdleHooks,
    H: TraceHooks<T>,
{
    let in_hook = Cell::new(false);
    let (idle, trace) = (&mut Marking(idle, &in_hook), &mut Marking(trace, &in_hook));
    let exit = loop {
        // Unwind safety: after a panic the scratch value, which alone may be half changed, is not touched again
        // by the policy, and the state's state is settled below.
        match catch_unwind(AssertUnwindSafe(|| run_until_exit(cx, runner, idle, trace))) {
            Ok(exit) => break exit,
            Err(payload) => {
                let failure = if in_hook.take() {
                    Err(payload)
                } else {
                    cx.metrics().panicked += 1;
                    cx.state().panicked_task_is_over();
                    isolate(cx, payload)
                };
                if let Err(payload) = failure {
                    stop(cx, payload);
                }
                let over = cx.state().sleep_word().is_done();
                // Released is what counts; a hook that panics here, or panics again when the worker leaves, must
                // neither keep it from handing back nor keep it from leaving.
                if let Err(payload) = catch_unwind(AssertUnwindSafe(|| trace.event(ExecTraceEvent::Panicked)))
                {
                    in_hook.set(false);
                    stop(cx, payload);
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

/// Hooks, and whether one of them was left by unwinding: what unwinds otherwise is a task. It is noted here and not around the
/// task, since hooks that do nothing cannot unwind either, and then a task is as it would be without this.
struct Marking<'a, H>(&'a mut H, &'a Cell<bool>);

impl<H> Marking<'_, H> {
    #[inline]
    fn marked<R>(&mut self, call: impl FnOnce(&mut H) -> R) -> R {
        let mark = MarksUnwinding(self.1);
        let returned = call(self.0);
        std::mem::forget(mark);
        returned
    }
}

impl<T, H: TraceHooks<T>> TraceHooks<T> for Marking<'_, H> {
    type Tag = H::Tag;

    #[inline]
    fn tag(&mut self, task: &T) -> H::Tag {
        self.marked(|hooks| hooks.tag(task))
    }

    #[inline]
    fn event(&mut self, event: ExecTraceEvent<H::Tag>) {
        self.marked(|hooks| hooks.event(event));
    }

    #[inline]
    fn at_rest<P>(&mut self, rest: Rest<'_, T, P>) {
        self.marked(|hooks| hooks.at_rest(rest));
    }
}

impl<H: IdleHooks> IdleHooks for Marking<'_, H> {
    #[inline]
    fn on_idle(&mut self, round: IdleRound) -> IdleAction {
        self.marked(|hooks| hooks.on_idle(round))
    }

    #[inline]
    fn on_work(&mut self, idle: Duration) {
        self.marked(|hooks| hooks.on_work(idle));
    }
}

/// Sets the mark when it is dropped, which happens on unwinding only.
struct MarksUnwinding<'a>(&'a Cell<bool>);

impl Drop for MarksUnwinding<'_> {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

/// A task has panicked: lets the context handle it, if that is the policy. Else gives what the executor is to stop with.
fn isolate<T, S, C: WorkerCtxLike<T, S>>(cx: &mut C, payload: Payload) -> Result<(), Payload> {
    let state = cx.state();
    let isolates = state.scheduler().config().on_panic == OnPanic::Isolate;
    if !isolates || state.sleep_word().is_aborting() {
        return Err(payload);
    }
    // Unwind safety: the handler is called with the scratch value, which is the user's own affair; should the handler panic
    // as well, that value is not touched again.
    catch_unwind(AssertUnwindSafe(|| cx.isolate(payload))).unwrap_or_else(Err)
}

/// Aborts the executor because of a panic on this worker.
fn stop<T, S, C: WorkerCtxLike<T, S>>(cx: &mut C, payload: Payload) {
    let state = cx.state();
    state.ports.record_panic(payload);
    state.panicked = true;
    state.scheduler().abort(&state.ports);
    // Others may wait for the end, which this worker's credits must not hold up.
    state.release_credits();
}

fn run_until_exit<T, S, C, R, I, H>(cx: &mut C, runner: &R, idle: &mut I, trace: &mut H) -> WorkerExit
where
    C: WorkerCtxLike<T, S>,
    R: Fn(T, &mut C) + ?Sized,
    I: IdleHooks,
    H: TraceHooks<T>,
{
    let mut left = cx.state().pops_left();
    loop {
        match step(cx, runner, idle, trace, &mut left) {
            Ok(_) | Err(NothingToRun::Again) => {}
            Err(NothingToRun::Park(options)) => park(cx, options, trace),
            Err(NothingToRun::Exit(exit)) => return exit,
        }
    }
}

/// Goes through the sleep protocol once.
#[inline(never)]
fn park<T, S, C, H>(cx: &mut C, options: ParkOptions, trace: &mut H)
where
    C: WorkerCtxLike<T, S>,
    H: TraceHooks<T>,
{
    trace.event(ExecTraceEvent::Park);
    let state = cx.state();
    let woken_for_nothing = std::mem::take(&mut state.woken);
    let (ports, me) = (&state.ports, state.worker);
    let mut steals_tried = 0;
    let slept = ports
        .scheduler()
        .sleep()
        .sleep(ports, me, state.searching, options, || {
            look_everywhere(ports, me, &mut steals_tried)
        });
    state.searching = matches!(slept, Slept::Woken | Slept::FoundAndWoken(_));
    state.woken = matches!(slept, Slept::Woken);
    let woken = state.woken;
    let parked = matches!(slept, Slept::Woken | Slept::Over);
    let stolen = match &slept {
        Slept::Found(popped) | Slept::FoundAndWoken(popped) => popped.source == PopSource::Steal,
        Slept::Woken | Slept::Over => false,
    };
    match slept {
        Slept::Found(popped) => {
            state.in_hand = Some(popped);
            state.found_work(true);
        }
        Slept::FoundAndWoken(popped) => state.in_hand = Some(popped),
        Slept::Woken | Slept::Over => {}
    }
    let metrics = cx.metrics();
    metrics.steals_tried += steals_tried;
    metrics.steals_won += u64::from(stolen);
    metrics.parks += u64::from(parked);
    metrics.wakes_for_nothing += u64::from(woken_for_nothing);
    trace.event(ExecTraceEvent::Awake { woken });
}
