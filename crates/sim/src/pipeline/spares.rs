//! Spare threads in the simulator, and the long slots for which they are there.
//!
//! A spare thread is a party outside, right behind the workers. It runs the policy's own
//! [`run_spare`](policy::stand_in::run_spare), and sleeps in virtual time. While it is awake it is
//! in a call, as a submitter is in one: it may have published what no worker has heard of yet.

use std::cell::{Cell, RefCell};

use pipeline_exec::JobHandle;
use pipeline_exec::policy::{self, JobSpec};

use super::{Hub, PipeEnv};
use crate::fault::Fault;
use crate::mark::Mark;
use crate::oracle::{Oracle, StandInOracle};
use crate::word::Glass;
use crate::world::World;

/// What an executor may have besides its workers, and its slots besides their time.
#[derive(Default)]
pub(crate) struct Extras {
    /// Number of its spare threads.
    pub(crate) spares: usize,
    /// What a long slot takes, in nanoseconds. 0: no slot is long.
    pub(crate) long_ns: u64,
    /// Whether a job's slots may be long: all are, if it is not said.
    pub(crate) may_be_long: Option<fn(&JobSpec) -> bool>,
}

/// The spare threads of an executor.
pub(super) struct Spares {
    extras: Extras,
    workers: usize,
    pub(super) oracle: RefCell<StandInOracle>,
    /// The executor has ended.
    over: Cell<bool>,
    /// So many slots more are long.
    long_left: Cell<usize>,
}

impl Spares {
    /// Beside `workers` workers. One stands in when these have been in their turns for `after_ns`.
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
    /// Number of the spare threads.
    pub(crate) fn spares(&self) -> usize {
        self.shared.spares()
    }

    /// What a slot of `spec` takes that would take `slot_ns`. When a long slot strikes, as many are
    /// long in a row as there are workers.
    pub(super) fn slot_takes(&self, world: &mut World, party: usize, spec: &JobSpec, slot_ns: u64) -> u64 {
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
                if self.spares.oracle.borrow().spare_of(party).is_some() {
                    world.marks.hit(Mark::SpareInLongSlot);
                }
                slot_ns.max(long_ns)
            }
            None => slot_ns,
        }
    }
}

impl Hub {
    /// Spare thread `party` has claimed slots of `job` as `worker`.
    pub(super) fn spare_claimed(&self, world: &mut World, party: usize, job: JobHandle, worker: usize) {
        let mut oracle = self.spares.oracle.borrow_mut();
        let verdict = oracle.claimed(party, job, worker);
        oracle.goes_on(party);
        match verdict {
            Ok(false) => {}
            Ok(true) => {
                world.marks.hit(Mark::SpareStoodIn);
                if oracle.goes_from_job_to_job(party) {
                    world.marks.hit(Mark::SpareWentOn);
                }
                if oracle.standing_in() > 1 {
                    world.marks.hit(Mark::TwoStoodIn);
                }
            }
            Err(violation) => world.judge(Err(violation)),
        }
    }

    /// A slot of `party` takes its time, or has taken it.
    pub(super) fn in_slot(&self, world: &mut World, party: usize, takes: bool) {
        self.spares.oracle.borrow_mut().in_slot(party, takes);
        if takes {
            self.judge_watch(world);
        }
    }

    /// `party` sleeps in a slot that waits for a job of its own, or goes on; or in no slot, as one
    /// outside that is lent.
    pub(super) fn sleeps_in_slot(&self, world: &mut World, party: usize, sleeps: bool) {
        self.spares.oracle.borrow_mut().asleep(party, sleeps);
        if sleeps {
            self.judge_watch(world);
        }
    }

    /// Young work that waits while all who could see to it are in slots is watched.
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
    /// A look is handed over: by a spare thread that has left a job?
    pub(super) fn hands_over(&self) {
        let (handle, oracle) = (&self.ports.handle, self.hub.spares.oracle.borrow());
        let me = handle.party();
        if oracle.spare_of(me).is_some() && !oracle.is_visiting(me) {
            handle.with(|world| world.marks.hit(Mark::SpareHandedOn));
        }
    }

    /// The life of spare thread number `spare`, which this party is.
    pub(crate) fn stand_in(&self, spare: usize) {
        let handle = &self.ports.handle;
        handle.with(|world| world.outside_call(true));
        policy::stand_in::run_spare(self, spare, |until_ns| self.spare_sleeps(until_ns));
        handle.with(|world| world.outside_call(false));
    }

    /// `false` if the executor has ended.
    fn spare_sleeps(&self, until_ns: Option<u64>) -> bool {
        let (handle, me, hub) = (&self.ports.handle, self.ports.handle.party(), self.hub);
        handle.with(|world| {
            hub.left_job(world, me);
            world.outside_call(false);
            let verdict = (hub.spares.oracle.borrow_mut()).sleeps(me, until_ns.is_some());
            world.judge(verdict);
            hub.judge_watch(world);
        });
        handle.rest(until_ns);
        handle.with(|world| {
            world.outside_call(true);
            if hub.spares.oracle.borrow_mut().woke(me) {
                world.marks.hit(Mark::SpareTold);
            }
        });
        !hub.spares.over.get()
    }

    /// Tells spare thread number `spare` to go on.
    pub(super) fn wakes_spare(&self, spare: usize) {
        let (handle, hub) = (&self.ports.handle, self.hub);
        handle.with(|world| {
            let says_awake = hub.shared.spare_is_awake(&Glass, spare);
            let woken = hub.spares.oracle.borrow_mut().is_woken(spare, says_awake);
            match woken {
                Ok(true) => world.marks.hit(Mark::WatcherWoken),
                Ok(false) if hub.spares.workers + spare == handle.party() => {
                    world.marks.hit(Mark::SpareToldItself);
                }
                Ok(false) => {}
                Err(violation) => world.judge(Err(violation)),
            }
        });
        handle.wake_spare(hub.spares.workers + spare);
    }

    /// Ends the spare threads. The executor's workers have been told to end.
    pub(crate) fn end_spares(&self) {
        self.hub.spares.over.set(true);
        for spare in 0..self.hub.spares() {
            self.ports.handle.wake_spare(self.hub.spares.workers + spare);
        }
    }
}
