//! A worker's turns at the board: their role, order and quantum.
//!
//! A *look* is a row of turns; each searches one or both of the board's orders, and claims slots.
//! The oracle judges
//!
//! - role: a main worker claims as main, a reserve worker as reserve. A single worker has both
//!   roles: a reserve turn after at most six main ones and never two in a row;
//! - order: a main claim follows a search of the served jobs or a look at the one-slot jobs. A
//!   reserve claim follows a search of the heaviest jobs; then it may also follow a search of the
//!   young jobs, or a look at the one-slot jobs, if nothing is heavy or the allowance for young
//!   jobs is not used up;
//! - quantum: a worker makes no visit once it read the clock past the quantum, unless the board had
//!   nothing open.

use executor_core::nanos;
use pipeline_exec::Role;
use pipeline_exec::policy::PipelineConfig;

use super::{Oracle, Violation};

/// Main turns of a single worker between two reserve turns: 3 of 20 turns are reserve turns.
const MAIN_TURNS_MAX: u32 = 6;

#[derive(Debug)]
pub(crate) struct TurnOracle {
    config: PipelineConfig,
    workers: Vec<Turn>,
    nested: Vec<(usize, Turn)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    /// `None` before its first reading of the clock.
    until_ns: Option<u64>,
    now_ns: u64,
    scanned: Option<Order>,
    searched: u64,
    scanned_heaviest: bool,
    over: bool,
    nothing_heavy: bool,
    no_single: bool,
    visited: bool,
    /// A single worker's turns without and with a used-up allowance.
    rows: [Row; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    main: u32,
    reserve: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Heaviest,
    /// The least served job first, from a tag on.
    Served {
        from_tag: usize,
    },
    Singles,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    Stays,
    Own,
    Single,
    /// A reserve worker found nothing heavy.
    FellThrough,
    /// A reserve worker found that the heaviest job is old.
    YoungFirst,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    pub(crate) role: Role,
    pub(crate) young: bool,
    pub(crate) old_first: bool,
}

impl TurnOracle {
    pub(crate) fn new(config: PipelineConfig) -> Self {
        Self {
            config,
            workers: vec![Turn::default(); config.main + config.reserve],
            nested: Vec::new(),
        }
    }

    pub(crate) fn nest_began(&mut self, actor: usize) {
        let unending = Turn {
            until_ns: Some(u64::MAX),
            ..Turn::default()
        };
        if let Some(turn) = self.workers.get_mut(actor) {
            self.nested.push((actor, std::mem::replace(turn, unending)));
        }
    }

    pub(crate) fn nest_over(&mut self, actor: usize) {
        if let Some(place) = self.nested.iter().rposition(|nested| nested.0 == actor) {
            self.workers[actor] = self.nested.remove(place).1;
        }
    }

    pub(crate) fn look_began(&mut self, worker: usize) {
        let rows = self.workers[worker].rows;
        self.workers[worker] = Turn {
            rows,
            ..Turn::default()
        };
    }

    pub(crate) fn read_clock(&mut self, actor: usize, now_ns: u64) {
        let quantum_ns = nanos(self.config.quantum);
        if let Some(turn) = self.workers.get_mut(actor) {
            turn.now_ns = now_ns;
            turn.until_ns.get_or_insert(now_ns.saturating_add(quantum_ns));
        }
    }

    pub(crate) fn scan_began(&mut self, actor: usize, order: Order, step: u64) {
        if let Some(turn) = self.workers.get_mut(actor) {
            if turn.scanned.replace(order).is_none() {
                turn.over = turn.until_ns.is_some_and(|until| turn.now_ns >= until);
                turn.scanned_heaviest = false;
                turn.searched = step;
            }
            turn.scanned_heaviest |= order == Order::Heaviest;
        }
    }

    pub(crate) fn searched(&self, worker: usize) -> u64 {
        self.workers[worker].searched
    }

    pub(crate) fn scan_ended(&mut self, actor: usize, order: Order) {
        let Some(turn) = self.workers.get_mut(actor) else {
            return;
        };
        match order {
            Order::Heaviest => turn.nothing_heavy = true,
            Order::Singles => turn.no_single = true,
            Order::Served { .. } => {}
        }
        if turn.nothing_heavy && turn.no_single {
            turn.rows = [Row::default(); 2];
        }
    }

