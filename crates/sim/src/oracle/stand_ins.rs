//! Spare threads stand in for young work while every worker is in a long turn.
//!
//! By its own books of the turns, the oracle fails a run when
//!
//! - a spare thread enters a job although, throughout its search, a worker was idle or in a turn of
//!   less than two quanta by the spare thread's clock, or another spare thread was;
//! - it enters a job that it has not found young, under another's number, or claims again after its
//!   quantum;
//! - two spare threads watch, or one is told to while another watches;
//! - all workers and awake spare threads are in slots, no environment actor is in a call, a young
//!   job is available and a spare thread is parked, but none watches or has been told to.
//!
//! An actor stores a turn's beginning a moment after it reads its clock: in between, both are
//! possible.

use std::collections::HashSet;

use pipeline_exec::policy::JobHandle;

use super::{Oracle, Violation};

#[derive(Clone, Debug, Default)]
pub(crate) struct StandInOracle {
    workers: usize,
    quantum_ns: u64,
    after_ns: u64,
    turns: Vec<Turn>,
    threads: Vec<Thread>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    /// `None`: in no job.
    stored_ns: Option<u64>,
    /// The earliest beginning that it is about to store, or has just stored.
    stores_ns: Option<u64>,
    /// It has read the clock behind a slot, or is about to.
    behind_slot: bool,
    in_slot: bool,
    asleep: bool,
}

#[derive(Clone, Debug)]
struct Thread {
    sleeps: Sleep,
    /// Told to watch while parked, and not continued since.
    told: bool,
    token: bool,
    visits: bool,
    /// When its visit is over.
    until_ns: u64,
    claims: usize,
    visited: usize,
    now_ns: u64,
    looks: bool,
    /// By actor: it was in a long turn at some moment of the search.
    seen_long: Vec<bool>,
    young: HashSet<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sleep {
    Awake,
    Parked,
    Watches,
}

impl Turn {
    fn may_be_long(&self, now_ns: u64, after_ns: u64) -> bool {
        let is_long = |since_ns: u64| since_ns.saturating_add(after_ns) <= now_ns;
        self.stored_ns.is_some_and(is_long) || self.stores_ns.is_some_and(is_long)
    }

    fn may_be_idle(&self) -> bool {
        self.stored_ns.is_none()
    }

    fn is_held(&self) -> bool {
        self.in_slot || self.asleep
    }
}

impl StandInOracle {
    /// A spare thread stands in after turns of `after_ns`.
    pub(crate) fn new(workers: usize, spares: usize, quantum_ns: u64, after_ns: u64) -> Self {
        let actors = if spares == 0 { 0 } else { workers + spares };
        let thread = Thread {
            sleeps: Sleep::Awake,
            told: false,
            token: false,
            visits: false,
            until_ns: 0,
            claims: 0,
            visited: 0,
            now_ns: 0,
            looks: false,
            seen_long: vec![false; actors],
            young: HashSet::new(),
        };
        Self {
            workers,
            quantum_ns,
            after_ns,
            turns: vec![Turn::default(); actors],
            threads: vec![thread; spares],
        }
    }

    pub(crate) fn spare_of(&self, actor: usize) -> Option<usize> {
        let spare = actor.checked_sub(self.workers)?;
        (spare < self.threads.len()).then_some(spare)
    }

    pub(crate) fn is_visiting(&self, actor: usize) -> bool {
        self.spare_of(actor)
            .is_some_and(|spare| self.threads[spare].visits)
    }

    pub(crate) fn standing_in(&self) -> usize {
        self.threads.iter().filter(|thread| thread.visits).count()
    }

    pub(crate) fn goes_from_job_to_job(&self, actor: usize) -> bool {
        self.spare_of(actor)
            .is_some_and(|spare| self.threads[spare].visited > 1)
    }

    pub(crate) fn read_clock(&mut self, actor: usize, now_ns: u64) {
        let Some(turn) = self.turns.get_mut(actor) else {
            return;
        };
        if turn.behind_slot {
            turn.stores_ns.get_or_insert(now_ns);
        }
        if let Some(spare) = self.spare_of(actor) {
            let thread = &mut self.threads[spare];
            thread.now_ns = now_ns;
            thread.looks = true;
        }
        self.look();
    }

