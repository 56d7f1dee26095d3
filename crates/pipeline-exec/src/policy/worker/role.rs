//! The order in which a worker takes jobs.
//!
//! A job with less than four quanta of service is *young*. Both roles take young jobs first, in
//! order of submission. Then *main* takes the least served old job, and *reserve* the heaviest. If
//! the heaviest of all is young, reserve takes it first.
//!
//! A visit of an old job lasts four quanta, or to the next boundary once a young job waits. While
//! old jobs wait, young ones get at most 17 of 20 parts of a worker's time
//! ([`allowance`](crate::policy::board::allowance)). A worker without allowance takes an old job
//! first and stays to the end of its look's quantum. So no job starves.
//!
//! [`Class::Batch`](crate::policy::Class) jobs, and jobs expected to take over eight quanta
//! ([`need`](crate::policy::board::need)), are old at once.

use std::cell::Cell;

use super::stay::Visitor;
use super::visit::visit;
use crate::policy::board::allowance::Pays;
use crate::policy::board::select::{
    Found, is_old, pop_single, select_heaviest, select_heaviest_old, select_old, select_still_young,
    select_young, stops,
};
use crate::policy::board::shared::PipelineConfig;
use crate::policy::guard::quietly_drop;
use crate::policy::ports::PipelinePorts;
use crate::step_cx::Role;

/// Number of a single worker's turns in a cycle, and of those in the reserve role: 15 %.
const TURNS: usize = 20;
const RESERVE_TURNS: usize = 3;

/// Runs one visit. Returns `false` if it found nothing to claim.
pub fn run_main_worker<E: PipelinePorts>(env: &E, worker: usize, until_ns: u64) -> bool {
    visit_as_main(env, worker, env.now_ns(), until_ns).is_some()
}

pub fn run_reserve_worker<E: PipelinePorts>(env: &E, worker: usize, until_ns: u64) -> bool {
    visit_as_reserve(env, worker, env.now_ns(), until_ns).is_some()
}

pub(crate) fn visit_as_main<E: PipelinePorts>(
    env: &E,
    worker: usize,
    now_ns: u64,
    until_ns: u64,
) -> Option<u64> {
    let search = Search::begin(env, worker, Role::Main, now_ns, until_ns);
    if search.old_first
        && let Some(ended_ns) = search.take(select_old)
    {
        return Some(ended_ns);
    }
    search.take_young().or_else(|| search.take(select_old))
}

pub(crate) fn visit_as_reserve<E: PipelinePorts>(
    env: &E,
    worker: usize,
    now_ns: u64,
    until_ns: u64,
) -> Option<u64> {
    let search = Search::begin(env, worker, Role::Reserve, now_ns, until_ns);
    if search.old_first
        && let Some(ended_ns) = search.take(select_heaviest_old)
    {
        return Some(ended_ns);
    }
    if !search.old_first
        && search.heaviest_is_old()
        && let Some(ended_ns) = search.take_young()
    {
        return Some(ended_ns);
    }
    search.take(select_heaviest).or_else(|| search.take_single())
}

/// Turns without allowance are counted apart, or all of them could fall on reserve turns.
pub(crate) fn role_of<E: PipelinePorts>(env: &E, worker: usize) -> Role {
    let shared = env.shared();
    let PipelineConfig { main, reserve, .. } = *shared.config();
    let reserve_turn = match reserve {
        0 if main == 1 => {
            let turn = shared.next_turn(env, shared.is_allowance_used_up(env, worker));
            (turn + 1) * RESERVE_TURNS % TURNS < RESERVE_TURNS
        }
        _ => worker >= main,
    };
    if reserve_turn { Role::Reserve } else { Role::Main }
}

pub(crate) struct Search<'a, E> {
    env: &'a E,
    worker: usize,
    role: Role,
    clock_ns: Cell<u64>,
    until_ns: u64,
    young_arrivals: usize,
    old_first: bool,
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

    /// Returns `true` without a job too.
    fn heaviest_is_old(&self) -> bool {
        select_heaviest(self.env).is_none_or(|(_, body)| {
            let is_old = is_old(self.env, &body);
            quietly_drop(body);
            is_old
        })
    }

    pub(crate) fn take_young(&self) -> Option<u64> {
        let single_first = self
            .env
            .shared()
            .allowances
            .single_comes_first(self.env, self.worker);
        let of_board = match self.role {
            Role::Spare => select_still_young,
            Role::Main | Role::Reserve | Role::Lent => select_young,
        };
        let single = |is_turn: bool| is_turn.then(|| self.take_single()).flatten();
        single(single_first)
            .or_else(|| self.take(of_board))
            .or_else(|| single(!single_first))
    }

    fn take(&self, select: fn(&E) -> Found<E>) -> Option<u64> {
        self.take_as(select, false)
    }

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
            // The visit includes the drop of user data, which may be slow.
            env.shared().stand_ins.rests(env, self.worker);
            if stops || ended_ns.is_some() {
                return ended_ns;
            }
            self.clock_ns.set(env.now_ns());
        }
        None
    }

    fn visitor(&self, is_old: bool, single: bool) -> Visitor {
        let now_ns = self.clock_ns.get();
        // A spare thread visits a job that has grown old since as a young one.
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
