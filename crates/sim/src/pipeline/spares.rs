//! Spare threads in the simulator, and the long slots that need them.
//!
//! A spare thread is an environment actor, numbered right after the workers. While awake it counts
//! as in a call: it may have published work that no worker knows of.

use std::cell::{Cell, RefCell};

use pipeline_exec::policy::JobHandle;
use pipeline_exec::policy::{self, JobSpec};

use super::{Hub, PipeEnv};
use crate::coverage::CoveragePoint;
use crate::fault::Fault;
use crate::oracle::{Oracle, StandInOracle};
use crate::word::Glass;
use crate::world::World;

#[derive(Default)]
pub(crate) struct Extras {
    pub(crate) spares: usize,
    /// Nanoseconds of a long slot. 0: none is long.
    pub(crate) long_ns: u64,
    pub(crate) may_be_long: Option<fn(&JobSpec) -> bool>,
}

pub(super) struct Spares {
    extras: Extras,
    workers: usize,
    pub(super) oracle: RefCell<StandInOracle>,
    over: Cell<bool>,
    long_left: Cell<usize>,
}

impl Spares {
    pub(super) fn new(extras: Extras, workers: usize, quantum_ns: u64, after_ns: u64) -> Self {
        let oracle = StandInOracle::new(workers, extras.spares, quantum_ns, after_ns);
        Self {
            extras,
            workers,
            oracle: RefCell::new(oracle),
            over: Cell::new(false),
            long_left: Cell::new(0),
        }
    }
}

impl Hub {
    pub(crate) fn spares(&self) -> usize {
        self.shared.spares()
    }

    /// A strike makes as many consecutive slots long as there are workers.
    pub(super) fn slot_takes(&self, world: &mut World, actor: usize, spec: &JobSpec, slot_ns: u64) -> u64 {
        let Extras {
            long_ns, may_be_long, ..
        } = self.spares.extras;
        if long_ns == 0 || !may_be_long.is_none_or(|may_be_long| may_be_long(spec)) {
            return slot_ns;
        }
        let left = &self.spares.long_left;
        if left.get() == 0 && world.strikes(Fault::LongSlot) {
            left.set(self.spares.workers);
        }
        match left.get().checked_sub(1) {
            Some(rest) => {
                left.set(rest);
                if self.spares.oracle.borrow().spare_of(actor).is_some() {
                    world.coverage.hit(CoveragePoint::SpareInLongSlot);
                }
                slot_ns.max(long_ns)
            }
            None => slot_ns,
        }
    }
}

impl Hub {
    pub(super) fn spare_claimed(&self, world: &mut World, actor: usize, job: JobHandle, worker: usize) {
        let mut oracle = self.spares.oracle.borrow_mut();
        let verdict = oracle.claimed(actor, job, worker);
        oracle.goes_on(actor);
        match verdict {
            Ok(false) => {}
            Ok(true) => {
                world.coverage.hit(CoveragePoint::SpareStoodIn);
                if oracle.goes_from_job_to_job(actor) {
                    world.coverage.hit(CoveragePoint::SpareWentOn);
                }
                if oracle.standing_in() > 1 {
                    world.coverage.hit(CoveragePoint::TwoStoodIn);
                }
            }
            Err(violation) => world.judge(Err(violation)),
        }
    }

    pub(super) fn in_slot(&self, world: &mut World, actor: usize, takes: bool) {
        self.spares.oracle.borrow_mut().in_slot(actor, takes);
        if takes {
            self.judge_watch(world);
        }
    }

    /// Outside a slot, `actor` is a lent environment actor.
    pub(super) fn sleeps_in_slot(&self, world: &mut World, actor: usize, sleeps: bool) {
        self.spares.oracle.borrow_mut().asleep(actor, sleeps);
        if sleeps {
            self.judge_watch(world);
        }
    }

    pub(crate) fn judge_watch(&self, world: &mut World) {
        let (jobs, oracle) = (self.oracle.borrow(), self.spares.oracle.borrow());
        let stopping = self.admission.borrow().is_stopping();
        if jobs.off || stopping || !oracle.is_unwatched(world.calls()) {
            return;
        }
        if let Some(job) = jobs.waiting_young(self) {
            let message = format!(
                "every worker is in a slot, no spare thread watches, and {job:?} waits, which is young"
            );
            world.fail(Oracle::StandIn, message);
        }
    }
}

impl PipeEnv<'_, '_> {
    pub(super) fn hands_over(&self) {
        let (handle, oracle) = (&self.ports.handle, self.hub.spares.oracle.borrow());
        let me = handle.actor();
        if oracle.spare_of(me).is_some() && !oracle.is_visiting(me) {
            handle.with(|world| world.coverage.hit(CoveragePoint::SpareHandedOn));
        }
    }

    pub(crate) fn stand_in(&self, spare: usize) {
        let handle = &self.ports.handle;
        handle.with(|world| world.environment_call(true));
        policy::stand_in::run_spare(self, spare, |until_ns| self.spare_sleeps(until_ns));
        handle.with(|world| world.environment_call(false));
    }

    /// Returns `false` if the executor has ended.
    fn spare_sleeps(&self, until_ns: Option<u64>) -> bool {
        let (handle, me, hub) = (&self.ports.handle, self.ports.handle.actor(), self.hub);
        handle.with(|world| {
            hub.left_job(world, me);
            world.environment_call(false);
            let verdict = (hub.spares.oracle.borrow_mut()).sleeps(me, until_ns.is_some());
            world.judge(verdict);
            hub.judge_watch(world);
        });
        handle.rest(until_ns);
        handle.with(|world| {
            world.environment_call(true);
            if hub.spares.oracle.borrow_mut().woke(me) {
                world.coverage.hit(CoveragePoint::SpareTold);
            }
        });
        !hub.spares.over.get()
    }

    pub(super) fn wakes_spare(&self, spare: usize) {
        let (handle, hub) = (&self.ports.handle, self.hub);
        handle.with(|world| {
            let says_awake = hub.shared.spare_is_awake(&Glass, spare);
            let woken = hub.spares.oracle.borrow_mut().is_woken(spare, says_awake);
            match woken {
                Ok(true) => world.coverage.hit(CoveragePoint::WatcherWoken),
                Ok(false) if hub.spares.workers + spare == handle.actor() => {
                    world.coverage.hit(CoveragePoint::SpareToldItself);
                }
                Ok(false) => {}
                Err(violation) => world.judge(Err(violation)),
            }
        });
        handle.wake_spare(hub.spares.workers + spare);
    }

    pub(crate) fn end_spares(&self) {
        self.hub.spares.over.set(true);
        for spare in 0..self.hub.spares() {
            self.ports.handle.wake_spare(self.hub.spares.workers + spare);
        }
    }
}
