//! Wakes are not wasted: nobody is woken without work, nor twice for one task.
//!
//! A wake costs the waker some 4 µs and the woken one a search. So whoever takes a ticket must have a reason, since it last
//! read the sleep word to see whether to wake:
//!
//! - it has put tasks into queues, and wakes no more workers than tasks;
//! - or it has seen a queue, its own or another's, that was not empty, and wakes one;
//! - and for a single task, or for what it has seen, it wakes nobody while somebody searches, who will find it.
//!
//! Each ticket is one unpark. Only whoever ends the executor unparks without.

use executor_core::sleep::SleepWord;

use super::{Oracle, Violation};

/// Notes each party's reasons.
#[derive(Debug, Default)]
pub(crate) struct EconomyOracle {
    parties: Vec<Reasons>,
    /// The sleep word as it is.
    word: Option<SleepWord>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Reasons {
    /// Tasks put into queues since it last read the sleep word.
    pushed: usize,
    /// A queue was not empty since then.
    saw: bool,
    /// Those of before: it has read the word, and may act on it.
    acts_on: usize,
    tickets: usize,
}

impl EconomyOracle {
    pub(crate) fn add_party(&mut self) {
        self.parties.push(Reasons::default());
    }

    /// `party` has put a task into a queue.
    #[inline]
    pub(crate) fn pushed(&mut self, party: usize, tasks: usize) {
        self.parties[party].pushed += tasks;
    }

    /// `party` has seen a queue that was not empty.
    #[inline]
    pub(crate) fn saw_work(&mut self, party: usize) {
        self.parties[party].saw = true;
    }

    /// `party` has read the sleep word.
    #[inline]
    pub(crate) fn read(&mut self, party: usize) {
        let reasons = &mut self.parties[party];
        reasons.acts_on = reasons.pushed.max(usize::from(reasons.saw));
        (reasons.pushed, reasons.saw) = (0, false);
    }

    /// `party` has changed the sleep word.
    pub(crate) fn word_changed(&mut self, party: usize, word: SleepWord) -> Result<(), Violation> {
        let (searchers, sleepers) =
            (self.word.replace(word)).map_or((0, 0), |before| (before.searchers(), before.sleepers()));
        // A sleeper fewer and a searcher more is a ticket; every other change is otherwise.
        let tickets = word.searchers().saturating_sub(searchers);
        if tickets > 0 && sleepers.saturating_sub(word.sleepers()) == tickets {
            self.took_tickets(party, tickets, searchers)
        } else {
            Ok(())
        }
    }

    fn took_tickets(&mut self, party: usize, tickets: usize, searchers: usize) -> Result<(), Violation> {
        let reasons = &mut self.parties[party];
        let acts_on = std::mem::take(&mut reasons.acts_on);
        reasons.tickets += tickets;
        if tickets > acts_on {
            return Err(violation(format!(
                "party {party} wakes {tickets} workers for {acts_on} tasks"
            )));
        }
        if acts_on == 1 && searchers > 0 {
            return Err(violation(format!(
                "party {party} wakes a worker for one task while {searchers} search"
            )));
        }
        Ok(())
    }

    /// `party` unparks a worker. Whether the executor `is_over`: whoever ends it wakes everybody.
    pub(crate) fn unparked(&mut self, party: usize, is_over: bool) -> Result<(), Violation> {
        let tickets = &mut self.parties[party].tickets;
        if *tickets == 0 && !is_over {
            return Err(violation(format!(
                "party {party} unparks a worker without a ticket"
            )));
        }
        *tickets = tickets.saturating_sub(1);
        Ok(())
    }
}

fn violation(message: String) -> Violation {
    Violation::new(Oracle::Economy, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oracle() -> EconomyOracle {
        let mut oracle = EconomyOracle::default();
        oracle.add_party();
        oracle
    }

    #[test]
    fn a_wake_for_nothing_is_noticed() {
        let mut oracle = oracle();
        oracle.pushed(0, 1);
        oracle.read(0);
        assert_eq!(oracle.took_tickets(0, 1, 0), Ok(()));
        oracle.read(0);
        let violation = oracle.took_tickets(0, 1, 0).expect_err("there is nothing to do");
        assert_eq!(violation.oracle, Oracle::Economy);
    }

    #[test]
    fn more_wakes_than_tasks_are_noticed() {
        let mut oracle = oracle();
        oracle.pushed(0, 2);
        oracle.read(0);
        assert!(oracle.took_tickets(0, 3, 0).is_err());
        oracle.pushed(0, 2);
        oracle.read(0);
        assert_eq!(oracle.took_tickets(0, 2, 1), Ok(()), "a batch is for several");
    }

    #[test]
    fn a_wake_for_a_task_that_a_searcher_finds_is_noticed() {
        let mut oracle = oracle();
        oracle.saw_work(0);
        oracle.read(0);
        assert!(oracle.took_tickets(0, 1, 1).is_err());
    }

    #[test]
    fn an_unpark_without_a_ticket_is_noticed_but_at_the_end() {
        let mut oracle = oracle();
        assert!(oracle.unparked(0, false).is_err());
        oracle.saw_work(0);
        oracle.read(0);
        assert_eq!(oracle.took_tickets(0, 1, 0), Ok(()));
        assert_eq!(oracle.unparked(0, false), Ok(()));
        assert!(oracle.unparked(0, false).is_err());
        assert_eq!(oracle.unparked(0, true), Ok(()));
    }
}
