//! One step of a worker: find a task and run it.
//!
//! A step never blocks.

use std::time::Duration;

use super::context::WorkerCtxLike;
use super::event::{ExecTraceEvent, TraceHooks};
use super::find::pop_task;
use super::idle::{IdleAction, IdleHooks, IdleRound};
use crate::ports::parking::{Park, Parking};
use crate::worker::popped::{PopSource, Popped};

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerStepResult<Tag> {
    /// A task ran.
    RanTask {
        /// The task's name, from the trace hooks.
        tag: Tag,
        /// Where the worker found it.
        source: PopSource,
        /// The worker that it was stolen from.
        victim: Option<usize>,
    },
    /// No task ran; step again.
    NoWork,
    /// No task ran; park.
    ShouldPark {
        /// How long; `None` until woken.
        timeout: Option<Duration>,
    },
    /// The executor has ended.
    ExitDone,
    /// The executor has ended, and a task on this worker panicked.
    ExitPanicked,
}

/// How a worker left its loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerExit {
    /// The executor has ended.
    Done,
    /// The executor has ended, and a task on this worker panicked.
    Panicked,
}

/// Finds a task and runs it.
///
/// A panic of the runner reaches the worker loop, which releases the task's count.
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
    match step(cx, runner, idle, trace) {
        Ok(Ran { tag, source, victim }) => WorkerStepResult::RanTask { tag, source, victim },
        Err(NothingToRun::Again) => WorkerStepResult::NoWork,
        Err(NothingToRun::Park(options)) => WorkerStepResult::ShouldPark {
            timeout: options.timeout,
        },
        Err(NothingToRun::Exit(WorkerExit::Done)) => WorkerStepResult::ExitDone,
        Err(NothingToRun::Exit(WorkerExit::Panicked)) => WorkerStepResult::ExitPanicked,
    }
}

pub(crate) struct Ran<Tag> {
    tag: Tag,
    source: PopSource,
    victim: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum NothingToRun {
    Again,
    Park(Park),
    Exit(WorkerExit),
}

#[inline(always)] // A private task's path is a few instructions; a call, and a result in memory, would double it.
pub(crate) fn step<T, S, C, R, I, H>(
    cx: &mut C,
    runner: &R,
    idle: &mut I,
    trace: &mut H,
) -> Result<Ran<H::Tag>, NothingToRun>
where
    C: WorkerCtxLike<T, S>,
    R: Fn(T, &mut C) + ?Sized,
    I: IdleHooks,
    H: TraceHooks<T>,
{
    let (task, source, victim) = match cx.state().pop_between_ticks() {
        Some(task) => (task, PopSource::Local, None),
        None => {
            let Popped { task, source, victim } = pop_with_tick(cx, idle, trace)?;
            (task, source, victim)
        }
    };
    let tag = trace.tag(&task);
    trace.event(ExecTraceEvent::TaskStart { tag, source, victim });
    runner(task, cx);
    trace.event(ExecTraceEvent::TaskEnd { tag });
    Ok(Ran { tag, source, victim })
}

#[inline(never)]
fn pop_with_tick<T, S, C, I, H>(cx: &mut C, idle: &mut I, trace: &mut H) -> Result<Popped<T>, NothingToRun>
where
    C: WorkerCtxLike<T, S>,
    I: IdleHooks,
    H: TraceHooks<T>,
{
    cx.state().begin_tick_of_pop();
    cx.begin_search();
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
        // After the task is stored, so a panic here does not lose it.
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
        // After the count, so a panic here ends a task that was counted.
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
    // Before any spinning: a worker that never parks must not delay the end.
    state.release_credits();
    update_metrics(cx);

    let state = cx.state();
    let word = state.sleep_word();
    if word.is_done() {
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

pub(crate) fn update_metrics<T, S, C: WorkerCtxLike<T, S>>(cx: &mut C) {
    let tally = cx.state().take_tally();
    tally.report(cx.metrics());
}
