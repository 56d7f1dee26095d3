//! Each change of a shared word is a step of the protocol that its actor may take now.
//!
//! The oracle follows each worker through the states of the [sleep protocol](executor_core::sleep):
//!
//! ```text
//!              search                register
//!   working ◄────────► searching ───────────────► registered ─── deregister ──► deregistering ─► working
//!      ▲        leave       ▲                       │  slot emptied by a waker     │ ticket back: was chosen
//!      └────────────────────┴───────────────────────┴──────────────────────────────┘
//! ```
//!
//! An actor that takes tickets owes as many choices. A chosen worker is a searcher, even before it
//! notices. After the end only the shape of a change is checked.

use executor_core::sleep::SleepWord;
use executor_core::{ExecutorConfig, in_flight, is_accepting};

use super::{Oracle, Violation};

/// Checks that a change of a word is a step that its actor may take.
#[derive(Debug, Default)]
pub struct ProtocolOracle {
    workers: Vec<WorkerState>,
    /// Not yet used, by actor.
    tickets: Vec<usize>,
    state: usize,
    done: bool,
}

#[derive(Clone, Debug)]
struct WorkerState {
    place: Place,
    slot: usize,
    /// A waker has emptied its slot, and it has not acted on that yet.
    chosen: bool,
    aborting: bool,
    stamp: usize,
    /// It has put the stamp into its slot, and is not yet counted as a sleeper.
    announced: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Working,
    Searching,
    Registered,
    /// It took a ticket back, and does not yet know whose it was.
    Deregistering,
}

use Place::{Deregistering, Registered, Searching, Working};

impl ProtocolOracle {
    pub(crate) fn begin(&mut self, config: &ExecutorConfig) {
        let state = WorkerState {
            place: Working,
            slot: 0,
            chosen: false,
            aborting: false,
            stamp: 0,
            announced: false,
        };
        self.workers = vec![state; config.workers];
        self.state = executor_core::ACCEPTING_BIT;
    }

    pub(crate) fn state_changed(
        &mut self,
        environment: bool,
        before: usize,
        after: usize,
    ) -> Result<(), Violation> {
        self.state = after;
        let (counted, gate) = (
            in_flight(before) != in_flight(after),
            is_accepting(before) != is_accepting(after),
        );
        if counted && gate {
            return Err(violation(
                "the gate and the count changed in one operation".to_owned(),
            ));
        }
        if counted && !environment && in_flight(before) == 0 {
            return Err(violation(
                "a worker borrowed while nothing was in flight".to_owned(),
            ));
        }
        Ok(())
    }

    pub(crate) fn sleep_changed(
        &mut self,
        actor: usize,
        before: SleepWord,
        after: SleepWord,
    ) -> Result<(), Violation> {
        let sleepers = after.sleepers() as i64 - before.sleepers() as i64;
        let searchers = after.searchers() as i64 - before.searchers() as i64;
        let bits = [
            (before.is_done(), after.is_done()),
            (before.is_aborting(), after.is_aborting()),
        ];
        self.learns(actor, after);
        if bits.iter().any(|(before, after)| before != after) {
            return self.ends(before, after, (sleepers, searchers));
        }
        if sleepers == 1
            && let Some(worker) = self.workers.get_mut(actor)
            && !std::mem::take(&mut worker.announced)
            && worker.place != Deregistering
        {
            return Err(violation(format!(
                "worker {actor} is counted as a sleeper, and has put no stamp into its slot"
            )));
        }
        if self.done {
            return Ok(());
        }
        let may = match (sleepers, searchers) {
            (0, 0) => true,
            (0, 1) => self.goes(actor, Working, Searching),
            (0, -1) => self.goes(actor, Searching, Working),
            (1, -1) => self.goes(actor, Searching, Registered),
            (1, 0) => {
                let worker = self.workers.get(actor);
                if worker.is_some_and(|worker| worker.place == Deregistering && worker.chosen) {
                    self.workers[actor].chosen = false;
                    self.goes(actor, Deregistering, Searching)
                } else {
                    self.goes(actor, Working, Registered)
                }
            }
            (-1, 0) => self.goes(actor, Registered, Deregistering),
            (fewer, more) if fewer == -more && more > 0 => {
                *self.owed(actor) += more as usize;
                true
            }
            _ => false,
        };
        if may {
            return Ok(());
        }
        let state = self.workers.get(actor).map_or_else(
            || "and is outside".to_owned(),
            |worker| format!("and is {}", worker.describe()),
        );
        Err(violation(format!(
            "{before:?} became {after:?} by actor {actor}, which may not do that {state}"
        )))
    }

