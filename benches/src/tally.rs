//! Where results go: each thread adds to a slot of its own, and whoever asks adds the slots up.
//!
//! All contenders that do not return their result use it alike, so none pays for a shared counter that another is spared.
//! An addition is a load and a store of the thread's own cache line.

use std::cell::OnceCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossbeam::utils::CachePadded;

thread_local! {
    static HERE: OnceCell<Arc<Slot>> = const { OnceCell::new() };
}

/// How long a waiting caller sleeps between two looks. Short beside the work that is waited for, and long enough to leave
/// the cores to those who do it.
const LOOK_AGAIN: Duration = Duration::from_micros(50);

/// The results of one pool's threads.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    slots: Mutex<Vec<Arc<Slot>>>,
}

/// The results of one thread, which alone writes it.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    result: CachePadded<Result>,
}

#[derive(Debug, Default)]
struct Result {
    sum: AtomicU64,
    tasks: AtomicU64,
}

impl Tally {
    /// A slot for one more thread.
    pub(crate) fn slot(&self) -> Arc<Slot> {
        let slot = Arc::default();
        self.slots
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Arc::clone(&slot));
        slot
    }

    /// Gives the current thread a slot that [`add_here`] finds.
    pub(crate) fn enter(&self) {
        let fresh = HERE.with(|here| here.set(self.slot()));
        assert!(fresh.is_ok(), "a thread belongs to one pool");
    }

    fn totals(&self) -> (u64, u64) {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.iter().fold((0, 0), |(sum, tasks), slot| {
            // Acquire: pairs with the Release in `Slot::add_task`, so that a task that is counted has its result in.
            let done = slot.result.tasks.load(Ordering::Acquire);
            let result = slot.result.sum.load(Ordering::Relaxed);
            (u64::wrapping_add(sum, result), tasks + done)
        })
    }
}

impl Slot {
    /// Adds a result.
    #[inline]
    pub(crate) fn add(&self, result: u64) {
        let Result { sum, .. } = &*self.result;
        sum.store(
            sum.load(Ordering::Relaxed).wrapping_add(result),
            Ordering::Relaxed,
        );
    }

    /// Adds a result, and counts the task for [`Meter::wait`].
    #[inline]
    pub(crate) fn add_task(&self, result: u64) {
        self.add(result);
        let Result { tasks, .. } = &*self.result;
        tasks.store(tasks.load(Ordering::Relaxed) + 1, Ordering::Release);
    }
}

/// Adds a result to the current thread's slot.
#[inline]
pub(crate) fn add_here(result: u64) {
    with_slot(|slot| slot.add(result));
}

/// Adds a result to the current thread's slot, and counts the task.
#[inline]
pub(crate) fn add_task_here(result: u64) {
    with_slot(|slot| slot.add_task(result));
}

#[inline]
fn with_slot(f: impl FnOnce(&Slot)) {
    HERE.with(|here| f(here.get().expect("the thread has entered a tally")));
}

/// Reads a tally, round by round.
#[derive(Debug)]
pub(crate) struct Meter {
    tally: Arc<Tally>,
    sum: u64,
    tasks: u64,
}

impl Meter {
    pub(crate) fn new(tally: Arc<Tally>) -> Self {
        let (sum, tasks) = tally.totals();
        Self { tally, sum, tasks }
    }

    /// What came in since the last call. For those who know otherwise that nothing is running.
    pub(crate) fn take(&mut self) -> u64 {
        let (sum, tasks) = self.tally.totals();
        self.tasks = tasks;
        sum.wrapping_sub(std::mem::replace(&mut self.sum, sum))
    }

    /// Sleeps until `tasks` more tasks are counted, then takes what came in.
    ///
    /// # Panics
    ///
    /// When more were counted: somebody did more work than was asked for.
    pub(crate) fn wait(&mut self, tasks: u64) -> u64 {
        let expected = self.tasks + tasks;
        loop {
            let (_, done) = self.tally.totals();
            assert!(done <= expected, "{done} tasks ran, {expected} were handed over");
            if done == expected {
                return self.take();
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_sees_what_all_threads_added_since_it_last_looked() {
        let tally = Arc::new(Tally::default());
        let mut meter = Meter::new(Arc::clone(&tally));
        for round in 1..=2 {
            std::thread::scope(|scope| {
                for thread in 0..3 {
                    let tally = &tally;
                    scope.spawn(move || {
                        tally.enter();
                        (0..=thread).for_each(|_| add_task_here(round));
                    });
                }
                assert_eq!(meter.wait(6), 6 * round);
            });
        }
        assert_eq!(meter.take(), 0);
    }
}
