//! Ports that record what goes through them.
//!
//! A push is recorded before it is done and a take after it, so that each log has the order of the
//! run.

use std::any::Any;
use std::ops::Deref;
use std::sync::atomic::Ordering;
use std::time::Duration;

use executor_core::ports::{
    Clock, Entropy, Faults, Fetch, Inject, LocalQueue, Memory, Parking, ProducerPorts, Run, Steal, Stealing,
    Unpark, Waiting,
};
use executor_core::{ExecTraceEvent, Scheduler, TraceHooks};

use crate::event::{Event, TaskId};
use crate::log::Log;
use crate::word::{Versioned, VersionedWord};

/// A task and its number.
#[derive(Debug)]
pub struct Numbered<T> {
    /// Its number.
    pub id: TaskId,
    /// The task.
    pub task: T,
}

impl<T> Numbered<T> {
    #[inline]
    fn moved(self) -> Self {
        let Self { id, task } = self;
        Self { id: id.moved(), task }
    }
}

/// The ports `P` with the versioned words of `M`, recorded in the log `L`.
#[derive(Debug)]
pub struct Recorded<P, M, L> {
    ports: P,
    memory: Versioned<M>,
    log: L,
}

impl<P, M, L> Recorded<P, M, L> {
    /// Ports that record into `log`.
    pub fn new(ports: P, memory: Versioned<M>, log: L) -> Self {
        Self { ports, memory, log }
    }

    /// The log.
    #[inline]
    pub fn log(&self) -> &L {
        &self.log
    }
}

impl<P, M: Memory, L: Deref<Target = Log>> Memory for Recorded<P, M, L> {
    type Word = VersionedWord<M::Word>;

    #[inline]
    fn load(&self, word: &Self::Word, order: Ordering) -> usize {
        let read = self.memory.load_stamped(word, order);
        self.log.read(word.name, read);
        read.value
    }

    fn store(&self, word: &Self::Word, value: usize, order: Ordering) {
        let before = self.memory.replace(word, order, |_| value);
        self.log.changed(word.name, before, value);
    }

    fn fetch(&self, word: &Self::Word, fetch: Fetch, order: Ordering) -> usize {
        let before = self.memory.fetch_stamped(word, fetch, order);
        self.log.changed(word.name, before, fetch.apply(before.value));
        before.value
    }

    fn compare_exchange(
        &self,
        word: &Self::Word,
        current: usize,
        new: usize,
        order: Ordering,
    ) -> Result<usize, usize> {
        match self.memory.compare_exchange_stamped(word, current, new, order) {
            Ok(before) => {
                self.log.changed(word.name, before, new);
                Ok(before.value)
            }
            Err(other) => {
                self.log.read(word.name, other);
                Err(other.value)
            }
        }
    }

    #[inline]
    fn fence(&self, order: Ordering) {
        self.memory.fence(order);
    }
}

impl<T, P, M, L> ProducerPorts<Numbered<T>> for Recorded<P, M, L>
where
    P: ProducerPorts<Numbered<T>, Word = VersionedWord<M::Word>>,
    M: Memory,
    L: Deref<Target = Log>,
{
    #[inline]
    fn scheduler(&self) -> &Scheduler<Self::Word> {
        self.ports.scheduler()
    }
}

impl<T, P: Inject<Numbered<T>>, M, L: Deref<Target = Log>> Inject<Numbered<T>> for Recorded<P, M, L> {
    #[inline]
    fn inject(&self, task: Numbered<T>) {
        let task = task.moved();
        self.log.injected(task.id);
        self.ports.inject(task);
    }

    fn inject_batch(&self, batch: Vec<Numbered<T>>) {
        let batch: Vec<_> = batch.into_iter().map(Numbered::moved).collect();
        self.log.injected_batch(batch.iter().map(|task| task.id));
        self.ports.inject_batch(batch);
    }
}

impl<P: Unpark, M, L: Deref<Target = Log>> Unpark for Recorded<P, M, L> {
    fn unpark(&self, worker: usize) {
        self.log.event(Event::Unparked {
            worker: worker as u32,
        });
        self.ports.unpark(worker);
    }

    fn signal_waiters(&self) {
        self.ports.signal_waiters();
    }
}