    /// `actor` changed the slot of `worker`.
    pub fn slot_changed(
        &mut self,
        actor: usize,
        worker: usize,
        before: usize,
        after: usize,
    ) -> Result<(), Violation> {
        let tickets = *self.owed(actor);
        let state = &mut self.workers[worker];
        state.slot = after;
        match (before, after) {
            (0, 0) if self.done => Ok(()),
            (0, stamp) if actor == worker && stamp > state.stamp => {
                state.stamp = stamp;
                state.announced = true;
                state.settle();
                match state.place {
                    Working | Searching => Ok(()),
                    Registered | Deregistering => Err(violation(format!(
                        "worker {worker} registers, and is {}",
                        state.describe()
                    ))),
                }
            }
            (_, 0) if actor == worker && state.place == Deregistering && !state.chosen => {
                state.place = Working;
                Ok(())
            }
            (1.., 0) if tickets > 0 && !state.chosen => {
                state.chosen = true;
                *self.owed(actor) -= 1;
                Ok(())
            }
            (1.., 0) if self.done => {
                state.chosen = true;
                Ok(())
            }
            _ => Err(violation(format!(
                "actor {actor}, with {tickets} tickets, changed the slot of worker {worker} from {before} to {after}; the worker is {}",
                state.describe()
            ))),
        }
    }

    /// Records the value of the sleep word that `actor` read.
    pub fn learns(&mut self, actor: usize, word: SleepWord) {
        if let Some(worker) = self.workers.get_mut(actor) {
            worker.aborting = word.is_aborting();
        }
    }

    /// Whether a waker has chosen `worker`.
    pub fn is_chosen(&self, worker: usize) -> bool {
        self.workers[worker].chosen
    }

    /// `worker` parks.
    pub fn parks(&self, worker: usize) -> Result<(), Violation> {
        let state = &self.workers[worker];
        if state.place == Registered || self.done {
            return Ok(());
        }
        Err(violation(format!(
            "worker {worker} parks, and is {}",
            state.describe()
        )))
    }

    /// `worker` starts a task.
    pub fn starts(&self, worker: usize) -> Result<(), Violation> {
        let state = &self.workers[worker];
        if state.aborting {
            return Err(violation(format!(
                "worker {worker} runs a task, and knows that the executor aborts"
            )));
        }
        if state.place == Working {
            return Ok(());
        }
        Err(violation(format!(
            "worker {worker} runs a task, and is {}",
            state.describe()
        )))
    }

    /// `worker` returns a task to the owner.
    pub fn hands_back(&self, worker: usize) -> Result<(), Violation> {
        if self.workers[worker].aborting {
            return Ok(());
        }
        Err(violation(format!(
            "worker {worker} hands a task back, and does not know that the executor aborts"
        )))
    }

    fn ends(&mut self, before: SleepWord, after: SleepWord, counts: (i64, i64)) -> Result<(), Violation> {
        let unset = before.is_done() && !after.is_done() || before.is_aborting() && !after.is_aborting();
        if counts != (0, 0) || unset {
            return Err(violation(format!(
                "{before:?} became {after:?}, which nothing makes of it"
            )));
        }
        if !after.is_done() || self.done {
            return Ok(());
        }
        self.done = true;
        match self.state {
            0 => Ok(()),
            state => Err(violation(format!(
                "the executor was ended with {} in flight and the gate {}",
                in_flight(state),
                if is_accepting(state) { "open" } else { "closed" }
            ))),
        }
    }

    /// Returns whether `actor` was at `from`.
    fn goes(&mut self, actor: usize, from: Place, to: Place) -> bool {
        let Some(worker) = self.workers.get_mut(actor) else {
            return false;
        };
        if from == Searching {
            worker.settle();
        }
        let may = worker.place == from;
        if may {
            worker.place = to;
        }
        may
    }

    fn owed(&mut self, actor: usize) -> &mut usize {
        if actor >= self.tickets.len() {
            self.tickets.resize(actor + 1, 0);
        }
        &mut self.tickets[actor]
    }
}

impl WorkerState {
    fn settle(&mut self) {
        if self.place == Registered && self.chosen {
            self.place = Searching;
            self.chosen = false;
        }
    }

    fn describe(&self) -> String {
        let place = match self.place {
            Working => "working",
            Searching => "searching",
            Registered => "registered",
            Deregistering => "deregistering",
        };
        let chosen = if self.chosen { ", and chosen" } else { "" };
        format!("{place}{chosen}")
    }
}

