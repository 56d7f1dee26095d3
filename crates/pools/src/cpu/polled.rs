//! A future as a task of a job: a turn polls it once or more.
//!
//! A poll runs inside a tokio runtime and its cooperative budget. A unit of the budget is one step
//! of a stream, such as a batch of rows. All 128 units may last 50 ms, so a poll burns units and
//! keeps those for about [`POLL_NS`]. A future that paused for want of budget is polled again, with
//! warm caches, in turns of up to [`TURN`], unless its worker is to leave the job.
//!
//! A job is charged for its polls' time on a core. Interrupts lengthen polls, so a poll of a job
//! that has used at most [`LENIENT`] counts for at most [`POLL_NS`]
//! (`docs/decisions/0042-long-polls-of-young-jobs.md`).

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use pipeline_exec::{
    JobErrorKind, StepCx, StepError,
    open_job::{Task, Turn},
};
use tokio::runtime::Handle;
use tokio::task::coop;

use super::async_job::AsyncJob;
use super::async_task::{Ended, HandedBack, Output, TaskError, TaskFuture};
use super::on_core::OnCore;
use crate::moment::nanos;

const POLL_NS: u64 = 400_000;

/// A turn ends with the poll that exceeds this: sooner than a spare thread would call the turn
/// long.
const TURN: Duration = Duration::from_millis(2);

const LENIENT: Duration = Duration::from_millis(100);

const BUDGET: u32 = 128;

/// Units that a poll keeps at least: nested streams each take one for a step.
const UNITS_MIN: u32 = 2;

const UNITS_FIRST: u32 = 3;

/// Units kept at most because a poll made no progress.
const UNITS_STUCK_MAX: u32 = 32;

pub(super) struct Polled<T> {
    future: Option<TaskFuture<T>>,
    output: Arc<Output<T>>,
    job: AsyncJob,
    runtime: Handle,
    budget: Budget,
    waker: Option<Arc<TurnWaker>>,
    spawned: Instant,
}

struct TurnWaker {
    task: Waker,
    polled_by: AtomicUsize,
    paused: AtomicBool,
    /// From `epoch` to the first wake after the last poll began; 0 without a wake.
    woken_ns: AtomicU64,
    epoch: Instant,
}

struct Polling<'a> {
    waker: &'a TurnWaker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paused {
    BudgetUsedUp,
    WithoutProgress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Budget {
    units: u32,
}

impl<T> Polled<T> {
    pub(super) fn new(future: TaskFuture<T>, output: Arc<Output<T>>, job: AsyncJob, runtime: Handle) -> Self {
        Self {
            future: Some(future),
            output,
            job,
            runtime,
            budget: Budget { units: UNITS_FIRST },
            waker: None,
            spawned: Instant::now(),
        }
    }

    fn poll(&mut self, task: &Waker) -> (Poll<T>, Option<Paused>) {
        let Self {
            future,
            job,
            runtime,
            budget,
            waker,
            ..
        } = self;
        let future = future
            .as_mut()
            .expect("a future that is ready is not polled again");
        let turn_waker = waker.get_or_insert_with(|| Arc::new(TurnWaker::new(task.clone())));
        let waker = Waker::from(Arc::clone(turn_waker));
        let mut paused = None;
        let once = poll_fn(|_cx| {
            budget.burn_the_rest();
            let polling = turn_waker.polling();
            let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
            paused = polling.end().then(|| match coop::has_budget_remaining() {
                true => Paused::WithoutProgress,
                false => Paused::BudgetUsedUp,
            });
            Poll::Ready(polled)
        });
        // Never parks: the outer future is ready at once.
        let polled = job.enter(|| runtime.block_on(once));
        (polled, paused)
    }

    /// A stop drops the job's waiting futures while this one is still polled. Then channels from
    /// them look like channels whose senders are done, so an output may lack what they had to give.
    fn end_unless_stopped(&mut self, ended: Ended<T>) {
        self.end(match self.job.stopped() {
            Some(why) => Ended::Failed(stopped_running(why)),
            None => ended,
        });
    }

