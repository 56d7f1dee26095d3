//! An operation in words, for a person.

use std::fmt;

use executor_core::sleep::SleepWord;
use executor_core::{in_flight, is_accepting};

use super::{Event, Object, Op};
use crate::word::WordName;

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (op, object) = (self.op.name(), self.object);
        match (self.op, object) {
            (_, Object::Word(word)) => {
                let when = match self.op {
                    Op::Fetch | Op::Exchange => ", was",
                    Op::Store => " :=",
                    _ => ":",
                };
                write!(f, "{op} {word}{when} {}", Value(word, self.value))
            }
            (Op::Access, _) => write!(f, "{object}"),
            (Op::Await, _) => {
                let answer = if self.value == 0 { "not yet" } else { "yes" };
                write!(f, "wait until {object}: {answer}")
            }
            (Op::TakeFrom, _) => write!(f, "steal task {} from {object}", self.value),
            (Op::TakeInjected, _) => write!(f, "take {} from injector", self.value),
            (Op::BringHome, _) => write!(f, "bring {} home", self.value),
            (Op::Peek, _) => {
                let answer = if self.value == 0 { "empty" } else { "not empty" };
                write!(f, "peek into {object}: {answer}")
            }
            (Op::TakeEmpty, _) => write!(f, "look into {object}: empty"),
            (Op::PopEmpty, _) => f.write_str("pop: empty"),
            (Op::Start, _) => write!(f, "start {object}"),
            (Op::End, _) => write!(f, "end {object}"),
            (Op::Panic, _) => write!(f, "{object} panics"),
            (Op::Work, _) => write!(f, "work for {} ns", self.value),
            (Op::Delay, _) => write!(f, "pause for {} steps", self.value),
            (Op::SetInsert | Op::SetRemove, _) if self.value == 0 => write!(f, "{op} {object}: no change"),
            (Op::SetLast, _) if self.value == 0 => write!(f, "{op} {object}: none"),
            (_, Object::None) => f.write_str(op),
            _ => write!(f, "{op} {object}"),
        }
    }
}

struct Value(WordName, u64);

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Self(word, value) = self;
        match word {
            WordName::State => {
                let gate = if is_accepting(value as usize) {
                    "open"
                } else {
                    "closed"
                };
                write!(f, "{} in flight, {gate}", in_flight(value as usize))
            }
            WordName::Sleep => {
                let word = SleepWord::of(value as usize);
                write!(f, "{} search, {} sleep", word.searchers(), word.sleepers())?;
                f.write_str(if word.is_done() { ", done" } else { "" })
            }
            _ => write!(f, "{value}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use executor_core::{ACCEPTING_BIT, COUNT_UNIT};

    use super::*;

    #[test]
    fn words_are_read_and_not_printed_as_numbers() {
        let tells = |op, object, value| {
            let event = Event {
                step: 1,
                actor: 0,
                op,
                object,
                value,
                clock_ns: 0,
            };
            event.to_string()
        };
        let state = Object::Word(WordName::State);
        let open = (ACCEPTING_BIT + 3 * COUNT_UNIT) as u64;
        assert_eq!(tells(Op::Load, state, open), "load state word: 3 in flight, open");
        assert_eq!(
            tells(Op::Fetch, state, 0),
            "fetch state word, was 0 in flight, closed"
        );
        assert_eq!(
            tells(Op::TakeFrom, Object::Worker(2), 9),
            "steal task 9 from worker 2"
        );
        assert_eq!(tells(Op::Park, Object::None, 0), "park");
        assert_eq!(tells(Op::Inject, Object::Task(4), 4), "inject task 4");
        assert_eq!(tells(Op::Access, Object::Label("read it"), 0), "read it");
    }
}
