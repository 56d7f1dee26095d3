//! How a job gets in: through the gate, into the table, onto the board, and then somebody has to look.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use executor_core::ports::{Exclusive, Fetch, Memory};
use executor_core::run_state::Refused as GateRefused;

use super::board::JobHandle;
use super::claim::Claim;
use super::close::{self, Closing};
use super::grow::STAGE;
use super::job_spec::Class;
use super::job_state::{JobBody, JobState};
use super::ledger::{CloseReason, Failure, Ledger};
use super::ports::{BodyOf, PipelineEvent, PipelinePorts, StateOf};
use super::standing::settle;
use super::{finish, need};
use crate::error::StepError;
use crate::mutant;

/// A job that was let in.
pub struct Admitted<W, P> {
    /// What happens to it.
    pub state: Arc<JobState<W, P>>,
    /// Its key.
    pub job: JobHandle,
}

/// A job that was not let in. None of its slots was claimed.
pub enum Refused<W, P> {
    /// The gate is closed, for good.
    Closed(Box<JobBody<W, P>>),
    /// As many jobs are in flight as the executor admits.
    Full(Box<JobBody<W, P>>),
    /// It was let in, but the executor is being shut down at the same time; so it was taken off the board again.
    Stopped(Arc<JobBody<W, P>>),
}

/// Hands over a job. Its ticket fires, whatever happens.
///
/// The stages that come after none are asked for their slots here. If that fails, the job is let in and has failed already.
///
/// # Errors
///
/// The job, if it was not let in.
pub fn submit<E: PipelinePorts>(env: &E, mut body: BodyOf<E>) -> Result<AdmittedOf<E>, RefusedOf<E>> {
    let shared = env.shared();
    match shared.admission.accept(env, 1) {
        Ok(()) => {}
        Err(GateRefused::GateClosed) => return Err(Refused::Closed(Box::new(body))),
        Err(GateRefused::CountOverflow) => return Err(Refused::Full(Box::new(body))),
    }
    let slots = first_slots(env, &body);
    if body.state.grows {
        // The only slot is all tasks' together; and more may come.
        let whole = body.state.claims.claim(env, |_stage, _left| 1);
        debug_assert!(matches!(whole, Claim::Slots { .. }), "the first claim of a job");
        env.change(&body.state.ledger, Ledger::grow);
    }
    let known = *slots.as_ref().unwrap_or(&0);
    body.enrol(shared.next_seq(env), known, env.now_ns(), |value| env.word(value));
    let expected_ns = shared.experience.work_ns(env, body.state.cost_kind());
    let is_long = !body.state.grows && expected_ns.is_some_and(|work_ns| shared.is_long(work_ns));
    let is_young = body.state.class() != Class::Batch && !is_long;
    if !is_young || shared.young_tag() == 0 {
        let service = (body.state).old_service(shared.young_tag(), shared.service_floor(env));
        // Ordering: Relaxed. Nobody else knows the job yet.
        env.store(&body.state.service, service, Ordering::Relaxed);
    }
    let state = Arc::clone(&body.state);
    let slots = slots.inspect_err(|_| {
        // Before a shutdown can find it in the table: this is the submission's to end.
        if let Some(left) = state.claims.close(env) {
            state.claims.give_up(env, &left.stages);
        }
        env.change(&state.ledger, |ledger| ledger.close(CloseReason::Failed));
    });
    let has_slots = state.claims.is_claimable(env);
    let is_single = is_young && state.is_solo() && !state.has_stated_cost();
    let body = Arc::new(body);
    let index = match env.put(&shared.jobs, Arc::clone(&body)) {
        Ok(index) => index,
        // The gate admits no more jobs than the table has places, and a place is free before its count is back.
        Err(_) => unreachable!("the gate let in more jobs than the table has places"),
    };
    let job = JobHandle {
        cost: state.cost(),
        seq: state.seq(),
        index,
    };
    env.observe(PipelineEvent::Submitted { job });
    match slots {
        Ok(slots) if has_slots || state.grows => {
            if state.grows {
                // Its only stage, of which a shutdown may say next that it is over.
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
            let closing = if is_single {
                let put_back = append_single(env, job);
                publish(env, &state, job, 1 + put_back)
            } else if state.grows {
                // It has no task yet, so it does not go onto the board.
                close_if_stopping(env, &state, job)
            } else {
                let wanted = state.invites_anew(env, need::of_stages(env, &state, slots));
                settle(env, &state, job, Some(wanted))
            };
            if closing == Closing::Untouched {
                return Err(Refused::Stopped(body));
            }
        }
        // Every slot was run by hand before.
        Ok(_) => close::end(env, &state, job, Closing::Touched, env.now_ns()),
        Err(failure) => {
            close::fail(env, &state, job, failure);
            close::end(env, &state, job, Closing::Touched, env.now_ns());
        }
    }
    // The job may be over already, and then this is the last hold on what the user gave.
    close::quietly_drop(body);
    Ok(Admitted { state, job })
}

/// Appends a job to the queue of singles, in which there may be handles of jobs that were closed. If there are more than there may be
/// jobs, two are taken out; gives how many were alive and went back to the end.
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
        let alive = close::find(env, other);
        let is_alive = alive.is_some();
        close::quietly_drop(alive);
        if is_alive && !mutant::m59_singles_lost_in_the_clearance() {
            shared.board.push_single(env, other);
            put_back += 1;
        }
    }
    put_back
}

