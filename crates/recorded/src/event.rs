//! The events of a recorded run and their encoding in a few bits.
//!
//! ```text
//!   63      57                           13          5       0
//!  ┌─────────┬────────────────────────────┬───────────┬───────┐
//!  │ moves   │ task: party 12, number 32  │ extra, 8  │ kind  │   one word; some kinds have a second one
//!  └─────────┴────────────────────────────┴───────────┴───────┘
//! ```
//!
//! The commonest event is the start of a task. It implies the end of the task before, and its extra
//! bits count the tasks that its worker has spawned since the last event; so a task that stays on
//! its worker takes one word.

use std::fmt;

use sim::WordName;

use crate::word::{code, of_code};

const PARTY_BITS: u32 = 12;

/// The most parties that a record can have.
pub const PARTIES_MAX: usize = 1 << PARTY_BITS;

const EXTRA_SHIFT: u32 = 5;
const TASK_SHIFT: u32 = 13;
const KIND_MASK: u64 = (1 << EXTRA_SHIFT) - 1;
pub(crate) const EXTRA_MAX: u32 = 0xff;

const NUMBER_BITS: u32 = 32;
const MOVES_SHIFT: u32 = NUMBER_BITS + PARTY_BITS;
/// Bits above the task.
const MOVES_BITS: u32 = u64::BITS - TASK_SHIFT - MOVES_SHIFT;
const MOVES_MASK: u64 = (1 << MOVES_BITS) - 1;
/// Position of a word's code, in place of the party.
const WORD_SHIFT: u32 = TASK_SHIFT + NUMBER_BITS;

/// A task's number: its spawning party, a number within that party, and how often the task was put
/// into a queue since, which orders two parties that took it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TaskId(u64);

impl TaskId {
    /// The `number`th task of `party`, from 0.
    #[must_use]
    #[inline]
    pub fn new(party: u32, number: u32) -> Self {
        Self(u64::from(party) << NUMBER_BITS | u64::from(number))
    }

    /// The same task, put into a queue once more.
    #[must_use]
    #[inline]
    pub fn moved(self) -> Self {
        let moves = (u64::from(self.moves()) + 1) & MOVES_MASK;
        Self(self.0 & !(MOVES_MASK << MOVES_SHIFT) | moves << MOVES_SHIFT)
    }

    /// How often it was put into a queue, modulo 128.
    #[must_use]
    #[inline]
    pub fn moves(self) -> u8 {
        (self.0 >> MOVES_SHIFT) as u8
    }

    /// The party's next task.
    #[must_use]
    pub fn following(self) -> Self {
        let numbers = u64::from(u32::MAX);
        Self(self.0 & !numbers | (self.0 + 1) & numbers)
    }

    /// The party that spawned it.
    #[must_use]
    pub fn party(self) -> usize {
        (self.0 >> NUMBER_BITS) as usize & (PARTIES_MAX - 1)
    }

    /// How many tasks the party had spawned before.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0 as u32
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{} moved {} times",
            self.party(),
            self.number(),
            self.moves()
        )
    }
}

