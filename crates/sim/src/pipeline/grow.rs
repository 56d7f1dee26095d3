//! Growing jobs in the simulator: requests of tasks, and the actor that serves them.
//!
//! A task is `Send`, so it cannot hold its actor's ports. It puts requests into [`Asks`], which the
//! actor serves after the task returns, before the policy continues.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use pipeline_exec::policy::{InnerEvent, PipelineEvent, PipelinePorts, grow};
use pipeline_exec::{
    Role,
    open_job::{Task, Turn},
    policy::JobHandle,
};

use super::{Fired, Hub, PipeEnv, SimState};
use crate::coverage::CoveragePoint;
use crate::oracle::FoundTask;
use crate::world::World;

pub(crate) enum Ask {
    Wake {
        job: usize,
        task: usize,
    },
    Add {
        job: usize,
        task: Box<dyn Task>,
    },
    Cancel {
        job: usize,
        task: usize,
    },
    Leave {
        job: usize,
    },
    Rouse(Waker),
    /// The nanoseconds of this turn.
    Take(u64),
}

#[derive(Clone, Default)]
pub(crate) struct Asks(Arc<Mutex<Vec<Ask>>>);

impl Asks {
    pub(crate) fn ask(&self, ask: Ask) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(ask);
    }

    fn take(&self) -> Vec<Ask> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct TaskWaker {
    asks: Asks,
    job: usize,
    task: usize,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let &Self { job, task, .. } = &**self;
        self.asks.ask(Ask::Wake { job, task });
    }
}

#[derive(Default)]
pub(crate) struct Growing {
    asks: Asks,
    jobs: RefCell<HashMap<usize, (Arc<SimState>, JobHandle)>>,
    cancelled: RefCell<HashSet<usize>>,
}

impl Hub {
    pub(crate) fn asks(&self) -> Asks {
        self.growing.asks.clone()
    }

    pub(crate) fn opened(&self, state: Arc<SimState>, job: JobHandle) {
        self.growing.jobs.borrow_mut().insert(job.seq, (state, job));
    }

    pub(crate) fn has_cancelled_task(&self, job: JobHandle) -> bool {
        self.growing.cancelled.borrow().contains(&job.seq)
    }

    pub(super) fn heard_of_task(&self, world: &mut World, me: usize, event: PipelineEvent<'_>) {
        let job = match event {
            PipelineEvent::Inner(InnerEvent::TaskSpawned { job, .. })
            | PipelineEvent::Inner(InnerEvent::TaskWoken { job, .. })
            | PipelineEvent::Inner(InnerEvent::TaskCancelled { job, .. })
            | PipelineEvent::Claimed { job, .. }
            | PipelineEvent::SlotRan { job, .. }
            | PipelineEvent::Inner(InnerEvent::TurnOver { job, .. })
            | PipelineEvent::Inner(InnerEvent::TaskOver { job, .. })
            | PipelineEvent::Ended { job, .. } => job,
            _ => return,
        };
        if !self.growing.jobs.borrow().contains_key(&job.seq) {
            return;
        }
        let mut tasks = self.tasks.borrow_mut();
        match event {
            PipelineEvent::SlotRan { role: Role::Lent, .. } => {
                world.coverage.hit(CoveragePoint::LentThreadRanTurn)
            }
            PipelineEvent::Inner(InnerEvent::TurnOver { turn, .. })
                if turn != Turn::Done && self.is_closed(job) =>
            {
                world.coverage.hit(CoveragePoint::ClosedOverTurn);
            }
            PipelineEvent::Inner(InnerEvent::TaskOver { .. })
                if self.is_closed(job) && tasks.has_parked(job) =>
            {
                world.coverage.hit(CoveragePoint::ClosedOverParked);
            }
            _ => {}
        }
        let found = match tasks.observe(event, me, || self.is_closed(job)) {
            Ok(found) => found,
            Err(violation) => return world.judge(Err(violation)),
        };
        let cancels = matches!(event, PipelineEvent::Inner(InnerEvent::TaskCancelled { .. }));
        let point = match found {
            Some(FoundTask::Parked) if cancels => CoveragePoint::TaskCancelledParked,
            Some(FoundTask::InTurn) if cancels => CoveragePoint::TaskCancelledInTurn,
            Some(FoundTask::Parked) => CoveragePoint::TaskWokenParked,
            Some(FoundTask::InTurn) => CoveragePoint::TaskWokenInTurn,
            Some(FoundTask::Ready) => CoveragePoint::TaskWokenReady,
            Some(FoundTask::Over) => CoveragePoint::TaskWokenOver,
            None => return,
        };
        world.coverage.hit(point);
    }
}

