//! Jobs on the pipeline executor: several submitters, jobs of several stages, slots that fail or panic, cancels at any
//! moment, a drain or a shutdown.
//!
//! What each job is made of is drawn from the seed. The submitters submit their jobs, wait for the tickets, and compare what
//! these say with what the oracle has seen.

mod grown;
mod open;
mod plan;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use executor_core::TaskCtx;
use pipeline_exec::policy::{
    self, Admitted, JobSpec, LookEnd, PipelineConfig, Refused, close_gate, stop, submit,
};
use pipeline_exec::{JobErrorKind, JobHandle};

use super::Summary;
use crate::line::{Fields, LineError};
use crate::mark::Mark;
use crate::oracle::{Answer, Oracle, Violation};
use crate::outside::{give_up, pause};
use crate::party::Side;
use crate::pipeline::{Claimed, Extras, Hub, Look, PipeEnv, SimState, SlotNs};
use crate::ports::SimPorts;
use crate::report::Failure;
use crate::run::{Finished, Run};
use crate::scheduler::Dice;
use crate::setup::{Ending, Setup};
use crate::simulation::Simulation;
use crate::task::SimCtx;

use grown::{GrownPlan, Outside};
use plan::Plan;

/// A load of jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jobs {
    /// How many.
    pub jobs: u32,
    /// The most stages that a job has.
    pub stages: u32,
    /// The most slots that a stage has.
    pub slots: u32,
    /// How many of the workers look for the heaviest job first.
    pub reserve: usize,
    /// How many jobs may be in flight.
    pub capacity: usize,
    /// How long a worker stays with a job, in virtual time.
    pub quantum_ns: u64,
    /// How long a slot takes whose number is not among the first two, in virtual time. The first two take no time, so that it comes as a surprise.
    pub slot_ns: u64,
    /// How many jobs somebody tries to cancel, each at some moment.
    pub cancels: usize,
    /// Whether slots may fail and panic, and jobs be late.
    pub troubles: bool,
    /// Whether those who wait for a job may lend it their thread.
    pub lends: bool,
    /// Whether slots may run jobs of their own, and wait for them.
    pub nests: bool,
    /// Number of the spare threads.
    pub spares: usize,
    /// How long a slot or a turn takes that a [long slot](crate::Faults::long_slots) strikes, in virtual time.
    pub long_slot_ns: u64,
    /// The most tasks with which a job that grows begins. 0: no job grows.
    pub tasks: u32,
}

impl Default for Jobs {
    fn default() -> Self {
        Self {
            jobs: 1,
            stages: 1,
            slots: 4,
            reserve: 0,
            capacity: 8,
            quantum_ns: 1_000,
            slot_ns: 0,
            cancels: 0,
            troubles: false,
            lends: false,
            nests: false,
            spares: 0,
            long_slot_ns: 0,
            tasks: 0,
        }
    }
}

/// So that what the jobs are and the walk through the run do not come from one sequence of numbers.
const PLAN: u64 = 0xd1b5_4a32_d192_ed03;

/// How often a submitter tries again when the executor is full.
const TRIES: usize = 6;

impl Jobs {
    pub(crate) fn write(&self, fields: &mut Fields) {
        let Self {
            jobs,
            stages,
            slots,
            reserve,
            capacity,
            quantum_ns,
            slot_ns,
            cancels,
            troubles,
            lends,
            nests,
            spares,
            long_slot_ns,
            tasks,
        } = self;
        fields.push("scenario", "jobs");
        fields.push("jobs", jobs);
        fields.push("stages", stages);
        fields.push("slots", slots);
        fields.push("reserve", reserve);
        fields.push("capacity", capacity);
        fields.push("quantum_ns", quantum_ns);
        fields.push("slot_ns", slot_ns);
        fields.push("cancels", cancels);
        fields.push("troubles", troubles);
        if *lends {
            fields.push("lends", lends);
        }
        if *nests {
            fields.push("nests", nests);
        }
        if *spares > 0 {
            fields.push("spares", spares);
        }
        if *long_slot_ns > 0 {
            fields.push("long_slot_ns", long_slot_ns);
        }
        if *tasks > 0 {
            fields.push("tasks", tasks);
        }
    }

