//! A run of submitted jobs: its actors, end and outcome.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use executor_core::TaskCtx;
use pipeline_exec::policy::{self, JobSpec, LookEnd, PipelineConfig, close_gate, stop};

use super::grown::{Environment, GrownPlan};
use super::open;
use super::submitter::{AdmittedJobs, Submitter};
use crate::actor::ActorKind;
use crate::coverage::CoveragePoint;
use crate::environment::{give_up, pause};
use crate::oracle::{Oracle, Violation};
use crate::pipeline::{Claimed, Extras, Hub, Look, PipeEnv, SlotNs};
use crate::ports::SimPorts;
use crate::report::Failure;
use crate::run::{Finished, Run};
use crate::scenario::Summary;
use crate::setup::{Ending, Setup};
use crate::simulation::Simulation;
use crate::task::SimCtx;

pub(crate) struct Submitted {
    pub(crate) hands: Vec<Vec<Handed>>,
    pub(crate) cancels: usize,
    pub(crate) lends: bool,
    pub(crate) slot_ns: SlotNs,
    pub(crate) claims: Option<Rc<RefCell<Vec<Claimed>>>>,
    pub(crate) extras: Extras,
    pub(crate) grows: bool,
    pub(crate) complaints: Arc<Mutex<Vec<Violation>>>,
}

pub(crate) struct Handed {
    pub(super) spec: JobSpec,
    pub(super) grows: Option<GrownPlan>,
}

impl From<JobSpec> for Handed {
    fn from(spec: JobSpec) -> Self {
        Self { spec, grows: None }
    }
}

impl Submitted {
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
        let environment = grows.then(|| Environment::new(hands.len()));
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
            let environment = environment.clone();
            run.add(ActorKind::Producer(producer), move |ports| {
                if start_failed {
                    return;
                }
                Submitter {
                    ports: &ports,
                    hub: &hub,
                    came_back: &came_back,
                    lends,
                }
                .submit_all(jobs, &admitted, environment.as_ref(), &complaints);
            });
        }
        for canceller in 0..cancels {
            let (hub, admitted) = (Rc::clone(&hub), Rc::clone(&admitted));
            run.add(ActorKind::Canceller(canceller), move |ports| {
                cancel_one(&ports, &hub, &admitted);
            });
        }
        if let Some(environment) = environment {
            let hub = Rc::clone(&hub);
            run.add(ActorKind::Environment, move |ports| {
                if !start_failed {
                    open::wake_late(&ports, &hub, &environment);
                }
            });
        }
        let closing = Rc::clone(&hub);
        let ending = simulation.setup().ending;
        let returned = Rc::clone(&came_back);
        run.add(ActorKind::Closer, move |ports| {
            if start_failed {
                give_up(&ports);
            } else {
                end(&ports, &closing, ending, &returned);
            }
        });

        conclude(simulation, &hub, run.finish(), &came_back.borrow(), complaint())
    }
}

pub(in crate::scenario) fn conclude(
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
        world.coverage.hit(CoveragePoint::PickCompared);
    }
    if hub.oracle.borrow().picks_tied > 0 {
        world.coverage.hit(CoveragePoint::PickTied);
    }
    if hub.service.borrow().compared > 0 {
        world.coverage.hit(CoveragePoint::ServiceCompared);
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

pub(in crate::scenario) fn look(hub: &Hub, cx: &mut SimCtx<'_, Look, ()>) {
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

pub(in crate::scenario) fn spares(run: &mut Run<Look, ()>, hub: &Rc<Hub>) {
    let start_failed = run.start_failed;
    for spare in 0..hub.spares() {
        let hub = Rc::clone(hub);
        run.add(ActorKind::Spare(spare), move |ports| {
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
                .with(|world| world.coverage.hit(CoveragePoint::CancelledOverClaimed));
        }
    }
}

/// As the threaded `drain` and `shutdown` do.
pub(in crate::scenario) fn end(
    ports: &SimPorts<'_, Look>,
    hub: &Hub,
    ending: Ending,
    came_back: &RefCell<Vec<usize>>,
) {
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
        ports.handle.with(|world| world.environment_call(true));
        scheduler.close(ports);
        ports.handle.with(|world| world.environment_call(false));
    };
    let shut_down = || {
        ports.handle.with(|world| world.environment_call(true));
        hub.closes(true);
        for body in stop(&env) {
            came_back.borrow_mut().push(body.state().seq());
        }
        scheduler.abort(ports);
        ports.handle.with(|world| world.environment_call(false));
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