impl PipeEnv<'_, '_> {
    /// Returns `false` if the job refused the task, which is then dropped.
    pub(crate) fn add_task(&self, job: usize, task: Box<dyn Task>) -> bool {
        let asks = &self.hub.growing.asks;
        let spawned = self.in_job(job, |state, handle| {
            grow::spawn(self, state, handle, task, |task| {
                Waker::from(Arc::new(TaskWaker {
                    asks: asks.clone(),
                    job,
                    task,
                }))
            })
        });
        let taken = spawned.is_ok();
        if !taken {
            self.ports
                .handle
                .with(|world| world.coverage.hit(CoveragePoint::TaskGivenBack));
            drop(spawned);
            self.ports.handle.with(|world| world.meets(true));
            self.do_asked();
        }
        taken
    }

    /// `pick` gets the number of tasks that the job has had.
    pub(crate) fn cancel_task(&self, job: usize, pick: impl FnOnce(usize) -> usize) {
        self.in_job(job, |state, handle| {
            let (_, tasks) = state.progress(self);
            if tasks > 0 {
                self.hub.growing.cancelled.borrow_mut().insert(job);
                grow::cancel_task(self, state, handle, pick(tasks));
            }
        });
    }

    /// `ready` is called again when its waker was woken.
    pub(crate) fn wait_for<R>(&self, mut ready: impl FnMut(&Waker) -> Option<R>) -> R {
        let fired = Arc::new(Fired::default());
        let waker = Waker::from(Arc::clone(&fired));
        loop {
            self.ports.handle.with(|world| world.meets(true));
            if let Some(is) = ready(&waker) {
                return is;
            }
            self.sleep(&fired, |_, _| (), |_, _| ());
        }
    }

    /// The time of the turn that has just returned, and its other requests.
    pub(super) fn asked(&self, event: PipelineEvent<'_>) -> (Option<u64>, Vec<Ask>) {
        let (PipelineEvent::SlotRan { job, .. } | PipelineEvent::Inner(InnerEvent::TaskOver { job, .. })) =
            event
        else {
            return (None, Vec::new());
        };
        if !self.hub.growing.jobs.borrow().contains_key(&job.seq) {
            return (None, Vec::new());
        }
        self.ports.handle.with(|world| world.meets(true));
        let mut asked = self.hub.growing.asks.take();
        let takes = asked.iter().position(|ask| matches!(ask, Ask::Take(_)));
        let ns = match takes.map(|place| asked.remove(place)) {
            Some(Ask::Take(ns)) => ns,
            _ => 0,
        };
        (Some(ns), asked)
    }

    pub(crate) fn do_asked(&self) {
        self.do_all(self.hub.growing.asks.take());
    }

    pub(super) fn do_all(&self, asked: Vec<Ask>) {
        for ask in asked {
            match ask {
                Ask::Wake { job, task } => {
                    self.in_job(job, |state, handle| grow::wake(self, state, handle, task));
                }
                Ask::Add { job, task } => {
                    if self.add_task(job, task) {
                        self.ports
                            .handle
                            .with(|world| world.coverage.hit(CoveragePoint::TaskAddedInTurn));
                    }
                }
                Ask::Cancel { job, task } => self.cancel_task(job, |tasks| task % tasks),
                Ask::Leave { job } => self.leave_job(job),
                Ask::Rouse(waker) => self.wake(waker),
                // From a task that was dropped during its turn.
                Ask::Take(_) => {}
            }
        }
    }

    fn leave_job(&self, job: usize) {
        self.in_job(job, |state, handle| {
            let ended = |hub: &Hub| hub.oracle.borrow().end_of(handle).is_some();
            let before = ended(self.hub);
            grow::leave(self, state, handle);
            if !before && ended(self.hub) {
                self.ports
                    .handle
                    .with(|world| world.coverage.hit(CoveragePoint::EndedByHandle));
            }
        });
    }

    /// This actor is inside the job meanwhile.
    fn in_job<R>(&self, job: usize, act: impl FnOnce(&Arc<SimState>, JobHandle) -> R) -> R {
        let (handle, me) = (&self.ports.handle, self.ports.handle.actor());
        let known = self.hub.growing.jobs.borrow().get(&job).cloned();
        let (state, job) = known.expect("a task's job was opened");
        let comes = self.hub.lending.borrow_mut().comes(me, job);
        handle.with(|world| world.environment_pauses(me, false));
        let done = act(&state, job);
        handle.with(|world| {
            if comes {
                self.hub.left_job(world, me);
            }
            world.environment_pauses(me, true);
            self.hub.judge_watch(world);
        });
        done
    }
}
