//! One party's log. It leaves out what the next event implies.

use std::cell::{Cell, RefCell};

use crate::event::{EXTRA_MAX, Event, Kind, TaskId};
use sim::WordName;

use crate::word::Stamped;

/// The log of one party. It holds back spawned tasks, the end of a task and a push into the
/// injector, since mostly the next event includes them.
#[derive(Debug)]
pub struct Log {
    party: u32,
    words: RefCell<Vec<u64>>,
    /// Tasks that the party has spawned, and those that the log has recorded.
    numbered: Cell<u32>,
    told: Cell<u32>,
    running: Cell<bool>,
    ended: Cell<bool>,
    injected: Cell<Option<TaskId>>,
    handing_over: Cell<bool>,
    /// Length of the log at the last empty injector.
    empty_at: Cell<usize>,
    state_seen: Cell<u32>,
    sleep_seen: Cell<u32>,
    slot_seen: Cell<u32>,
}

#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) party: usize,
    pub(crate) words: Vec<u64>,
    pub(crate) tasks: u32,
}

impl Log {
    /// The log of party `party`, with touched memory for `entries` entries, so that recording does
    /// not wait for page faults.
    ///
    /// # Panics
    ///
    /// If `party` is not below [`PARTIES_MAX`](crate::PARTIES_MAX).
    #[must_use]
    pub fn new(party: usize, entries: usize) -> Self {
        assert!(
            party < crate::event::PARTIES_MAX,
            "party {party} has no room in a task's number"
        );
        let mut words = vec![u64::MAX; entries];
        words.clear();
        Self {
            party: party as u32,
            words: RefCell::new(words),
            numbered: Cell::new(0),
            told: Cell::new(0),
            running: Cell::new(false),
            ended: Cell::new(false),
            injected: Cell::new(None),
            handing_over: Cell::new(false),
            empty_at: Cell::new(usize::MAX),
            state_seen: Cell::new(0),
            sleep_seen: Cell::new(0),
            slot_seen: Cell::new(0),
        }
    }

    /// The number of the task that the party is about to spawn.
    #[inline]
    #[must_use]
    pub fn next_task(&self) -> TaskId {
        TaskId::new(self.party, self.numbered.get())
    }

    /// That task is spawned, into a recorded queue or privately.
    #[inline]
    pub fn spawned(&self) {
        self.numbered.set(self.numbered.get() + 1);
    }

    /// A task starts. If it has not been spawned, the task before it has returned it, and it begins
    /// when that one has ended.
    #[inline]
    pub fn started(&self, task: TaskId) {
        if task == self.next_task() {
            self.flush();
            self.spawned();
        }
        let untold = self.numbered.get() - self.told.get();
        if untold > EXTRA_MAX || self.running.get() && !self.ended.get() {
            self.flush();
            return self.started(task);
        }
        self.told.set(self.numbered.get());
        self.ended.set(false);
        self.running.set(true);
        self.words.borrow_mut().push(Kind::Started.of_task(task, untold));
    }

    /// The task that runs has returned.
    #[inline]
    pub fn ended(&self) {
        self.ended.set(true);
    }

    /// The running task, or a hook, has panicked.
    pub fn panicked(&self) {
        if self.running.get() && !self.ended.get() {
            self.event(Event::Panicked);
            self.running.set(false);
        }
    }

    /// Records any other event.
    pub fn event(&self, event: Event) {
        self.flush();
        event.write(&mut self.words.borrow_mut());
    }

    /// A party outside begins to hand over `tasks` tasks. Returns the first number.
    #[must_use]
    pub fn begin_hand_over(&self, tasks: u32) -> TaskId {
        let first = self.next_task();
        self.handing_over.set(true);
        self.numbered.set(self.numbered.get() + tasks);
        self.told.set(self.numbered.get());
        first
    }

