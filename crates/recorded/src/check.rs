//! Checks whether the policy allows a run that was recorded on threads.
//!
//! A [`Record`] has each actor's events in order, and numbers the changes of each shared word. The
//! checker looks for an order of all events that satisfies the simulator's [oracles](sim::Oracle):
//!
//! ```text
//!   worker 0       ─ ─ ─ ► ┐                     ┌─► oracles: exactly once, count, gate, sleep, protocol, fairness
//!   worker 1       ─ ─ ► ──┼─► whose event may ──┤
//!   environment 2  ─ ─ ─ ► ┘   come next?        └─► none: rejected, with what each actor waits for
//! ```
//!
//! An event may come next if its change of a word is that word's next, the value it read has been
//! written, and its task is where its actor could take it. [Every correct run has such an
//! order](crate#the-order), and any order will do. Time is linear in the events.

mod course;
mod merge;

use std::fmt;

use sim::judge::Violation;
use sim::{Event, Interleaving, Oracle};

use crate::record::Record;

use merge::Merge;

/// A record that passed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// Events that were ordered.
    pub events: u64,
    /// Tasks that ended.
    pub tasks: u64,
    /// Changes of shared words.
    pub changes: u64,
    /// All events in order, one a nanosecond, if requested;
    /// [`write_chrome_trace`](sim::write_chrome_trace) draws them.
    pub course: Vec<Event>,
    /// Names of the actors, by number.
    pub actors: Vec<String>,
}

/// Why a record was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejection {
    /// The oracle; [`Oracle::Record`] if the record contradicts itself.
    pub oracle: Oracle,
    /// The number of the actor whose event it was.
    pub actor: usize,
    /// The event's number among that actor's.
    pub event: u64,
    /// What was wrong, or expected.
    pub message: String,
    /// The last events before it, in order.
    pub neighbourhood: Vec<Event>,
    /// Names of the actors, by number.
    pub actors: Vec<String>,
}

/// Checks a record.
///
/// # Errors
///
/// Why and where the policy does not allow the run.
pub fn check_record(record: &Record) -> Result<Checked, Box<Rejection>> {
    Merge::new(record, false).run()
}

/// [`check_record`] that keeps the order it finds, at some 50 bytes an event.
///
/// # Errors
///
/// As [`check_record`].
pub fn order_record(record: &Record) -> Result<Checked, Box<Rejection>> {
    Merge::new(record, true).run()
}

impl Rejection {
    fn new(violation: Violation, actor: usize, event: u64) -> Self {
        Self {
            oracle: violation.oracle,
            actor,
            event,
            message: violation.message,
            neighbourhood: Vec::new(),
            actors: Vec::new(),
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            oracle,
            actor,
            event,
            message,
            neighbourhood,
            actors,
        } = self;
        let name = actors.get(*actor).map_or("?", String::as_str);
        writeln!(f, "{oracle}: {message}")?;
        writeln!(f, "at event {event} of {name}; the last ones before it:")?;
        let events = &neighbourhood[..];
        write!(f, "{}", Interleaving { events, actors })
    }
}

impl std::error::Error for Rejection {}
