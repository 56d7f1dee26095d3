//! Which job a worker takes: the two orders of looking.
//!
//! *Main* takes the job that has received the least service, so that short jobs do not wait behind heavy ones. A job that has
//! received less than a quantum is *young*: it comes before all old ones, and young ones go in the order of their submission. From then on
//! it is *old*, goes on where the least served old job is, and shares with its like. While old ones wait, young ones get 17 of 20 parts
//! of a main worker's time at most ([`allowance`](super::allowance)). So nobody starves: of the young the first goes first and is soon
//! old, of the old the least served goes first, and both kinds have a part of the time.
//!
//! Jobs for which nobody waits ([`Class::Batch`](super::Class)) are old from the beginning, and so are those that experience says will take
//! more than eight quanta ([`need`](super::need)): a crowd of heavy jobs that comes at once delays no short one by a quantum each.
//!
//! Singles, jobs of one slot, wait in a queue beside the board. They are young, and come in turns with the young jobs of the board.
//!
//! *Reserve* takes the heaviest, so that heavy ones keep at least their share, and then singles.
//!
//! Each order covers everything that can be gone into: no worker sleeps while a slot is unclaimed.

use std::cell::Cell;
use std::sync::Arc;

use super::allowance::Pays;
use super::board::JobHandle;
use super::close::{find, quietly_drop};
use super::ports::{BodyOf, PipelinePorts};
use super::shared::PipelineConfig;
use super::visit::{Visitor, visit};
use crate::mutant;
use crate::step_cx::Role;

/// Of how many turns a single worker takes `RESERVE_TURNS` in the reserve role: 17 to 3, as 85 to 15.
const TURNS: usize = 20;
const RESERVE_TURNS: usize = 3;

/// One visit of worker `worker` in the main role. `false` if it found nothing to claim.
pub fn run_main_worker<E: PipelinePorts>(env: &E, worker: usize, until_ns: u64) -> bool {
    visit_as_main(env, worker, env.now_ns(), until_ns).is_some()
}

/// One visit of worker `worker` in the reserve role. `false` if it found nothing to claim.
pub fn run_reserve_worker<E: PipelinePorts>(env: &E, worker: usize, until_ns: u64) -> bool {
    visit_as_reserve(env, worker, env.now_ns(), until_ns).is_some()
}

/// One visit of worker `worker`, which looks at `now_ns`, in the main role. Gives when it ended; `None` if it found nothing to claim.
pub(crate) fn visit_as_main<E: PipelinePorts>(
    env: &E,
    worker: usize,
    now_ns: u64,
    until_ns: u64,
) -> Option<u64> {
    let shared = env.shared();
    let clock_ns = Cell::new(now_ns);
    let visitor = |pays| Visitor {
        worker,
        role: Role::Main,
        now_ns,
        until_ns,
        pays,
        single: false,
    };
    let old_first = shared.allowances.is_used_up(env, worker) || mutant::m79_old_before_young();
    if old_first && let Some(ended_ns) = take(env, select_old, visitor(Pays::Old), &clock_ns) {
        return Some(ended_ns);
    }
    let old_waits = shared.board.least_served_from(env, shared.young_tag()).is_some();
    let young = visitor(if old_waits { Pays::Young } else { Pays::Nothing });
    let single_first = shared.allowances.single_comes_first(env, worker);
    let last = mutant::m82_singles_last();
    let single = |is_turn: bool| is_turn.then(|| take_single(env, young, &clock_ns)).flatten();
    single(single_first && !last)
        .or_else(|| take(env, select_young, young, &clock_ns))
        .or_else(|| single(!single_first && !last))
        .or_else(|| take(env, select_old, visitor(Pays::Old), &clock_ns))
        .or_else(|| single(last))
}

/// The same in the reserve role.
pub(crate) fn visit_as_reserve<E: PipelinePorts>(
    env: &E,
    worker: usize,
    now_ns: u64,
    until_ns: u64,
) -> Option<u64> {
    let visitor = Visitor {
        worker,
        role: Role::Reserve,
        now_ns,
        until_ns,
        pays: Pays::Nothing,
        single: false,
    };
    let clock_ns = Cell::new(now_ns);
    if mutant::m20_reserve_takes_the_least_served()
        && let Some(ended_ns) = take(env, select_young, visitor, &clock_ns)
    {
        return Some(ended_ns);
    }
    take(env, select_heaviest, visitor, &clock_ns).or_else(|| take_single(env, visitor, &clock_ns))
}

/// The heaviest job that a worker could go into; of equally heavy ones, the first submitted.
pub fn select_heaviest<E: PipelinePorts>(env: &E) -> Option<(JobHandle, Arc<BodyOf<E>>)> {
    let shared = env.shared();
    let mut below = None;
    let mut visited = None;
    while let Some(job) = shared.board.heaviest(env, below) {
        if let Some(body) = open(env, job) {
            if !mutant::m84_reserve_avoids_company() || !is_visited(env, &body) {
                return Some((job, body));
            }
            visited.get_or_insert((job, body));
        }
        below = Some(job);
    }
    visited
}

