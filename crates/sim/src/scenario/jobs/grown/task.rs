//! A task of a growing job: its turns, and the channels between tasks.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::task::Waker;

use pipeline_exec::policy;
use pipeline_exec::{
    StepCx, StepError,
    open_job::{Task, Turn},
};

use super::super::plan::Inner;
use super::{Grown, Held, TaskPlan, Whim, lock};
use crate::fault::InjectedPanic;
use crate::oracle::Oracle;
use crate::pipeline::Ask;

#[derive(Default)]
pub(super) struct Channel {
    values: VecDeque<u64>,
    room: usize,
    writer_is_gone: bool,
    reader_is_gone: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

pub(super) type Shared = Arc<Mutex<Channel>>;

pub(super) fn channel(room: usize) -> Shared {
    Arc::new(Mutex::new(Channel {
        room,
        ..Channel::default()
    }))
}

pub(super) struct GrownTask {
    plan: TaskPlan,
    job: Arc<Grown>,
    inputs: Vec<Input>,
    output: Option<Shared>,
    /// Received or made, and not passed on.
    holds: Option<u64>,
    made: u64,
    turns: usize,
    is_done: bool,
    handle: Option<Held>,
}

struct Input {
    channel: Shared,
    next: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Went,
    Waits,
    Over,
}

impl GrownTask {
    pub(super) fn boxed(
        plan: &TaskPlan,
        job: &Arc<Grown>,
        inputs: Vec<Shared>,
        output: Option<Shared>,
        handle: Option<&Held>,
    ) -> Box<dyn Task> {
        // Ordering: Relaxed. The simulator is one thread; the plan reads it at the end.
        job.alive.fetch_add(1, Ordering::Relaxed);
        let inputs = inputs.into_iter().map(|channel| Input { channel, next: 0 });
        Box::new(Self {
            plan: plan.clone(),
            job: Arc::clone(job),
            inputs: inputs.collect(),
            output,
            holds: None,
            made: 0,
            turns: 0,
            is_done: false,
            handle: handle.filter(|_| plan.has_handle).cloned(),
        })
    }

    fn step(&mut self, waker: &Waker) -> Step {
        if let Some(value) = self.holds.take() {
            return self.pass_on(value, waker);
        }
        if self.inputs.is_empty() {
            if self.made == self.plan.makes {
                return Step::Over;
            }
            self.holds = Some(self.made);
            self.made += 1;
            // Ordering: Relaxed. The simulator is one thread; the plan reads it at the end.
            self.job.made.fetch_add(1, Ordering::Relaxed);
            return Step::Went;
        }
        let mut is_over = true;
        for input in &mut self.inputs {
            let mut channel = lock(&input.channel);
            if let Some(value) = channel.values.pop_front() {
                if value != input.next {
                    self.job.complain(
                        Oracle::Claims,
                        format!("a channel gave {value} after {}", input.next),
                    );
                }
                input.next = value + 1;
                // A task numbers what it passes on.
                self.holds = Some(self.made);
                self.made += 1;
                wake(&mut channel.writer);
                return Step::Went;
            }
            is_over &= channel.writer_is_gone;
            channel.reader = Some(waker.clone());
        }
        if is_over { Step::Over } else { Step::Waits }
    }

    fn pass_on(&mut self, value: u64, waker: &Waker) -> Step {
        let Some(output) = &self.output else {
            // Ordering: Relaxed. The simulator is one thread; the plan reads it at the end.
            self.job.kept.fetch_add(1, Ordering::Relaxed);
            return Step::Went;
        };
        let mut channel = lock(output);
        if channel.reader_is_gone {
            return Step::Over;
        }
        if channel.values.len() >= channel.room {
            channel.writer = Some(waker.clone());
            self.holds = Some(value);
            return Step::Waits;
        }
        channel.values.push_back(value);
        wake(&mut channel.reader);
        Step::Went
    }

    fn wake_others(&self) {
        for channel in self.inputs.iter().map(|input| &input.channel) {
            lock(channel).writer.iter().for_each(Waker::wake_by_ref);
        }
        if let Some(channel) = &self.output {
            lock(channel).reader.iter().for_each(Waker::wake_by_ref);
        }
    }
}

impl Task for GrownTask {
    fn name(&self) -> &str {
        "planned"
    }

    fn turn(&mut self, cx: &StepCx<'_>, waker: &Waker) -> Result<Turn, StepError> {
        let planned = self.plan.turns.get(self.turns).cloned();
        self.turns += 1;
        let (whim, ns) = planned.map_or((Whim::None, 0), |turn| (turn.whim, turn.ns));
        // Steps for others come first: see `Asks`.
        match &whim {
            Whim::Asks => {
                let _ = cx.is_cancelled() || cx.should_yield();
            }
            Whim::Nests(inner) => {
                let Inner { spec, .. } = &**inner;
                policy::nest(cx, spec.clone()).map(drop)?;
            }
            _ => {}
        }
        let Grown { job, asks, .. } = &*self.job;
        asks.ask(Ask::Take(ns));
        match &whim {
            Whim::WakesItself => waker.wake_by_ref(),
            Whim::WakesOthers => self.wake_others(),
            Whim::Adds(plan) => {
                let task = Self::boxed(plan, &self.job, Vec::new(), None, self.handle.as_ref());
                asks.ask(Ask::Add { job: *job, task });
            }
            &Whim::Cancels(task) => asks.ask(Ask::Cancel { job: *job, task }),
            Whim::Fails => return Err("as planned".into()),
            Whim::Panics => resume_unwind(Box::new(InjectedPanic)),
            Whim::None | Whim::Asks | Whim::Waits | Whim::Nests(_) => {}
        }
        let mut went = Step::Went;
        for _ in 0..self.plan.steps {
            if went == Step::Went {
                went = self.step(waker);
            }
        }
        if matches!(whim, Whim::Waits) {
            self.job.environment.ask(waker.clone(), &self.job.asks);
        }
        Ok(match (went, whim) {
            (Step::Over, _) => {
                self.is_done = true;
                Turn::Done
            }
            (Step::Waits, _) | (Step::Went, Whim::WakesItself | Whim::Waits) => Turn::Parked,
            (Step::Went, _) => Turn::Again,
        })
    }
}

impl Drop for GrownTask {
    fn drop(&mut self) {
        for input in &self.inputs {
            let mut channel = lock(&input.channel);
            channel.reader_is_gone = true;
            wake(&mut channel.writer);
        }
        if let Some(output) = &self.output {
            let mut channel = lock(output);
            channel.writer_is_gone = true;
            wake(&mut channel.reader);
        }
        // Ordering: Relaxed, both. The simulator is one thread; the plan reads it at the end.
        self.job.cut.fetch_add((!self.is_done).into(), Ordering::Relaxed);
        self.job.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

fn wake(waiting: &mut Option<Waker>) {
    waiting.take().into_iter().for_each(Waker::wake);
}
