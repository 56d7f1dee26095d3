//! Traffic: short jobs in an open loop, beside heavy clients that keep all workers busy.
//!
//! ```text
//!   submitters   short jobs, each at its due time (an open loop)
//!   clients      one heavy job after the other (a closed loop), each heavier than the last if wanted     ─► executor
//!   middle       jobs that are neither the oldest nor the heaviest, and outlast the traffic
//!   cancellers   at some moment one of the heavy jobs
//!   stopper      at the end of the traffic, what is left of heavy and middle ones
//! ```
//!
//! [`Figures`] are in virtual time. They mean something under [`StrategyKind::Earliest`], a machine
//! with a core for each worker, where the run must keep the [bounds](Traffic::judge) of the policy.

mod bounds;
mod figures;
mod judge;
mod work;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use pipeline_exec::policy::JobHandle;
use pipeline_exec::policy::{self, JobSpec, PipelineConfig};

pub use figures::{Figures, Latency};

use super::Summary;
use super::jobs::{Submitter, conclude, end, look, spares};
use crate::actor::ActorKind;
use crate::environment::give_up;
use crate::fault::Faults;
use crate::line::{Fields, LineError};
use crate::oracle::{Kind, Lines};
use crate::pipeline::{Extras, Hub, Look, PipeEnv, SimState, SlotNs};
use crate::ports::SimPorts;
use crate::report::Failure;
use crate::run::Run;
use crate::schedule::StrategyKind;
use crate::scheduler::Dice;
use crate::setup::{Ending, Setup};
use crate::simulation::Simulation;