/// The young job that was submitted first, of those that a worker could go into.
pub fn select_young<E: PipelinePorts>(env: &E) -> Option<(JobHandle, Arc<BodyOf<E>>)> {
    let shared = env.shared();
    let first = shared.board.least_served(env, None);
    first_open(env, first, |tag| tag < shared.young_tag())
}

/// The old job with the least service that a worker could go into; of several, the first submitted.
pub fn select_old<E: PipelinePorts>(env: &E) -> Option<(JobHandle, Arc<BodyOf<E>>)> {
    let shared = env.shared();
    let first = shared.board.least_served_from(env, shared.young_tag());
    let (job, body) = first_open(env, first, |_| true)?;
    shared.raise_service_floor(env, body.state.service(env));
    Some((job, body))
}

/// From `first` on in the order of service, and while tags are `within`, the first job that a worker could go into.
fn first_open<E: PipelinePorts>(
    env: &E,
    first: Option<JobHandle>,
    within: impl Fn(usize) -> bool,
) -> Found<E> {
    let mut next = first;
    let mut found = None;
    while let Some(key) = next.filter(|key| within(key.tag())) {
        if let Some(body) = open(env, key) {
            let is_old = key.tag() >= env.shared().young_tag();
            let stands_back = mutant::m81_nobody_in_it_comes_first() && is_old && is_visited(env, &body);
            if found.is_none() || !stands_back {
                found = Some((body.handle(key.index), body));
            }
            if !mutant::m51_most_served_first() && !stands_back {
                break;
            }
        }
        next = env.shared().board.least_served(env, Some(key));
    }
    found
}

/// Only with a planted bug: whether somebody is in a job.
fn is_visited<E: PipelinePorts>(env: &E, body: &BodyOf<E>) -> bool {
    let young_tag = env.shared().young_tag();
    let service = body.state.service(env);
    let alone = if service < young_tag { 0 } else { service };
    body.state.tag(env, young_tag) > alone
}

/// Whether any job on the board could be gone into.
pub(crate) fn has_work<E: PipelinePorts>(env: &E) -> bool {
    !stops(env) && (env.shared().board.singles(env) > 0 || select_heaviest(env).is_some())
}

/// Whether jobs are not gone into any more: a shutdown has begun, and closes them.
pub(crate) fn stops<E: PipelinePorts>(env: &E) -> bool {
    env.shared().is_stopping(env) && !mutant::m61_jobs_begin_during_a_stop()
}

/// The role in which `worker` looks this time.
pub(crate) fn role_of<E: PipelinePorts>(env: &E, worker: usize) -> Role {
    let PipelineConfig { main, reserve, .. } = *env.shared().config();
    let reserve_turn = match reserve {
        0 if main == 1 && mutant::m80_reserve_turns_in_a_row() => {
            env.shared().next_turn(env) % TURNS < RESERVE_TURNS
        }
        0 if main == 1 => (env.shared().next_turn(env) + 1) * RESERVE_TURNS % TURNS < RESERVE_TURNS,
        _ => worker >= main,
    };
    if reserve_turn { Role::Reserve } else { Role::Main }
}

/// The body of a job on the board, if a worker could go into it now.
fn open<E: PipelinePorts>(env: &E, job: JobHandle) -> Option<Arc<BodyOf<E>>> {
    let body = find(env, job)?;
    if body.state.has_room(env) {
        return Some(body);
    }
    quietly_drop(body);
    None
}

/// Visits the first job of an order in which there is something to claim. Somebody else may be quicker at one that was found; then there
/// may be another. Gives when the visit ended.
///
/// `clock_ns` is the worker's last reading of the clock, at which the visit begins. An attempt that
/// comes to nothing takes time, so the worker reads the clock again, for this order and for the next.
fn take<E: PipelinePorts>(
    env: &E,
    select: fn(&E) -> Found<E>,
    visitor: Visitor,
    clock_ns: &Cell<u64>,
) -> Option<u64> {
    while let Some((job, body)) = select(env) {
        let stops = stops(env);
        let ended_ns = if stops {
            None
        } else {
            let now_ns = clock_ns.get();
            visit(env, job, &body, Visitor { now_ns, ..visitor })
        };
        quietly_drop(body);
        if stops || ended_ns.is_some() {
            return ended_ns;
        }
        clock_ns.set(env.now_ns());
    }
    None
}

/// Visits the first single that has not ended yet. Gives when the visit ended.
fn take_single<E: PipelinePorts>(env: &E, visitor: Visitor, clock_ns: &Cell<u64>) -> Option<u64> {
    let visitor = Visitor {
        single: true,
        ..visitor
    };
    take(env, pop_single, visitor, clock_ns)
}

/// The first single that has not ended yet. It is gone from the queue, so there is nobody to be quicker than; but it may be closed.
fn pop_single<E: PipelinePorts>(env: &E) -> Found<E> {
    while let Some(job) = env.shared().board.pop_single(env) {
        if let Some(body) = find(env, job) {
            return Some((job, body));
        }
    }
    None
}

/// A job that a worker could go into.
type Found<E> = Option<(JobHandle, Arc<BodyOf<E>>)>;
