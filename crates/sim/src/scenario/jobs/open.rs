//! Opening growing jobs, waking their tasks from the environment, and cancelling one of them.

use std::sync::{Arc, Mutex};

use pipeline_exec::policy::JobHandle;

use super::Submitter;
use super::grown::{Environment, Grown, GrownPlan, Handle, Held, Next};
use crate::environment::pause;
use crate::oracle::Violation;
use crate::pipeline::{Hub, Look, PipeEnv, SimState};
use crate::ports::SimPorts;

pub(super) struct Opened {
    grown: Arc<Grown>,
    handle: Option<Held>,
}

impl Submitter<'_, '_> {
    pub(super) fn open(
        &self,
        plan: &GrownPlan,
        (state, job): (Arc<SimState>, JobHandle),
        environment: &Environment,
        complaints: &Arc<Mutex<Vec<Violation>>>,
    ) -> Opened {
        let env = self.env();
        self.hub.opened(state, job);
        let grown = Grown::new(
            job.seq,
            self.hub.asks(),
            environment.clone(),
            Arc::clone(complaints),
        );
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

pub(super) fn wake_late(ports: &SimPorts<'_, Look>, hub: &Hub, environment: &Environment) {
    let env = PipeEnv { ports, hub };
    while let Next::Wakes(waker) = env.wait_for(|waker| environment.next(waker)) {
        pause(&ports.handle);
        waker.wake();
        env.do_asked();
        let any = ports.handle.with(|world| {
            let strikes = world.below(3) == 0;
            world.meets(false);
            environment.any(|known| world.below(known)).filter(|_| strikes)
        });
        if let Some(any) = any {
            any.wake();
            env.do_asked();
        }
    }
}

pub(super) fn cancel_a_task(ports: &SimPorts<'_, Look>, hub: &Hub, job: JobHandle) {
    let env = PipeEnv { ports, hub };
    env.cancel_task(job.seq, |tasks| ports.handle.with(|world| world.below(tasks)));
}
