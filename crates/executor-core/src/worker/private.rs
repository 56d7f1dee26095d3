#![doc = include_str!("private/README.md")]

use std::collections::VecDeque;

use arrayvec::ArrayVec;

use crate::config::PRIVATE_TASKS_MAX;
use crate::ports::queues::Run;
use crate::words::sleep::SleepWord;

/// An empty overflow with a larger capacity is freed.
const OVERFLOW_KEPT: usize = 1 << 14;

#[derive(Debug, Hash)]
#[repr(C)] // What each push and pop reads comes first, near the ports.
pub(crate) struct PrivateTasks<T> {
    quiet: SleepWord,
    /// `quiet` for pops; no valid word after the tick of a push, so that the next pop ticks.
    quiet_for_pops: SleepWord,
    /// Buffer length up to which pushes need no tick.
    room: usize,
    pops_left: u32,
    pops_set: u32,
    /// Newest last. Fixed size and in place: one more pointer would cost a third of a short task's
    /// time.
    tasks: ArrayVec<T, PRIVATE_TASKS_MAX>,
    overflow: VecDeque<T>,
    /// The buffer's length at the last tick, corrected for tasks that came or went without a
    /// counted push or pop. It wraps around.
    base: usize,
    capacity: usize,
    /// The buffer holds only the rest of a batch from the injector.
    holds_batch: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OperationCounts {
    pub(crate) pushed: u32,
    pub(crate) popped: u32,
}

impl<T> PrivateTasks<T> {
    /// The first operation ticks.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            tasks: ArrayVec::new(),
            overflow: VecDeque::new(),
            quiet: SleepWord::NEVER,
            quiet_for_pops: SleepWord::NEVER,
            pops_left: 0,
            pops_set: 0,
            room: 0,
            base: 0,
            capacity,
            holds_batch: false,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.tasks.len() + self.overflow.len()
    }

    pub(crate) fn are_allowed(&self) -> bool {
        self.capacity > 0
    }

    /// Whether `n` pushes need no tick.
    #[inline]
    pub(crate) fn has_room(&self, n: usize, word: SleepWord) -> bool {
        let places = self.tasks.len() + n;
        // The last condition holds if the one before it does. It spares each push a comparison.
        word == self.quiet && places <= self.room && places <= PRIVATE_TASKS_MAX
    }

    #[inline]
    pub(crate) fn push(&mut self, task: T) {
        self.tasks.push(task);
    }

    /// Follows a tick.
    pub(crate) fn push_or_overflow(&mut self, task: T) {
        if self.holds_batch {
            self.overflow.push_back(task);
            self.base = self.base.wrapping_sub(1);
        } else {
            if self.tasks.len() >= self.capacity {
                self.overflow_oldest(self.tasks.len().div_ceil(2));
            }
            self.push(task);
        }
    }

    pub(crate) fn push_batch(&mut self, run: &mut Run<T>) {
        if run.is_empty() {
            return;
        }
        self.overflow_oldest(self.tasks.len());
        self.holds_batch = true;
        self.room = 0;
        self.base = self.base.wrapping_add(run.len());
        self.tasks.extend(run.drain(..).rev());
    }

    pub(crate) fn hold_a_batch(&self) -> bool {
        self.holds_batch && !self.tasks.is_empty()
    }

    /// Returns nothing if a tick is due.
    #[inline]
    pub(crate) fn pop_between_ticks(&mut self, word: SleepWord) -> Option<T> {
        if !self.count_pop(word) {
            return None;
        }
        let popped = self.tasks.pop();
        if popped.is_none() {
            self.take_back_pop();
        }
        popped
    }

    /// Counts a pop, also one that a task which runs next makes unnecessary. Returns `false` if a
    /// tick is due.
    #[inline]
    pub(crate) fn count_pop(&mut self, word: SleepWord) -> bool {
        if word != self.quiet_for_pops {
            return false;
        }
        // Counted before it is compared, so that both are one instruction.
        let (left, is_over) = self.pops_left.overflowing_sub(1);
        self.pops_left = left;
        if is_over {
            self.take_back_pop();
            return false;
        }
        true
    }

    // A call, so that the short way of a pop does not compute what it would take back.
    #[cold]
    #[inline(never)]
    fn take_back_pop(&mut self) {
        self.pops_left = self.pops_left.wrapping_add(1);
    }

    pub(crate) fn may_pop_between_ticks(&self, word: SleepWord) -> bool {
        word == self.quiet_for_pops && self.pops_left > 0
    }

    pub(crate) fn count_public_pop(&mut self) {
        self.pops_left -= 1;
        // It was not pushed here, so the counted pushes stay right.
        self.base = self.base.wrapping_add(1);
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        if self.tasks.is_empty() {
            self.holds_batch = false;
            self.refill();
        }
        let task = self.tasks.pop()?;
        self.base = self.base.wrapping_sub(1);
        Some(task)
    }

