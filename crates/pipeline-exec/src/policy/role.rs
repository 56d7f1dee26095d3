//! Which job a worker takes: the two orders of looking.
//!
//! A job that has received less than four quanta of service is *young*. Young jobs come before old
//! ones, in both roles, and go in the order of their submission. A job that grows old goes on where
//! the least served old job is, and shares with its like.
//!
//! The roles differ in the old job that they take. *Main* takes the one that has received the least
//! service, so old jobs share the time. *Reserve* takes the heaviest, so that one heavy job gets
//! through. Where the heaviest of all jobs is young, reserve takes that before other young ones.
//!
//! A visit of an old job lasts four quanta, and ends at the next boundary once a young job waits:
//! an old job that nothing disturbs keeps its caches, and a young one waits for a slot or a turn.
//!
//! While old jobs wait, young ones get 17 of 20 parts of a worker's time at most
//! ([`allowance`](super::allowance)). A worker whose allowance is used up takes an old job first,
//! and stays in it to the end of its look's quantum whatever waits. So no job starves: of the young
//! the first goes first and is soon old, of the old the least served goes first, and both kinds
//! have a part of the time.
//!
//! Jobs of [`Class::Batch`](super::Class) are old from the beginning, and so are those that
//! experience says will take more than eight quanta ([`need`](super::need)): a crowd of heavy jobs
//! that comes at once delays no short one.
//!
//! Singles, jobs of one slot, wait in a queue beside the board. They are young, and come in turns
//! with the young jobs of the board.
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

/// Of how many turns a single worker takes `RESERVE_TURNS` in the reserve role: 17 to 3, as 85 to
/// 15.
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

/// One visit of worker `worker`, which looks at `now_ns`, in the main role. Gives when it ended;
/// `None` if it found nothing to claim.
pub(crate) fn visit_as_main<E: PipelinePorts>(
    env: &E,
    worker: usize,
    now_ns: u64,
    until_ns: u64,
) -> Option<u64> {
    let search = Search::begin(env, worker, Role::Main, now_ns, until_ns);
    if (search.old_first || mutant::m79_old_before_young())
        && let Some(ended_ns) = search.take(select_old)
    {
        return Some(ended_ns);
    }
    let singles_last = mutant::m82_singles_last();
    search
        .take_young(!singles_last)
        .or_else(|| search.take(select_old))
        .or_else(|| singles_last.then(|| search.take_single()).flatten())
}

/// The same in the reserve role.
pub(crate) fn visit_as_reserve<E: PipelinePorts>(
    env: &E,
    worker: usize,
    now_ns: u64,
    until_ns: u64,
) -> Option<u64> {
    let search = Search::begin(env, worker, Role::Reserve, now_ns, until_ns);
    if mutant::m20_reserve_takes_the_least_served()
        && let Some(ended_ns) = search.take(select_young)
    {
        return Some(ended_ns);
    }
    if search.old_first
        && let Some(ended_ns) = search.take(select_heaviest_old)
    {
        return Some(ended_ns);
    }
    if !search.old_first
        && search.heaviest_is_old()
        && let Some(ended_ns) = search.take_young(true)
    {
        return Some(ended_ns);
    }
    search.take(select_heaviest).or_else(|| search.take_single())
}

/// The heaviest job that a worker could go into; of equally heavy ones, the first submitted.
pub fn select_heaviest<E: PipelinePorts>(env: &E) -> Option<(JobHandle, Arc<BodyOf<E>>)> {
    heaviest_open(env, |_| true)
}

/// The same of the old jobs.
fn select_heaviest_old<E: PipelinePorts>(env: &E) -> Found<E> {
    heaviest_open(env, |body| is_old(env, body))
}

/// The heaviest job of a kind that a worker could go into.
fn heaviest_open<E: PipelinePorts>(env: &E, is_kind: impl Fn(&BodyOf<E>) -> bool) -> Found<E> {
    let shared = env.shared();
    let mut below = None;
    let mut visited = None;
    while let Some(job) = shared.board.heaviest(env, below) {
        if let Some(body) = open(env, job) {
            if !is_kind(&body) {
                quietly_drop(body);
            } else if !mutant::m84_reserve_avoids_company() || !is_visited(env, &body) {
                return Some((job, body));
            } else {
                visited.get_or_insert((job, body));
            }
        }
        below = Some(job);
    }
    visited
}

fn is_old<E: PipelinePorts>(env: &E, body: &BodyOf<E>) -> bool {
    body.state.service(env) >= env.shared().young_tag()
}

/// The young job that was submitted first, of those that a worker could go into.
pub fn select_young<E: PipelinePorts>(env: &E) -> Option<(JobHandle, Arc<BodyOf<E>>)> {
    let shared = env.shared();
    let first = shared.board.least_served(env, None);
    first_open(env, first, |tag| tag < shared.young_tag())
}

