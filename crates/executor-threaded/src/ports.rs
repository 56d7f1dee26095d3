//! Core's ports on threads, each method the operation that its port names.

mod arrival;
mod events;
mod parking;
mod queues;

use crate::home::Home;
use crate::lock;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crossbeam::sync::{Parker, Unparker};
use crossbeam::utils::CachePadded;
use crossbeam_deque::{Stealer, Worker};
use executor_core::ports::{Entropy, Faults, Memory, Native, NativeWord, ProducerPorts};
use executor_core::{
    ExecutorConfig, Rejected, Scheduler, TimeHistogram, delegate_memory, nanos, panic_message,
};
use injector::Injector;
use rand_core::Rng;
use rand_xorshift::XorShiftRng;

use arrival::{Arrival, Waits};
use events::EventCount;
pub use events::{JoinLatch, JoinLatchGuard};

use crate::random::{below, victim_rng};

/// Its words are the machine's own, or those of a test that counts their changes.
pub struct Shared<T, M: Memory = Native> {
    scheduler: Scheduler<M::Word>,
    memory: M,
    injector: Injector<Arrival<T>>,
    stealers: Box<[Stealer<T>]>,
    unparkers: Box<[Unparker]>,
    signals: EventCount,
    pub join_latch: JoinLatch,
    /// The payload of the first panic.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    wakes_external: AtomicU64,
    waits: Waits,
    /// When each worker was last unparked, until it notices.
    unparked_ns: Box<[CachePadded<AtomicU64>]>,
    started: Instant,
}

impl<T> Shared<T> {
    pub(crate) fn new(config: ExecutorConfig) -> (Arc<Self>, Vec<ThreadPorts<T>>) {
        Self::of_words(config, Native, NativeWord::new)
    }
}

impl<T, M: Memory + Copy> Shared<T, M> {
    pub fn of_words(
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
                    home: None,
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
            // Ordering: Relaxed. A number for people, counted only after an unpark, which costs far
            // more.
            self.wakes_external.fetch_add(woken as u64, Ordering::Relaxed);
        }
    }
}

impl<T, M: Memory> Shared<T, M> {
    pub fn scheduler(&self) -> &Scheduler<M::Word> {
        &self.scheduler
    }

    pub fn take_panic(&self) -> Option<Box<dyn Any + Send>> {
        lock(&self.panic).take()
    }

    pub(crate) fn wakes_external(&self) -> u64 {
        // Ordering: Relaxed. A number for people.
        self.wakes_external.load(Ordering::Relaxed)
    }

    pub(crate) fn injector_waits(&self) -> TimeHistogram {
        self.waits.histogram()
    }

    fn now_ns(&self) -> u64 {
        nanos(self.started.elapsed())
    }
}

pub struct ThreadPorts<T, M: Memory = Native> {
    shared: Arc<Shared<T, M>>,
    worker: usize,
    queue: Worker<T>,
    parker: Parker,
    /// Boxed, since this struct is part of the worker's context, where its size would cost short
    /// tasks.
    private: Box<Private>,
}

struct Private {
    victims: RefCell<XorShiftRng>,
    idle: Cell<Duration>,
    wake_delays: RefCell<TimeHistogram>,
    wake_delay_ns: Cell<u64>,
    home: Option<Home>,
}

impl<T, M: Memory> ThreadPorts<T, M> {
    pub fn shared(&self) -> &Arc<Shared<T, M>> {
        &self.shared
    }

    /// Where the worker parks; `None` if the operating system decides.
    pub(crate) fn park_at(&mut self, home: Option<Home>) {
        self.private.home = home;
    }

    pub(crate) fn idle(&self) -> Duration {
        self.private.idle.get()
    }

    pub(crate) fn wake_delays(&self) -> TimeHistogram {
        self.private.wake_delays.borrow().clone()
    }
}

impl<T, M: Memory> std::fmt::Debug for Shared<T, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl<T, M: Memory> std::fmt::Debug for ThreadPorts<T, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ThreadPorts").finish_non_exhaustive()
    }
}

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
        let mut first = lock(&self.panic);
        let later = if first.is_none() {
            first.replace(payload)
        } else {
            Some(payload)
        };
        // The drop of a payload may run any code, so it happens outside of the lock. If it panics,
        // that payload is leaked.
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
            message = panic_message(&*payload),
            "a task or hook panicked; the executor aborts"
        );
        self.shared.record_panic(payload);
    }
}

#[cfg(test)]
mod tests {
    use executor_core::ports::{Inject, LocalQueue, Run, Steal, Stealing};

    use super::*;

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
        assert_eq!(worker.wake_delays().samples(), 0, "no waker woke it");
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
        let config = ExecutorConfig::new(2);
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