    pub(crate) fn claimed(&mut self, worker: usize, claim: Claim) -> Result<Came, Violation> {
        let PipelineConfig { main, reserve, .. } = self.config;
        let role = claim.role;
        let turn = &mut self.workers[worker];
        let Some(last) = turn.scanned.take() else {
            return Ok(Came::Stays);
        };
        let nothing_heavy = std::mem::take(&mut turn.nothing_heavy);
        let nothing_open = nothing_heavy & std::mem::take(&mut turn.no_single);
        let was_over = turn.over;
        if std::mem::replace(&mut turn.visited, true) && was_over && !nothing_open {
            return Err(Violation::new(
                Oracle::Quantum,
                format!(
                    "worker {worker} goes into another job though its quantum is over and there is more on the board"
                ),
            ));
        }
        let single = main == 1 && reserve == 0;
        if single {
            turn.rows[usize::from(claim.old_first)].count(worker, role)?;
        } else if (worker >= main) != (role == Role::Reserve) {
            return Err(said(format!(
                "worker {worker} of {main} main ones claims as {role:?}"
            )));
        }
        let young_first = turn.scanned_heaviest && !claim.old_first;
        match (role, last) {
            (Role::Main, Order::Served { .. }) | (Role::Reserve, Order::Heaviest) => Ok(Came::Own),
            (Role::Main, Order::Singles) => Ok(Came::Single),
            (Role::Reserve, Order::Singles) if nothing_heavy => Ok(Came::FellThrough),
            (Role::Reserve, Order::Singles) if young_first => Ok(Came::YoungFirst),
            (Role::Reserve, Order::Served { .. }) if young_first && claim.young => Ok(Came::YoungFirst),
            _ => Err(said(format!(
                "worker {worker} claims as {role:?} after {last:?}, and has not gone down that role's order: {claim:?}"
            ))),
        }
    }
}

impl Row {
    fn count(&mut self, worker: usize, role: Role) -> Result<(), Violation> {
        *self = match role {
            Role::Main => Self {
                main: self.main + 1,
                reserve: 0,
            },
            Role::Reserve => Self {
                main: 0,
                reserve: self.reserve + 1,
            },
            Role::Lent | Role::Spare => {
                return Err(said(format!(
                    "worker {worker} claims as a {} thread",
                    role.name()
                )));
            }
        };
        if self.main > MAIN_TURNS_MAX || self.reserve > 1 {
            return Err(said(format!(
                "worker {worker}, the only one, took {} main and {} reserve turns in a row",
                self.main, self.reserve
            )));
        }
        Ok(())
    }
}

fn said(message: String) -> Violation {
    Violation::new(Oracle::Role, message)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const HEAVIEST: Order = Order::Heaviest;
    const SERVED: Order = Order::Served { from_tag: 0 };

    fn oracle(main: usize, reserve: usize) -> TurnOracle {
        let mut oracle = TurnOracle::new(PipelineConfig {
            main,
            reserve,
            quantum: Duration::from_nanos(100),
            capacity: 4,
        });
        oracle.look_began(0);
        oracle.read_clock(0, 1_000);
        oracle
    }

    fn turn(oracle: &mut TurnOracle, order: Order, role: Role) -> Result<Came, Oracle> {
        claims_after(oracle, order, role, false, false)
    }

    fn claims_after(
        oracle: &mut TurnOracle,
        order: Order,
        role: Role,
        young: bool,
        old_first: bool,
    ) -> Result<Came, Oracle> {
        oracle.scan_began(0, order, 1);
        let claim = Claim {
            role,
            young,
            old_first,
        };
        oracle.claimed(0, claim).map_err(|violation| violation.oracle)
    }

    #[test]
    fn a_claim_in_anothers_role_is_noticed() {
        assert_eq!(
            turn(&mut oracle(1, 1), HEAVIEST, Role::Reserve),
            Err(Oracle::Role)
        );
        assert_eq!(turn(&mut oracle(1, 1), SERVED, Role::Main), Ok(Came::Own));
    }

    #[test]
    fn singles_are_for_main_workers_and_for_reserve_workers_that_find_nothing_heavy() {
        let mut main = oracle(2, 0);
        assert_eq!(turn(&mut main, HEAVIEST, Role::Main), Err(Oracle::Role));
        assert_eq!(turn(&mut main, Order::Singles, Role::Main), Ok(Came::Single));
        let mut reserve = oracle(0, 2);
        let singles =
            |reserve: &mut TurnOracle| claims_after(reserve, Order::Singles, Role::Reserve, true, true);
        assert_eq!(singles(&mut reserve), Err(Oracle::Role));
        reserve.scan_began(0, HEAVIEST, 1);
        assert_eq!(singles(&mut reserve), Err(Oracle::Role), "there is more");
        reserve.scan_began(0, HEAVIEST, 1);
        reserve.scan_ended(0, HEAVIEST);
        assert_eq!(singles(&mut reserve), Ok(Came::FellThrough));
    }

    #[test]
    fn a_reserve_worker_that_has_looked_at_the_heaviest_may_take_a_young_job_on_its_allowance() {
        let after_heaviest = |order, young, old_first| {
            let mut reserve = oracle(0, 2);
            reserve.scan_began(0, HEAVIEST, 1);
            claims_after(&mut reserve, order, Role::Reserve, young, old_first)
        };
        assert_eq!(after_heaviest(SERVED, true, false), Ok(Came::YoungFirst));
        assert_eq!(after_heaviest(Order::Singles, true, false), Ok(Came::YoungFirst));
        assert_eq!(
            after_heaviest(SERVED, false, false),
            Err(Oracle::Role),
            "it is old"
        );
        assert_eq!(
            after_heaviest(SERVED, true, true),
            Err(Oracle::Role),
            "it is used up"
        );
        let mut reserve = oracle(0, 2);
        let unseen = claims_after(&mut reserve, SERVED, Role::Reserve, true, false);
        assert_eq!(unseen, Err(Oracle::Role), "something may be heavier");
    }

    #[test]
    fn a_single_worker_that_forgets_a_role_is_noticed() {
        let mut oracle = oracle(1, 0);
        for _ in 0..MAIN_TURNS_MAX {
            assert_eq!(turn(&mut oracle, SERVED, Role::Main), Ok(Came::Own));
        }
        assert_eq!(turn(&mut oracle, SERVED, Role::Main), Err(Oracle::Role));
        assert_eq!(turn(&mut oracle, HEAVIEST, Role::Reserve), Ok(Came::Own));
        assert_eq!(turn(&mut oracle, HEAVIEST, Role::Reserve), Err(Oracle::Role));
    }

    #[test]
    fn turns_on_a_used_up_allowance_are_a_row_of_their_own() {
        let mut oracle = oracle(1, 0);
        let heaviest = |oracle: &mut TurnOracle, old_first| {
            claims_after(oracle, HEAVIEST, Role::Reserve, false, old_first)
        };
        assert_eq!(heaviest(&mut oracle, true), Ok(Came::Own));
        assert_eq!(heaviest(&mut oracle, false), Ok(Came::Own));
        assert_eq!(turn(&mut oracle, SERVED, Role::Main), Ok(Came::Own));
        assert_eq!(heaviest(&mut oracle, true), Err(Oracle::Role));
    }

    #[test]
    fn a_claim_without_a_search_is_one_more_in_the_same_job() {
        let mut oracle = oracle(2, 0);
        assert_eq!(turn(&mut oracle, SERVED, Role::Main), Ok(Came::Own));
        let claim = Claim {
            role: Role::Main,
            young: false,
            old_first: false,
        };
        assert_eq!(oracle.claimed(0, claim), Ok(Came::Stays));
    }

    #[test]
    fn another_visit_after_the_quantum_is_noticed_unless_the_board_was_empty() {
        let mut oracle = oracle(2, 0);
        assert_eq!(turn(&mut oracle, SERVED, Role::Main), Ok(Came::Own));
        oracle.read_clock(0, 2_000);
        oracle.scan_began(0, HEAVIEST, 1);
        oracle.scan_ended(0, HEAVIEST);
        oracle.scan_ended(0, Order::Singles);
        assert_eq!(turn(&mut oracle, SERVED, Role::Main), Ok(Came::Own));
        assert_eq!(turn(&mut oracle, SERVED, Role::Main), Err(Oracle::Quantum));
    }
}