    pub(super) fn read(fields: &mut Fields) -> Result<Self, LineError> {
        let default = Self::default();
        Ok(Self {
            jobs: fields.take("jobs")?.unwrap_or(default.jobs),
            stages: fields.take("stages")?.unwrap_or(default.stages),
            slots: fields.take("slots")?.unwrap_or(default.slots),
            reserve: fields.take("reserve")?.unwrap_or(default.reserve),
            capacity: fields.take("capacity")?.unwrap_or(default.capacity),
            quantum_ns: fields.take("quantum_ns")?.unwrap_or(default.quantum_ns),
            slot_ns: fields.take("slot_ns")?.unwrap_or(default.slot_ns),
            cancels: fields.take("cancels")?.unwrap_or(default.cancels),
            troubles: fields.take("troubles")?.unwrap_or(default.troubles),
            lends: fields.take("lends")?.unwrap_or(default.lends),
            nests: fields.take("nests")?.unwrap_or(default.nests),
            spares: fields.take("spares")?.unwrap_or(default.spares),
            long_slot_ns: fields.take("long_slot_ns")?.unwrap_or(default.long_slot_ns),
            tasks: fields.take("tasks")?.unwrap_or(default.tasks),
        })
    }

    pub(super) fn check(&self, setup: &Setup) -> Result<(), LineError> {
        let workers = setup.config.workers;
        let problem = if self.reserve >= workers {
            format!(
                "`reserve={}`: of {workers} workers one must be main",
                self.reserve
            )
        } else if self.capacity == 0 {
            "`capacity=0`: no job would be let in".to_owned()
        } else if self.spares > workers {
            format!(
                "`spares={}`: one for each of {workers} workers at most",
                self.spares
            )
        } else if self.long_slot_ns == 0 && setup.faults.long_slots > 0 {
            "`long_slots`: how long they are is `long_slot_ns`".to_owned()
        } else if self.stages == 0 {
            "`stages=0`: a job has a stage at least".to_owned()
        } else if setup.faults.panic_something() {
            "`panics`, `inside`, `hooks`: looks do not panic; `troubles=true` makes slots that do".to_owned()
        } else if setup.faults.overflows > 0 {
            "`overflows`: looks are few; how many jobs there may be is `capacity`".to_owned()
        } else {
            return Ok(());
        };
        Err(LineError(problem))
    }

    pub(super) fn run(&self, simulation: Simulation, seed: u64) -> Result<Summary, Failure> {
        let Setup {
            config, producers, ..
        } = simulation.setup();
        let config = PipelineConfig {
            main: config.workers - self.reserve,
            reserve: self.reserve,
            quantum: Duration::from_nanos(self.quantum_ns),
            capacity: self.capacity,
        };
        let mut dice = Dice::new(seed ^ PLAN);
        let plan = Rc::new(Plan::default());
        let mut hands: Vec<Vec<Handed>> = (0..*producers).map(|_| Vec::new()).collect();
        for n in 0..self.jobs as usize {
            let job = plan.any(&mut dice, n, self);
            hands[n % producers].push(job);
        }
        let slot_ns = self.slot_ns;
        let submitted = Submitted {
            hands,
            cancels: self.cancels,
            lends: self.lends,
            slot_ns: Box::new(move |_spec, _stage, slot| if slot < 2 { 0 } else { slot_ns }),
            claims: None,
            extras: Extras {
                spares: self.spares,
                long_ns: self.long_slot_ns,
                may_be_long: None,
            },
            grows: self.tasks > 0,
            complaints: Arc::clone(&plan.complaints),
        };
        submitted.run(&simulation, config, || plan.complaint())
    }
}

/// Jobs, and who hands them over.
pub(crate) struct Submitted {
    /// What each submitter submits.
    pub(crate) hands: Vec<Vec<Handed>>,
    /// How many jobs somebody tries to cancel, each at some moment.
    pub(crate) cancels: usize,
    /// Whether those who wait for a job may lend it their thread.
    pub(crate) lends: bool,
    /// What a slot takes.
    pub(crate) slot_ns: SlotNs,
    /// Where each claim is noted, if anybody wants to know.
    pub(crate) claims: Option<Rc<RefCell<Vec<Claimed>>>>,
    /// Spare threads, and long slots.
    pub(crate) extras: Extras,
    /// Whether there may be jobs that grow, and a party outside that wakes their tasks.
    pub(crate) grows: bool,
    /// What tasks complain about.
    pub(crate) complaints: Arc<Mutex<Vec<Violation>>>,
}

/// A job that is handed over.
pub(crate) struct Handed {
    spec: JobSpec,
    /// Its tasks, if it grows.
    grows: Option<GrownPlan>,
}

impl From<JobSpec> for Handed {
    fn from(spec: JobSpec) -> Self {
        Self { spec, grows: None }
    }
}

