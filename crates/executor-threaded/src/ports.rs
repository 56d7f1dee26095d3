//! Core's ports on threads: what everybody shares, and what one worker has of it.
//!
//! [`Shared`] is everybody's: the words, the injector, the far ends of all queues, the handles that wake. It is also
//! the ports of a producer, who owns nothing. [`ThreadPorts`] is one worker's: its own end of its queue and its
//! place to sleep, and through the shared part everything else.
//!
//! Nothing here decides anything. Each method is the operation that its port names.

mod arrival;
mod events;
mod parking;
mod queues;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam::sync::{Parker, Unparker};
use crossbeam::utils::CachePadded;
use crossbeam_deque::{Stealer, Worker};
use executor_core::ports::{Entropy, Faults, Memory, Native, NativeWord, ProducerPorts};
use executor_core::{ExecutorConfig, Rejected, Scheduler, TimeHistogram, delegate_memory};
use injector::Injector;
use rand_core::Rng;
use rand_xorshift::XorShiftRng;

use arrival::{Arrival, Waits};
pub(crate) use events::JoinLatch;
use events::EventCount;

use crate::random::{below, victim_rng};

/// What all workers and producers of an executor share.
///
/// Its words are the machine's own, or those with versions of a run that is [recorded](crate::recording).
pub(crate) struct Shared<T, M: Memory = Native> {
    scheduler: Scheduler<M::Word>,
    memory: M,
    /// Tasks from outside, and what a worker gives away of its own at once.
    injector: Injector<Arrival<T>>,
    /// The thieves' end of each worker's queue.
    stealers: Box<[Stealer<T>]>,
    unparkers: Box<[Unparker]>,
    /// For those who wait for the count to reach zero.
    signals: EventCount,
    /// For those who wait for threads to leave.
    pub(crate) join_latch: JoinLatch,
    /// What the first panic carried.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    wakes_external: AtomicU64,
    /// How long tasks wait in the injector.
    waits: Waits,
    /// When each worker was last unparked, on the executor's clock, until it has noticed.
    unparked_ns: Box<[CachePadded<AtomicU64>]>,
    /// What the clock counts from.
    started: Instant,
}

impl<T> Shared<T> {
    /// The shared part of an executor with a valid `config`, and the ports of each of its workers.
    pub(crate) fn new(config: ExecutorConfig) -> (Arc<Self>, Vec<ThreadPorts<T>>) {
        Self::of_words(config, Native, NativeWord::new)
    }
}

impl<T, M: Memory + Copy> Shared<T, M> {
    /// The same, with words that `word` makes and `memory` has access to.
    pub(crate) fn of_words(
        config: ExecutorConfig,
        memory: M,
        word: impl FnMut(usize) -> M::Word,
    ) -> (Arc<Self>, Vec<ThreadPorts<T, M>>) {
        let (workers, seed) = (config.workers, config.seed);
        let queues: Vec<Worker<T>> = (0..workers).map(|_| Worker::new_lifo()).collect();
        let parkers: Vec<Parker> = (0..workers).map(|_| Parker::new()).collect();
        let shared = Arc::new(Self {
            scheduler: Scheduler::new(config, word),
            memory,
            injector: Injector::new(),
            stealers: queues.iter().map(Worker::stealer).collect(),
            unparkers: parkers.iter().map(|parker| parker.unparker().clone()).collect(),
            signals: EventCount::default(),
            join_latch: JoinLatch::default(),
            panic: Mutex::new(None),
            wakes_external: AtomicU64::new(0),
            waits: Waits::default(),
            unparked_ns: (0..workers).map(|_| CachePadded::default()).collect(),
            started: Instant::now(),
        });
        let ports = queues
            .into_iter()
            .zip(parkers)
            .enumerate()
            .map(|(worker, (queue, parker))| ThreadPorts {
                shared: Arc::clone(&shared),
                worker,
                queue,
                parker,
                private: Box::new(Private {
                    victims: RefCell::new(victim_rng(seed, worker)),
                    idle: Cell::default(),
                    wake_delays: RefCell::default(),
                    wake_delay_ns: Cell::default(),
                }),
            });
        let ports = ports.collect();
        (shared, ports)
    }
}

impl<T> Shared<T> {
    pub(crate) fn spawn_external(&self, task: T) -> Result<(), Rejected<T>> {
        let woken = self.scheduler.spawn_external(self, task)?;
        self.count_wakes(woken);
        Ok(())
    }