    fn end(&mut self, ended: Ended<T>) {
        let future = self.future.take();
        // Dropped before the awaiter is woken, so its memory is free by then. A panic of this drop
        // becomes the outcome.
        let ended = match catch_unwind(AssertUnwindSafe(|| self.job.enter(|| drop(future)))) {
            Ok(()) => ended,
            Err(payload) => Ended::Panicked(payload),
        };
        self.output.end(ended);
    }
}

impl<T: Send> Task for Polled<T> {
    fn name(&self) -> &str {
        "future"
    }

    fn turn(&mut self, cx: &StepCx<'_>, waker: &Waker) -> Result<Turn, StepError> {
        let turn_began = Instant::now();
        let mut began = turn_began;
        let mut core = OnCore::begins();
        let mut counted = Duration::ZERO;
        loop {
            let waited = match &self.waker {
                None => began - self.spawned,
                Some(waker) => waker.poll_begins(began),
            };
            if let Some(observer) = self.job.options().turn_observer() {
                observer.polls(cx.worker_id(), began);
            }
            let polled = catch_unwind(AssertUnwindSafe(|| self.poll(waker)));
            let ended = Instant::now();
            let on_core = core.lap();
            let took = on_core.unwrap_or(ended - began);
            let busy = self.job.note_turn(took, ended - began, waited);
            if let Some(observer) = self.job.options().turn_observer() {
                observer.polled(cx.worker_id(), began, ended);
            }
            counted += counts(took, busy.saturating_sub(took));
            if on_core.is_some() {
                cx.charge_for(counted);
            }
            let paused = match polled {
                Ok((Poll::Pending, paused)) => paused,
                Ok((Poll::Ready(output), _)) => {
                    self.end_unless_stopped(Ended::Ready(output));
                    return Ok(Turn::Done);
                }
                Err(payload) => {
                    self.end_unless_stopped(Ended::Panicked(payload));
                    return Ok(Turn::Done);
                }
            };
            self.budget.learn(took, paused);
            if paused.is_none() {
                return Ok(Turn::Parked);
            }
            if ended - turn_began >= TURN || cx.is_cancelled() || cx.should_yield() {
                return Ok(Turn::Again);
            }
            began = ended;
        }
    }
}

impl<T> Drop for Polled<T> {
    fn drop(&mut self) {
        if self.future.is_none() {
            return;
        }
        let error = match self.job.stopped() {
            Some(JobErrorKind::HandedBack) if self.waker.is_none() => {
                if let Some(future) = self.future.take() {
                    self.output
                        .end(Ended::Failed(TaskError::NotRun(HandedBack::new(future))));
                }
                return;
            }
            Some(why) => stopped_running(why),
            None => TaskError::Cancelled,
        };
        self.end(Ended::Failed(error));
    }
}

/// The error of a future that was polled before its job was stopped.
fn stopped_running<T>(why: JobErrorKind) -> TaskError<T> {
    match why {
        JobErrorKind::HandedBack => TaskError::Closed,
        JobErrorKind::DeadlineExceeded => TaskError::DeadlineExceeded,
        _ => TaskError::Cancelled,
    }
}

impl Budget {
    fn burn_the_rest(self) {
        let mut cx = Context::from_waker(Waker::noop());
        for _ in self.units..BUDGET {
            match coop::poll_proceed(&mut cx) {
                Poll::Ready(unit) => unit.made_progress(),
                Poll::Pending => return,
            }
        }
    }

    fn learn(&mut self, took: Duration, paused: Option<Paused>) {
        let took_ns = nanos(took).max(1);
        let fits = u64::from(self.units).saturating_mul(POLL_NS) / took_ns;
        let fits = u32::try_from(fits).unwrap_or(BUDGET);
        self.units = match paused {
            Some(Paused::BudgetUsedUp) => fits.min(self.units * 2),
            // Nested streams each take a unit, and return it if an inner one gets none.
            Some(Paused::WithoutProgress) => fits.min((self.units * 2).min(UNITS_STUCK_MAX.max(self.units))),
            None => fits.min(self.units),
        }
        .clamp(UNITS_MIN, BUDGET);
    }
}

