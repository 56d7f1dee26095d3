//! Jobs that grow in the simulator: what their tasks want done, and the party that does it.
//!
//! A task can be sent to another thread, so it cannot hold the ports of the party that runs it. What it wants
//! done it *asks* for ([`Asks`]): to wake a task, to add one, to drop the job's handle. The party does it when
//! the task returns, before the policy goes on: after a turn, or after the drop of a task. To the policy that
//! is inside the turn, or inside the drop. Between asking and returning the party takes no micro-step, so
//! what is asked for is the asking party's.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use pipeline_exec::policy::{PipelineEvent, PipelinePorts, grow};
use pipeline_exec::{JobHandle, Role, Task, Turn};

use super::{Fired, Hub, PipeEnv, SimState};
use crate::mark::Mark;
use crate::oracle::FoundTask;
use crate::world::World;

/// What tasks want done, by the number of the job.
pub(crate) enum Ask {
    /// Wake a task.
    Wake { job: usize, task: usize },
    /// Add a task.
    Add { job: usize, task: Box<dyn Task> },
    /// Cancel the task of that number, or of what is left when that is divided by the number of tasks.
    Cancel { job: usize, task: usize },
    /// The handle of the job is dropped.
    Leave { job: usize },
    /// Wake a party that waits in [`PipeEnv::wait_for`].
    Rouse(Waker),
    /// The turn takes so many nanoseconds.
    Take(u64),
}

/// Where tasks ask. Its clones are the same place.
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

/// The waker of a task.
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

/// The jobs that grow, and what their tasks want done.
#[derive(Default)]
pub(crate) struct Growing {
    asks: Asks,
    /// By number.
    jobs: RefCell<HashMap<usize, (Arc<SimState>, JobHandle)>>,
    /// Numbers of the jobs of which a task was cancelled by itself.
    cancelled: RefCell<HashSet<usize>>,
}

impl Hub {
    /// Where the tasks of jobs that grow ask.
    pub(crate) fn asks(&self) -> Asks {
        self.growing.asks.clone()
    }

    /// `job` was opened.
    pub(crate) fn opened(&self, state: Arc<SimState>, job: JobHandle) {
        self.growing.jobs.borrow_mut().insert(job.seq, (state, job));
    }

    /// Whether a task of `job` was cancelled by itself.
    pub(crate) fn has_cancelled_task(&self, job: JobHandle) -> bool {
        self.growing.cancelled.borrow().contains(&job.seq)
    }

    /// What the oracle of tasks hears, and the marks that are about them.
    pub(super) fn heard_of_task(&self, world: &mut World, me: usize, event: PipelineEvent<'_>) {
        let job = match event {
            PipelineEvent::TaskSpawned { job, .. }
            | PipelineEvent::TaskWoken { job, .. }
            | PipelineEvent::TaskCancelled { job, .. }
            | PipelineEvent::Claimed { job, .. }
            | PipelineEvent::SlotRan { job, .. }
            | PipelineEvent::TurnOver { job, .. }
            | PipelineEvent::TaskOver { job, .. }
            | PipelineEvent::Ended { job, .. } => job,
            _ => return,
        };
        if !self.growing.jobs.borrow().contains_key(&job.seq) {
            return;
        }
        let mut tasks = self.tasks.borrow_mut();
        match event {
            PipelineEvent::SlotRan { role: Role::Lent, .. } => world.marks.hit(Mark::LentThreadRanTurn),
            PipelineEvent::TurnOver { turn, .. } if turn != Turn::Done && self.is_closed(job) => {
                world.marks.hit(Mark::ClosedOverTurn);
            }
            PipelineEvent::TaskOver { .. } if self.is_closed(job) && tasks.has_parked(job) => {
                world.marks.hit(Mark::ClosedOverParked);
            }
            _ => {}
        }
        let found = match tasks.observe(event, me, || self.is_closed(job)) {
            Ok(found) => found,
            Err(violation) => return world.judge(Err(violation)),
        };
        let cancels = matches!(event, PipelineEvent::TaskCancelled { .. });
        let mark = match found {
            Some(FoundTask::Parked) if cancels => Mark::TaskCancelledParked,
            Some(FoundTask::InTurn) if cancels => Mark::TaskCancelledInTurn,
            Some(FoundTask::Parked) => Mark::TaskWokenParked,
            Some(FoundTask::InTurn) => Mark::TaskWokenInTurn,
            Some(FoundTask::Ready) => Mark::TaskWokenReady,
            Some(FoundTask::Over) => Mark::TaskWokenOver,
            None => return,
        };
        world.marks.hit(mark);
    }
}

