//! One step of a worker: find a task and run it, or say why not.
//!
//! The step never blocks. It returns what should happen next, and the run loop, or a test, does it.

mod find;

use std::time::Duration;

use crate::event::{ExecTraceEvent, Rest, TraceHooks};
use crate::idle::{IdleAction, IdleHooks, IdleRound, ParkOptions};
use crate::mutant;
use crate::ports::Parking;
use crate::private::PopsLeft;
use crate::run_loop::WorkerExit;
use crate::task_ctx::WorkerCtxLike;

pub(crate) use find::look_everywhere;
pub use find::pop_task;

/// Where a task was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PopSource {
    /// In what the worker had itself.
    Local,
    /// In the injector.
    Injector,
    /// In another worker's queue.
    Steal,
}

/// A task that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Popped<T> {
    /// The task.
    pub task: T,
    /// Where it was.
    pub source: PopSource,
    /// Whose it was, if it was stolen.
    pub victim: Option<usize>,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerStepResult<Tag> {
    /// A task ran.
    RanTask {
        /// The task, as the trace hooks named it.
        tag: Tag,
        /// Where it was found.
        source: PopSource,
        /// Whose it was, if it was stolen.
        victim: Option<usize>,
    },
    /// Nothing ran, and the worker should step again.
    NoWork,
    /// Nothing ran, and the worker should park.
    ShouldPark {
        /// For how long; `None` until woken.
        timeout: Option<Duration>,
    },
    /// The executor has ended.
    ExitDone,
    /// The executor has ended, and a task on this worker has panicked.
    ExitPanicked,
}

/// Finds a task and runs it.
///
/// A panic of the runner goes through; the run loop catches it and settles what the task had in hand.
pub fn worker_step<T, S, C, R, I, H>(
    cx: &mut C,
    runner: &R,
    idle: &mut I,
    trace: &mut H,
) -> WorkerStepResult<H::Tag>
where
    C: WorkerCtxLike<T, S>,
    R: Fn(T, &mut C) + ?Sized,
    I: IdleHooks,
    H: TraceHooks<T>,
{
    let mut left = cx.state().pops_left();
    match step(cx, runner, idle, trace, &mut left) {
        Ok(Ran { tag, source, victim }) => WorkerStepResult::RanTask { tag, source, victim },
        Err(NothingToRun::Again) => WorkerStepResult::NoWork,
        Err(NothingToRun::Park(options)) => WorkerStepResult::ShouldPark { timeout: options.timeout },
        Err(NothingToRun::Exit(WorkerExit::Done)) => WorkerStepResult::ExitDone,
        Err(NothingToRun::Exit(WorkerExit::Panicked)) => WorkerStepResult::ExitPanicked,
    }
}

/// What ran in a step.
pub(crate) struct Ran<Tag> {
    tag: Tag,
    source: PopSource,
    victim: Option<usize>,
}

/// Why a step runs nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NothingToRun {
    /// The worker should step again.
    Again,
    /// The worker should park.
    Park(ParkOptions),
    /// The executor has ended.
    Exit(WorkerExit),
}

/// [`worker_step`], with the countdown of private pops in the hands of the caller.
#[inline(always)] // A private task's path is a few instructions; a call, and a result in memory, would double it.
pub(crate) fn step<T, S, C, R, I, H>(
    cx: &mut C,
    runner: &R,
    idle: &mut I,
    trace: &mut H,
    left: &mut PopsLeft,
) -> Result<Ran<H::Tag>, NothingToRun>
where
    C: WorkerCtxLike<T, S>,
    R: Fn(T, &mut C) + ?Sized,
    I: IdleHooks,
    H: TraceHooks<T>,
{
    let (task, source, victim) = match cx.state().pop_between_ticks(left) {
        Some(task) => (task, PopSource::Local, None),
        None => {
            let Popped { task, source, victim } = pop_with_tick(cx, idle, trace, *left)?;
            *left = cx.state().pops_left();
            (task, source, victim)
        }
    };
    let tag = trace.tag(&task);
    trace.event(ExecTraceEvent::TaskStart { tag, source, victim });
    runner(task, cx);
    trace.event(ExecTraceEvent::TaskEnd { tag });
    Ok(Ran { tag, source, victim })
}

/// The next task, if it is not simply the newest private one and nobody is hungry; or what the step comes to without one.
#[inline(never)]
fn pop_with_tick<T, S, C, I, H>(
    cx: &mut C,
    idle: &mut I,
    trace: &mut H,
    left: PopsLeft,
) -> Result<Popped<T>, NothingToRun>
where
    C: WorkerCtxLike<T, S>,
    I: IdleHooks,
    H: TraceHooks<T>,
{
    trace.at_rest(Rest {
        state: cx.state(),
        left,
    });
    if let Some(task) = cx.state().pop_public_between_ticks() {
        return Ok(Popped {
            task,
            source: PopSource::Local,
            victim: None,
        });
    }
    let Some(popped) = pop_task(cx) else {
        return Err(nothing_found(cx, idle, trace));
    };
    let state = cx.state();
    let was_idle = std::mem::take(&mut state.idle_rounds) > 0;
    if state.sleep_word().is_aborting() {
        let tag = trace.tag(&popped.task);
        cx.metrics().returned += 1;
        cx.state().return_task(popped.task);
        // A hook that panics now does not take the task with it.
        trace.event(ExecTraceEvent::Returned { tag });
        return Err(NothingToRun::Again);
    }
    let metrics = cx.metrics();
    match popped.source {
        PopSource::Local => metrics.executed_local += 1,
        PopSource::Injector => metrics.executed_injector += 1,
        PopSource::Steal => metrics.executed_stolen += 1,
    }
    if was_idle {
        // Counted before: should the hook panic, then the task is over.
        idle.on_work(cx.state().idle_time());
    }
    Ok(popped)
}

fn nothing_found<T, S, C, I, H>(cx: &mut C, idle: &mut I, trace: &mut H) -> NothingToRun
where
    C: WorkerCtxLike<T, S>,
    I: IdleHooks,
    H: TraceHooks<T>,
{
    let state = cx.state();
    // Before any spinning: a worker that never parks must not hold up the end.
    state.release_credits();
    bring_up_to_date(cx);

    let state = cx.state();
    let word = state.sleep_word();
    if mutant::m53_end_is_overlooked() && word.is_done() {
        state.ports.yield_now();
        return NothingToRun::Again;
    }
    if word.is_done() || mutant::m32_abort_leaves_late_pushes() && word.is_aborting() {
        trace.event(ExecTraceEvent::Exit);
        return NothingToRun::Exit(if state.panicked {
            WorkerExit::Panicked
        } else {
            WorkerExit::Done
        });
    }
    let round = IdleRound {
        round: state.idle_rounds,
        searching: state.searching,
    };
    if state.idle_rounds == 0 {
        state.backoff.found_nothing();
    }
    state.idle_rounds = state.idle_rounds.saturating_add(1);
    match idle.on_idle(round) {
        IdleAction::Spin => state.ports.spin(1),
        IdleAction::Yield => state.ports.yield_now(),
        IdleAction::Park(options) => return NothingToRun::Park(options),
    }
    NothingToRun::Again
}

/// Adds what the worker's own side has counted to its metrics.
pub(crate) fn bring_up_to_date<T, S, C: WorkerCtxLike<T, S>>(cx: &mut C) {
    let tally = cx.state().take_tally();
    tally.report(cx.metrics());
}
