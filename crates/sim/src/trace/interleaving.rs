//! A run as a table, a row an operation and a column an actor, to show interleavings at a glance.
//!
//! ```text
//!   step    worker 0                       producer 0
//!      6  ┌ look into injector: empty
//!      7  └ fetch stamps, was 1
//!      8  ┌                                inject task 0
//!      9  └                                load sleep word: 1 search, 0 sleep
//!     10  ─ park
//! ```
//!
//! The brackets are segments. A table too wide for a screen has one column.

use std::fmt;

use super::Event;

/// Characters of a table's width, at most, before it has one column.
const WIDTH_MAX: usize = 176;

/// A table of operations for a person, a row each, in order.
#[derive(Debug)]
pub struct Interleaving<'a> {
    /// The operations.
    pub events: &'a [Event],
    /// Names of the actors, by number.
    pub actors: &'a [String],
}

impl Interleaving<'_> {
    pub(crate) fn acting(&self) -> Vec<usize> {
        let mut acting: Vec<usize> = self.events.iter().map(|event| event.actor as usize).collect();
        acting.sort_unstable();
        acting.dedup();
        acting
    }

    pub(crate) fn name(&self, actor: usize) -> &str {
        self.actors.get(actor).map_or("?", String::as_str)
    }

    pub(crate) fn bracket(&self, at: usize) -> Bracket {
        let actor = self.events[at].actor;
        let is_first = at == 0 || self.events[at - 1].actor != actor;
        let is_last = self.events.get(at + 1).is_none_or(|next| next.actor != actor);
        match (is_first, is_last) {
            (true, true) => Bracket::Alone,
            (true, false) => Bracket::First,
            (false, false) => Bracket::Inner,
            (false, true) => Bracket::Last,
        }
    }

    fn widths(&self) -> Vec<(usize, usize)> {
        let width = |actor: usize| {
            let own = self.events.iter().filter(|event| event.actor as usize == actor);
            let widest = own.map(|event| event.to_string().chars().count()).max();
            widest.unwrap_or(0).max(self.name(actor).len())
        };
        self.acting()
            .into_iter()
            .map(|actor| (actor, width(actor)))
            .collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bracket {
    First,
    Inner,
    Last,
    Alone,
}

impl fmt::Display for Bracket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::First => "┌",
            Self::Inner => "│",
            Self::Last => "└",
            Self::Alone => "─",
        })
    }
}

impl fmt::Display for Interleaving<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        let total: usize = widths.iter().map(|(_, width)| width + 2).sum();
        let columns = total <= WIDTH_MAX;
        if columns {
            let mut header = format!("  {:>8}   ", "step");
            for (actor, width) in &widths {
                header.push_str(&format!(" {:<width$} ", self.name(*actor)));
            }
            writeln!(f, "{}", header.trim_end())?;
        }
        for (at, event) in self.events.iter().enumerate() {
            let mut row = format!("  {:>8}  {}", event.step, self.bracket(at));
            if columns {
                for (actor, width) in &widths {
                    let cell = if event.actor as usize == *actor {
                        event.to_string()
                    } else {
                        String::new()
                    };
                    row.push_str(&format!(" {cell:<width$} "));
                }
            } else {
                row.push_str(&format!(" {:<12} {event}", self.name(event.actor as usize)));
            }
            writeln!(f, "{}", row.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Object, Op};

    fn event(step: u64, actor: u32, op: Op) -> Event {
        Event {
            step,
            actor,
            op,
            object: Object::None,
            value: 0,
            clock_ns: 0,
        }
    }

    #[test]
    fn a_column_an_actor_and_a_bracket_a_segment() {
        let events = [
            event(1, 0, Op::Fence),
            event(2, 0, Op::Park),
            event(3, 2, Op::Signal),
            event(4, 0, Op::Awake),
        ];
        let actors = ["worker 0", "idler", "closer"].map(str::to_owned);
        let table = Interleaving {
            events: &events,
            actors: &actors,
        };
        let expected = "      step    worker 0  closer
             1  ┌ fence
             2  └ park
             3  ─           signal waiters
             4  ─ awake
";
        let expected: Vec<&str> = expected.lines().map(str::trim).collect();
        let text = table.to_string();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(lines, expected, "{text}");
    }

    #[test]
    fn what_would_be_too_wide_has_one_column() {
        let events: Vec<Event> = (0..40).map(|n| event(n.into(), n, Op::Park)).collect();
        let actors: Vec<String> = (0..40).map(|n| format!("worker {n}")).collect();
        let table = Interleaving {
            events: &events,
            actors: &actors,
        };
        let text = table.to_string();
        assert!(text.lines().all(|line| line.chars().count() < 60), "{text}");
        assert!(text.contains("39  ─ worker 39    park"), "{text}");
    }
}
