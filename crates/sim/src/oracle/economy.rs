//! No wake without work, and none twice for one task.
//!
//! An actor that takes a ticket must have a reason, dated after its last read of the sleep word:
//!
//! - it queued tasks, and wakes at most one worker a task;
//! - or it saw a queue that was not empty, and wakes one worker;
//! - and for a single task, or for what it saw, it wakes no worker while another searches.
//!
//! Each ticket is one unpark. Only the end of the executor unparks without a ticket.

use executor_core::sleep::SleepWord;

use super::{Oracle, Violation};

#[derive(Debug, Default)]
pub(crate) struct EconomyOracle {
    actors: Vec<Reasons>,
    word: Option<SleepWord>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Reasons {
    pushed: usize,
    saw: bool,
    /// The reasons before that read, on which it may act.
    acts_on: usize,
    tickets: usize,
}

impl EconomyOracle {
    pub(crate) fn add_actor(&mut self) {
        self.actors.push(Reasons::default());
    }

    #[inline]
    pub(crate) fn pushed(&mut self, actor: usize, tasks: usize) {
        self.actors[actor].pushed += tasks;
    }

    #[inline]
    pub(crate) fn saw_work(&mut self, actor: usize) {
        self.actors[actor].saw = true;
    }

    #[inline]
    pub(crate) fn read(&mut self, actor: usize) {
        let reasons = &mut self.actors[actor];
        reasons.acts_on = reasons.pushed.max(usize::from(reasons.saw));
        (reasons.pushed, reasons.saw) = (0, false);
    }

    pub(crate) fn word_changed(&mut self, actor: usize, word: SleepWord) -> Result<(), Violation> {
        let (searchers, sleepers) =
            (self.word.replace(word)).map_or((0, 0), |before| (before.searchers(), before.sleepers()));
        // A ticket is one sleeper less and one searcher more.
        let tickets = word.searchers().saturating_sub(searchers);
        if tickets > 0 && sleepers.saturating_sub(word.sleepers()) == tickets {
            self.took_tickets(actor, tickets, searchers)
        } else {
            Ok(())
        }
    }

    fn took_tickets(&mut self, actor: usize, tickets: usize, searchers: usize) -> Result<(), Violation> {
        let reasons = &mut self.actors[actor];
        let acts_on = std::mem::take(&mut reasons.acts_on);
        reasons.tickets += tickets;
        if tickets > acts_on {
            return Err(violation(format!(
                "actor {actor} wakes {tickets} workers for {acts_on} tasks"
            )));
        }
        if acts_on == 1 && searchers > 0 {
            return Err(violation(format!(
                "actor {actor} wakes a worker for one task while {searchers} search"
            )));
        }
        Ok(())
    }

    pub(crate) fn unparked(&mut self, actor: usize, is_over: bool) -> Result<(), Violation> {
        let tickets = &mut self.actors[actor].tickets;
        if *tickets == 0 && !is_over {
            return Err(violation(format!(
                "actor {actor} unparks a worker without a ticket"
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
        oracle.add_actor();
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