    pub(crate) fn entered(&mut self, actor: usize, at_ns: u64) {
        let Some(turn) = self.turns.get_mut(actor) else {
            return;
        };
        turn.stores_ns = Some(at_ns);
        if let Some(spare) = self.spare_of(actor) {
            let thread = &mut self.threads[spare];
            thread.visits = true;
            thread.claims = 0;
            thread.visited += 1;
            thread.until_ns = at_ns.saturating_add(self.quantum_ns);
        }
        self.look();
    }

    /// Its beginning is stored.
    pub(crate) fn goes_on(&mut self, actor: usize) {
        if let Some(turn) = self.turns.get_mut(actor) {
            if let Some(since_ns) = turn.stores_ns.take() {
                turn.stored_ns = Some(since_ns);
            }
            turn.behind_slot = false;
        }
    }

    pub(crate) fn in_slot(&mut self, actor: usize, takes: bool) {
        if let Some(turn) = self.turns.get_mut(actor) {
            turn.in_slot = takes;
        }
    }

    pub(crate) fn ran(&mut self, actor: usize) {
        if let Some(turn) = self.turns.get_mut(actor) {
            turn.behind_slot = true;
        }
    }

    pub(crate) fn asleep(&mut self, actor: usize, asleep: bool) {
        if let Some(turn) = self.turns.get_mut(actor) {
            turn.asleep = asleep;
        }
    }

    pub(crate) fn left(&mut self, actor: usize, has_claimed: bool) {
        self.goes_on(actor);
        if let Some(spare) = self.spare_of(actor) {
            self.threads[spare].visits = false;
            if has_claimed {
                self.begin(spare);
            }
            // It stores later that it is in none.
            self.turns[actor].stored_ns = None;
        }
    }

    pub(crate) fn searches(&mut self, actor: usize) {
        if let Some(turn) = self.turns.get_mut(actor) {
            (turn.stored_ns, turn.stores_ns, turn.behind_slot) = (None, None, false);
        }
    }

    pub(crate) fn found_young(&mut self, actor: usize, job: JobHandle) {
        if let Some(spare) = self.spare_of(actor) {
            self.threads[spare].young.insert(job.seq);
        }
    }

    /// Returns whether this is the visit's first claim.
    pub(crate) fn claimed(&mut self, actor: usize, job: JobHandle, worker: usize) -> Result<bool, Violation> {
        let number = actor + 1;
        let Some(spare) = self.spare_of(actor).filter(|_| worker == number) else {
            return Err(said(format!(
                "actor {actor} claims of {job:?} as worker {worker}"
            )));
        };
        let thread = &mut self.threads[spare];
        thread.claims += 1;
        if thread.claims > 1 {
            return match thread.now_ns >= thread.until_ns {
                true => Err(Violation::new(
                    Oracle::Quantum,
                    format!("spare thread {spare} claims once more in {job:?} though its time there is over"),
                )),
                false => Ok(false),
            };
        }
        if !thread.young.contains(&job.seq) {
            return Err(said(format!(
                "spare thread {spare} goes into {job:?}, which it has not found young"
            )));
        }
        let not_long = (0..self.turns.len()).find(|&other| other != actor && !thread.seen_long[other]);
        match not_long {
            Some(other) => Err(said(format!(
                "spare thread {spare} stands in at {} ns, but actor {other} was in no turn of {} ns: {:?}",
                thread.now_ns, self.after_ns, self.turns[other]
            ))),
            None => Ok(true),
        }
    }

    pub(crate) fn sleeps(&mut self, actor: usize, watches: bool) -> Result<(), Violation> {
        let Some(spare) = self.spare_of(actor) else {
            return Ok(());
        };
        self.begin(spare);
        self.threads[spare].visited = 0;
        let other = self.other_that(spare, |thread| thread.sleeps == Sleep::Watches);
        let thread = &mut self.threads[spare];
        thread.sleeps = if watches { Sleep::Watches } else { Sleep::Parked };
        match other.filter(|_| watches) {
            Some(other) => Err(said(format!("spare threads {other} and {spare} both watch"))),
            None => Ok(()),
        }
    }

    pub(crate) fn woke(&mut self, actor: usize) -> bool {
        let Some(spare) = self.spare_of(actor) else {
            return false;
        };
        let thread = &mut self.threads[spare];
        thread.sleeps = Sleep::Awake;
        thread.token = false;
        std::mem::take(&mut thread.told)
    }

