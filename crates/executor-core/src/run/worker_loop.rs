//! A worker's loop: step, park, catch panics, leave.
//!
//! One catch surrounds the loop, so a task that does not panic pays nothing. The worker's state and
//! its task in hand live outside.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::context::WorkerCtxLike;
use super::event::{ExecTraceEvent, TraceHooks};
use super::find::search_everywhere;
use super::idle::{IdleAction, IdleHooks, IdleRound};
use super::next_task::NextTask;
use super::step::{NothingToRun, WorkerExit, pop_with_tick, run_all, update_metrics};
use crate::config::OnPanic;
use crate::ports::bundles::ProducerPorts;
use crate::ports::parking::{Faults, Park};
use crate::words::sleep::Slept;
use crate::worker::popped::PopSource;

type Payload = Box<dyn Any + Send>;

/// Runs a worker until the executor has ended.
///
/// A runner's panic goes to [`Faults::record_panic`] and aborts the executor. Under
/// [`OnPanic::Isolate`] it goes to [`WorkerCtxLike::isolate`].
pub fn run_worker<T, S, C, R, N, I, H>(cx: &mut C, runner: &R, idle: &mut I, trace: &mut H) -> WorkerExit
where
    C: WorkerCtxLike<T, S>,
    R: Fn(T, &mut C) -> N + ?Sized,
    N: NextTask<T>,
    I: IdleHooks,
    H: TraceHooks<T>,
{
    let in_hook = Cell::new(false);
    let (idle, trace) = (&mut Marking(idle, &in_hook), &mut Marking(trace, &in_hook));
    let exit = loop {
        // Unwind safety: the policy never touches the scratch value, and the state is made whole
        // below.
        match catch_unwind(AssertUnwindSafe(|| run_until_exit(cx, runner, idle, trace))) {
            Ok(exit) => break exit,
            Err(payload) => {
                let failure = if in_hook.take() {
                    Err(payload)
                } else {
                    cx.metrics().panicked += 1;
                    isolate(cx, payload)
                };
                if let Err(payload) = failure {
                    stop(cx, payload);
                }
                let over = cx.state().sleep_word().is_done();
                // The count is released already, so a hook that panics cannot keep the worker from
                // returning tasks or leaving.
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
    update_metrics(cx);
    exit
}

/// Notes whether a hook unwound; any other unwinding is a task's. A note around the task would cost
/// each task.
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

struct MarksUnwinding<'a>(&'a Cell<bool>);

impl Drop for MarksUnwinding<'_> {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

fn isolate<T, S, C: WorkerCtxLike<T, S>>(cx: &mut C, payload: Payload) -> Result<(), Payload> {
    let state = cx.state();
    let isolates = state.scheduler().config().on_panic == OnPanic::Isolate;
    if !isolates || state.sleep_word().is_aborting() {
        return Err(payload);
    }
    // Unwind safety: if the handler panics on the scratch value, that value is not touched again.
    catch_unwind(AssertUnwindSafe(|| cx.isolate(payload))).unwrap_or_else(Err)
}

fn stop<T, S, C: WorkerCtxLike<T, S>>(cx: &mut C, payload: Payload) {
    let state = cx.state();
    state.ports.record_panic(payload);
    state.panicked = true;
    state.scheduler().abort(&state.ports);
    // This worker's credits must not delay the end.
    state.release_credits();
}

fn run_until_exit<T, S, C, R, N, I, H>(cx: &mut C, runner: &R, idle: &mut I, trace: &mut H) -> WorkerExit
where
    C: WorkerCtxLike<T, S>,
    R: Fn(T, &mut C) -> N + ?Sized,
    N: NextTask<T>,
    I: IdleHooks,
    H: TraceHooks<T>,
{
    loop {
        match pop_with_tick(cx, idle, trace) {
            Ok(first) => {
                run_all(first, cx, runner, trace, |cx| cx.state().pop_between_ticks());
            }
            Err(NothingToRun::Again) => {}
            Err(NothingToRun::Park(options)) => park(cx, options, trace),
            Err(NothingToRun::Exit(exit)) => return exit,
        }
    }
}

#[inline(never)]
fn park<T, S, C, H>(cx: &mut C, options: Park, trace: &mut H)
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
            search_everywhere(ports, me, &mut steals_tried)
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
