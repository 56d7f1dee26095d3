//! Is a run that was recorded on threads one that the policy allows?
//!
//! A [`Record`] has each party's events in its own order, and says of every change of a shared word which change it was. The checker
//! looks for an order of all of them, event by event, and lets the simulator's [oracles](crate::oracle) watch:
//!
//! ```text
//!   worker 0   ─ ─ ─ ► ┐                     ┌─► oracles: exactly once, count, gate, sleep, protocol, fairness
//!   worker 1   ─ ─ ► ──┼─► whose event may ──┤
//!   outside 2  ─ ─ ─ ► ┘   come next?        └─► nobody's: rejected, with what each waits for
//! ```
//!
//! An event may come next if the change of a word is the next one of that word, if what was read of a word has been written, and
//! if a task that somebody comes with has been put where that party could take it. Why every right run has such an order, and why
//! it does not matter which one is found, is in the chapter of [`executor_core::record`].
//!
//! It takes time in proportion to the events, and memory for eight bytes a task and four a change of a word, beside the record itself.

mod course;
mod merge;

use std::fmt;

use executor_core::record::Record;

use crate::oracle::{Oracle, Violation};
use crate::trace::{Event, Interleaving};

use merge::Merge;

/// What was found in a record that is a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// Events that were explained.
    pub events: u64,
    /// Tasks that came to their end, in whichever way.
    pub tasks: u64,
    /// Changes of shared words.
    pub changes: u64,
    /// All events in the order that was found, on a clock that goes on by a nanosecond an event, if they were asked for. They are
    /// those of a simulated run, so [`write_chrome_trace`](crate::write_chrome_trace) draws them.
    pub course: Vec<Event>,
    /// What each party is called, by its number.
    pub parties: Vec<String>,
}

/// A record that is no run: an oracle spoke, or an event cannot come about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejection {
    /// Which oracle; [`Oracle::Record`] if it is the record that does not fit.
    pub oracle: Oracle,
    /// Whose event it was, by number, and which of its events, from 0.
    pub party: usize,
    /// See above.
    pub event: u64,
    /// What was wrong, or what was expected.
    pub message: String,
    /// The last events before it, in the order that was found.
    pub neighbourhood: Vec<Event>,
    /// What each party is called, by its number.
    pub parties: Vec<String>,
}

/// Checks a record.
///
/// # Errors
///
/// Why it is no run that the policy allows, and where.
pub fn check_record(record: &Record) -> Result<Checked, Box<Rejection>> {
    Merge::new(record, false).run()
}

/// The same, and keeps the order that was found, at some 50 bytes an event.
///
/// # Errors
///
/// As [`check_record`].
pub fn order_record(record: &Record) -> Result<Checked, Box<Rejection>> {
    Merge::new(record, true).run()
}

impl Rejection {
    fn new(violation: Violation, party: usize, event: u64) -> Self {
        Self {
            oracle: violation.oracle,
            party,
            event,
            message: violation.message,
            neighbourhood: Vec::new(),
            parties: Vec::new(),
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            oracle,
            party,
            event,
            message,
            neighbourhood,
            parties,
        } = self;
        let name = parties.get(*party).map_or("?", String::as_str);
        writeln!(f, "{oracle}: {message}")?;
        writeln!(f, "at event {event} of {name}; the last ones before it:")?;
        let events = &neighbourhood[..];
        write!(f, "{}", Interleaving { events, parties })
    }
}

impl std::error::Error for Rejection {}