    /// The party outside is done.
    #[inline]
    pub fn handed_over(&self) {
        self.handing_over.set(false);
        match self.injected.take() {
            Some(task) => {
                let entry = Kind::InjectedAndOver.of_task(task, 0);
                self.words.borrow_mut().push(entry);
            }
            None => self.event(Event::HandedOver),
        }
    }

    /// Recorded once until the next event.
    pub(crate) fn injector_empty(&self) {
        self.flush();
        let at = self.words.borrow().len();
        if self.empty_at.get() != at {
            self.words.borrow_mut().push(Kind::InjectorEmpty.plain());
            self.empty_at.set(at + 1);
        }
    }

    #[inline]
    pub(crate) fn injected(&self, task: TaskId) {
        if self.handing_over.get() {
            self.injected.set(Some(task));
        } else {
            // The start of a task does not imply this.
            self.event(Event::Injected { task });
        }
    }

    pub(crate) fn injected_batch(&self, tasks: impl ExactSizeIterator<Item = TaskId> + Clone) {
        self.flush();
        let mut words = self.words.borrow_mut();
        let Some(first) = tasks.clone().next() else {
            return;
        };
        let row = std::iter::successors(Some(first), |task| Some(task.following()));
        if tasks.len() > 2 && tasks.clone().zip(row).all(|(task, next)| task == next) {
            words.extend([Kind::InjectedInRow.of_task(first, 0), tasks.len() as u64]);
        } else {
            words.extend(tasks.map(|task| Kind::Injected.of_task(task, 0)));
        }
    }

    /// Recorded only if the word changed.
    #[inline]
    pub(crate) fn read(&self, word: WordName, read: Stamped) {
        let Some(seen) = self.seen(word) else {
            return;
        };
        if seen.get() != read.version {
            self.read_change(word, read);
        }
    }

    pub(crate) fn changed(&self, word: WordName, before: Stamped, after: usize) {
        if let Some(seen) = self.seen(word) {
            seen.set(before.version.wrapping_add(1));
        }
        if matches!(word, WordName::State | WordName::Sleep | WordName::Slot(_)) {
            self.event(Event::Changed {
                word,
                version: before.version,
                before: before.value as u32,
                after: after as u32,
            });
        }
    }

    pub(crate) fn into_written(self) -> Written {
        self.flush();
        Written {
            party: self.party as usize,
            words: self.words.take(),
            tasks: self.numbered.get(),
        }
    }

    /// The version that the party last saw; kept for the two words and its own slot.
    #[inline]
    fn seen(&self, word: WordName) -> Option<&Cell<u32>> {
        match word {
            WordName::Sleep => Some(&self.sleep_seen),
            WordName::State => Some(&self.state_seen),
            WordName::Slot(worker) if worker == self.party => Some(&self.slot_seen),
            _ => None,
        }
    }

    #[cold]
    fn read_change(&self, word: WordName, read: Stamped) {
        if let Some(seen) = self.seen(word) {
            seen.set(read.version);
        }
        self.event(Event::Read {
            word,
            version: read.version,
            value: read.value as u32,
        });
    }