    /// Oldest first; of a batch the last tasks, in its order.
    pub(crate) fn take_oldest(&mut self, n: usize) -> impl Iterator<Item = T> {
        let from_overflow = n.min(self.overflow.len());
        let buffered = n - from_overflow;
        if self.holds_batch {
            self.tasks[..buffered].reverse();
        }
        self.base = self.base.wrapping_sub(buffered);
        self.overflow
            .drain(..from_overflow)
            .chain(self.tasks.drain(..buffered))
    }

    fn overflow_oldest(&mut self, n: usize) {
        self.base = self.base.wrapping_sub(n);
        self.overflow.extend(self.tasks.drain(..n));
        // The room is the buffer's part of what the credits cover.
        self.room = self.room.saturating_sub(n);
    }

    fn refill(&mut self) {
        let n = self.capacity.div_ceil(2).min(self.overflow.len());
        let kept = self.overflow.len() - n;
        self.tasks.extend(self.overflow.drain(kept..));
        self.base = self.base.wrapping_add(n);
        if kept == 0 && self.overflow.capacity() > OVERFLOW_KEPT {
            self.overflow = VecDeque::new();
        }
    }

    pub(crate) fn limit_room(&mut self, room: usize) {
        self.room = self.room.min(self.room_of(room));
    }

    /// The buffer's part of `room` for all tasks.
    fn room_of(&self, room: usize) -> usize {
        room.saturating_sub(self.overflow.len()).min(self.capacity)
    }

    pub(crate) fn take_counts(&mut self) -> OperationCounts {
        let popped = self.pops_set - self.pops_left;
        let pushed = (self.tasks.len() + popped as usize).wrapping_sub(self.base);
        self.pops_set = self.pops_left;
        self.base = self.tasks.len();
        OperationCounts {
            pushed: u32::try_from(pushed).unwrap_or(u32::MAX),
            popped,
        }
    }

