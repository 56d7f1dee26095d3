//! Every change of a shared word is a step that the policy makes, and one that this party may take now.
//!
//! The oracle follows each worker through the states of the [sleep protocol](executor_core::sleep), from the changes of words alone:
//!
//! ```text
//!              search                register
//!   working ◄────────► searching ───────────────► registered ─── deregister ──► deregistering ─► working
//!      ▲        leave       ▲                       │  slot emptied by a waker     │ ticket back: was chosen
//!      └────────────────────┴───────────────────────┴──────────────────────────────┘
//! ```
//!
//! Whoever takes tickets owes as many choices. A worker that was chosen is a searcher, whether it knows or not. Once it is over nobody
//! reads those counts any more, and only the shape of a change is looked at.

use executor_core::sleep::SleepWord;
use executor_core::{ExecutorConfig, in_flight, is_accepting};

use super::{Oracle, Violation};

/// Follows each worker through the protocol.
#[derive(Debug, Default)]
pub(crate) struct ProtocolOracle {
    workers: Vec<Standing>,
    /// By party: tickets that it has taken and not yet used.
    tickets: Vec<usize>,
    state: usize,
    done: bool,
}

/// Where a worker stands.
#[derive(Clone, Debug)]
struct Standing {
    place: Place,
    /// Its slot: 0, or its stamp.
    slot: usize,
    /// A waker has emptied its slot, and it has not acted on that yet.
    chosen: bool,
    /// What it last saw of the bit.
    aborting: bool,
    /// The stamp of its last registration.
    stamp: usize,
    /// Whether it has put that into its slot and is not counted as a sleeper yet.
    announced: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Working,
    Searching,
    Registered,
    /// It has taken a ticket back, and not settled whose it was.
    Deregistering,
}

use Place::{Deregistering, Registered, Searching, Working};

impl ProtocolOracle {
    pub(crate) fn begin(&mut self, config: &ExecutorConfig) {
        let standing = Standing {
            place: Working,
            slot: 0,
            chosen: false,
            aborting: false,
            stamp: 0,
            announced: false,
        };
        self.workers = vec![standing; config.workers];
        self.state = executor_core::ACCEPTING_BIT;
    }

    /// The state word changed, by a worker or by somebody `outside`.
    pub(crate) fn state_changed(
        &mut self,
        outside: bool,
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
        if counted && !outside && in_flight(before) == 0 {
            return Err(violation(
                "a worker borrowed while nothing was in flight".to_owned(),
            ));
        }
        Ok(())
    }

    /// `party` changed the sleep word.
    pub(crate) fn sleep_changed(
        &mut self,
        party: usize,
        before: SleepWord,
        after: SleepWord,
    ) -> Result<(), Violation> {
        let sleepers = after.sleepers() as i64 - before.sleepers() as i64;
        let searchers = after.searchers() as i64 - before.searchers() as i64;
        let bits = [
            (before.is_done(), after.is_done()),
            (before.is_aborting(), after.is_aborting()),
        ];
        self.learns(party, after);
        if bits.iter().any(|(before, after)| before != after) {
            return self.ends(before, after, (sleepers, searchers));
        }
        if sleepers == 1
            && let Some(worker) = self.workers.get_mut(party)
            && !std::mem::take(&mut worker.announced)
            && worker.place != Deregistering
        {
            return Err(violation(format!(
                "worker {party} is counted as a sleeper, and has put no stamp into its slot"
            )));
        }
        if self.done {
            return Ok(());
        }
        let may = match (sleepers, searchers) {
            (0, 0) => true,
            (0, 1) => self.goes(party, Working, Searching),
            (0, -1) => self.goes(party, Searching, Working),
            (1, -1) => self.goes(party, Searching, Registered),
            (1, 0) => {
                let worker = self.workers.get(party);
                if worker.is_some_and(|worker| worker.place == Deregistering && worker.chosen) {
                    self.workers[party].chosen = false;
                    self.goes(party, Deregistering, Searching)
                } else {
                    self.goes(party, Working, Registered)
                }
            }
            (-1, 0) => self.goes(party, Registered, Deregistering),
            (fewer, more) if fewer == -more && more > 0 => {
                *self.owed(party) += more as usize;
                true
            }
            _ => false,
        };
        if may {
            return Ok(());
        }
        let standing = self.workers.get(party).map_or_else(
            || "and is outside".to_owned(),
            |worker| format!("and is {}", worker.describe()),
        );
        Err(violation(format!(
            "{before:?} became {after:?} by party {party}, which may not do that {standing}"
        )))
    }