    /// `says_awake`: the policy found it awake. Returns whether it watches and must look sooner.
    pub(crate) fn is_woken(&mut self, spare: usize, says_awake: bool) -> Result<bool, Violation> {
        let other = self.other_that(spare, |thread| thread.told || thread.sleeps == Sleep::Watches);
        let thread = &mut self.threads[spare];
        match thread.sleeps {
            Sleep::Watches => return Ok(true),
            Sleep::Awake => thread.token = true,
            Sleep::Parked => thread.told |= says_awake,
        }
        match other.filter(|_| thread.told) {
            None => Ok(false),
            Some(other) => Err(Violation::new(
                Oracle::Economy,
                format!("spare thread {spare} is told to watch, and {other} does, or was told to"),
            )),
        }
    }

    /// Whether a spare thread is parked untold while all others are in slots. `calls` includes
    /// awake spare threads.
    pub(crate) fn is_unwatched(&self, calls: usize) -> bool {
        let (workers, spares) = self.turns.split_at(self.workers.min(self.turns.len()));
        let mut awake = 0;
        for (thread, turn) in self.threads.iter().zip(spares) {
            match thread.sleeps {
                _ if thread.told || thread.token => return false,
                Sleep::Watches => return false,
                Sleep::Awake if !turn.is_held() => return false,
                // A thread asleep in a slot is in no call.
                Sleep::Awake => awake += usize::from(!turn.asleep),
                Sleep::Parked => {}
            }
        }
        let is_one_parked = self.threads.iter().any(|thread| thread.sleeps == Sleep::Parked);
        is_one_parked && workers.iter().all(Turn::is_held) && calls == awake
    }

    fn look(&mut self) {
        for (spare, thread) in self.threads.iter_mut().enumerate() {
            if !thread.looks || thread.visits {
                continue;
            }
            for (actor, turn) in self.turns.iter().enumerate() {
                let is_spare = actor >= self.workers;
                thread.seen_long[actor] |= actor == self.workers + spare
                    || turn.may_be_long(thread.now_ns, self.after_ns)
                    || is_spare && turn.may_be_idle();
            }
        }
    }

    fn begin(&mut self, spare: usize) {
        let thread = &mut self.threads[spare];
        thread.looks = false;
        thread.seen_long.fill(false);
        thread.young.clear();
    }

