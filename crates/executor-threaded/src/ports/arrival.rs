//! The values of the injector, with a sample of their waiting times.
//!
//! A batch is one value, so it costs its producer one push; consumers put its rest back in front.
//! One task in 64 of each thread is *watched*: it carries its time of arrival. So does a batch that
//! contains such a task, and then one in 64 of its tasks is measured.

use crate::lock;
use std::cell::Cell;
use std::sync::{Mutex, TryLockError};
use std::vec;

use executor_core::TimeHistogram;
use executor_core::ports::Run;

const WATCHED: u32 = 64;

thread_local! {
    static UNTIL_WATCHED: Cell<u32> = const { Cell::new(0) };
}

/// A value of the injector. Rare kinds are boxed, so that a task takes little more than its size.
#[derive(Debug)]
pub(super) enum Arrival<T> {
    Task(T),
    Watched(Box<(T, u64)>),
    Batch(Box<Batch<T>>),
}

#[derive(Debug)]
pub(super) struct Batch<T> {
    tasks: vec::IntoIter<T>,
    since_ns: Option<u64>,
}

impl<T> Batch<T> {
    /// Returns the time of arrival if a moved task is watched.
    pub(super) fn take(&mut self, most: usize, run: &mut Run<T>) -> Option<u64> {
        let turns = |left: usize| left.div_ceil(WATCHED as usize);
        let before = self.tasks.len();
        run.extend(self.tasks.by_ref().take(most));
        let left = self.tasks.len();
        self.since_ns.filter(|_| turns(before) != turns(left))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks.len() == 0
    }
}

impl<T> Arrival<T> {
    #[inline]
    pub(super) fn one(task: T, now_ns: impl FnOnce() -> u64) -> Self {
        if is_turn_within(1) {
            Self::Watched(Box::new((task, now_ns())))
        } else {
            Self::Task(task)
        }
    }

    pub(super) fn batch(tasks: Vec<T>, now_ns: impl FnOnce() -> u64) -> Self {
        let count = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
        Self::Batch(Box::new(Batch {
            tasks: tasks.into_iter(),
            since_ns: is_turn_within(count).then(now_ns),
        }))
    }
}

#[derive(Debug, Default)]
pub(super) struct Waits(Mutex<TimeHistogram>);

impl Waits {
    /// Adds a time, or drops it if another thread holds the lock.
    #[cold]
    pub(super) fn add(&self, ns: u64) {
        match self.0.try_lock() {
            Ok(mut waits) => waits.add_ns(ns),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().add_ns(ns),
            Err(TryLockError::WouldBlock) => {}
        }
    }

    pub(super) fn histogram(&self) -> TimeHistogram {
        lock(&self.0).clone()
    }
}

/// Whether one of this thread's next `tasks` pushes is watched.
#[inline]
fn is_turn_within(tasks: u32) -> bool {
    let until = UNTIL_WATCHED.get().checked_sub(tasks);
    UNTIL_WATCHED.set(until.unwrap_or(WATCHED - 1));
    until.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_threads_tasks_the_first_and_then_each_nth_are_watched() {
        let watched =
            |n: &u32| matches!(Arrival::one(*n, || 7), Arrival::Watched(arrival) if *arrival == (*n, 7));
        let thread = std::thread::spawn(move || (0..200).filter(watched).collect::<Vec<_>>());
        assert_eq!(thread.join().expect("nothing panics"), [0, 64, 128, 192]);
    }

    #[test]
    fn a_batch_is_watched_if_the_turn_comes_within_it() {
        let watched = |count: usize| match Arrival::batch(vec![(); count], || 7) {
            Arrival::Batch(batch) => batch.since_ns,
            Arrival::Task(()) | Arrival::Watched(_) => unreachable!("a batch is a batch"),
        };
        let thread = std::thread::spawn(move || [watched(1), watched(63), watched(1), watched(1_000)]);
        let expected = [Some(7), None, Some(7), Some(7)];
        assert_eq!(thread.join().expect("nothing panics"), expected);
    }

    #[test]
    fn of_a_batch_each_nth_task_is_watched() {
        let mut batch = Batch {
            tasks: (0..640).collect::<Vec<u32>>().into_iter(),
            since_ns: Some(7),
        };
        let mut next = 0;
        let mut watched = 0;
        while !batch.is_empty() {
            let mut run = Run::new();
            let since_ns = batch.take(30, &mut run);
            assert!((1..=30).contains(&run.len()));
            for task in run {
                assert_eq!(task, next);
                next += 1;
            }
            watched += since_ns.iter().count();
        }
        assert_eq!((next, watched), (640, 10));
    }

    #[test]
    fn a_task_on_its_own_takes_a_word_more_than_its_size_at_most() {
        assert_eq!(size_of::<Arrival<u64>>(), 16);
        assert_eq!(size_of::<Arrival<[u64; 2]>>(), 24);
    }
}