fn violation(message: String) -> Violation {
    Violation::new(Oracle::Protocol, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLEEPER: usize = 1 << 2;
    const SEARCHER: usize = 1 << 17;
    const DONE: usize = 1;
    const ABORT: usize = 2;

    struct Fixture {
        oracle: ProtocolOracle,
        word: usize,
    }

    impl Fixture {
        fn new() -> Self {
            let mut oracle = ProtocolOracle::default();
            oracle.begin(&ExecutorConfig::new(2));
            Self { oracle, word: 0 }
        }

        fn becomes(&mut self, actor: usize, word: usize) -> Result<(), Violation> {
            let before = std::mem::replace(&mut self.word, word);
            let [before, after] = [before, word].map(SleepWord::of);
            self.oracle.sleep_changed(actor, before, after)
        }

        fn registers(&mut self, worker: usize, stamp: usize) {
            assert_eq!(self.oracle.slot_changed(worker, worker, 0, stamp), Ok(()));
            assert_eq!(self.becomes(worker, self.word + SLEEPER), Ok(()));
        }
    }

    #[test]
    fn a_sleeper_is_woken_by_a_ticket_and_is_a_searcher_then() {
        let mut fixture = Fixture::new();
        fixture.registers(0, 1);
        assert_eq!(fixture.oracle.parks(0), Ok(()));
        assert_eq!(fixture.becomes(2, SEARCHER), Ok(()));
        assert_eq!(fixture.oracle.slot_changed(2, 0, 1, 0), Ok(()));
        assert!(fixture.oracle.is_chosen(0));
        assert!(fixture.oracle.starts(0).is_err(), "it has not left the search");
        assert_eq!(fixture.becomes(0, 0), Ok(()));
        assert_eq!(fixture.oracle.starts(0), Ok(()));
    }

    #[test]
    fn a_worker_that_was_chosen_while_it_took_its_ticket_back_puts_it_back() {
        let mut fixture = Fixture::new();
        fixture.registers(0, 1);
        fixture.registers(1, 2);
        assert_eq!(fixture.becomes(2, SLEEPER + SEARCHER), Ok(()));
        assert_eq!(fixture.becomes(1, SEARCHER), Ok(()));
        assert_eq!(fixture.oracle.slot_changed(2, 1, 2, 0), Ok(()));
        assert_eq!(fixture.becomes(1, SLEEPER + SEARCHER), Ok(()));
        assert_eq!(fixture.becomes(1, SLEEPER), Ok(()), "it leaves the search");
        assert_eq!(fixture.oracle.starts(1), Ok(()));
    }

    #[test]
    fn who_chooses_without_a_ticket_is_noticed() {
        let mut fixture = Fixture::new();
        fixture.registers(0, 1);
        assert!(fixture.oracle.slot_changed(2, 0, 1, 0).is_err());
    }

    #[test]
    fn a_worker_that_registers_twice_leaves_twice_or_parks_awake_is_noticed() {
        let mut fixture = Fixture::new();
        assert!(fixture.oracle.parks(0).is_err());
        fixture.registers(0, 1);
        assert!(fixture.becomes(0, 2 * SLEEPER).is_err());
        assert!(Fixture::new().becomes(0, SLEEPER).is_err(), "its slot is empty");
        let mut fixture = Fixture::new();
        assert_eq!(fixture.becomes(0, SEARCHER), Ok(()));
        assert_eq!(fixture.becomes(0, 0), Ok(()));
        fixture.word = SEARCHER;
        assert!(fixture.becomes(0, 0).is_err(), "that was another worker");
        assert!(
            Fixture::new().becomes(2, SEARCHER).is_err(),
            "the environment does not search"
        );
    }

    #[test]
    fn it_ends_at_zero_and_closed_and_not_before() {
        assert!(Fixture::new().becomes(0, DONE).is_err(), "the gate is open");
        let mut fixture = Fixture::new();
        assert_eq!(fixture.oracle.state_changed(true, 1, 0), Ok(()));
        assert_eq!(fixture.becomes(2, DONE), Ok(()));
        assert!(fixture.becomes(2, 0).is_err(), "it is over for good");
    }

    #[test]
    fn a_worker_that_runs_a_task_over_an_abort_or_hands_back_without_one_is_noticed() {
        let mut fixture = Fixture::new();
        assert!(fixture.oracle.hands_back(0).is_err());
        assert_eq!(fixture.becomes(2, ABORT), Ok(()));
        assert_eq!(fixture.oracle.starts(0), Ok(()), "it has not looked");
        fixture.oracle.learns(0, SleepWord::of(ABORT));
        assert!(fixture.oracle.starts(0).is_err());
        assert_eq!(fixture.oracle.hands_back(0), Ok(()));
    }

    #[test]
    fn gate_and_count_do_not_change_together_and_nothing_is_borrowed_from_nothing() {
        let mut oracle = ProtocolOracle::default();
        assert!(oracle.state_changed(true, 3, 0).is_err());
        assert!(oracle.state_changed(false, 1, 3).is_err());
        assert_eq!(oracle.state_changed(true, 1, 3), Ok(()));
    }
}