    fn other_that(&self, spare: usize, is: impl Fn(&Thread) -> bool) -> Option<usize> {
        let mut threads = self.threads.iter().enumerate();
        threads
            .find(|(other, thread)| *other != spare && is(thread))
            .map(|(other, _)| other)
    }
}

fn said(message: String) -> Violation {
    Violation::new(Oracle::StandIn, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: JobHandle = JobHandle {
        rank: 1,
        seq: 1,
        index: 0,
    };
    const SPARE: usize = 2;
    const NUMBER: usize = 3;

    /// Slots began at 1,000 ns and 1,100 ns; a spare thread stands in after 200.
    fn both_in_slots() -> StandInOracle {
        let mut oracle = StandInOracle::new(2, 2, 100, 200);
        for (worker, since_ns) in [(0, 1_000), (1, 1_100)] {
            oracle.entered(worker, since_ns);
            oracle.goes_on(worker);
            oracle.in_slot(worker, true);
        }
        for actor in [SPARE, SPARE + 1] {
            assert_eq!(oracle.sleeps(actor, false), Ok(()));
        }
        oracle
    }

    fn stands_in(oracle: &mut StandInOracle, now_ns: u64, finds_young: bool) -> Result<bool, Oracle> {
        oracle.woke(SPARE);
        oracle.read_clock(SPARE, now_ns);
        if finds_young {
            oracle.found_young(SPARE, JOB);
        }
        oracle.entered(SPARE, now_ns);
        let claimed = oracle.claimed(SPARE, JOB, NUMBER);
        claimed.map_err(|violation| violation.oracle)
    }

    #[test]
    fn one_that_stands_in_before_the_youngest_turn_is_long_is_noticed() {
        assert_eq!(stands_in(&mut both_in_slots(), 1_299, true), Err(Oracle::StandIn));
        assert_eq!(stands_in(&mut both_in_slots(), 1_300, true), Ok(true));
    }

    #[test]
    fn one_that_stands_in_for_a_worker_that_is_in_no_job_is_noticed() {
        let mut oracle = both_in_slots();
        oracle.searches(1);
        assert_eq!(stands_in(&mut oracle, 9_000, true), Err(Oracle::StandIn));
        let mut oracle = both_in_slots();
        oracle.in_slot(1, false);
        oracle.ran(1);
        oracle.left(1, true);
        assert_eq!(
            stands_in(&mut oracle, 9_000, true),
            Ok(true),
            "it has not stored that yet"
        );
    }

    #[test]
    fn a_boundary_that_may_not_be_stored_yet_leaves_both_possible() {
        let mut oracle = both_in_slots();
        oracle.in_slot(1, false);
        oracle.ran(1);
        oracle.read_clock(1, 5_000);
        assert_eq!(stands_in(&mut oracle.clone(), 5_001, true), Ok(true));
        oracle.goes_on(1);
        assert_eq!(stands_in(&mut oracle, 5_001, true), Err(Oracle::StandIn));
    }

    #[test]
    fn a_spare_thread_that_takes_what_it_has_not_found_young_or_under_another_number_is_noticed() {
        assert_eq!(
            stands_in(&mut both_in_slots(), 1_300, false),
            Err(Oracle::StandIn)
        );
        let mut oracle = both_in_slots();
        assert_eq!(stands_in(&mut oracle, 1_300, true), Ok(true));
        assert!(oracle.claimed(SPARE, JOB, NUMBER + 1).is_err());
        assert_eq!(oracle.claimed(SPARE, JOB, NUMBER), Ok(false));
        oracle.read_clock(SPARE, 1_400);
        let violation = oracle
            .claimed(SPARE, JOB, NUMBER)
            .expect_err("its quantum is over");
        assert_eq!(violation.oracle, Oracle::Quantum);
    }

    #[test]
    fn a_second_that_stands_in_while_the_first_is_in_a_short_turn_is_noticed() {
        let mut oracle = both_in_slots();
        assert_eq!(stands_in(&mut oracle, 1_300, true), Ok(true));
        oracle.goes_on(SPARE);
        oracle.woke(SPARE + 1);
        let second = |oracle: &mut StandInOracle, now_ns| {
            oracle.read_clock(SPARE + 1, now_ns);
            oracle.found_young(SPARE + 1, JOB);
            oracle.entered(SPARE + 1, now_ns);
            oracle.claimed(SPARE + 1, JOB, NUMBER + 1).is_ok()
        };
        assert!(!second(&mut oracle.clone(), 1_499));
        assert!(second(&mut oracle, 1_500));
        assert_eq!(oracle.standing_in(), 2);
    }

    #[test]
    fn two_that_watch_and_one_that_is_told_beside_another_are_noticed() {
        let mut oracle = both_in_slots();
        assert_eq!(oracle.is_woken(0, true), Ok(false));
        let violation = oracle.is_woken(1, true).expect_err("the first was told");
        assert_eq!(violation.oracle, Oracle::Economy);
        let mut oracle = both_in_slots();
        assert_eq!(oracle.is_woken(0, true), Ok(false));
        assert!(oracle.woke(SPARE));
        assert_eq!(oracle.sleeps(SPARE, true), Ok(()));
        assert_eq!(oracle.is_woken(0, true), Ok(true), "it is to look sooner");
        assert!(!oracle.woke(SPARE));
        assert_eq!(oracle.sleeps(SPARE, true), Ok(()));
        assert!(oracle.sleeps(SPARE + 1, true).is_err());
    }

    #[test]
    fn young_work_is_unwatched_when_all_are_in_slots_and_one_that_is_parked_was_not_told() {
        let mut oracle = both_in_slots();
        assert!(oracle.is_unwatched(0));
        assert!(
            !oracle.is_unwatched(1),
            "an environment actor may be about to tell it"
        );
        oracle.in_slot(1, false);
        assert!(!oracle.is_unwatched(0), "a worker comes by");
        oracle.asleep(1, true);
        assert!(oracle.is_unwatched(0));
        assert_eq!(oracle.is_woken(0, false), Ok(false));
        assert!(oracle.is_unwatched(0), "the wake came late");
        assert_eq!(oracle.is_woken(0, true), Ok(false));
        assert!(!oracle.is_unwatched(0), "it is told");
        oracle.woke(SPARE);
        assert!(!oracle.is_unwatched(1), "it is awake");
        oracle.in_slot(SPARE, true);
        assert!(oracle.is_unwatched(1), "the other one is parked");
        assert_eq!(oracle.is_woken(1, true), Ok(false));
        oracle.woke(SPARE + 1);
        assert_eq!(oracle.sleeps(SPARE + 1, true), Ok(()));
        assert!(!oracle.is_unwatched(1), "it watches");
        oracle.woke(SPARE + 1);
        oracle.in_slot(SPARE + 1, true);
        assert!(!oracle.is_unwatched(2), "none is left to be told");
    }
}