    /// `party` changed the slot of `worker`.
    pub(crate) fn slot_changed(
        &mut self,
        party: usize,
        worker: usize,
        before: usize,
        after: usize,
    ) -> Result<(), Violation> {
        let tickets = *self.owed(party);
        let standing = &mut self.workers[worker];
        standing.slot = after;
        match (before, after) {
            (0, 0) if self.done => Ok(()),
            (0, stamp) if party == worker && stamp > standing.stamp => {
                standing.stamp = stamp;
                standing.announced = true;
                standing.settle();
                match standing.place {
                    Working | Searching => Ok(()),
                    Registered | Deregistering => Err(violation(format!(
                        "worker {worker} registers, and is {}",
                        standing.describe()
                    ))),
                }
            }
            (_, 0) if party == worker && standing.place == Deregistering && !standing.chosen => {
                standing.place = Working;
                Ok(())
            }
            (1.., 0) if tickets > 0 && !standing.chosen => {
                standing.chosen = true;
                *self.owed(party) -= 1;
                Ok(())
            }
            (1.., 0) if self.done => {
                standing.chosen = true;
                Ok(())
            }
            _ => Err(violation(format!(
                "party {party}, with {tickets} tickets, changed the slot of worker {worker} from {before} to {after}; the worker is {}",
                standing.describe()
            ))),
        }
    }

    /// `party` knows this of the sleep word.
    pub(crate) fn learns(&mut self, party: usize, word: SleepWord) {
        if let Some(worker) = self.workers.get_mut(party) {
            worker.aborting = word.is_aborting();
        }
    }

    /// Whether a waker has chosen `worker` since it has registered.
    pub(crate) fn is_chosen(&self, worker: usize) -> bool {
        self.workers[worker].chosen
    }

    /// `worker` parks.
    pub(crate) fn parks(&self, worker: usize) -> Result<(), Violation> {
        let standing = &self.workers[worker];
        if standing.place == Registered || self.done {
            return Ok(());
        }
        Err(violation(format!(
            "worker {worker} parks, and is {}",
            standing.describe()
        )))
    }

    /// `worker` starts a task.
    pub(crate) fn starts(&self, worker: usize) -> Result<(), Violation> {
        let standing = &self.workers[worker];
        if standing.aborting {
            return Err(violation(format!(
                "worker {worker} runs a task, and knows that the executor aborts"
            )));
        }
        if standing.place == Working {
            return Ok(());
        }
        Err(violation(format!(
            "worker {worker} runs a task, and is {}",
            standing.describe()
        )))
    }

    /// `worker` hands a task back.
    pub(crate) fn hands_back(&self, worker: usize) -> Result<(), Violation> {
        if self.workers[worker].aborting {
            return Ok(());
        }
        Err(violation(format!(
            "worker {worker} hands a task back, and does not know that the executor aborts"
        )))
    }

    /// One of the two bits has changed, from `before` to `after`; the counts changed by so much.
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