impl<T, P: LocalQueue<Numbered<T>>, M, L: Deref<Target = Log>> LocalQueue<Numbered<T>> for Recorded<P, M, L> {
    #[inline]
    fn push(&self, task: Numbered<T>) {
        let task = task.moved();
        self.log.event(Event::Pushed { task: task.id });
        self.ports.push(task);
    }

    /// Not recorded: the task's start, or its return, is.
    #[inline]
    fn pop(&self) -> Option<Numbered<T>> {
        self.ports.pop()
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }
}

impl<T, P: Stealing<Numbered<T>>, M, L: Deref<Target = Log>> Stealing<Numbered<T>> for Recorded<P, M, L> {
    fn steal_injected(&self, most: usize, run: &mut Run<Numbered<T>>) -> Steal<()> {
        let before = run.len();
        let stolen = self.ports.steal_injected(most, run);
        match run[before..].split_first() {
            Some((first, rest)) => {
                self.log.event(Event::TookInjected {
                    task: first.id,
                    more: rest.len() as u32,
                });
                rest.iter()
                    .for_each(|task| self.log.event(Event::OfRun { task: task.id }));
            }
            None if stolen == Steal::Empty => self.log.injector_empty(),
            None => {}
        }
        stolen
    }

    fn injector_is_empty(&self) -> bool {
        self.ports.injector_is_empty()
    }

    fn victim_is_empty(&self, victim: usize) -> bool {
        self.ports.victim_is_empty(victim)
    }

    fn steal_from(&self, victim: usize) -> Steal<Numbered<T>> {
        let stolen = self.ports.steal_from(victim);
        if let Steal::Task(task) = &stolen {
            self.log.event(Event::Stole {
                task: task.id,
                victim: victim as u32,
            });
        }
        stolen
    }
}

impl<P: Parking, M, L: Deref<Target = Log>> Parking for Recorded<P, M, L> {
    fn park(&self, timeout: Option<Duration>) {
        self.log.event(Event::Parked);
        self.ports.park(timeout);
        self.log.event(Event::Awoke);
    }

    fn spin_before_park(&self, spins: u32) {
        self.ports.spin_before_park(spins);
    }

    fn take_wake_delay(&self) -> Duration {
        self.ports.take_wake_delay()
    }

    #[inline]
    fn spin(&self, times: u32) {
        self.ports.spin(times);
    }

    fn yield_now(&self) {
        self.ports.yield_now();
    }
}

impl<P: Clock, M, L> Clock for Recorded<P, M, L> {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.ports.now_ns()
    }
}

impl<P: Entropy, M, L> Entropy for Recorded<P, M, L> {
    #[inline]
    fn below(&self, bound: usize) -> usize {
        self.ports.below(bound)
    }
}

impl<P: Faults, M, L: Deref<Target = Log>> Faults for Recorded<P, M, L> {
    fn record_panic(&self, payload: Box<dyn Any + Send>) {
        self.log.panicked();
        self.ports.record_panic(payload);
    }
}

impl<P: Waiting, M, L> Waiting for Recorded<P, M, L> {
    fn ticket(&self) -> u64 {
        self.ports.ticket()
    }

    fn wait_past(&self, ticket: u64) {
        self.ports.wait_past(ticket);
    }
}

/// Records what goes through no port: the start, end and return of tasks.
#[derive(Debug)]
pub(crate) struct LogHooks<L>(pub(crate) L);

impl<T, L: Deref<Target = Log>> TraceHooks<Numbered<T>> for LogHooks<L> {
    type Tag = TaskId;

    #[inline]
    fn tag(&mut self, task: &Numbered<T>) -> TaskId {
        task.id
    }

    #[inline]
    fn event(&mut self, event: ExecTraceEvent<TaskId>) {
        match event {
            ExecTraceEvent::TaskStart { tag, .. } => self.0.started(tag),
            ExecTraceEvent::TaskEnd { .. } => self.0.ended(),
            ExecTraceEvent::Returned { tag } => self.0.event(Event::Returned { task: tag }),
            // Recorded by the ports, and by the party that runs the worker.
            ExecTraceEvent::Panicked
            | ExecTraceEvent::Park
            | ExecTraceEvent::Awake { .. }
            | ExecTraceEvent::Exit => {}
        }
    }
}
