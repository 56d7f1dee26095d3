//! Who opens jobs that grow, wakes their tasks from outside, and cancels one of them.

use std::sync::{Arc, Mutex};

use pipeline_exec::JobHandle;

use super::Submitter;
use super::grown::{Grown, GrownPlan, Handle, Held, Next, Outside};
use crate::oracle::Violation;
use crate::outside::pause;
use crate::pipeline::{Hub, Look, PipeEnv, SimState};
use crate::ports::SimPorts;

/// A job that grows, for the one that opened it.
pub(super) struct Opened {
    grown: Arc<Grown>,
    /// Until it is dropped.
    handle: Option<Held>,
}

impl Submitter<'_, '_> {
    /// Adds the tasks to a job that was let in, and drops the handle unless it is kept for longer.
    pub(super) fn open(
        &self,
        plan: &GrownPlan,
        (state, job): (Arc<SimState>, JobHandle),
        outside: &Outside,
        complaints: &Arc<Mutex<Vec<Violation>>>,
    ) -> Opened {
        let env = self.env();
        self.hub.opened(state, job);
        let grown = Grown::new(job.seq, self.hub.asks(), outside.clone(), Arc::clone(complaints));
        let handle = grown.handle();
        for task in plan.first(&grown, &handle) {
            env.add_task(job.seq, task);
        }
        if plan.handle != Handle::AtOnce {
            pause(&self.ports.handle);
        }
        for task in plan.later(&grown, &handle) {
            env.add_task(job.seq, task);
        }
        let mut opened = Opened {
            grown,
            handle: Some(handle),
        };
        if plan.handle != Handle::AtLast {
            self.drop_handle(&mut opened);
        }
        opened
    }

    /// Drops the handle, if it was kept.
    pub(super) fn let_go(&self, mut opened: Opened) -> Arc<Grown> {
        self.drop_handle(&mut opened);
        opened.grown
    }

    fn drop_handle(&self, opened: &mut Opened) {
        if let Some(handle) = opened.handle.take() {
            self.ports.handle.with(|world| world.meets(true));
            drop(handle);
            self.env().do_asked();
        }
    }
}

/// The party outside: wakes each task that waits for it, after a while, and now and then any other.
pub(super) fn wake_late(ports: &SimPorts<'_, Look>, hub: &Hub, outside: &Outside) {
    let env = PipeEnv { ports, hub };
    while let Next::Wakes(waker) = env.wait_for(|waker| outside.next(waker)) {
        pause(&ports.handle);
        waker.wake();
        env.do_asked();
        let any = ports.handle.with(|world| {
            let strikes = world.below(3) == 0;
            world.meets(false);
            outside.any(|known| world.below(known)).filter(|_| strikes)
        });
        if let Some(any) = any {
            any.wake();
            env.do_asked();
        }
    }
}

/// Cancels a task of a job that grows, if it has any.
pub(super) fn cancel_a_task(ports: &SimPorts<'_, Look>, hub: &Hub, job: JobHandle) {
    let env = PipeEnv { ports, hub };
    env.cancel_task(job.seq, |tasks| ports.handle.with(|world| world.below(tasks)));
}