impl Submitted {
    /// Runs them on an executor of `config`. `complaint` is what the stages themselves found wrong, in the end.
    pub(crate) fn run(
        self,
        simulation: &Simulation,
        config: PipelineConfig,
        complaint: impl FnOnce() -> Option<Violation>,
    ) -> Result<Summary, Failure> {
        let Self {
            hands,
            cancels,
            lends,
            slot_ns,
            claims,
            extras,
            grows,
            complaints,
        } = self;
        let outside = grows.then(|| Outside::new(hands.len()));
        let hub = Rc::new(Hub::new(config, slot_ns, claims, extras));
        let mut run: Run<Look, ()> = simulation.start();
        let looking = Rc::clone(&hub);
        run.workers(|_worker| (), move |Look, cx| look(&looking, cx));
        spares(&mut run, &hub);
        let start_failed = run.start_failed;
        let admitted = Rc::new(RefCell::new(Vec::new()));
        let came_back = Rc::new(RefCell::new(Vec::new()));
        for (producer, jobs) in hands.into_iter().enumerate() {
            let (hub, admitted) = (Rc::clone(&hub), Rc::clone(&admitted));
            let (came_back, complaints) = (Rc::clone(&came_back), Arc::clone(&complaints));
            let outside = outside.clone();
            run.outside(Side::Producer(producer), move |ports| {
                if start_failed {
                    return;
                }
                Submitter {
                    ports: &ports,
                    hub: &hub,
                    came_back: &came_back,
                    lends,
                }
                .submit_all(jobs, &admitted, outside.as_ref(), &complaints);
            });
        }
        for canceller in 0..cancels {
            let (hub, admitted) = (Rc::clone(&hub), Rc::clone(&admitted));
            run.outside(Side::Canceller(canceller), move |ports| {
                cancel_one(&ports, &hub, &admitted);
            });
        }
        if let Some(outside) = outside {
            let hub = Rc::clone(&hub);
            run.outside(Side::Outside, move |ports| {
                if !start_failed {
                    open::wake_late(&ports, &hub, &outside);
                }
            });
        }
        let closing = Rc::clone(&hub);
        let ending = simulation.setup().ending;
        let returned = Rc::clone(&came_back);
        run.outside(Side::Closer, move |ports| {
            if start_failed {
                give_up(&ports);
            } else {
                end(&ports, &closing, ending, &returned);
            }
        });

        conclude(simulation, &hub, run.finish(), &came_back.borrow(), complaint())
    }
}

/// What a run came to, when all that watch it have been asked. `complaint` is what the stages themselves found wrong.
pub(super) fn conclude(
    simulation: &Simulation,
    hub: &Hub,
    finished: Finished<Look, ()>,
    came_back: &[usize],
    complaint: Option<Violation>,
) -> Result<Summary, Failure> {
    let Setup { ending, begin_ns, .. } = *simulation.setup();
    let Finished {
        world,
        left,
        refused: _,
        violation,
    } = finished;
    let mut world = world.borrow_mut();
    if hub.oracle.borrow().picks_compared > 0 {
        world.marks.hit(Mark::PickCompared);
    }
    if hub.oracle.borrow().picks_tied > 0 {
        world.marks.hit(Mark::PickTied);
    }
    if hub.service.borrow().compared > 0 {
        world.marks.hit(Mark::ServiceCompared);
    }
    let course = simulation.course(&mut world);
    let stopped = matches!(ending, Ending::Abort | Ending::CloseThenAbort);
    let judge_end = || {
        let oracle = hub.oracle.borrow();
        let verdicts = [
            oracle.judge_tickets().err(),
            oracle.judge_leftovers(hub, stopped).err(),
            judge_handed_back(hub, came_back).err(),
            complaint,
        ];
        let mut violations = verdicts.into_iter().flatten();
        violations.find(|violation| world.hears(violation.oracle))
    };
    let violation = match violation {
        None if !course.cut => judge_end(),
        violation => violation,
    };
    if let Some(violation) = violation {
        return Err(Failure::new(violation, course));
    }
    let mut metrics = executor_core::WorkerMetricsLocal::default();
    left.iter().for_each(|gone| metrics.merge(&gone.metrics));
    Ok(Summary {
        metrics,
        makespan_ns: world.makespan_ns(),
        profile: world.profiler.profile(begin_ns),
        course,
    })
}

/// The runner of the executor below: what the threaded one does, too.
pub(super) fn look(hub: &Hub, cx: &mut SimCtx<'_, Look, ()>) {
    let worker = cx.worker_id();
    hub.look_began(worker);
    let end = policy::look(
        &PipeEnv {
            ports: cx.ports(),
            hub,
        },
        worker,
    );
    cx.ports().handle.with(|world| hub.look_ended(world, worker, end));
    if end == LookEnd::Again {
        cx.spawn_global(Look);
    }
}