    /// Ends a tick. If not `popping`, the next pop ticks and keeps its old countdown.
    pub(crate) fn set_countdowns(&mut self, quiet: SleepWord, popping: bool, pops: u32, room: usize) {
        self.quiet = quiet;
        self.room = if self.holds_batch { 0 } else { self.room_of(room) };
        self.quiet_for_pops = if popping { quiet } else { SleepWord::NEVER };
        if popping {
            self.pops_left = pops;
            self.pops_set = pops;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: SleepWord = SleepWord::ALL_BUSY;

    fn resting(capacity: usize, pops: u32, room: usize) -> PrivateTasks<u32> {
        let mut tasks = PrivateTasks::new(capacity);
        tasks.set_countdowns(QUIET, true, pops, room);
        tasks
    }

    #[test]
    fn the_newest_comes_first_and_the_oldest_go_public() {
        let mut tasks = resting(8, 9, 8);
        (0..6).for_each(|task| tasks.push(task));
        assert_eq!(tasks.pop_between_ticks(QUIET), Some(5));
        tasks.take_counts();
        assert_eq!(tasks.take_oldest(2).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(tasks.pop(), Some(4));
        assert_eq!(tasks.len(), 2);
    }

    #[test]
    fn what_does_not_fit_comes_back_from_the_reserve_newest_first() {
        let mut tasks = resting(4, 9, 4);
        (0..100_000).for_each(|task| tasks.push_or_overflow(task));
        assert_eq!(tasks.len(), 100_000);
        assert_eq!(tasks.take_counts().pushed, 100_000);
        assert_eq!(tasks.take_oldest(3).collect::<Vec<_>>(), [0, 1, 2]);
        let rest: Vec<u32> = std::iter::from_fn(|| tasks.pop()).collect();
        assert_eq!(rest, (3..100_000).rev().collect::<Vec<_>>());
        assert_eq!(
            tasks.take_counts(),
            OperationCounts::default(),
            "none of that needs to be counted here"
        );
        assert!(tasks.overflow.capacity() <= OVERFLOW_KEPT);
    }

    #[test]
    fn nothing_goes_into_reserve_before_the_buffer_is_full_and_then_the_older_half_does() {
        let mut tasks = resting(4, 9, 4);
        (0..4).for_each(|task| tasks.push_or_overflow(task));
        assert_eq!((tasks.tasks.len(), tasks.overflow.len()), (4, 0));
        tasks.push_or_overflow(4);
        assert_eq!(tasks.overflow, [0, 1]);
        assert_eq!(tasks.tasks[..], [2, 3, 4]);
    }

    #[test]
    fn an_empty_reserve_keeps_its_memory_unless_that_is_unusually_much() {
        for (places, kept) in [(100, true), (OVERFLOW_KEPT, true), (OVERFLOW_KEPT + 1, false)] {
            let mut tasks = resting(4, 9, 4);
            tasks.overflow.reserve_exact(places);
            (0..20).for_each(|task| tasks.push_or_overflow(task));
            while tasks.pop().is_some() {}
            assert_eq!(tasks.overflow.capacity() >= places, kept, "{places}");
        }
    }

    #[test]
    fn a_run_comes_first_in_its_order_and_what_is_spawned_meanwhile_after_it() {
        let mut tasks = resting(8, 9, 8);
        (0..3).for_each(|task| tasks.push(task));
        tasks.push_batch(&mut (10..13).collect());
        assert!(tasks.hold_a_batch() && !tasks.has_room(1, QUIET));
        assert_eq!(tasks.pop(), Some(10));
        tasks.push_or_overflow(20);
        tasks.push_or_overflow(21);
        assert_eq!(tasks.take_counts(), OperationCounts { pushed: 5, popped: 0 });
        let rest: Vec<u32> = std::iter::from_fn(|| tasks.pop()).collect();
        assert_eq!(rest, [11, 12, 21, 20, 2, 1, 0]);
        assert!(!tasks.hold_a_batch());
    }

    #[test]
    fn the_rest_of_a_run_goes_back_in_its_order() {
        let mut tasks = resting(8, 9, 8);
        tasks.push(0);
        tasks.push_batch(&mut (10..15).collect());
        assert_eq!(tasks.take_oldest(3).collect::<Vec<_>>(), [0, 13, 14]);
        let rest: Vec<u32> = std::iter::from_fn(|| tasks.pop()).collect();
        assert_eq!(rest, [10, 11, 12]);
    }

    #[test]
    fn each_countdown_asks_for_a_look() {
        let mut tasks = resting(8, 2, 3);
        for task in 0..3 {
            assert!(tasks.has_room(1, QUIET));
            tasks.push(task);
        }
        assert!(!tasks.has_room(1, QUIET), "three is all the room there is");
        assert!(!tasks.has_room(1, SleepWord::NEVER));
        assert_eq!(
            tasks.pop_between_ticks(SleepWord::NEVER),
            None,
            "the word has changed"
        );
        assert_eq!(tasks.pop_between_ticks(QUIET), Some(2));
        assert_eq!(tasks.pop_between_ticks(QUIET), Some(1));
        assert_eq!(tasks.pop_between_ticks(QUIET), None, "two pops were free");
        assert_eq!(tasks.take_counts(), OperationCounts { pushed: 3, popped: 2 });
    }

    #[test]
    fn tasks_from_the_public_queue_count_as_pops_and_not_as_pushed() {
        let mut tasks = resting(8, 2, 8);
        tasks.push(1);
        assert!(tasks.may_pop_between_ticks(QUIET) && !tasks.may_pop_between_ticks(SleepWord::NEVER));
        tasks.count_public_pop();
        tasks.count_public_pop();
        assert!(!tasks.may_pop_between_ticks(QUIET), "two pops were free");
        assert_eq!(tasks.take_counts(), OperationCounts { pushed: 1, popped: 2 });
    }

    #[test]
    fn there_is_room_for_as_many_as_fit_below_the_next_tick() {
        let mut tasks = resting(8, 9, 3);
        tasks.push(0);
        assert!(tasks.has_room(2, QUIET) && !tasks.has_room(3, QUIET));
        let full = resting(PRIVATE_TASKS_MAX, 9, usize::MAX);
        assert!(full.has_room(PRIVATE_TASKS_MAX, QUIET));
        assert!(!full.has_room(PRIVATE_TASKS_MAX + 1, QUIET));
    }

    #[test]
    fn after_a_look_for_a_push_the_next_pop_looks_too() {
        let mut tasks = resting(8, 5, 3);
        tasks.push(1);
        tasks.set_countdowns(QUIET, false, 9, 8);
        assert!(tasks.has_room(1, QUIET));
        assert_eq!(tasks.pop_between_ticks(QUIET), None);
    }

    #[test]
    fn operations_are_counted_from_look_to_look() {
        let mut tasks = resting(8, 10, 8);
        (0..5).for_each(|task| tasks.push(task));
        tasks.pop_between_ticks(QUIET);
        tasks.pop_between_ticks(QUIET);
        assert_eq!(tasks.take_counts(), OperationCounts { pushed: 5, popped: 2 });
        assert_eq!(tasks.take_counts(), OperationCounts::default());
        drop(tasks.take_oldest(2));
        tasks.pop();
        tasks.push(9);
        assert_eq!(
            tasks.take_counts(),
            OperationCounts { pushed: 1, popped: 0 },
            "those three are counted elsewhere"
        );
    }
}