    pub(crate) fn spawn_external_batch(&self, tasks: Vec<T>) -> Result<(), Rejected<Vec<T>>> {
        let woken = self.scheduler.spawn_external_batch(self, tasks)?;
        self.count_wakes(woken);
        Ok(())
    }

    fn count_wakes(&self, woken: usize) {
        if woken > 0 {
            // Ordering: Relaxed. A number for people. It is counted only after an unpark, which costs far more.
            self.wakes_external.fetch_add(woken as u64, Ordering::Relaxed);
        }
    }
}

impl<T, M: Memory> Shared<T, M> {
    pub(crate) fn scheduler(&self) -> &Scheduler<M::Word> {
        &self.scheduler
    }

    /// Takes what the first panic carried.
    pub(crate) fn take_panic(&self) -> Option<Box<dyn Any + Send>> {
        self.panic.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn wakes_external(&self) -> u64 {
        // Ordering: Relaxed. A number for people.
        self.wakes_external.load(Ordering::Relaxed)
    }

    /// How long tasks waited in the injector.
    pub(crate) fn injector_waits(&self) -> TimeHistogram {
        self.waits.histogram()
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// One worker's ports: what [`executor_core::WorkerCtxLike`] asks for. Tasks have no business with it.
pub struct ThreadPorts<T, M: Memory = Native> {
    shared: Arc<Shared<T, M>>,
    worker: usize,
    queue: Worker<T>,
    parker: Parker,
    /// Elsewhere: what lies here is moved about with the worker's context, and takes the place of what short tasks need.
    private: Box<Private>,
}

/// What one worker draws from, and what it has measured.
struct Private {
    victims: RefCell<XorShiftRng>,
    /// Time spent parked.
    idle: Cell<Duration>,
    /// How long it took to run after being unparked.
    wake_delays: RefCell<TimeHistogram>,
    /// The last of these, until it has been asked for.
    wake_delay_ns: Cell<u64>,
}

impl<T, M: Memory> ThreadPorts<T, M> {
    pub(crate) fn shared(&self) -> &Arc<Shared<T, M>> {
        &self.shared
    }

    pub(crate) fn idle(&self) -> Duration {
        self.private.idle.get()
    }

    /// How long it took this worker to run after it was unparked.
    pub(crate) fn wake_delays(&self) -> TimeHistogram {
        self.private.wake_delays.borrow().clone()
    }
}

impl<T, M: Memory> std::fmt::Debug for ThreadPorts<T, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ThreadPorts").finish_non_exhaustive()
    }
}

// Threads need no handle of their own to memory; `Native` is a unit type.
delegate_memory!(impl[T, M: Memory] Memory<M::Word> for Shared<T, M>, |shared| shared.memory);
delegate_memory!(impl[T, M: Memory] Memory<M::Word> for ThreadPorts<T, M>, |ports| ports.shared.memory);

impl<T, M: Memory> ProducerPorts<T> for Shared<T, M> {
    #[inline]
    fn scheduler(&self) -> &Scheduler<M::Word> {
        &self.scheduler
    }
}

impl<T, M: Memory> ProducerPorts<T> for ThreadPorts<T, M> {
    #[inline]
    fn scheduler(&self) -> &Scheduler<M::Word> {
        &self.shared.scheduler
    }
}

impl<T, M: Memory> Faults for Shared<T, M> {
    fn record_panic(&self, payload: Box<dyn Any + Send>) {
        let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        let later = if first.is_none() {
            first.replace(payload)
        } else {
            Some(payload)
        };
        // A payload may run anything when it is dropped: not under the lock. Should that panic in its turn, what comes
        // of it is leaked, since nobody could ever drop it in peace.
        drop(first);
        if let Err(endless) = catch_unwind(AssertUnwindSafe(|| drop(later))) {
            std::mem::forget(endless);
        }
    }
}

impl<T, M: Memory> Entropy for ThreadPorts<T, M> {
    fn below(&self, bound: usize) -> usize {
        below(self.private.victims.borrow_mut().next_u32(), bound)
    }
}

impl<T, M: Memory> Faults for ThreadPorts<T, M> {
    fn record_panic(&self, payload: Box<dyn Any + Send>) {
        tracing::error!(
            message = crate::error::panic_message(&*payload),
            "a task or hook panicked; the executor aborts"
        );
        self.shared.record_panic(payload);
    }
}

#[cfg(test)]
mod tests {
    use executor_core::ports::{Inject, LocalQueue, Run, Steal, Stealing};