/// Adds the executor's spare threads. They come right behind the workers.
pub(super) fn spares(run: &mut Run<Look, ()>, hub: &Rc<Hub>) {
    let start_failed = run.start_failed;
    for spare in 0..hub.spares() {
        let hub = Rc::clone(hub);
        run.outside(Side::Spare(spare), move |ports| {
            if !start_failed {
                PipeEnv {
                    ports: &ports,
                    hub: &hub,
                }
                .stand_in(spare);
            }
        });
    }
}

type AdmittedJobs = RefCell<Vec<(Arc<SimState>, JobHandle)>>;

/// Somebody outside who submits jobs.
pub(super) struct Submitter<'a, 'y> {
    pub(super) ports: &'a SimPorts<'y, Look>,
    pub(super) hub: &'a Hub,
    /// Numbers of jobs that were stopped at the door.
    pub(super) came_back: &'a RefCell<Vec<usize>>,
    /// Whether it may lend its thread to the jobs that it waits for.
    pub(super) lends: bool,
}

impl Submitter<'_, '_> {
    fn submit_all(
        &self,
        jobs: Vec<Handed>,
        admitted: &AdmittedJobs,
        outside: Option<&Outside>,
        complaints: &Arc<Mutex<Vec<Violation>>>,
    ) {
        let mut mine = Vec::new();
        for Handed { spec, grows } in jobs {
            if let Some((state, job)) = self.submit(&spec) {
                self.ports.handle.with(|world| world.meets(true));
                admitted.borrow_mut().push((Arc::clone(&state), job));
                let grown = grows
                    .zip(outside)
                    .map(|(plan, outside)| self.open(&plan, (Arc::clone(&state), job), outside, complaints));
                mine.push((state, job, grown));
            }
        }
        let mine: Vec<_> = (mine.into_iter())
            .map(|(state, job, opened)| (state, job, opened.map(|opened| self.let_go(opened))))
            .collect();
        for (state, job, grown) in mine {
            if self.lends {
                self.lend((Arc::clone(&state), job), admitted);
            }
            let completed = self.wait(&state, job);
            if let Some(grown) = grown {
                grown.judge(completed, self.hub.has_cancelled_task(job));
            }
            self.ports
                .handle
                .with(|world| world.answered(self.ports.handle.party()));
        }
        if let Some(outside) = outside {
            self.ports.handle.with(|world| world.meets(true));
            outside.submitter_ends(&self.hub.asks());
            self.env().do_asked();
        }
    }

    /// Tries a few times. `None` if it was not let in.
    pub(super) fn submit(&self, spec: &JobSpec) -> Option<(Arc<SimState>, JobHandle)> {
        let me = self.ports.handle.party();
        for _ in 0..TRIES {
            let body = self.hub.body(self.hub.tied(&self.ports.handle, spec));
            self.ports.handle.with(|world| world.outside_call(true));
            self.hub.call_began(me);
            let submitted = submit(&self.env(), body);
            let (answer, mark) = match &submitted {
                Ok(_) => (Answer::Admitted, None),
                Err(Refused::Full(_)) => (Answer::Full, Some(Mark::JobRefusedFull)),
                Err(Refused::Closed(_)) => (Answer::Closed, Some(Mark::JobRefusedClosed)),
                Err(Refused::Stopped(_)) => (Answer::Stopped, Some(Mark::JobStoppedAtTheDoor)),
            };
            self.ports.handle.with(|world| {
                self.hub.call_ended(world, me, answer);
                if let Ok(Admitted { job, .. }) = &submitted {
                    let mut oracle = self.hub.oracle.borrow_mut();
                    let verdict = oracle.admitted(self.hub, *job, world.steps());
                    drop(oracle);
                    world.judge(verdict);
                }
                mark.into_iter().for_each(|mark| world.marks.hit(mark));
                world.outside_call(false);
                self.hub.judge_watch(world);
            });
            match submitted {
                Ok(Admitted { state, job }) => return Some((state, job)),
                Err(Refused::Full(_)) => pause(&self.ports.handle),
                Err(Refused::Closed(_)) => return None,
                Err(Refused::Stopped(body)) => {
                    self.came_back.borrow_mut().push(body.state().seq());
                    return None;
                }
            }
        }
        None
    }

