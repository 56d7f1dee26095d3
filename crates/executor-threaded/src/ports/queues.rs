//! Where tasks wait: crossbeam's injector and its Chase-Lev deques, as core's queue ports.
//!
//! Sources: Chase and Lev, "Dynamic Circular Work-Stealing Deque", SPAA 2005; Lê, Pop, Cohen and Zappa Nardelli,
//! "Correct and Efficient Work-Stealing for Weak Memory Models", PPoPP 2013.

use crossbeam_deque::Steal as Stolen;
use executor_core::ports::{Inject, Injected, LocalQueue, Steal, Stealing};

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
    fn inject_parcel(&self, parcel: Vec<T>) {
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
        ported(self.parcels.steal(), |Parcel { tasks, since_ns }| {
            if let Some(since_ns) = since_ns {
                self.probes.waited(self.now_ns().saturating_sub(since_ns));
            }
            Injected::Parcel(tasks)
        })
    }
}

impl<T> ThreadPorts<T> {
    fn steal_batch(&self) -> Steal<Injected<T>> {
        let Shared { injector, probes, .. } = &*self.shared;
        // As above.
        if injector.is_empty() {
            if probes.are_waiting() {
                probes.give_up_if(|| injector.is_empty());
            }
            return Steal::Empty;
        }
        let had = self.queue.len();
        let stolen = injector.steal_batch_with_limit_and_pop(&self.queue, INJECTED_MAX);
        if stolen.is_success() && probes.are_waiting() {
            let more = self.queue.len().saturating_sub(had);
            let left = self.measured.uncounted.get() + 1 + more;
            let counted = probes.left(left, || self.shared.now_ns());
            self.measured.uncounted.set(if counted { 0 } else { left });
        }
        ported(stolen, Injected::Task)
    }
}

fn ported<T, F>(stolen: Stolen<T>, what: impl Fn(T) -> F) -> Steal<F> {
    match stolen {
        Stolen::Empty => Steal::Empty,
        Stolen::Success(taken) => Steal::Task(what(taken)),
        Stolen::Retry => Steal::Retry,
    }
}