/// One event of a party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Calls of `spawn` have returned, for the next tasks of this worker by number.
    Spawned {
        /// The number of calls.
        tasks: u32,
    },
    /// The worker starts a task.
    Started {
        /// The task.
        task: TaskId,
    },
    /// The task that runs has returned.
    Ended,
    /// The task that runs has panicked.
    Panicked,
    /// The worker has taken a task during an abort and returns it.
    Returned {
        /// The task.
        task: TaskId,
    },
    /// A task goes into the worker's own queue.
    Pushed {
        /// The task.
        task: TaskId,
    },
    /// A task goes into the injector.
    Injected {
        /// The task.
        task: TaskId,
    },
    /// A worker takes a run from the injector; [`Event::OfRun`] names the tasks after the first.
    TookInjected {
        /// The first task.
        task: TaskId,
        /// The number of the others.
        more: u32,
    },
    /// A task that was taken behind the first of a run.
    OfRun {
        /// The task.
        task: TaskId,
    },
    /// A worker found the injector empty.
    InjectorEmpty,
    /// A worker has stolen a task, and perhaps others into its own queue.
    Stole {
        /// The task that it runs.
        task: TaskId,
        /// The worker that it was stolen from.
        victim: u32,
    },
    /// A worker parks.
    Parked,
    /// A worker returns from parking.
    Awoke,
    /// A party unparks a worker.
    Unparked {
        /// The worker.
        worker: u32,
    },
    /// A worker leaves.
    Left,
    /// A word was changed.
    Changed {
        /// The word.
        word: WordName,
        /// The number of changes before.
        version: u32,
        /// Its value before.
        before: u32,
        /// Its value after.
        after: u32,
    },
    /// A word was read and differed from what this party saw last.
    Read {
        /// The word.
        word: WordName,
        /// The number of changes before.
        version: u32,
        /// The value.
        value: u32,
    },
    /// A party outside has handed over its accepted tasks and done its wakes.
    HandedOver,
    /// A party outside was rejected, for its next tasks by number.
    Refused {
        /// The number of tasks.
        tasks: u32,
    },
    /// A party outside waited until nothing was in flight.
    Idle,
    /// A party outside has waited too long and ends the run by force.
    GaveUp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Kind {
    Started,
    Spawned,
    Ended,
    Panicked,
    Returned,
    Pushed,
    Injected,
    InjectedInRow,
    InjectedAndOver,
    TookInjected,
    OfRun,
    InjectorEmpty,
    Stole,
    Parked,
    Awoke,
    Unparked,
    Left,
    Changed,
    Read,
    HandedOver,
    Refused,
    Idle,
    GaveUp,
}

impl Kind {
    const ALL: [Self; 23] = [
        Self::Started,
        Self::Spawned,
        Self::Ended,
        Self::Panicked,
        Self::Returned,
        Self::Pushed,
        Self::Injected,
        Self::InjectedInRow,
        Self::InjectedAndOver,
        Self::TookInjected,
        Self::OfRun,
        Self::InjectorEmpty,
        Self::Stole,
        Self::Parked,
        Self::Awoke,
        Self::Unparked,
        Self::Left,
        Self::Changed,
        Self::Read,
        Self::HandedOver,
        Self::Refused,
        Self::Idle,
        Self::GaveUp,
    ];

    #[inline]
    pub(crate) fn plain(self) -> u64 {
        self as u64
    }

    #[inline]
    pub(crate) fn of_number(self, number: u32) -> u64 {
        self as u64 | u64::from(number) << TASK_SHIFT
    }

    #[inline]
    pub(crate) fn of_task(self, task: TaskId, extra: u32) -> u64 {
        debug_assert!(extra <= EXTRA_MAX, "it has eight bits");
        self as u64 | u64::from(extra) << EXTRA_SHIFT | task.0 << TASK_SHIFT
    }

    /// The word's code stands in place of the party, its version in place of the number.
    #[inline]
    pub(crate) fn of_word(self, word: WordName, version: u32) -> u64 {
        // A slot's code may be larger than a party; there is room above.
        self as u64 | u64::from(code(word)) << WORD_SHIFT | u64::from(version) << TASK_SHIFT
    }
}

/// Decodes the words of a log.
#[derive(Clone, Debug)]
pub struct Events<'a> {
    words: std::slice::Iter<'a, u64>,
    running: bool,
    /// What the last word still implies.
    rest: Rest,
}

#[derive(Clone, Copy, Debug)]
enum Rest {
    Nothing,
    End { then: TaskId },
    Start(TaskId),
    Injected { next: TaskId, left: u32 },
    HandedOver,
}

impl<'a> Events<'a> {
    pub(crate) fn of(words: &'a [u64]) -> Self {
        Self {
            words: words.iter(),
            running: false,
            rest: Rest::Nothing,
        }
    }