    /// Lends its thread to the job of its own that it would wait for, to any that was let in, or to none.
    fn lend(&self, own: (Arc<SimState>, JobHandle), admitted: &AdmittedJobs) {
        let lent_to = self.ports.handle.with(|world| match world.below(4) {
            0 => None,
            1 => {
                world.meets(false);
                let admitted = admitted.borrow();
                Some(admitted[world.below(admitted.len())].clone())
            }
            _ => Some(own),
        });
        if let Some((state, job)) = lent_to {
            self.env().lend(&state, job);
        }
    }

    /// Waits for the ticket; it must say what the oracle has seen. Gives whether the job completed.
    fn wait(&self, state: &SimState, job: JobHandle) -> bool {
        let end = self.env().wait_ticket(state);
        let told = end.as_ref().err().map(|error| error.kind);
        let seen = self.hub.oracle.borrow().end_of(job);
        self.ports.handle.with(|world| {
            world.marks.hit(match told {
                None => Mark::JobCompleted,
                Some(JobErrorKind::Failed | JobErrorKind::Panicked) => Mark::JobFailed,
                Some(JobErrorKind::Cancelled) => Mark::JobCancelled,
                Some(JobErrorKind::DeadlineExceeded) => Mark::JobLate,
                Some(JobErrorKind::HandedBack) => Mark::JobHandedBack,
            });
            if seen != Some(told) {
                let message = format!("the ticket of {job:?} says {told:?}, but the job's end was {seen:?}");
                world.fail(Oracle::Ticket, message);
            }
        });
        told.is_none()
    }

    pub(super) fn env(&self) -> PipeEnv<'_, '_> {
        PipeEnv {
            ports: self.ports,
            hub: self.hub,
        }
    }
}

/// Cancels a job that has been let in by some moment, whether it has ended or not.
fn cancel_one(ports: &SimPorts<'_, Look>, hub: &Hub, admitted: &AdmittedJobs) {
    pause(&ports.handle);
    let chosen = {
        let admitted = admitted.borrow();
        let place = ports.handle.with(|world| {
            world.meets(false);
            (!admitted.is_empty()).then(|| world.below(admitted.len()))
        });
        place.map(|place| admitted[place].clone())
    };
    if let Some((state, job)) = chosen {
        if state.grows() && ports.handle.with(|world| world.below(2)) == 0 {
            return open::cancel_a_task(ports, hub, job);
        }
        policy::cancel(&PipeEnv { ports, hub }, &state, job);
        if hub.oracle.borrow().end_of(job).is_none() {
            ports
                .handle
                .with(|world| world.marks.hit(Mark::CancelledOverClaimed));
        }
    }
}

/// The one who ends it, as the threaded executor's `drain` and `shutdown` do.
pub(super) fn end(ports: &SimPorts<'_, Look>, hub: &Hub, ending: Ending, came_back: &RefCell<Vec<usize>>) {
    let env = PipeEnv { ports, hub };
    let scheduler = Rc::clone(&ports.queues.scheduler);
    let close = || {
        hub.closes(false);
        close_gate(&env);
        hub.closed();
    };
    let drain = || {
        close();
        env.wait_ended();
        ports.handle.with(|world| world.outside_call(true));
        scheduler.close(ports);
        ports.handle.with(|world| world.outside_call(false));
    };
    let shut_down = || {
        ports.handle.with(|world| world.outside_call(true));
        hub.closes(true);
        for body in stop(&env) {
            came_back.borrow_mut().push(body.state().seq());
        }
        scheduler.abort(ports);
        ports.handle.with(|world| world.outside_call(false));
    };
    match ending {
        Ending::Join | Ending::Idle => {
            ports.handle.wait_for_producers();
            if ending == Ending::Idle {
                scheduler.wait_idle(ports);
            }
            drain();
        }
        Ending::Close => {
            pause(&ports.handle);
            drain();
        }
        Ending::Abort => {
            pause(&ports.handle);
            shut_down();
        }
        Ending::CloseThenAbort => {
            pause(&ports.handle);
            close();
            pause(&ports.handle);
            shut_down();
        }
    }
    env.end_spares();
}

/// A job's ticket says that it is handed back if and only if the job came back, from the shutdown or at the door.
fn judge_handed_back(hub: &Hub, came_back: &[usize]) -> Result<(), Violation> {
    let mut said = hub.oracle.borrow().handed_back();
    let mut came_back = came_back.to_vec();
    said.sort_unstable();
    came_back.sort_unstable();
    if said == came_back {
        return Ok(());
    }
    Err(Violation::new(
        Oracle::Ticket,
        format!("jobs {came_back:?} came back, but the tickets of {said:?} say so"),
    ))
}
