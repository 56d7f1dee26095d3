//! Which job comes first, of those that a worker could go into: by weight, by service, by arrival.

use std::sync::Arc;

use crate::policy::guard::quietly_drop;
use crate::policy::job::handle::JobHandle;
use crate::policy::ports::{BodyOf, PipelinePorts};

pub fn select_heaviest<E: PipelinePorts>(env: &E) -> Option<(JobHandle, Arc<BodyOf<E>>)> {
    heaviest_open(env, |_| true)
}

pub(crate) fn select_heaviest_old<E: PipelinePorts>(env: &E) -> Found<E> {
    heaviest_open(env, |body| is_old(env, body))
}

fn heaviest_open<E: PipelinePorts>(env: &E, is_kind: impl Fn(&BodyOf<E>) -> bool) -> Found<E> {
    let shared = env.shared();
    let mut below = None;
    while let Some(job) = shared.board.heaviest(env, below) {
        if let Some(body) = open(env, job) {
            if is_kind(&body) {
                return Some((job, body));
            }
            quietly_drop(body);
        }
        below = Some(job);
    }
    None
}

pub(crate) fn is_old<E: PipelinePorts>(env: &E, body: &BodyOf<E>) -> bool {
    body.state.service(env) >= env.shared().young_tag()
}

pub fn select_young<E: PipelinePorts>(env: &E) -> Option<(JobHandle, Arc<BodyOf<E>>)> {
    let shared = env.shared();
    let first = shared.board.least_served(env, None);
    first_open(env, first, |tag| tag < shared.young_tag())
}

/// Returns the first young job that has not grown old since it got its tag.
pub(crate) fn select_still_young<E: PipelinePorts>(env: &E) -> Found<E> {
    let (board, young_tag) = (&env.shared().board, env.shared().young_tag());
    let mut next = board.least_served(env, None);
    while let Some(key) = next.filter(|key| key.tag() < young_tag) {
        if let Some(body) = open(env, key) {
            if body.state.service(env) < young_tag {
                return Some((body.handle(key.index), body));
            }
            quietly_drop(body);
        }
        next = board.least_served(env, Some(key));
    }
    None
}

pub fn select_old<E: PipelinePorts>(env: &E) -> Option<(JobHandle, Arc<BodyOf<E>>)> {
    let shared = env.shared();
    let first = shared.board.least_served_from(env, shared.young_tag());
    let (job, body) = first_open(env, first, |_| true)?;
    shared.raise_service_floor(env, body.state.service(env));
    Some((job, body))
}

fn first_open<E: PipelinePorts>(
    env: &E,
    first: Option<JobHandle>,
    within: impl Fn(usize) -> bool,
) -> Found<E> {
    let mut next = first;
    while let Some(key) = next.filter(|key| within(key.tag())) {
        if let Some(body) = open(env, key) {
            return Some((body.handle(key.index), body));
        }
        next = env.shared().board.least_served(env, Some(key));
    }
    None
}

pub(crate) fn has_work<E: PipelinePorts>(env: &E) -> bool {
    !stops(env) && (env.shared().board.singles(env) > 0 || select_heaviest(env).is_some())
}

pub(crate) fn stops<E: PipelinePorts>(env: &E) -> bool {
    env.shared().is_stopping(env)
}

fn open<E: PipelinePorts>(env: &E, job: JobHandle) -> Option<Arc<BodyOf<E>>> {
    let body = find(env, job)?;
    if body.state.has_room(env) {
        return Some(body);
    }
    quietly_drop(body);
    None
}

pub(crate) fn young_waits<E: PipelinePorts>(env: &E) -> bool {
    env.shared().board.singles(env) > 0
        || select_still_young(env).is_some_and(|(_, body)| {
            quietly_drop(body);
            true
        })
}

/// Another party may still close the job.
pub(crate) fn pop_single<E: PipelinePorts>(env: &E) -> Found<E> {
    while let Some(job) = env.shared().board.pop_single(env) {
        if let Some(body) = find(env, job) {
            return Some((job, body));
        }
    }
    None
}

pub(crate) type Found<E> = Option<(JobHandle, Arc<BodyOf<E>>)>;

pub(crate) fn find<E: PipelinePorts>(env: &E, job: JobHandle) -> Option<Arc<BodyOf<E>>> {
    let body = env.get(&env.shared().jobs, job.index)?;
    if body.is(job) {
        return Some(body);
    }
    quietly_drop(body);
    None
}
