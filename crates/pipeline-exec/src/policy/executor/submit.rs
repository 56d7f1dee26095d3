//! How a job is admitted: through the gate, into the table, onto the board.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use executor_core::ports::{Exclusive, Fetch, Memory};
use executor_core::run_state::Refused as GateRefused;

use crate::error::StepError;
use crate::policy::board::ending::{Closing, changed, end, fail};
use crate::policy::board::reconcile::Change;
use crate::policy::board::select::find;
use crate::policy::guard::quietly_drop;
use crate::policy::job::body::JobBody;
use crate::policy::job::claim::Claim;
use crate::policy::job::finish;
use crate::policy::job::handle::JobHandle;
use crate::policy::job::ledger::{CloseReason, Failure, Ledger};
use crate::policy::job::spec::Class;
use crate::policy::job::state::JobState;
use crate::policy::job::tasks::STAGE;
use crate::policy::ports::{BodyOf, PipelineEvent, PipelinePorts};

pub struct Admitted<W, P> {
    pub state: Arc<JobState<W, P>>,
    pub job: JobHandle,
}

/// None of the job's slots was claimed.
pub enum Refused<W, P> {
    Closed(Box<JobBody<W, P>>),
    Full(Box<JobBody<W, P>>),
    /// A shutdown came at the same time, and took the job off the board.
    Stopped(Arc<JobBody<W, P>>),
}

/// The ticket of an admitted job always fires. If `slots` of a first stage fails, the job is
/// admitted and has failed.
pub fn submit<E: PipelinePorts>(env: &E, mut body: BodyOf<E>) -> Result<AdmittedOf<E>, RefusedOf<E>> {
    let shared = env.shared();
    match shared.admission.accept(env, 1) {
        Ok(()) => {}
        Err(GateRefused::Closed) => return Err(Refused::Closed(Box::new(body))),
        Err(GateRefused::CountOverflow) => return Err(Refused::Full(Box::new(body))),
    }
    // Before the first call of user code, so that its time counts towards the deadline.
    let submitted_ns = env.now_ns();
    let slots = first_slots(env, &body);
    if body.state.grows {
        // The only slot belongs to all tasks together.
        let whole = body.state.claims.claim(env, |_stage, _left| 1);
        debug_assert!(matches!(whole, Claim::Slots { .. }), "the first claim of a job");
        env.change(&body.state.ledger, Ledger::grow);
    }
    let known = *slots.as_ref().unwrap_or(&0);
    let spares = shared.spares();
    body.enrol(shared.next_seq(env), known, spares, submitted_ns, |value| {
        env.word(value)
    });
    let expected_ns = shared.experience.work_ns(env, body.state.cost_kind());
    let is_long = !body.state.grows && expected_ns.is_some_and(|work_ns| shared.is_long(work_ns));
    let is_young = body.state.class() != Class::Batch && !is_long;
    if !is_young || shared.young_tag() == 0 {
        let service = (body.state).old_service(shared.young_tag(), shared.service_floor(env));
        // Ordering: Relaxed. The job is not shared yet.
        env.store(&body.state.service, service, Ordering::Relaxed);
    }
    let state = Arc::clone(&body.state);
    let slots = slots.inspect_err(|_| {
        // Closed before a shutdown can find the job in the table: this submission ends it.
        if let Some(left) = state.claims.close(env) {
            state.claims.give_up(env, &left.stages);
        }
        env.change(&state.ledger, |ledger| ledger.note_reason(CloseReason::Failed));
    });
    let has_slots = state.claims.is_claimable(env);
    let is_single = is_young && state.is_solo() && state.stated_cost().is_none();
    let body = Arc::new(body);
    let index = match env.put(&shared.jobs, Arc::clone(&body)) {
        Ok(index) => index,
        // The gate admits no more jobs than the table has places, and a place is freed before its
        // count.
        Err(_) => unreachable!("the gate let in more jobs than the table has places"),
    };
    let job = JobHandle {
        rank: state.cost(),
        seq: state.seq(),
        index,
    };
    env.observe(PipelineEvent::Submitted { job });
    match slots {
        Ok(slots) if has_slots || state.grows => {
            if state.grows {
                // Reported before the job is published: a shutdown may end it right after.
                env.observe(PipelineEvent::StageStarted {
                    job,
                    stage: STAGE,
                    slots: 1,
                });
            } else {
                state.claims.started(env).for_each(|(stage, slots)| {
                    env.observe(PipelineEvent::StageStarted { job, stage, slots });
                });
            }
            if let Some(deadline_ns) = state.deadline_ns {
                shared.count_deadlines(env, Fetch::Add(1));
                shared.board.insert_deadline(env, job, deadline_ns);
            }
            let change = if is_single {
                let put_back = append_single(env, job);
                Change::Queued { put_back }
            } else if state.grows {
                Change::Opened
            } else {
                Change::Submitted { slots }
            };
            if changed(env, &state, job, change) == Closing::Untouched {
                return Err(Refused::Stopped(body));
            }
        }
        // Every slot ran by hand before.
        Ok(_) => end(env, &state, job, Closing::Touched, env.now_ns()),
        Err(failure) => {
            fail(env, &state, job, failure);
            end(env, &state, job, Closing::Touched, env.now_ns());
        }
    }
    quietly_drop(body);
    Ok(Admitted { state, job })
}

/// Returns how many other handles were taken out, alive, and put back.
fn append_single<E: PipelinePorts>(env: &E, job: JobHandle) -> usize {
    let shared = env.shared();
    shared.board.push_single(env, job);
    if shared.board.singles(env) <= shared.config.capacity {
        return 0;
    }
    let mut put_back = 0;
    for _ in 0..2 {
        let Some(other) = shared.board.pop_single(env) else {
            break;
        };
        let alive = find(env, other);
        let is_alive = alive.is_some();
        quietly_drop(alive);
        if is_alive {
            shared.board.push_single(env, other);
            put_back += 1;
        }
    }
    put_back
}

fn first_slots<E: PipelinePorts>(env: &E, body: &BodyOf<E>) -> Result<usize, Failure> {
    let claims = &body.state.claims;
    if !body.state.begun {
        return finish::begin(env, claims, &body.stages);
    }
    if claims.is_closed(env) {
        return Err(Failure {
            stage: 0,
            slot: None,
            name: body.table_name.clone().into_owned(),
            panicked: false,
            error: StepError::from("it failed before it was submitted"),
        });
    }
    let (done, slots) = claims.progress(env);
    Ok(slots - done)
}

pub type AdmittedOf<E> = Admitted<<E as Memory>::Word, <E as Exclusive<Ledger>>::Place>;

pub type RefusedOf<E> = Refused<<E as Memory>::Word, <E as Exclusive<Ledger>>::Place>;

impl<W, P> fmt::Debug for Admitted<W, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admitted")
            .field("job", &self.job)
            .finish_non_exhaustive()
    }
}

impl<W, P> fmt::Debug for Refused<W, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (variant, body) = match self {
            Self::Closed(body) => ("Closed", &**body),
            Self::Full(body) => ("Full", &**body),
            Self::Stopped(body) => ("Stopped", &**body),
        };
        f.debug_tuple(variant).field(body.state.id()).finish()
    }
}