/// The same of those that have not grown old since they got their places.
fn select_still_young<E: PipelinePorts>(env: &E) -> Found<E> {
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

/// The old job with the least service that a worker could go into; of several, the first submitted.
pub fn select_old<E: PipelinePorts>(env: &E) -> Option<(JobHandle, Arc<BodyOf<E>>)> {
    let shared = env.shared();
    let first = shared.board.least_served_from(env, shared.young_tag());
    let (job, body) = first_open(env, first, |_| true)?;
    shared.raise_service_floor(env, body.state.service(env));
    Some((job, body))
}

/// From `first` on in the order of service, and while tags are `within`, the first job that a
/// worker could go into.
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

/// Only with a planted bug: whether a worker is in a job.
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

/// The role in which `worker` looks this time. A single worker counts the turns that it takes on a
/// used-up allowance by themselves: were all turns counted together, those on a used-up allowance
/// could fall on reserve turns again and again, and the heaviest old job had what is for all of
/// them.
pub(crate) fn role_of<E: PipelinePorts>(env: &E, worker: usize) -> Role {
    let shared = env.shared();
    let PipelineConfig { main, reserve, .. } = *shared.config();
    let reserve_turn = match reserve {
        0 if main == 1 => {
            let old_first =
                shared.is_allowance_used_up(env, worker) && !mutant::m128_turns_counted_together();
            let turn = shared.next_turn(env, old_first);
            if mutant::m80_reserve_turns_in_a_row() {
                turn % TURNS < RESERVE_TURNS
            } else {
                (turn + 1) * RESERVE_TURNS % TURNS < RESERVE_TURNS
            }
        }
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

/// A worker's search for a job, from the moment at which it looks at the board.
pub(crate) struct Search<'a, E> {
    env: &'a E,
    worker: usize,
    role: Role,
    /// The worker's last reading of the clock, at which its visit begins. An attempt that comes to
    /// nothing takes time, so the worker reads the clock again, for this order of the board and for
    /// the next.
    clock_ns: Cell<u64>,
    until_ns: u64,
    /// Arrivals of young jobs that this search has seen: read before the board.
    young_arrivals: usize,
    /// The allowance for young jobs is used up.
    old_first: bool,
    /// An old job is on the board.
    old_waits: bool,
}

impl<'a, E: PipelinePorts> Search<'a, E> {
    pub(crate) fn begin(env: &'a E, worker: usize, role: Role, now_ns: u64, until_ns: u64) -> Self {
        let shared = env.shared();
        Self {
            env,
            worker,
            role,
            clock_ns: Cell::new(now_ns),
            until_ns,
            young_arrivals: shared.young_arrivals(env),
            old_first: shared.allowances.is_used_up(env, worker),
            old_waits: shared.board.least_served_from(env, shared.young_tag()).is_some(),
        }
    }

    /// Whether the heaviest job that a worker could go into is old. `true` if there is none.
    fn heaviest_is_old(&self) -> bool {
        select_heaviest(self.env).is_none_or(|(_, body)| {
            let is_old = is_old(self.env, &body);
            quietly_drop(body);
            is_old
        })
    }

    /// Visits a young job: of the board, or of the singles if `singles` says so, which come in
    /// turns.
    pub(crate) fn take_young(&self, singles: bool) -> Option<u64> {
        let single_first = self
            .env
            .shared()
            .allowances
            .single_comes_first(self.env, self.worker);
        let of_board = match self.role {
            Role::Spare => select_still_young,
            Role::Main | Role::Reserve | Role::Lent => select_young,
        };
        let single = |is_turn: bool| (is_turn && singles).then(|| self.take_single()).flatten();
        single(single_first)
            .or_else(|| self.take(of_board))
            .or_else(|| single(!single_first))
    }

    /// Visits the first job of an order in which there is something to claim. Another worker may
    /// claim the last of what was found; then there may be another job. Gives when the visit ended.
    fn take(&self, select: fn(&E) -> Found<E>) -> Option<u64> {
        self.take_as(select, false)
    }

    /// Visits the first single that has not ended yet. Gives when the visit ended.
    fn take_single(&self) -> Option<u64> {
        self.take_as(pop_single, true)
    }

    fn take_as(&self, select: fn(&E) -> Found<E>, single: bool) -> Option<u64> {
        let env = self.env;
        while let Some((job, body)) = select(env) {
            let stops = stops(env);
            let ended_ns = if stops {
                None
            } else {
                visit(env, job, &body, self.visitor(is_old(env, &body), single))
            };
            quietly_drop(body);
            // Not before: what a user gave may take long to drop.
            env.shared().stand_ins.rests(env, self.worker);
            if stops || ended_ns.is_some() {
                return ended_ns;
            }
            self.clock_ns.set(env.now_ns());
        }
        None
    }

    /// The visitor that this worker is to a job.
    fn visitor(&self, is_old: bool, single: bool) -> Visitor {
        let now_ns = self.clock_ns.get();
        // A spare thread goes into no old job; one that has grown old since is left as a young one
        // would be.
        let is_old = is_old && self.role != Role::Spare;
        let (pays, stays) = match (is_old, self.old_first) {
            (true, false) => (Pays::Old, true),
            (true, true) => (Pays::Old, false),
            (false, _) if self.old_waits => (Pays::Young, false),
            (false, _) => (Pays::Nothing, false),
        };
        let stay_ns = now_ns.saturating_add(self.env.shared().stay_ns());
        Visitor {
            worker: self.worker,
            role: self.role,
            now_ns,
            until_ns: if stays { stay_ns } else { self.until_ns },
            gives_way: stays.then_some(self.young_arrivals),
            pays,
            single,
        }
    }
}

/// Whether a young job waits that a worker could go into.
pub(crate) fn young_waits<E: PipelinePorts>(env: &E) -> bool {
    env.shared().board.singles(env) > 0
        || select_still_young(env).is_some_and(|(_, body)| {
            quietly_drop(body);
            true
        })
}

/// The first single that has not ended yet. It is gone from the queue, so no other
/// party can take it first; but it may be closed.
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
