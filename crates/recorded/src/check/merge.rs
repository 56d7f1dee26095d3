//! The order: which actor's event may come next.
//!
//! Each actor continues until its next event must wait for another's. After a round without
//! progress the remaining events have no order.

use std::collections::HashMap;
use std::iter::Peekable;

use sim::judge::Violation;
use sim::{Oracle, WordName};

use super::course::Course;
use super::{Checked, Rejection};
use crate::event::{Event, Events};
use crate::record::Record;

pub(super) struct Merge<'a> {
    cursors: Vec<Cursor<'a>>,
    words: Words,
    course: Course,
}

struct Cursor<'a> {
    events: Peekable<Events<'a>>,
    placed: u64,
}

enum Turn {
    Now,
    Waits(Wait),
}

pub(super) enum Wait {
    Word {
        name: WordName,
        version: u32,
        now: u32,
    },
    /// A place of the task from which this actor could take it, after this many moves.
    Task {
        task: u64,
        moves: u8,
        is: String,
    },
}

impl<'a> Merge<'a> {
    pub(super) fn new(record: &'a Record, keep: bool) -> Self {
        let cursors = (0..record.parties()).map(|actor| Cursor {
            events: record.events(actor).peekable(),
            placed: 0,
        });
        Self {
            cursors: cursors.collect(),
            words: Words::default(),
            course: Course::new(record, keep),
        }
    }

    pub(super) fn run(mut self) -> Result<Checked, Box<Rejection>> {
        match self.place_all() {
            Ok(()) => {
                let changes = self.words.changes();
                Ok(self.course.into_checked(changes))
            }
            Err(mut rejection) => {
                self.course.show(&mut rejection);
                Err(rejection)
            }
        }
    }

    fn place_all(&mut self) -> Result<(), Box<Rejection>> {
        loop {
            let mut moved = false;
            for actor in 0..self.cursors.len() {
                moved |= self.go_on(actor)?;
            }
            if !moved {
                break;
            }
        }
        self.give_up()?;
        if let Some(stuck) =
            (0..self.cursors.len()).find(|&actor| self.cursors[actor].events.peek().is_some())
        {
            return Err(self.no_order(stuck));
        }
        let last = self.cursors.len() - 1;
        let at_end = |violation| Box::new(Rejection::new(violation, last, self.cursors[last].placed));
        self.words.complete().map_err(at_end)?;
        self.course.end(self.words.now(WordName::State)).map_err(at_end)
    }

    /// A violation, if the run was ended by force.
    fn give_up(&mut self) -> Result<(), Box<Rejection>> {
        for actor in 0..self.cursors.len() {
            if self.cursors[actor].events.peek() == Some(&Event::GaveUp) {
                let placed = self.cursors[actor].placed;
                let rejected = |violation| Box::new(Rejection::new(violation, actor, placed));
                self.course.place(actor, Event::GaveUp).map_err(rejected)?;
            }
        }
        Ok(())
    }

    /// Returns whether it placed any event.
    fn go_on(&mut self, actor: usize) -> Result<bool, Box<Rejection>> {
        let before = self.cursors[actor].placed;
        while let Some(&event) = self.cursors[actor].events.peek() {
            let placed = self.cursors[actor].placed;
            let rejected = |violation| Box::new(Rejection::new(violation, actor, placed));
            if event == Event::GaveUp {
                // Its cause comes first, if that is visible.
                break;
            }
            match self.turn(actor, event).map_err(rejected)? {
                Turn::Now => {}
                Turn::Waits(_) => break,
            }
            self.words.place(event);
            self.course.place(actor, event).map_err(rejected)?;
            self.cursors[actor].events.next();
            self.cursors[actor].placed += 1;
        }
        Ok(self.cursors[actor].placed > before)
    }

    fn turn(&self, actor: usize, event: Event) -> Result<Turn, Violation> {
        let waits = match event {
            Event::Changed {
                word,
                version,
                before,
                ..
            } => self.words.to_change(word, version, before)?,
            Event::Read { word, version, value } => self.words.to_read(word, version, value)?,
            Event::Started { task }
            | Event::Returned { task }
            | Event::Stole { task, .. }
            | Event::TookInjected { task, .. }
            | Event::OfRun { task } => self.course.to_take(actor, task)?,
            _ => None,
        };
        Ok(waits.map_or(Turn::Now, Turn::Waits))
    }