impl PipeEnv<'_, '_> {
    /// Adds a task to job number `job`. `false`: the job took none, and the task was dropped.
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
                .with(|world| world.marks.hit(Mark::TaskGivenBack));
            // Its drop may ask.
            drop(spawned);
            self.ports.handle.with(|world| world.meets(true));
            self.do_asked();
        }
        taken
    }

    /// Cancels a task of job number `job`, of those that it has had so far. `pick` is given how many these are.
    pub(crate) fn cancel_task(&self, job: usize, pick: impl FnOnce(usize) -> usize) {
        self.in_job(job, |state, handle| {
            let (_, tasks) = state.progress(self);
            if tasks > 0 {
                self.hub.growing.cancelled.borrow_mut().insert(job);
                grow::cancel_task(self, state, handle, pick(tasks));
            }
        });
    }

    /// Blocks until `ready` gives something. It is called again when the waker that it is given was woken.
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

    /// What a task has asked for that has just returned to this party: the time of its turn, and the rest.
    pub(super) fn asked(&self, event: PipelineEvent<'_>) -> (Option<u64>, Vec<Ask>) {
        let (PipelineEvent::SlotRan { job, .. } | PipelineEvent::TaskOver { job, .. }) = event else {
            return (None, Vec::new());
        };
        if !self.hub.growing.jobs.borrow().contains_key(&job.seq) {
            return (None, Vec::new());
        }
        // It has read and changed what it shares with other tasks.
        self.ports.handle.with(|world| world.meets(true));
        let mut asked = self.hub.growing.asks.take();
        let takes = asked.iter().position(|ask| matches!(ask, Ask::Take(_)));
        let ns = match takes.map(|place| asked.remove(place)) {
            Some(Ask::Take(ns)) => ns,
            _ => 0,
        };
        (Some(ns), asked)
    }

    /// Does what was asked for by now.
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
                            .with(|world| world.marks.hit(Mark::TaskAddedInTurn));
                    }
                }
                Ask::Cancel { job, task } => self.cancel_task(job, |tasks| task % tasks),
                Ask::Leave { job } => self.leave_job(job),
                Ask::Rouse(waker) => self.wake(waker),
                // Of a task that was dropped before its turn was over.
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
                    .with(|world| world.marks.hit(Mark::EndedByHandle));
            }
        });
    }

    /// Does something to job number `job`. Until it is done this party is inside the job, as a worker is: whoever sleeps may rely on
    /// it to tell what it makes claimable.
    fn in_job<R>(&self, job: usize, act: impl FnOnce(&Arc<SimState>, JobHandle) -> R) -> R {
        let (handle, me) = (&self.ports.handle, self.ports.handle.party());
        let known = self.hub.growing.jobs.borrow().get(&job).cloned();
        let (state, job) = known.expect("a task's job was opened");
        let comes = self.hub.lending.borrow_mut().comes(me, job);
        handle.with(|world| world.outside_pauses(me, false));
        let done = act(&state, job);
        handle.with(|world| {
            if comes {
                self.hub.left_job(world, me);
            }
            world.outside_pauses(me, true);
            self.hub.judge_watch(world);
        });
        done
    }
}