/// Slots of the first stages, or of those that were reached by hand and are left. Begins the job if nobody has.
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

/// [`Admitted`] in environment `E`.
pub type AdmittedOf<E> = Admitted<<E as Memory>::Word, <E as Exclusive<Ledger>>::Place>;

/// [`Refused`] in environment `E`.
pub type RefusedOf<E> = Refused<<E as Memory>::Word, <E as Exclusive<Ledger>>::Place>;

/// The job is on the board, or whoever puts it there publishes as well, and slots of it can be claimed: sees to it that up to `lookers` more workers look, or that it is closed
/// if the executor is being shut down.
///
/// It closes no job that grows. A shutdown finds such a job in the table, or the submitter finds the
/// shutdown. A wake publishes, too, and may come under a lock that other tasks of the job take when
/// they are dropped.
pub(crate) fn publish<E: PipelinePorts>(
    env: &E,
    state: &Arc<StateOf<E>>,
    job: JobHandle,
    lookers: usize,
) -> Closing {
    let shared = env.shared();
    // Ordering: SeqCst fence, step publish-fence. Edges `look/publish` and `stop/publish`: pairs
    // with the fences in `lay_down` and in `stop`. Whichever of two fences comes second, its side
    // sees the other's write. Edge `young/arrival`: pairs with the Acquire in `young_arrivals`. Who
    // reads of the arrival finds the job.
    env.fence(Ordering::SeqCst);
    if !state.grows && stops(env) {
        return close::close(env, state, job, state.stop_reason());
    }
    if state.service(env) < shared.young_tag() {
        shared.young_arrived(env);
    }
    let taken = shared.looks.take_up(env, lookers);
    if taken > 0 && !env.hand_over(taken) {
        shared.looks.drop_taken(env, taken);
        // Nobody will look any more: the workers are leaving.
        if !state.grows {
            return close::close(env, state, job, state.stop_reason());
        }
    }
    Closing::Touched
}

/// The job is in the table: closes it if the executor is being shut down.
fn close_if_stopping<E: PipelinePorts>(env: &E, state: &Arc<StateOf<E>>, job: JobHandle) -> Closing {
    // Ordering: SeqCst fence. Edge `stop/publish`: pairs with the fence in `stop`. Whichever of the two
    // comes second, its side sees the other's write.
    env.fence(Ordering::SeqCst);
    if stops(env) {
        return close::close(env, state, job, state.stop_reason());
    }
    Closing::Touched
}

/// Whether a shutdown has begun, for a party that has passed its fence.
fn stops<E: PipelinePorts>(env: &E) -> bool {
    env.shared().is_stopping(env) && !mutant::m56_stop_misses_a_submission()
}

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