    fn no_order(&mut self, stuck: usize) -> Box<Rejection> {
        let mut message = "no order explains what is left:".to_owned();
        for actor in 0..self.cursors.len() {
            let Some(&event) = self.cursors[actor].events.peek() else {
                continue;
            };
            let placed = self.cursors[actor].placed;
            let waits = match self.turn(actor, event) {
                Ok(Turn::Waits(Wait::Word { name, version, now })) => {
                    format!("expects {version} changes of the {name} before it, and there are {now}")
                }
                Ok(Turn::Waits(Wait::Task { task, moves, is })) => {
                    format!("expects task {task} after {moves} moves, and it is {is}")
                }
                Ok(Turn::Now) | Err(_) => "could go on".to_owned(),
            };
            let name = self.course.name(actor);
            message.push_str(&format!("\n  {name}, event {placed}, {event:?}: {waits}"));
        }
        let violation = Violation::new(Oracle::Record, message);
        Box::new(Rejection::new(violation, stuck, self.cursors[stuck].placed))
    }
}

#[derive(Default)]
struct Words {
    state: ModificationOrder,
    sleep: ModificationOrder,
    slots: HashMap<u32, ModificationOrder>,
}

/// The values of one word after its changes, in order.
#[derive(Default)]
struct ModificationOrder(Vec<u32>);

impl Words {
    fn to_change(&self, word: WordName, version: u32, before: u32) -> Result<Option<Wait>, Violation> {
        let now = self.version(word);
        if version < now {
            return Err(violation(format!(
                "change number {version} of the {word} was made twice; number {now} is next"
            )));
        }
        let value = self.now(word);
        if version == now && before != value {
            return Err(violation(format!(
                "change number {version} of the {word} was made to {before}, but it was {value}"
            )));
        }
        Ok((version > now).then_some(Wait::Word {
            name: word,
            version,
            now,
        }))
    }

    fn to_read(&self, word: WordName, version: u32, value: u32) -> Result<Option<Wait>, Violation> {
        let now = self.version(word);
        if version > now {
            return Ok(Some(Wait::Word {
                name: word,
                version,
                now,
            }));
        }
        match self.at(word, version) {
            was if was == value => Ok(None),
            was => Err(violation(format!(
                "{value} was read of the {word} after {version} changes, but it was {was}"
            ))),
        }
    }

    fn place(&mut self, event: Event) {
        if let Event::Changed { word, after, .. } = event {
            let order = match word {
                WordName::State => &mut self.state,
                WordName::Sleep => &mut self.sleep,
                WordName::Slot(worker) => self.slots.entry(worker).or_default(),
                WordName::Stamps | WordName::Waiters | WordName::Other(_) => return,
            };
            order.0.push(after);
        }
    }

    fn version(&self, word: WordName) -> u32 {
        self.modification_order(word)
            .map_or(0, |order| order.0.len() as u32)
    }

    fn now(&self, word: WordName) -> u32 {
        self.at(word, self.version(word))
    }

    /// The value after `version` changes, which must have happened.
    fn at(&self, word: WordName, version: u32) -> u32 {
        let last = (version as usize).checked_sub(1);
        last.and_then(|last| self.modification_order(word)?.0.get(last).copied())
            .unwrap_or(match word {
                WordName::State => executor_core::ACCEPTING_BIT as u32,
                _ => 0,
            })
    }

    fn modification_order(&self, word: WordName) -> Option<&ModificationOrder> {
        match word {
            WordName::State => Some(&self.state),
            WordName::Sleep => Some(&self.sleep),
            WordName::Slot(worker) => self.slots.get(&worker),
            WordName::Stamps | WordName::Waiters | WordName::Other(_) => None,
        }
    }

    fn changes(&self) -> u64 {
        let slots = self.slots.values().map(|order| order.0.len());
        (self.state.0.len() + self.sleep.0.len() + slots.sum::<usize>()) as u64
    }

    /// At the end: a run that ended has closed its gate and set DONE.
    fn complete(&self) -> Result<(), Violation> {
        if executor_core::sleep::SleepWord::of(self.now(WordName::Sleep) as usize).is_done() {
            return Ok(());
        }
        Err(violation("the record ends before the executor does".to_owned()))
    }
}

fn violation(message: String) -> Violation {
    Violation::new(Oracle::Record, message)
}
