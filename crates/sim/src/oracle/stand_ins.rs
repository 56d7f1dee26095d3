//! Spare threads: they stand in when every worker is in a long turn, take young work, and none of
//! it waits without one that watches.
//!
//! The oracle keeps its own books of what each worker and each spare thread runs, since when, by
//! the clock as that party has read it. What it holds against a run:
//!
//! - a spare thread goes into a job though, since it began to look, one of the workers was in no job all the while, or had begun what
//!   it runs less than two quanta before, as the spare thread's clock has it; or another spare thread had;
//! - it goes into a job that it has not found young, under a number that is not its own, or claims once more when its quantum is over;
//! - two spare threads watch, or one is told to while another is;
//! - every worker and every spare thread that is awake is in a slot, no party outside is in a call, a young job could be gone into, and a
//!   spare thread is parked: then one watches, or has been told to.
//!
//! A party stores when it began something a moment after it has read its clock. In between the
//! oracle takes both for possible.

use std::collections::HashSet;

use pipeline_exec::JobHandle;

use super::{Oracle, Violation};

/// Follows workers and spare threads, by party: the workers come first.
#[derive(Clone, Debug, Default)]
pub(crate) struct StandInOracle {
    workers: usize,
    quantum_ns: u64,
    after_ns: u64,
    /// By party.
    turns: Vec<Turn>,
    /// By spare thread.
    threads: Vec<Thread>,
}

/// What a party runs.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    /// Since when, as it has stored it; `None`: it is in no job.
    stored_ns: Option<u64>,
    /// What it is about to store, or has just stored, at the earliest.
    stores_ns: Option<u64>,
    /// It has read the clock behind a slot, or is about to.
    behind_slot: bool,
    /// A slot takes its time.
    in_slot: bool,
    /// It sleeps in a slot that waits for a job of its own.
    asleep: bool,
}

/// What a spare thread does.
#[derive(Clone, Debug)]
struct Thread {
    sleeps: Sleep,
    /// It was told to watch while it was parked, and has not gone on since.
    told: bool,
    /// It was woken while it was awake, so that its next sleep is none.
    token: bool,
    /// It is in a job.
    visits: bool,
    /// When its visit is over, and how often it has claimed in it.
    until_ns: u64,
    claims: usize,
    /// Visits since it slept.
    visited: usize,
    /// Its clock.
    now_ns: u64,
    /// Since it began to look it has read its clock.
    looks: bool,
    /// By party: it was in a turn for long enough, at some moment since then.
    seen_long: Vec<bool>,
    /// Jobs that it has found young since then.
    young: HashSet<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sleep {
    Awake,
    Parked,
    Watches,
}

impl Turn {
    /// Whether it may say that it has run something for `after_ns` by `now_ns`.
    fn may_be_long(&self, now_ns: u64, after_ns: u64) -> bool {
        let is_long = |since_ns: u64| since_ns.saturating_add(after_ns) <= now_ns;
        self.stored_ns.is_some_and(is_long) || self.stores_ns.is_some_and(is_long)
    }

    /// Whether it may say that it is in no job.
    fn may_be_idle(&self) -> bool {
        self.stored_ns.is_none()
    }

    fn is_held(&self) -> bool {
        self.in_slot || self.asleep
    }
}

impl StandInOracle {
    /// No party is in a job, and every spare thread is awake. One stands in when all have been in
    /// their turns for `after_ns`.
    pub(crate) fn new(workers: usize, spares: usize, quantum_ns: u64, after_ns: u64) -> Self {
        let parties = if spares == 0 { 0 } else { workers + spares };
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
            seen_long: vec![false; parties],
            young: HashSet::new(),
        };
        Self {
            workers,
            quantum_ns,
            after_ns,
            turns: vec![Turn::default(); parties],
            threads: vec![thread; spares],
        }
    }

    /// The number of the spare thread that `party` is.
    pub(crate) fn spare_of(&self, party: usize) -> Option<usize> {
        let spare = party.checked_sub(self.workers)?;
        (spare < self.threads.len()).then_some(spare)
    }