impl TurnWaker {
    fn new(task: Waker) -> Self {
        Self {
            task,
            polled_by: AtomicUsize::new(0),
            paused: AtomicBool::new(false),
            woken_ns: AtomicU64::new(0),
            epoch: Instant::now(),
        }
    }

    fn poll_begins(&self, now: Instant) -> Duration {
        // Ordering: Relaxed. A statistic.
        match self.woken_ns.swap(0, Ordering::Relaxed) {
            0 => Duration::ZERO,
            woken_ns => now
                .duration_since(self.epoch)
                .saturating_sub(Duration::from_nanos(woken_ns)),
        }
    }

    fn polling(&self) -> Polling<'_> {
        // Ordering: Relaxed, both. A thread compares only its own wakes with what it writes here;
        // any value that another thread reads differs from that thread's number.
        self.paused.store(false, Ordering::Relaxed);
        self.polled_by.store(this_thread(), Ordering::Relaxed);
        Polling { waker: self }
    }
}

impl Polling<'_> {
    fn end(self) -> bool {
        // Ordering: Relaxed. Written by this thread.
        self.waker.paused.load(Ordering::Relaxed)
    }
}

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        // Ordering: Relaxed. As in `polling`.
        self.waker.polled_by.store(0, Ordering::Relaxed);
    }
}

impl Wake for TurnWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Ordering: Relaxed, both. As in `polling`.
        if self.polled_by.load(Ordering::Relaxed) == this_thread() {
            self.paused.store(true, Ordering::Relaxed);
            return;
        }
        // Ordering: Relaxed, both. A statistic; the first wake after a poll counts.
        if self.woken_ns.load(Ordering::Relaxed) == 0 {
            let ns = nanos(self.epoch.elapsed());
            self.woken_ns.store(ns.max(1), Ordering::Relaxed);
        }
        self.task.wake_by_ref();
    }
}

fn counts(took: Duration, before: Duration) -> Duration {
    if before <= LENIENT {
        took.min(Duration::from_nanos(POLL_NS))
    } else {
        took
    }
}

fn this_thread() -> usize {
    thread_local! {
        static HERE: u8 = const { 0 };
    }
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(units: u32, took: Duration, paused: Option<Paused>) -> u32 {
        let mut budget = Budget { units };
        budget.learn(took, paused);
        budget.units
    }

    #[test]
    fn a_turn_that_used_its_budget_up_is_left_what_fits_into_its_time_and_twice_as_much_at_most() {
        let used_up = Some(Paused::BudgetUsedUp);
        assert_eq!(learnt(8, Duration::from_micros(1_600), used_up), 2);
        assert_eq!(learnt(8, Duration::from_micros(800), used_up), 4);
        assert_eq!(learnt(8, Duration::from_micros(320), used_up), 10);
        assert_eq!(learnt(8, Duration::from_micros(7), used_up), 16);
        assert_eq!(learnt(100, Duration::from_micros(7), used_up), BUDGET);
        assert_eq!(learnt(8, Duration::from_secs(1), used_up), UNITS_MIN);
    }

    #[test]
    fn a_turn_that_waits_is_left_less_if_it_was_long_and_never_more() {
        assert_eq!(learnt(8, Duration::from_micros(800), None), 4);
        assert_eq!(learnt(8, Duration::from_micros(7), None), 8);
    }

    #[test]
    fn a_long_poll_counts_as_one_of_usual_length_if_its_job_had_used_100_ms_at_most() {
        let ms = Duration::from_millis;
        assert_eq!(counts(ms(1) / 5, ms(1)), ms(1) / 5);
        assert_eq!(counts(ms(20), ms(0)), ms(2) / 5);
        assert_eq!(counts(ms(500), ms(100)), ms(2) / 5, "however long it is");
        assert_eq!(counts(ms(12), ms(101)), ms(12));
    }

    #[test]
    fn a_turn_that_got_nowhere_is_left_more_up_to_a_limit() {
        let stuck = Some(Paused::WithoutProgress);
        let nothing = Duration::from_micros(1);
        assert_eq!(learnt(2, nothing, stuck), 4);
        assert_eq!(learnt(30, nothing, stuck), 32);
        assert_eq!(learnt(100, nothing, stuck), 100);
    }
}
