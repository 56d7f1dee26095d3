//! One step of a worker: find a task, run it, and run the tasks that follow it.
//!
//! A task that returns a task names the one that runs next ([`NextTask`]). Until a tick is due, the
//! worker runs it at once, so it passes through no memory; when a tick is due, the worker adds it
//! to its own tasks, as if it had been spawned. A step never blocks. The worker's loop goes on with
//! private tasks in the same way, until a tick is due: all that a short task costs is in `run_all`.

use std::marker::PhantomData;
use std::time::Duration;

use super::context::WorkerCtxLike;
use super::event::{ExecTraceEvent, TraceHooks};
use super::find::pop_task;
use super::idle::{IdleAction, IdleHooks, IdleRound};
use super::next_task::NextTask;
use crate::ports::parking::{Park, Parking};
use crate::worker::popped::{PopSource, Popped};

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerStepResult<Tag> {
    /// A task ran, and those that followed it until a tick was due.
    RanTask {
        /// The first task's name, from the trace hooks.
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

/// Finds a task and runs it, and those that follow it until a tick is due.
///
/// A panic of the runner reaches the worker loop, which releases the task's count.
pub fn worker_step<T, S, C, R, N, I, H>(
    cx: &mut C,
    runner: &R,
    idle: &mut I,
    trace: &mut H,
) -> WorkerStepResult<H::Tag>
where
    C: WorkerCtxLike<T, S>,
    R: Fn(T, &mut C) -> N + ?Sized,
    N: NextTask<T>,
    I: IdleHooks,
    H: TraceHooks<T>,
{
    let popped = match cx.state().pop_between_ticks() {
        Some(task) => Ok(Popped::own(task)),
        None => pop_with_tick(cx, idle, trace),
    };
    match popped {
        Ok(first) => {
            let (source, victim) = (first.source, first.victim);
            let tag = run_all(first, cx, runner, trace, |_| None);
            WorkerStepResult::RanTask { tag, source, victim }
        }
        Err(NothingToRun::Again) => WorkerStepResult::NoWork,
        Err(NothingToRun::Park(options)) => WorkerStepResult::ShouldPark {
            timeout: options.timeout,
        },
        Err(NothingToRun::Exit(WorkerExit::Done)) => WorkerStepResult::ExitDone,
        Err(NothingToRun::Exit(WorkerExit::Panicked)) => WorkerStepResult::ExitPanicked,
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum NothingToRun {
    Again,
    Park(Park),
    Exit(WorkerExit),
}

/// Runs `first`, and then what `more` finds, until that is nothing. After each task run those that
/// follow it. Returns the name of `first`.
#[inline(always)] // Into the worker's loop, which is the only one that calls the runner.
pub(crate) fn run_all<T, S, C, R, N, H>(
    first: Popped<T>,
    cx: &mut C,
    runner: &R,
    trace: &mut H,
    mut more: impl FnMut(&mut C) -> Option<T>,
) -> H::Tag
where
    C: WorkerCtxLike<T, S>,
    R: Fn(T, &mut C) -> N + ?Sized,
    N: NextTask<T>,
    H: TraceHooks<T>,
{
    let Popped {
        mut task,
        mut source,
        mut victim,
    } = first;
    let first = trace.tag(&task);
    let mut tag = first;
    loop {
        trace.event(ExecTraceEvent::TaskStart { tag, source, victim });
        let mut ended = Ended {
            next: runner(task, cx).next_task(),
            cx,
            scratch: PhantomData,
        };
        trace.event(ExecTraceEvent::TaskEnd { tag });
        let next = ended.next.take();
        drop(ended);
        let next = match next {
            Some(next) if cx.state().may_run_next() => Some(next),
            Some(next) => {
                spawn_next(next, cx);
                more(cx)
            }
            None => more(cx),
        };
        let Some(next) = next else {
            return first;
        };
        tag = trace.tag(&next);
        (task, source, victim) = (next, PopSource::Local, None);
    }
}

#[cold]
#[inline(never)]
fn spawn_next<T, S, C: WorkerCtxLike<T, S>>(task: T, cx: &mut C) {
    cx.spawn_next(task);
}

/// A task that has ended, and the one that it returned: a hook that panics must not lose that one.
struct Ended<'a, T, S, C: WorkerCtxLike<T, S>> {
    next: Option<T>,
    cx: &'a mut C,
    scratch: PhantomData<fn(S)>,
}

impl<T, S, C: WorkerCtxLike<T, S>> Drop for Ended<'_, T, S, C> {
    #[inline]
    fn drop(&mut self) {
        if let Some(task) = self.next.take() {
            self.cx.spawn_next(task);
        }
    }
}

#[inline(never)]
pub(crate) fn pop_with_tick<T, S, C, I, H>(
    cx: &mut C,
    idle: &mut I,
    trace: &mut H,
) -> Result<Popped<T>, NothingToRun>
where
    C: WorkerCtxLike<T, S>,
    I: IdleHooks,
    H: TraceHooks<T>,
{
    cx.begin_search();
    if let Some(task) = cx.state().pop_public_between_ticks() {
        return Ok(Popped::own(task));
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