    /// Whether `party` is a spare thread that is in a job.
    pub(crate) fn is_visiting(&self, party: usize) -> bool {
        self.spare_of(party)
            .is_some_and(|spare| self.threads[spare].visits)
    }

    /// Number of the spare threads that are in a job.
    pub(crate) fn standing_in(&self) -> usize {
        self.threads.iter().filter(|thread| thread.visits).count()
    }

    /// Whether spare thread `party` goes into one job after another, without a sleep.
    pub(crate) fn goes_from_job_to_job(&self, party: usize) -> bool {
        self.spare_of(party)
            .is_some_and(|spare| self.threads[spare].visited > 1)
    }

    /// `party` has read its clock.
    pub(crate) fn read_clock(&mut self, party: usize, now_ns: u64) {
        let Some(turn) = self.turns.get_mut(party) else {
            return;
        };
        if turn.behind_slot {
            turn.stores_ns.get_or_insert(now_ns);
        }
        if let Some(spare) = self.spare_of(party) {
            let thread = &mut self.threads[spare];
            thread.now_ns = now_ns;
            thread.looks = true;
        }
        self.look();
    }

    /// `party` has gone into a job that it looked for at `at_ns`.
    pub(crate) fn entered(&mut self, party: usize, at_ns: u64) {
        let Some(turn) = self.turns.get_mut(party) else {
            return;
        };
        turn.stores_ns = Some(at_ns);
        if let Some(spare) = self.spare_of(party) {
            let thread = &mut self.threads[spare];
            thread.visits = true;
            thread.claims = 0;
            thread.visited += 1;
            thread.until_ns = at_ns.saturating_add(self.quantum_ns);
        }
        self.look();
    }

    /// `party` has claimed something, or runs a slot: it has stored since when.
    pub(crate) fn goes_on(&mut self, party: usize) {
        if let Some(turn) = self.turns.get_mut(party) {
            if let Some(since_ns) = turn.stores_ns.take() {
                turn.stored_ns = Some(since_ns);
            }
            turn.behind_slot = false;
        }
    }

    /// A slot of `party` takes its time, or has taken it.
    pub(crate) fn in_slot(&mut self, party: usize, takes: bool) {
        if let Some(turn) = self.turns.get_mut(party) {
            turn.in_slot = takes;
        }
    }

    /// `party` comes back from a slot.
    pub(crate) fn ran(&mut self, party: usize) {
        if let Some(turn) = self.turns.get_mut(party) {
            turn.behind_slot = true;
        }
    }

    /// `party` sleeps in a slot that waits for a job of its own, or goes on.
    pub(crate) fn asleep(&mut self, party: usize, asleep: bool) {
        if let Some(turn) = self.turns.get_mut(party) {
            turn.asleep = asleep;
        }
    }

    /// `party` leaves the job in which it was, and in which it has claimed something or not. If
    /// not, a spare thread goes on to look where it was.
    pub(crate) fn left(&mut self, party: usize, has_claimed: bool) {
        self.goes_on(party);
        if let Some(spare) = self.spare_of(party) {
            self.threads[spare].visits = false;
            if has_claimed {
                self.begin(spare);
            }
            // It stores that it is in none, sooner or later.
            self.turns[party].stored_ns = None;
        }
    }

    /// `party` looks for a job: it is in none.
    pub(crate) fn searches(&mut self, party: usize) {
        if let Some(turn) = self.turns.get_mut(party) {
            (turn.stored_ns, turn.stores_ns, turn.behind_slot) = (None, None, false);
        }
    }

    /// `party` has found that `job` is young.
    pub(crate) fn found_young(&mut self, party: usize, job: JobHandle) {
        if let Some(spare) = self.spare_of(party) {
            self.threads[spare].young.insert(job.seq);
        }
    }

