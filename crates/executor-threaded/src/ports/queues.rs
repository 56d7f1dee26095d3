//! Where tasks wait: crossbeam's injector and its Chase-Lev deques, as core's queue ports.
//!
//! Sources: Chase and Lev, "Dynamic Circular Work-Stealing Deque", SPAA 2005; Lê, Pop, Cohen and Zappa Nardelli,
//! "Correct and Efficient Work-Stealing for Weak Memory Models", PPoPP 2013.

use crossbeam_deque::Steal as Stolen;
use executor_core::ports::{Inject, LocalQueue, Steal, Stealing};

use super::probes::Probes;
use super::{Shared, ThreadPorts};

/// Most tasks that leave the injector at once. Others wait there, too, so a worker takes less than it could.
const INJECTED_MAX: usize = 32;

impl<T> Inject<T> for Shared<T> {
    #[inline]
    fn inject(&self, task: T) {
        if Probes::is_due() {
            let ahead = || self.injector.len();
            self.probes
                .watch(self.now_ns(), ahead, || self.injector.push(task));
        } else {
            self.injector.push(task);
        }
    }
}

impl<T> Inject<T> for ThreadPorts<T> {
    #[inline]
    fn inject(&self, task: T) {
        self.shared.inject(task);
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
    fn steal_injected(&self) -> Steal<T> {
        let Shared { injector, probes, .. } = &*self.shared;
        // Two loads. Taking from an empty one would cost a fence, and workers look often.
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
        ported(stolen)
    }

    fn steal_from(&self, victim: usize) -> Steal<T> {
        ported(self.shared.stealers[victim].steal_batch_and_pop(&self.queue))
    }
}

fn ported<T>(stolen: Stolen<T>) -> Steal<T> {
    match stolen {
        Stolen::Empty => Steal::Empty,
        Stolen::Success(task) => Steal::Task(task),
        Stolen::Retry => Steal::Retry,
    }
}
