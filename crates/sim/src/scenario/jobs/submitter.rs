//! A submitter hands over jobs and compares their tickets with the oracle's books.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};

use pipeline_exec::policy::{Admitted, JobSpec, Refused, submit};
use pipeline_exec::{JobErrorKind, policy::JobHandle};

use super::grown::Environment;
use super::submitted::Handed;
use crate::coverage::CoveragePoint;
use crate::environment::pause;
use crate::oracle::{Answer, Oracle, Violation};
use crate::pipeline::{Hub, Look, PipeEnv, SimState};
use crate::ports::SimPorts;

/// Submissions to a full executor before the submitter gives up.
const TRIES: usize = 6;

pub(super) type AdmittedJobs = RefCell<Vec<(Arc<SimState>, JobHandle)>>;

pub(in crate::scenario) struct Submitter<'a, 'y> {
    pub(in crate::scenario) ports: &'a SimPorts<'y, Look>,
    pub(in crate::scenario) hub: &'a Hub,
    pub(in crate::scenario) came_back: &'a RefCell<Vec<usize>>,
    pub(in crate::scenario) lends: bool,
}

impl Submitter<'_, '_> {
    pub(super) fn submit_all(
        &self,
        jobs: Vec<Handed>,
        admitted: &AdmittedJobs,
        environment: Option<&Environment>,
        complaints: &Arc<Mutex<Vec<Violation>>>,
    ) {
        let mut mine = Vec::new();
        for Handed { spec, grows } in jobs {
            if let Some((state, job)) = self.submit(&spec) {
                self.ports.handle.with(|world| world.meets(true));
                admitted.borrow_mut().push((Arc::clone(&state), job));
                let grown = grows.zip(environment).map(|(plan, environment)| {
                    self.open(&plan, (Arc::clone(&state), job), environment, complaints)
                });
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
                .with(|world| world.answered(self.ports.handle.actor()));
        }
        if let Some(environment) = environment {
            self.ports.handle.with(|world| world.meets(true));
            environment.submitter_ends(&self.hub.asks());
            self.env().do_asked();
        }
    }

    pub(in crate::scenario) fn submit(&self, spec: &JobSpec) -> Option<(Arc<SimState>, JobHandle)> {
        let me = self.ports.handle.actor();
        for _ in 0..TRIES {
            let body = self.hub.body(self.hub.tied(&self.ports.handle, spec));
            self.ports.handle.with(|world| world.environment_call(true));
            self.hub.call_began(me);
            let submitted = submit(&self.env(), body);
            let (answer, point) = match &submitted {
                Ok(_) => (Answer::Admitted, None),
                Err(Refused::Full(_)) => (Answer::Full, Some(CoveragePoint::JobRefusedFull)),
                Err(Refused::Closed(_)) => (Answer::Closed, Some(CoveragePoint::JobRefusedClosed)),
                Err(Refused::Stopped(_)) => (Answer::Stopped, Some(CoveragePoint::JobStoppedAtTheDoor)),
            };
            self.ports.handle.with(|world| {
                self.hub.call_ended(world, me, answer);
                if let Ok(Admitted { job, .. }) = &submitted {
                    let mut oracle = self.hub.oracle.borrow_mut();
                    let verdict = oracle.admitted(self.hub, *job, world.steps(), me);
                    drop(oracle);
                    world.judge(verdict);
                }
                point.into_iter().for_each(|point| world.coverage.hit(point));
                world.environment_call(false);
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

    /// Returns whether the job completed.
    fn wait(&self, state: &SimState, job: JobHandle) -> bool {
        let end = self.env().wait_ticket(state);
        let told = end.as_ref().err().map(|error| error.kind);
        let seen = self.hub.oracle.borrow().end_of(job);
        self.ports.handle.with(|world| {
            world.coverage.hit(match told {
                None => CoveragePoint::JobCompleted,
                Some(JobErrorKind::Failed | JobErrorKind::Panicked) => CoveragePoint::JobFailed,
                Some(JobErrorKind::Cancelled) => CoveragePoint::JobCancelled,
                Some(JobErrorKind::DeadlineExceeded) => CoveragePoint::JobLate,
                Some(JobErrorKind::HandedBack) => CoveragePoint::JobHandedBack,
            });
            if seen != Some(told) {
                let message = format!("the ticket of {job:?} says {told:?}, but the job's end was {seen:?}");
                world.fail(Oracle::Ticket, message);
            }
        });
        told.is_none()
    }

    pub(in crate::scenario) fn env(&self) -> PipeEnv<'_, '_> {
        PipeEnv {
            ports: self.ports,
            hub: self.hub,
        }
    }
}