    fn start(&mut self, task: TaskId) -> Event {
        if self.running {
            self.running = false;
            self.rest = Rest::Start(task);
            Event::Ended
        } else {
            self.running = true;
            self.rest = Rest::Nothing;
            Event::Started { task }
        }
    }

    fn second(&mut self) -> Option<u64> {
        self.words.next().copied()
    }
}

impl Iterator for Events<'_> {
    type Item = Event;

    /// A truncated log ends here.
    #[inline]
    fn next(&mut self) -> Option<Event> {
        match self.rest {
            Rest::Nothing => {}
            Rest::End { then } | Rest::Start(then) => return Some(self.start(then)),
            Rest::Injected { next, left } => {
                self.rest = match left - 1 {
                    0 => Rest::Nothing,
                    left => Rest::Injected {
                        next: next.following(),
                        left,
                    },
                };
                return Some(Event::Injected { task: next });
            }
            Rest::HandedOver => {
                self.rest = Rest::Nothing;
                return Some(Event::HandedOver);
            }
        }
        let first = *self.words.next()?;
        let kind = *Kind::ALL.get((first & KIND_MASK) as usize)?;
        let extra = (first >> EXTRA_SHIFT) as u32 & EXTRA_MAX;
        let task = TaskId(first >> TASK_SHIFT);
        let number = task.number();
        let word = of_code((first >> WORD_SHIFT) as u32);
        Some(match kind {
            Kind::Started if extra > 0 => {
                self.rest = Rest::End { then: task };
                Event::Spawned { tasks: extra }
            }
            Kind::Started => self.start(task),
            Kind::Spawned => Event::Spawned { tasks: number },
            Kind::Ended => {
                self.running = false;
                Event::Ended
            }
            Kind::Panicked => {
                self.running = false;
                Event::Panicked
            }
            Kind::Returned => Event::Returned { task },
            Kind::Pushed => Event::Pushed { task },
            Kind::Injected => Event::Injected { task },
            Kind::InjectedAndOver => {
                self.rest = Rest::HandedOver;
                Event::Injected { task }
            }
            Kind::InjectedInRow => {
                let left = u32::try_from(self.second()?).ok()?;
                self.rest = Rest::Injected { next: task, left };
                return self.next();
            }
            Kind::TookInjected => Event::TookInjected { task, more: extra },
            Kind::OfRun => Event::OfRun { task },
            Kind::InjectorEmpty => Event::InjectorEmpty,
            Kind::Stole => Event::Stole {
                task,
                victim: self.second()? as u32,
            },
            Kind::Parked => Event::Parked,
            Kind::Awoke => Event::Awoke,
            Kind::Unparked => Event::Unparked { worker: number },
            Kind::Left => Event::Left,
            Kind::Changed => {
                let values = self.second()?;
                Event::Changed {
                    word,
                    version: number,
                    before: (values >> 32) as u32,
                    after: values as u32,
                }
            }
            Kind::Read => Event::Read {
                word,
                version: number,
                value: self.second()? as u32,
            },
            Kind::HandedOver => Event::HandedOver,
            Kind::Refused => Event::Refused { tasks: number },
            Kind::Idle => Event::Idle,
            Kind::GaveUp => Event::GaveUp,
        })
    }
}