    /// Spare thread `party` has claimed slots of `job` under the number `worker`. Gives whether
    /// that is the first time in a visit.
    pub(crate) fn claimed(&mut self, party: usize, job: JobHandle, worker: usize) -> Result<bool, Violation> {
        let number = party + 1;
        let Some(spare) = self.spare_of(party).filter(|_| worker == number) else {
            return Err(said(format!(
                "party {party} claims of {job:?} as worker {worker}"
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
        let not_long = (0..self.turns.len()).find(|&other| other != party && !thread.seen_long[other]);
        match not_long {
            Some(other) => Err(said(format!(
                "spare thread {spare} stands in at {} ns, but party {other} was in no turn of {} ns: {:?}",
                thread.now_ns, self.after_ns, self.turns[other]
            ))),
            None => Ok(true),
        }
    }

    /// Spare thread `party` is about to sleep: to watch, or until it is told to.
    pub(crate) fn sleeps(&mut self, party: usize, watches: bool) -> Result<(), Violation> {
        let Some(spare) = self.spare_of(party) else {
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

    /// Spare thread `party` goes on. Gives whether it was told to watch.
    pub(crate) fn woke(&mut self, party: usize) -> bool {
        let Some(spare) = self.spare_of(party) else {
            return false;
        };
        let thread = &mut self.threads[spare];
        thread.sleeps = Sleep::Awake;
        thread.token = false;
        std::mem::take(&mut thread.told)
    }

    /// Spare thread number `spare` is woken, and says that it is awake or that it is parked: then
    /// the wake comes late, and means nothing any more. Gives whether it watches, and is to look
    /// sooner.
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

    /// Whether all that could see to young work are in slots, and a spare thread is parked that no
    /// party has told to watch. `calls` is the number of parties outside that are in a call, spare
    /// threads that are awake among them.
    pub(crate) fn is_unwatched(&self, calls: usize) -> bool {
        let (workers, spares) = self.turns.split_at(self.workers.min(self.turns.len()));
        let mut awake = 0;
        for (thread, turn) in self.threads.iter().zip(spares) {
            match thread.sleeps {
                _ if thread.told || thread.token => return false,
                Sleep::Watches => return false,
                Sleep::Awake if !turn.is_held() => return false,
                // One that sleeps in a slot is in no call.
                Sleep::Awake => awake += usize::from(!turn.asleep),
                Sleep::Parked => {}
            }
        }
        let is_one_parked = self.threads.iter().any(|thread| thread.sleeps == Sleep::Parked);
        is_one_parked && workers.iter().all(Turn::is_held) && calls == awake
    }

    /// Each spare thread that looks sees who is in a turn for long by now.
    fn look(&mut self) {
        for (spare, thread) in self.threads.iter_mut().enumerate() {
            if !thread.looks || thread.visits {
                continue;
            }
            for (party, turn) in self.turns.iter().enumerate() {
                let is_spare = party >= self.workers;
                thread.seen_long[party] |= party == self.workers + spare
                    || turn.may_be_long(thread.now_ns, self.after_ns)
                    || is_spare && turn.may_be_idle();
            }
        }
    }

    /// It begins to look, for the first time or again.
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
        cost: 1,
        seq: 1,
        index: 0,
    };
    /// The first spare thread beside two workers, and its number.
    const SPARE: usize = 2;
    const NUMBER: usize = 3;

    /// Two workers in slots, the first since 1,000 ns and the other since 1,100; a spare thread
    /// stands in after 200.
    fn both_in_slots() -> StandInOracle {
        let mut oracle = StandInOracle::new(2, 2, 100, 200);
        for (worker, since_ns) in [(0, 1_000), (1, 1_100)] {
            oracle.entered(worker, since_ns);
            oracle.goes_on(worker);
            oracle.in_slot(worker, true);
        }
        for party in [SPARE, SPARE + 1] {
            assert_eq!(oracle.sleeps(party, false), Ok(()));
        }
        oracle
    }

    /// What is said when the spare thread reads its clock at `now_ns`, finds a job young or not,
    /// and claims.
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
    fn one_that_takes_what_it_has_not_found_young_or_as_somebody_else_is_noticed() {
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
            "somebody outside may be about to tell it"
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