    fn flush(&self) {
        let untold = self.numbered.get() - self.told.get();
        let mut words = self.words.borrow_mut();
        if untold > 0 {
            words.push(Kind::Spawned.of_number(untold));
            self.told.set(self.numbered.get());
        }
        if self.ended.take() {
            words.push(Kind::Ended.plain());
            self.running.set(false);
        }
        if let Some(task) = self.injected.take() {
            words.push(Kind::Injected.of_task(task, 0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Events;

    fn events(log: Log) -> Vec<Event> {
        Events::of(&log.into_written().words).collect()
    }

    #[test]
    fn tasks_that_stay_with_their_worker_take_a_word_each() {
        let log = Log::new(2, 8);
        let mut expected = Vec::new();
        let mut task = TaskId::new(9, 0);
        for _ in 0..3 {
            log.started(task);
            expected.push(Event::Started { task });
            task = log.next_task();
            log.spawned();
            log.ended();
            expected.extend([Event::Spawned { tasks: 1 }, Event::Ended]);
        }
        log.started(task);
        expected.push(Event::Started { task });
        assert_eq!(log.words.borrow().len(), 4);
        assert_eq!(events(log), expected);
    }

    #[test]
    fn what_was_held_back_comes_before_what_comes_next() {
        let log = Log::new(0, 8);
        let task = TaskId::new(1, 1);
        log.started(task);
        (0..300).for_each(|_| log.spawned());
        log.ended();
        log.event(Event::Parked);
        log.started(task);
        (0..300).for_each(|_| log.spawned());
        log.ended();
        log.started(task);
        let spawned = Event::Spawned { tasks: 300 };
        let started = Event::Started { task };
        assert_eq!(
            events(log),
            [
                started,
                spawned,
                Event::Ended,
                Event::Parked,
                started,
                spawned,
                Event::Ended,
                started
            ]
        );
    }

    #[test]
    fn a_returned_task_is_spawned_when_the_task_before_it_has_ended() {
        let log = Log::new(2, 8);
        let task = TaskId::new(9, 0);
        log.started(task);
        log.spawned();
        log.ended();
        let returned = log.next_task();
        log.started(returned);
        let spawned = Event::Spawned { tasks: 1 };
        assert_eq!(
            events(log),
            [
                Event::Started { task },
                spawned,
                Event::Ended,
                spawned,
                Event::Started { task: returned }
            ]
        );
    }

    #[test]
    fn a_hand_over_in_which_nothing_else_happens_is_one_word() {
        let log = Log::new(7, 8);
        let task = log.begin_hand_over(1);
        log.injected(task);
        log.handed_over();
        assert_eq!(log.words.borrow().len(), 1, "one word");
        let next = log.begin_hand_over(1);
        log.injected(next);
        log.read(WordName::Sleep, Stamped { version: 3, value: 4 });
        log.handed_over();
        assert_eq!(
            events(log),
            [
                Event::Injected { task },
                Event::HandedOver,
                Event::Injected { task: next },
                Event::Read {
                    word: WordName::Sleep,
                    version: 3,
                    value: 4
                },
                Event::HandedOver,
            ]
        );
    }

    #[test]
    fn what_a_worker_injects_is_there_before_its_spawn_has_returned() {
        let log = Log::new(0, 8);
        let task = TaskId::new(1, 1);
        log.started(task);
        let child = log.next_task();
        log.injected(child);
        log.spawned();
        log.ended();
        log.started(task);
        let started = Event::Started { task };
        let spawned = Event::Spawned { tasks: 1 };
        let injected = Event::Injected { task: child };
        assert_eq!(events(log), [started, injected, spawned, Event::Ended, started]);
    }

    #[test]
    fn what_a_party_has_seen_it_does_not_write_down_again() {
        let log = Log::new(1, 8);
        let at = |version| Stamped { version, value: 5 };
        log.read(WordName::Sleep, at(0));
        log.read(WordName::Sleep, at(2));
        log.read(WordName::Sleep, at(2));
        log.changed(WordName::Sleep, at(4), 6);
        log.read(WordName::Sleep, at(5));
        log.read(WordName::Slot(0), at(9));
        log.read(WordName::Slot(1), at(9));
        log.injector_empty();
        log.injector_empty();
        let kinds: Vec<bool> = events(log)
            .iter()
            .map(|event| matches!(event, Event::Read { .. }))
            .collect();
        assert_eq!(kinds, [true, false, true, false]);
    }

    #[test]
    fn a_panic_is_that_of_the_task_that_runs_and_counts_once() {
        let log = Log::new(1, 8);
        log.panicked();
        log.started(TaskId::new(0, 0));
        log.panicked();
        log.panicked();
        log.started(TaskId::new(0, 1));
        log.ended();
        log.panicked();
        assert_eq!(
            events(log)
                .iter()
                .filter(|&&event| event == Event::Panicked)
                .count(),
            1
        );
    }
}
