//! Where tasks wait: crossbeam's injector and its Chase-Lev deques, as core's queue ports.
//!
//! Sources: Chase and Lev, "Dynamic Circular Work-Stealing Deque", SPAA 2005; Lê, Pop, Cohen and Zappa Nardelli,
//! "Correct and Efficient Work-Stealing for Weak Memory Models", PPoPP 2013.

use crossbeam_deque::Steal as Stolen;
use executor_core::ports::{Inject, Injected, LocalQueue, Steal, Stealing};

use super::{Shared, ThreadPorts};

/// Most tasks that leave the injector at once. Others wait there, too, so a worker takes less than it could.
const INJECTED_MAX: usize = 32;

impl<T> Inject<T> for Shared<T> {
    #[inline]
    fn inject(&self, task: T) {
        self.injector.push(task);
    }

    #[inline]
    fn inject_parcel(&self, parcel: Vec<T>) {
        self.parcels.push(parcel);
    }
}

impl<T> Inject<T> for ThreadPorts<T> {
    #[inline]
    fn inject(&self, task: T) {
        self.shared.inject(task);
    }

    #[inline]
    fn inject_parcel(&self, parcel: Vec<T>) {
        self.shared.inject_parcel(parcel);
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
    fn steal_injected(&self) -> Steal<Injected<T>> {
        // The two kinds take turns at being first.
        let parcels_first = !self.parcels_first.get();
        self.parcels_first.set(parcels_first);
        let mut contended = false;
        for parcels in [parcels_first, !parcels_first] {
            let injected = if parcels {
                self.shared.steal_parcel()
            } else {
                self.steal_batch()
            };
            match injected {
                Steal::Empty => {}
                Steal::Task(injected) => return Steal::Task(injected),
                Steal::Retry => contended = true,
            }
        }
        if contended { Steal::Retry } else { Steal::Empty }
    }

    fn injector_is_empty(&self) -> bool {
        self.shared.injector.is_empty() && self.shared.parcels.is_empty()
    }

    fn victim_is_empty(&self, victim: usize) -> bool {
        self.shared.stealers[victim].is_empty()
    }

    fn steal_from(&self, victim: usize) -> Steal<T> {
        let stealer = &self.shared.stealers[victim];
        ported(stealer.steal_batch_and_pop(&self.queue), |task| task)
    }
}

impl<T> Shared<T> {
    fn steal_parcel(&self) -> Steal<Injected<T>> {
        // Two loads. Taking from an empty injector would cost a fence, and workers look often.
        if self.parcels.is_empty() {
            return Steal::Empty;
        }
        ported(self.parcels.steal(), Injected::Parcel)
    }
}

impl<T> ThreadPorts<T> {
    fn steal_batch(&self) -> Steal<Injected<T>> {
        let injector = &self.shared.injector;
        // As above.
        if injector.is_empty() {
            return Steal::Empty;
        }
        ported(
            injector.steal_batch_with_limit_and_pop(&self.queue, INJECTED_MAX),
            Injected::Task,
        )
    }
}

fn ported<T, F>(stolen: Stolen<T>, what: impl Fn(T) -> F) -> Steal<F> {
    match stolen {
        Stolen::Empty => Steal::Empty,
        Stolen::Success(taken) => Steal::Task(what(taken)),
        Stolen::Retry => Steal::Retry,
    }
}