    /// Whether `party` is a worker that stands at `from`; if so it goes `to`.
    fn goes(&mut self, party: usize, from: Place, to: Place) -> bool {
        let Some(worker) = self.workers.get_mut(party) else {
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

    fn owed(&mut self, party: usize) -> &mut usize {
        if party >= self.tickets.len() {
            self.tickets.resize(party + 1, 0);
        }
        &mut self.tickets[party]
    }
}

impl Standing {
    /// A registered worker that was chosen is a searcher, and now acts as one.
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

    /// Two workers, and somebody outside with number 2, at a word.
    struct Scene {
        oracle: ProtocolOracle,
        word: usize,
    }

    impl Scene {
        fn new() -> Self {
            let mut oracle = ProtocolOracle::default();
            oracle.begin(&ExecutorConfig {
                workers: 2,
                ..ExecutorConfig::default()
            });
            Self { oracle, word: 0 }
        }

        fn becomes(&mut self, party: usize, word: usize) -> Result<(), Violation> {
            let before = std::mem::replace(&mut self.word, word);
            let [before, after] = [before, word].map(SleepWord::of_value);
            self.oracle.sleep_changed(party, before, after)
        }

        /// `worker` registers, and nothing comes between.
        fn registers(&mut self, worker: usize, stamp: usize) {
            assert_eq!(self.oracle.slot_changed(worker, worker, 0, stamp), Ok(()));
            assert_eq!(self.becomes(worker, self.word + SLEEPER), Ok(()));
        }
    }

    #[test]
    fn a_sleeper_is_woken_by_a_ticket_and_is_a_searcher_then() {
        let mut scene = Scene::new();
        scene.registers(0, 1);
        assert_eq!(scene.oracle.parks(0), Ok(()));
        assert_eq!(scene.becomes(2, SEARCHER), Ok(()));
        assert_eq!(scene.oracle.slot_changed(2, 0, 1, 0), Ok(()));
        assert!(scene.oracle.is_chosen(0));
        assert!(scene.oracle.starts(0).is_err(), "it has not left the search");
        assert_eq!(scene.becomes(0, 0), Ok(()));
        assert_eq!(scene.oracle.starts(0), Ok(()));
    }

    #[test]
    fn a_worker_that_was_chosen_while_it_took_its_ticket_back_puts_it_back() {
        let mut scene = Scene::new();
        scene.registers(0, 1);
        scene.registers(1, 2);
        assert_eq!(scene.becomes(2, SLEEPER + SEARCHER), Ok(()));
        assert_eq!(scene.becomes(1, SEARCHER), Ok(()));
        assert_eq!(scene.oracle.slot_changed(2, 1, 2, 0), Ok(()));
        assert_eq!(scene.becomes(1, SLEEPER + SEARCHER), Ok(()));
        assert_eq!(scene.becomes(1, SLEEPER), Ok(()), "it leaves the search");
        assert_eq!(scene.oracle.starts(1), Ok(()));
    }

    #[test]
    fn who_chooses_without_a_ticket_is_noticed() {
        let mut scene = Scene::new();
        scene.registers(0, 1);
        assert!(scene.oracle.slot_changed(2, 0, 1, 0).is_err());
    }

    #[test]
    fn a_worker_that_registers_twice_leaves_twice_or_parks_awake_is_noticed() {
        let mut scene = Scene::new();
        assert!(scene.oracle.parks(0).is_err());
        scene.registers(0, 1);
        assert!(scene.becomes(0, 2 * SLEEPER).is_err());
        assert!(Scene::new().becomes(0, SLEEPER).is_err(), "its slot is empty");
        let mut scene = Scene::new();
        assert_eq!(scene.becomes(0, SEARCHER), Ok(()));
        assert_eq!(scene.becomes(0, 0), Ok(()));
        scene.word = SEARCHER;
        assert!(scene.becomes(0, 0).is_err(), "that was somebody else");
        assert!(
            Scene::new().becomes(2, SEARCHER).is_err(),
            "nobody outside searches"
        );
    }

    #[test]
    fn it_ends_at_zero_and_closed_and_not_before() {
        assert!(Scene::new().becomes(0, DONE).is_err(), "the gate is open");
        let mut scene = Scene::new();
        assert_eq!(scene.oracle.state_changed(true, 1, 0), Ok(()));
        assert_eq!(scene.becomes(2, DONE), Ok(()));
        assert!(scene.becomes(2, 0).is_err(), "it is over for good");
    }

    #[test]
    fn a_worker_that_runs_a_task_over_an_abort_or_hands_back_without_one_is_noticed() {
        let mut scene = Scene::new();
        assert!(scene.oracle.hands_back(0).is_err());
        assert_eq!(scene.becomes(2, ABORT), Ok(()));
        assert_eq!(scene.oracle.starts(0), Ok(()), "it has not looked");
        scene.oracle.learns(0, SleepWord::of_value(ABORT));
        assert!(scene.oracle.starts(0).is_err());
        assert_eq!(scene.oracle.hands_back(0), Ok(()));
    }

    #[test]
    fn gate_and_count_do_not_change_together_and_nothing_is_borrowed_from_nothing() {
        let mut oracle = ProtocolOracle::default();
        assert!(oracle.state_changed(true, 3, 0).is_err());
        assert!(oracle.state_changed(false, 1, 3).is_err());
        assert_eq!(oracle.state_changed(true, 1, 3), Ok(()));
    }
}
