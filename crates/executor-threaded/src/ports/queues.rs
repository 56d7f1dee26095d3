//! Where tasks wait: crossbeam's injector and its Chase-Lev deques, as core's queue ports.
//!
//! Sources: Chase and Lev, "Dynamic Circular Work-Stealing Deque", SPAA 2005; Lê, Pop, Cohen and Zappa Nardelli,
//! "Correct and Efficient Work-Stealing for Weak Memory Models", PPoPP 2013.

use crossbeam_deque::Steal as Stolen;
use executor_core::ports::{Inject, LocalQueue, Steal, Stealing};

use super::probes::Probes;
use super::{Shared, ThreadPorts};

/// Tasks that came together.
pub(super) struct Parcel<T> {
    tasks: Vec<T>,
    /// When, if the parcel is watched.
    since_ns: Option<u64>,
}

/// Most tasks that leave the injector at once. Others wait there, too, so a worker takes less than it could.
const INJECTED_MAX: usize = 32;

impl<T> Inject<T> for Shared<T> {
    #[inline]
    fn inject(&self, task: T) {
        if Probes::is_due(1) {
            let ahead = || self.injector.len();
            self.probes
                .watch(self.now_ns(), ahead, || self.injector.push(task));
        } else {
            self.injector.push(task);
        }
    }

    #[inline]
    fn inject_batch(&self, parcel: Vec<T>) {
        let tasks = u32::try_from(parcel.len()).unwrap_or(u32::MAX);
        let since_ns = Probes::is_due(tasks).then(|| self.now_ns());
        self.parcels.push(Parcel {
            tasks: parcel,
            since_ns,
        });
    }
}

impl<T> Inject<T> for ThreadPorts<T> {
    #[inline]
    fn inject(&self, task: T) {
        self.shared.inject(task);
    }

    #[inline]
    fn inject_batch(&self, parcel: Vec<T>) {
        self.shared.inject_batch(parcel);
    }
}

impl<T> LocalQueue<T> for ThreadPorts<T> {
    #[inline]
    fn push(&self, task: T) {
        self.queue.push(task);
    }

    #[inline]
    fn pop(&self) -> Option<T> {
        self.queue.pop()
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

impl<T> Stealing<T> for ThreadPorts<T> {
    fn steal_injected(&self, most: usize, mut put: impl FnMut(T)) -> Steal<()> {
        if let Ok(mut open) = self.shared.open.try_lock() {
            if open.is_none() && !self.shared.parcels.is_empty() {
                if let Stolen::Success(Parcel{tasks, ..}) = self.shared.parcels.steal() { *open = Some(tasks.into_iter()); }
            }
            if let Some(batch) = &mut *open {
                let mut n = 0;
                let half = most.min(batch.len().div_ceil(2)); for task in batch.by_ref().take(half) { n += 1; put(task); }
                if batch.len() == 0 { *open = None; }
                if n > 0 { return Steal::Task(()); }
            }
        }
        if self.shared.injector.is_empty() { return Steal::Empty; }
        match self.shared.injector.steal_batch_with_limit_and_pop(&self.queue, most) {
            Stolen::Empty => Steal::Empty, Stolen::Retry => Steal::Retry,
            Stolen::Success(first) => { put(first); for _ in 1..most { match self.queue.pop() { Some(t) => put(t), None => break } } Steal::Task(()) }
        }
    }

    fn injector_is_empty(&self) -> bool {
        self.shared.injector.is_empty() && self.shared.parcels.is_empty() && self.shared.open.try_lock().is_ok_and(|o| o.is_none())
    }

    fn victim_is_empty(&self, victim: usize) -> bool {
        self.shared.stealers[victim].is_empty()
    }

    fn steal_from(&self, victim: usize) -> Steal<T> {
        let stealer = &self.shared.stealers[victim];
        ported(stealer.steal_batch_and_pop(&self.queue), |task| task)
    }
}

fn ported<T, F>(stolen: Stolen<T>, what: impl Fn(T) -> F) -> Steal<F> {
    match stolen {
        Stolen::Empty => Steal::Empty,
        Stolen::Success(taken) => Steal::Task(what(taken)),
        Stolen::Retry => Steal::Retry,
    }
}