    use super::*;

    /// Panics when it is dropped, with another one of it, `depth` times.
    struct PanicsWhenDropped {
        depth: u32,
    }

    impl Drop for PanicsWhenDropped {
        fn drop(&mut self) {
            if let Some(depth) = self.depth.checked_sub(1) {
                std::panic::resume_unwind(Box::new(PanicsWhenDropped { depth }));
            }
        }
    }

    #[test]
    fn the_first_panic_is_kept_and_later_ones_do_no_harm() {
        let (shared, _ports) = Shared::<()>::new(ExecutorConfig::default());
        shared.record_panic(Box::new("first"));
        shared.record_panic(Box::new("second"));
        shared.record_panic(Box::new(PanicsWhenDropped { depth: 3 }));
        let kept = shared.take_panic().expect("one is kept");
        assert_eq!(kept.downcast_ref(), Some(&"first"));
        assert!(shared.take_panic().is_none());
    }

    #[test]
    fn a_wake_of_a_parked_worker_is_a_sample_and_no_other_is() {
        use executor_core::ports::{Parking, Unpark};

        let (shared, mut ports) = Shared::<()>::new(ExecutorConfig::default());
        let worker = ports.remove(0);
        shared.unpark(0);
        worker.park(None);
        assert_eq!(worker.wake_delays().samples(), 0, "it was awake");
        worker.park(Some(Duration::from_nanos(1)));
        assert_eq!(worker.wake_delays().samples(), 0, "nobody woke it");
        let thread = std::thread::spawn(move || {
            while worker.wake_delays().samples() == 0 {
                worker.park(None);
            }
            worker.wake_delays()
        });
        while !thread.is_finished() {
            shared.unpark(0);
            std::thread::yield_now();
        }
        let delays = thread.join().expect("nothing panics");
        assert_eq!((delays.samples(), delays.percentile(50.0)), (1, delays.max()));
    }

    fn taken(ports: &ThreadPorts<u32>, most: usize) -> Vec<u32> {
        let mut run = Run::new();
        let stolen = ports.steal_injected(most, &mut run);
        assert_eq!(stolen == Steal::Empty, run.is_empty());
        run.into_iter().collect()
    }

    #[test]
    fn what_waits_in_the_injector_is_taken_in_its_order_and_not_more_than_was_asked_for() {
        let (shared, ports) = Shared::<u32>::new(ExecutorConfig::default());
        for task in 0..10 {
            shared.inject(task);
        }
        assert_eq!(taken(&ports[0], 6), [0, 1, 2, 3, 4, 5]);
        assert_eq!(taken(&ports[0], 6), [6, 7, 8, 9]);
        assert!(taken(&ports[0], 6).is_empty());
    }

    #[test]
    fn a_batch_is_taken_in_parts_and_stays_where_it_came() {
        let (shared, ports) = Shared::<u32>::new(ExecutorConfig::default());
        shared.inject(0);
        shared.inject_batch((1..=7).collect());
        shared.inject(8);
        shared.inject_batch(vec![9]);
        let parts: Vec<Vec<u32>> = std::iter::repeat_with(|| taken(&ports[0], 3)).take(6).collect();
        let expected: [&[u32]; 6] = [&[0], &[1, 2, 3], &[4, 5, 6], &[7], &[8], &[9]];
        assert_eq!(parts, expected);
        assert!(ports[0].injector_is_empty());
    }

    #[test]
    fn a_thief_takes_the_oldest_half() {
        let config = ExecutorConfig {
            workers: 2,
            ..ExecutorConfig::default()
        };
        let (_shared, ports) = Shared::<u32>::new(config);
        let [victim, thief] = ports.as_slice() else {
            unreachable!("two workers have two ports");
        };
        (0..10).for_each(|task| victim.push(task));
        let first = thief.steal_from(0);
        let mut stolen: Vec<u32> = std::iter::from_fn(|| thief.pop()).collect();
        stolen.extend(match first {
            Steal::Task(task) => Some(task),
            Steal::Empty | Steal::Retry => None,
        });
        stolen.sort_unstable();
        assert_eq!(stolen, [0, 1, 2, 3, 4]);
        assert_eq!(victim.pop(), Some(9));
        assert_eq!(thief.steal_from(1), Steal::Empty);
    }
}