macro_rules! traffic {
    ($($(#[doc = $doc:literal])+ $field:ident: $kind:ty = $default:expr,)+) => {
        /// Short jobs beside heavy ones.
        ///
        /// ```
        /// use sim::Traffic;
        ///
        /// let alone = Traffic { shorts: 20, length_ns: 40_000_000, ..Traffic::default() };
        /// let beside = Traffic { heavies: 4, ..alone.clone() };
        /// let (alone, beside) = (alone.measure(2, 1).unwrap(), beside.measure(2, 1).unwrap());
        /// assert_eq!(alone.short.count, 20);
        /// assert!(alone.heavy_share < 0.01 && beside.heavy_share > 0.15);
        /// ```
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Traffic {
            $($(#[doc = $doc])+ pub $field: $kind,)+
        }

        impl Default for Traffic {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }

        impl Traffic {
            pub(super) fn write(&self, fields: &mut Fields) {
                fields.push("scenario", "traffic");
                $(if self.$field != $default {
                    fields.push(stringify!($field), self.$field);
                })+
            }

            pub(super) fn read(fields: &mut Fields) -> Result<Self, LineError> {
                Ok(Self {
                    $($field: fields.take(stringify!($field))?.unwrap_or($default),)+
                })
            }
        }
    };
}

traffic! {
    /// Number of short jobs.
    shorts: u32 = 0,
    /// Slots of a short job.
    short_slots: u32 = 4,
    /// Nanoseconds of such a slot.
    short_slot_ns: u64 = 250_000,
    /// Nanoseconds of a period, in which one short job is due at some moment. 0: all at once.
    short_every_ns: u64 = 2_000_000,
    /// Nanoseconds from the heavy clients' start to the first period.
    short_after_ns: u64 = 0,
    /// Clients that submit heavy jobs.
    heavies: u32 = 0,
    /// Slots of a heavy job.
    heavy_slots: u32 = 1_000,
    /// Nanoseconds of such a slot.
    heavy_slot_ns: u64 = 1_000_000,
    /// Most heavy jobs of a client. 0: no limit.
    heavy_jobs: u32 = 0,
    /// Nanoseconds between due times of a client's heavy jobs. 0: each is due when the last ends.
    heavy_every_ns: u64 = 0,
    /// Weight that each heavy job has above the one before.
    growth: u64 = 0,
    /// Jobs neither oldest nor heaviest.
    middles: u32 = 0,
    /// One short or heavy job in this many panics or fails. 0: none.
    panics: u32 = 0,
    /// Cancels of a heavy job.
    cancels: u32 = 0,
    /// Nanoseconds of traffic.
    length_ns: u64 = 100_000_000,
    /// Workers in the reserve role.
    reserve: usize = 0,
    /// Most jobs in flight.
    capacity: usize = 4_096,
    /// Nanoseconds of a quantum.
    quantum_ns: u64 = 2_000_000,
    /// Number of spare threads.
    spares: usize = 0,
    /// Nanoseconds of a heavy or middle slot that a [long slot](crate::Faults::long_slots) strikes.
    long_slot_ns: u64 = 0,
}

/// Separates this draw from the schedule's.
const PLAN: u64 = 0x8cb9_2ba7_2f3d_8dd7;

/// Bounds the time of an operation over that of its slot, so that [`Traffic::middles`] outlast the
/// traffic.
const MIDDLE_SLOTS_SPARE: u64 = 16;

impl Traffic {
    /// Runs on `workers` workers, [`Traffic::reserve`] of them in reserve, otherwise as on threads.
    ///
    /// # Errors
    ///
    /// The failure, if an oracle finds one. No oracle judges times: the caller does.
    pub fn measure(&self, workers: usize, seed: u64) -> Result<Figures, Failure> {
        let setup = Setup {
            config: Setup::default().config.workers(workers),
            step_limit: u64::MAX,
            ..Setup::default()
        };
        let mut label = Fields::default();
        self.write(&mut label);
        let simulation = Simulation::of(setup, StrategyKind::Earliest, seed, label).keep_choices(false);
        let (_, figures, _) = self.go(&simulation, seed, true)?;
        Ok(figures)
    }

    pub(super) fn check(&self, setup: &Setup) -> Result<(), LineError> {
        let workers = setup.config.workers;
        let problem = if self.reserve >= workers {
            format!(
                "`reserve={}`: of {workers} workers one must be main",
                self.reserve
            )
        } else if self.spares > workers {
            format!(
                "`spares={}`: one for each of {workers} workers at most",
                self.spares
            )
        } else if self.long_slot_ns == 0 && setup.faults.long_slots > 0 {
            "`long_slots`: how long they are is `long_slot_ns`".to_owned()
        } else if self.capacity == 0 {
            "`capacity=0`: no job would be accepted".to_owned()
        } else if self.shorts > 0 && self.short_slots == 0 || self.heavies > 0 && self.heavy_slots == 0 {
            "`short_slots=0`, `heavy_slots=0`: there is nothing in such jobs to wait for".to_owned()
        } else if self.heavies > 0 && self.heavy_jobs == 0 && self.heavy_slot_ns == 0 {
            "`heavy_slot_ns=0`: clients without an end need jobs that take time".to_owned()
        } else if setup.faults.panic_something() {
            "`panics`, `inside`, `hooks` of the executor: looks do not panic; slots do".to_owned()
        } else if setup.faults.overflows > 0 {
            "`overflows`: looks are few; how many jobs there may be is `capacity`".to_owned()
        } else {
            return Ok(());
        };
        Err(LineError(problem))
    }

    pub(super) fn run(&self, simulation: &Simulation, seed: u64) -> Result<Summary, Failure> {
        let (summary, figures, lines) = self.go(simulation, seed, false)?;
        let is_timed = simulation.strategy_kind() == StrategyKind::Earliest
            && matches!(simulation.setup().ending, Ending::Join | Ending::Idle)
            && self.is_timed_with(simulation.setup().faults);
        if is_timed && !summary.course.cut {
            self.judge(simulation, seed, &figures, &lines)
                .map_err(|violation| Failure::new(violation, summary.course.clone()))?;
        }
        Ok(summary)
    }

    fn is_timed_with(&self, faults: Faults) -> bool {
        let others = Faults {
            long_slots: 0,
            ..faults
        };
        others == Faults::NONE
    }

    /// `unwatched`: without the oracles that keep books of every job.
    fn go(
        &self,
        simulation: &Simulation,
        seed: u64,
        unwatched: bool,
    ) -> Result<(Summary, Figures, Lines), Failure> {
        let setup = simulation.setup();
        let workers = setup.config.workers;
        let config = PipelineConfig {
            main: workers - self.reserve,
            reserve: self.reserve,
            quantum: Duration::from_nanos(self.quantum_ns),
            capacity: self.capacity,
        };
        let extras = Extras {
            spares: self.spares,
            long_ns: self.long_slot_ns,
            may_be_long: Some(|spec| !work::is(spec, Kind::Short)),
        };
        let hub = Rc::new(Hub::new(config, self.slot_ns(), None, extras));
        hub.oracle.borrow_mut().off = unwatched;
        let begin_ns = setup.begin_ns;
        let end_ns = begin_ns.saturating_add(self.length_ns);
        hub.latency.borrow_mut().window(begin_ns, end_ns);
        hub.latency.borrow_mut().spares(self.spares);
        let mut run: Run<Look, ()> = simulation.start();
        let looking = Rc::clone(&hub);
        run.workers(|_worker| (), move |Look, cx| look(&looking, cx));
        spares(&mut run, &hub);
        let shared = Rc::new(Shared {
            traffic: self.clone(),
            hub: Rc::clone(&hub),
            start_failed: run.start_failed,
            begin_ns,
            end_ns,
            heavies: RefCell::default(),
            heavies_made: Cell::new(0),
            came_back: RefCell::default(),
            over: Cell::new(false),
        });
        self.actors(&mut run, &shared, Dice::new(seed ^ PLAN), setup.ending);
        let finished = run.finish();
        let summary = conclude(simulation, &hub, finished, &shared.came_back.borrow(), None)?;
        let mut latency = hub.latency.borrow_mut();
        let figures = Figures {
            short: latency.latency(Kind::Short),
            heavy: latency.latency(Kind::Heavy),
            short_share: latency.share(Kind::Short, workers),
            heavy_share: latency.share(Kind::Heavy, workers),
            middle_share: latency.share(Kind::Middle, workers),
            heavy_wait_ns: latency.longest_wait_ns(Kind::Heavy),
            middle_wait_ns: latency.longest_wait_ns(Kind::Middle),
            wait_again_ns: (latency.longest_wait_again_ns(Kind::Heavy))
                .max(latency.longest_wait_again_ns(Kind::Middle)),
            stop: latency.stops(),
            makespan_ns: latency.last_end_ns().saturating_sub(begin_ns),
        };
        Ok((summary, figures, latency.take_lines()))
    }

    fn slot_ns(&self) -> SlotNs {
        let Self {
            short_slot_ns,
            heavy_slot_ns,
            ..
        } = *self;
        Box::new(move |spec, _stage, _slot| {
            if work::is(spec, Kind::Short) {
                short_slot_ns
            } else {
                heavy_slot_ns
            }
        })
    }

    fn actors(&self, run: &mut Run<Look, ()>, shared: &Rc<Shared>, mut dice: Dice, ending: Ending) {
        let submitters = if self.shorts == 0 { 0 } else { SUBMITTERS };
        let mut producers = 0;
        let mut producer = |run: &mut Run<Look, ()>, does: Box<dyn FnOnce(&Actor<'_, '_>)>| {
            let shared = Rc::clone(shared);
            run.add(ActorKind::Producer(producers), move |ports| {
                if !shared.start_failed {
                    does(&Actor {
                        ports: &ports,
                        shared: &shared,
                    });
                }
            });
            producers += 1;
        };
        let mut hands: Vec<Vec<(u64, JobSpec)>> = (0..submitters).map(|_| Vec::new()).collect();
        for n in 0..self.shorts as usize {
            let spec = self.short(&mut dice);
            hands[n % submitters].push((shared.begin_ns + self.due_ns(&mut dice, n as u64), spec));
        }
        for hand in hands {
            producer(run, Box::new(move |actor| actor.submit_shorts(hand)));
        }
        for _ in 0..self.heavies {
            let dice = Dice::new(dice.below(usize::MAX) as u64);
            producer(run, Box::new(move |actor| actor.be_a_client(dice)));
        }
        for _ in 0..self.middles {
            producer(run, Box::new(|actor| actor.submit_middle()));
        }
        let canceller = |run: &mut Run<Look, ()>, number, does: Box<dyn FnOnce(&Actor<'_, '_>)>| {
            let shared = Rc::clone(shared);
            run.add(ActorKind::Canceller(number), move |ports| {
                does(&Actor {
                    ports: &ports,
                    shared: &shared,
                });
            });
        };
        let cancels = self.cancels as usize;
        for number in 0..cancels {
            let (at, which) = (dice.below(1 << 20) as u64, dice.below(1 << 20));
            let at_ns = shared.begin_ns + self.length_ns.saturating_mul(at) / (1 << 20);
            canceller(run, number, Box::new(move |actor| actor.cancel_one(at_ns, which)));
        }
        canceller(run, cancels, Box::new(|actor| actor.stop_all()));
        let shared = Rc::clone(shared);
        run.add(ActorKind::Closer, move |ports| {
            if shared.start_failed {
                give_up(&ports);
            } else {
                end(&ports, &shared.hub, ending, &shared.came_back);
            }
        });
    }

    fn due_ns(&self, dice: &mut Dice, n: u64) -> u64 {
        match usize::try_from(self.short_every_ns) {
            Ok(0) | Err(_) => self.short_after_ns,
            Ok(every_ns) => self.short_after_ns + n * self.short_every_ns + dice.below(every_ns) as u64,
        }
    }

    fn short(&self, dice: &mut Dice) -> JobSpec {
        work::job(
            Kind::Short,
            self.short_slots as usize,
            None,
            self.breaks(dice, self.short_slots),
        )
    }

    fn heavy(&self, dice: &mut Dice, n: u64) -> JobSpec {
        let cost = self.weight() + n.saturating_mul(self.growth);
        work::job(
            Kind::Heavy,
            self.heavy_slots as usize,
            Some(cost),
            self.breaks(dice, self.heavy_slots),
        )
    }

    /// More work than all workers can do, and half a heavy job's weight.
    fn middle(&self, workers: usize) -> JobSpec {
        let slots = (self.length_ns / self.heavy_slot_ns.max(1)).saturating_add(MIDDLE_SLOTS_SPARE);
        let slots = slots.saturating_mul(workers as u64);
        work::job(Kind::Middle, slots as usize, Some(self.weight() / 2), None)
    }

    /// 1 a microsecond, and more than a short job's weight, its number of slots.
    fn weight(&self) -> u64 {
        let work_ns = u64::from(self.heavy_slots).saturating_mul(self.heavy_slot_ns);
        (work_ns / 1_000).max(4 * (1 + u64::from(self.short_slots)))
    }

    fn breaks(&self, dice: &mut Dice, slots: u32) -> Option<(usize, bool)> {
        let breaks = self.panics > 0 && dice.below(self.panics as usize) == 0;
        breaks.then(|| (dice.below(slots as usize), dice.below(2) == 0))
    }
}

/// Several, so that the cost of submission makes no short job late.
const SUBMITTERS: usize = 4;

struct Shared {
    traffic: Traffic,
    hub: Rc<Hub>,
    start_failed: bool,
    begin_ns: u64,
    end_ns: u64,
    heavies: RefCell<Vec<(Arc<SimState>, JobHandle)>>,
    heavies_made: Cell<u64>,
    came_back: RefCell<Vec<usize>>,
    over: Cell<bool>,
}

struct Actor<'a, 'y> {
    ports: &'a SimPorts<'y, Look>,
    shared: &'a Shared,
}

impl Actor<'_, '_> {
    fn submit_shorts(&self, shorts: Vec<(u64, JobSpec)>) {
        for (due_ns, spec) in shorts {
            if self.env().clock_ns() < due_ns {
                self.ports.handle.sleep_until(due_ns);
            }
            self.submit(Kind::Short, due_ns, &spec);
        }
    }

    fn be_a_client(&self, mut dice: Dice) {
        let Traffic {
            heavy_jobs,
            heavy_every_ns,
            ..
        } = self.shared.traffic;
        let mut due_ns = self.env().clock_ns();
        for n in 0.. {
            if heavy_jobs > 0 && n == heavy_jobs || self.is_over() {
                return;
            }
            let number = self
                .shared
                .heavies_made
                .replace(self.shared.heavies_made.get() + 1);
            let spec = self.shared.traffic.heavy(&mut dice, number);
            let submitted = self.submit(Kind::Heavy, due_ns, &spec);
            if heavy_every_ns > 0 {
                due_ns += heavy_every_ns;
                self.ports.handle.sleep_until(due_ns);
            } else if let Some((state, job)) = submitted {
                if self.is_over() {
                    policy::cancel(&self.env(), &state, job);
                }
                let _how_it_ended = self.env().wait_ticket(&state);
                due_ns = self.env().clock_ns();
            } else {
                return;
            }
        }
    }

    fn submit_middle(&self) {
        let Shared { begin_ns, end_ns, .. } = *self.shared;
        let due_ns = begin_ns + (end_ns - begin_ns) / 10;
        self.ports.handle.sleep_until(due_ns);
        let workers = self.ports.queues.scheduler.config().workers;
        let spec = self.shared.traffic.middle(workers);
        if !self.is_over() {
            self.submit(Kind::Middle, due_ns, &spec);
        }
    }

    fn submit(&self, kind: Kind, due_ns: u64, spec: &JobSpec) -> Option<(Arc<SimState>, JobHandle)> {
        let Shared { hub, came_back, .. } = self.shared;
        let me = self.ports.handle.actor();
        hub.latency.borrow_mut().is_about_to_submit(me, kind, due_ns);
        let submitter = Submitter {
            ports: self.ports,
            hub,
            came_back,
            lends: false,
        };
        let (state, job) = submitter.submit(spec)?;
        if kind != Kind::Short {
            self.ports.handle.with(|world| world.meets(true));
            let mut heavies = self.shared.heavies.borrow_mut();
            heavies.push((Arc::clone(&state), job));
            heavies.retain(|&(_, job)| hub.latency.borrow().is_in_flight(job));
        }
        Some((state, job))
    }

    fn cancel_one(&self, at_ns: u64, which: usize) {
        self.ports.handle.sleep_until(at_ns);
        let chosen = {
            self.ports.handle.with(|world| world.meets(false));
            let heavies = self.shared.heavies.borrow();
            let in_flight: Vec<_> = heavies
                .iter()
                .filter(|(_, job)| self.is_in_flight(*job))
                .collect();
            (!in_flight.is_empty()).then(|| in_flight[which % in_flight.len()].clone())
        };
        if let Some((state, job)) = chosen {
            self.cancel(&state, job);
        }
    }

    fn stop_all(&self) {
        self.ports.handle.sleep_until(self.shared.end_ns);
        if self.shared.traffic.heavy_jobs > 0 {
            return;
        }
        self.shared.over.set(true);
        self.ports.handle.with(|world| world.meets(true));
        let heavies = self.shared.heavies.borrow().clone();
        for (state, job) in heavies {
            if self.is_in_flight(job) {
                self.cancel(&state, job);
            }
        }
    }

    fn cancel(&self, state: &Arc<SimState>, job: JobHandle) {
        let (env, hub) = (self.env(), &self.shared.hub);
        let is_young = hub.is_young(job);
        (hub.latency.borrow_mut()).is_being_cancelled(job, is_young, env.clock_ns());
        policy::cancel(&env, state, job);
    }

    fn is_in_flight(&self, job: JobHandle) -> bool {
        self.shared.hub.latency.borrow().is_in_flight(job)
    }

    fn is_over(&self) -> bool {
        self.ports.handle.with(|world| world.meets(false));
        self.shared.over.get()
    }

    fn env(&self) -> PipeEnv<'_, '_> {
        PipeEnv {
            ports: self.ports,
            hub: &self.shared.hub,
        }
    }
}
