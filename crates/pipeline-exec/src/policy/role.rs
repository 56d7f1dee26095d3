//! Which job a worker takes: the two orders of looking.
//!
//! *Main* takes the job that has received the least service, so that short jobs do not wait behind heavy ones. *Reserve* takes the
//! heaviest, so that heavy ones keep at least their share. Each falls through to the other's order when its own finds nothing: no
//! worker sleeps while a slot is unclaimed.

use std::sync::Arc;

use super::board::JobHandle;
use super::ports::{BodyOf, PipelinePorts};
use super::shared::PipelineConfig;
use super::visit::{Visitor, visit};
use crate::mutant;
use crate::step_cx::Role;

/// Among how many of the oldest jobs a main worker looks for the least served one. New jobs wait for a place among them, so
/// no stream of new jobs starves an old one.
pub const LEAST_SERVED_AMONG: usize = 32;

/// Of how many turns a single worker takes `RESERVE_TURNS` in the reserve role: 17 to 3, as 85 to 15.
const TURNS: usize = 20;
const RESERVE_TURNS: usize = 3;

/// One visit of worker `worker` in the main role. `false` if it found nothing to claim.
pub fn run_main_worker<E: PipelinePorts>(env: &E, worker: usize, until_ns: u64) -> bool {
    let visitor = Visitor {
        worker,
        role: Role::Main,
        until_ns,
    };
    // The heaviest order covers the whole board, the least served only the oldest.
    take(env, select_least_served(env), visitor) || take(env, select_heaviest(env), visitor)
}

/// One visit of worker `worker` in the reserve role. `false` if it found nothing to claim.
pub fn run_reserve_worker<E: PipelinePorts>(env: &E, worker: usize, until_ns: u64) -> bool {
    let visitor = Visitor {
        worker,
        role: Role::Reserve,
        until_ns,
    };
    if mutant::m20_reserve_takes_the_least_served() {
        return take(env, select_least_served(env), visitor) || take(env, select_heaviest(env), visitor);
    }
    take(env, select_heaviest(env), visitor) || take(env, select_least_served(env), visitor)
}

/// The heaviest job that a worker could go into; of equally heavy ones, the first submitted.
pub fn select_heaviest<E: PipelinePorts>(env: &E) -> Option<(JobHandle, Arc<BodyOf<E>>)> {
    let shared = env.shared();
    let mut below = None;
    while let Some(job) = shared.board.heaviest(env, below) {
        if let Some(body) = open(env, job) {
            return Some((job, body));
        }
        below = Some(job);
    }
    None
}

/// The job with the least service among the oldest [`LEAST_SERVED_AMONG`] that a worker could go into; the search ends early at a
/// job that has received no more than where new jobs start.
pub fn select_least_served<E: PipelinePorts>(env: &E) -> Option<(JobHandle, Arc<BodyOf<E>>)> {
    let shared = env.shared();
    let mut least: Option<(usize, Arc<BodyOf<E>>, usize)> = None;
    let floor = shared.service_floor(env);
    let mut below = None;
    for _ in 0..LEAST_SERVED_AMONG {
        let Some(job) = shared.board.oldest(env, below) else {
            break;
        };
        below = Some(job);
        let Some(body) = open(env, job) else { continue };
        let service = body.state.service(env);
        let comes_first = |lowest: usize| {
            if mutant::m51_most_served_first() {
                service > lowest
            } else {
                service < lowest
            }
        };
        if least.as_ref().is_none_or(|(lowest, ..)| comes_first(*lowest)) {
            least = Some((service, body, job.index));
        }
        if service <= floor {
            break;
        }
    }
    let (service, body, index) = least?;
    shared.raise_service_floor(env, service);
    Some((body.handle(index), body))
}

/// Whether any job on the board could be gone into.
pub(crate) fn has_work<E: PipelinePorts>(env: &E) -> bool {
    select_heaviest(env).is_some()
}

/// The role in which `worker` looks this time.
pub(crate) fn role_of<E: PipelinePorts>(env: &E, worker: usize) -> Role {
    let PipelineConfig { main, reserve, .. } = *env.shared().config();
    let reserve_turn = match reserve {
        0 if main == 1 => (env.shared().next_turn(env) + 1) * RESERVE_TURNS % TURNS < RESERVE_TURNS,
        _ => worker >= main,
    };
    if reserve_turn { Role::Reserve } else { Role::Main }
}

/// The body of a job on the board, if a worker could go into it now.
fn open<E: PipelinePorts>(env: &E, job: JobHandle) -> Option<Arc<BodyOf<E>>> {
    let body = env.get(&env.shared().jobs, job.index)?;
    (body.is(job) && body.state.has_room(env)).then_some(body)
}

fn take<E: PipelinePorts>(env: &E, job: Option<(JobHandle, Arc<BodyOf<E>>)>, visitor: Visitor) -> bool {
    let Some((job, body)) = job else { return false };
    let claimed = visit(env, job, &body, visitor);
    super::close::quietly_drop(body);
    claimed
}