impl Event {
    /// Writes the event in full, with nothing implied.
    pub(crate) fn write(self, words: &mut Vec<u64>) {
        match self {
            Self::Spawned { tasks } => words.push(Kind::Spawned.of_number(tasks)),
            Self::Started { task } => words.push(Kind::Started.of_task(task, 0)),
            Self::Ended => words.push(Kind::Ended.plain()),
            Self::Panicked => words.push(Kind::Panicked.plain()),
            Self::Returned { task } => words.push(Kind::Returned.of_task(task, 0)),
            Self::Pushed { task } => words.push(Kind::Pushed.of_task(task, 0)),
            Self::Injected { task } => words.push(Kind::Injected.of_task(task, 0)),
            Self::TookInjected { task, more } => words.push(Kind::TookInjected.of_task(task, more)),
            Self::OfRun { task } => words.push(Kind::OfRun.of_task(task, 0)),
            Self::InjectorEmpty => words.push(Kind::InjectorEmpty.plain()),
            Self::Stole { task, victim } => {
                words.extend([Kind::Stole.of_task(task, 0), u64::from(victim)]);
            }
            Self::Parked => words.push(Kind::Parked.plain()),
            Self::Awoke => words.push(Kind::Awoke.plain()),
            Self::Unparked { worker } => words.push(Kind::Unparked.of_number(worker)),
            Self::Left => words.push(Kind::Left.plain()),
            Self::Changed {
                word,
                version,
                before,
                after,
            } => words.extend([
                Kind::Changed.of_word(word, version),
                u64::from(before) << 32 | u64::from(after),
            ]),
            Self::Read { word, version, value } => {
                words.extend([Kind::Read.of_word(word, version), u64::from(value)])
            }
            Self::HandedOver => words.push(Kind::HandedOver.plain()),
            Self::Refused { tasks } => words.push(Kind::Refused.of_number(tasks)),
            Self::Idle => words.push(Kind::Idle.plain()),
            Self::GaveUp => words.push(Kind::GaveUp.plain()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_at_its_place() {
        for (place, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind.plain(), place as u64);
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let task = TaskId::new(4_095, u32::MAX);
        let written = [
            Event::Spawned { tasks: 70_000 },
            Event::Started { task },
            Event::Ended,
            Event::Panicked,
            Event::Returned { task },
            Event::Pushed { task },
            Event::Injected { task },
            Event::TookInjected { task, more: 31 },
            Event::OfRun { task },
            Event::InjectorEmpty,
            Event::Stole { task, victim: 32_767 },
            Event::Parked,
            Event::Awoke,
            Event::Unparked { worker: 32_767 },
            Event::Left,
            Event::Changed {
                word: WordName::Slot(32_767),
                version: u32::MAX,
                before: u32::MAX,
                after: 7,
            },
            Event::Read {
                word: WordName::State,
                version: 9,
                value: u32::MAX,
            },
            Event::HandedOver,
            Event::Refused { tasks: 3 },
            Event::Idle,
            Event::GaveUp,
        ];
        let mut words = Vec::new();
        written.iter().for_each(|event| event.write(&mut words));
        assert_eq!(Events::of(&words).collect::<Vec<_>>(), written);
    }

    #[test]
    fn a_task_that_is_moved_is_the_same_task() {
        let task = TaskId::new(4_095, u32::MAX);
        let moved = (0..130).fold(task, |task, _| task.moved());
        assert_eq!(
            (moved.party(), moved.number(), moved.moves()),
            (4_095, u32::MAX, 2)
        );
        assert_eq!(moved.following().moves(), 2);
        let mut words = Vec::new();
        Event::Started { task: moved }.write(&mut words);
        assert_eq!(Events::of(&words).next(), Some(Event::Started { task: moved }));
    }

    #[test]
    fn a_start_stands_for_what_was_spawned_and_for_the_end_before_it() {
        let [a, b] = [0, 1].map(|number| TaskId::new(3, number));
        let words = [Kind::Started.of_task(a, 0), Kind::Started.of_task(b, 2)];
        assert_eq!(
            Events::of(&words).collect::<Vec<_>>(),
            [
                Event::Started { task: a },
                Event::Spawned { tasks: 2 },
                Event::Ended,
                Event::Started { task: b },
            ]
        );
    }

    #[test]
    fn a_batch_is_its_tasks_in_a_row() {
        let first = TaskId::new(9, 5);
        let words = [Kind::InjectedInRow.of_task(first, 0), 3, Kind::HandedOver.plain()];
        let numbers: Vec<_> = Events::of(&words)
            .map(|event| match event {
                Event::Injected { task } => task.number(),
                _ => 0,
            })
            .collect();
        assert_eq!(numbers, [5, 6, 7, 0]);
    }
}
