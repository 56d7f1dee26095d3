//! The ports of an executor on threads.

use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::thread;

use crossbeam::queue::SegQueue;
use executor_core::ports::{Clock, Exclusive, Fifo, Native, NativeWord, OrderedSet, Table};
use executor_threaded::lock;

use super::hub::{Hub, NativeBody, NativePlace, NativeState, PipelineTask, Shared};
use super::job_table::JobTable;
use super::key_set::KeySet;
use super::log;
use super::unpark::unparker;
use crate::policy::{JobEnd, JobHandle, JobSpec, Ledger, PipelineEvent, PipelinePorts, guard, nest_in};
use crate::spans;
use crate::step_cx::StepCx;

executor_core::delegate_memory!(impl[] Memory<NativeWord> for Hub, |_hub| Native);

impl Clock for Hub {
    #[inline]
    fn now_ns(&self) -> u64 {
        // Nanoseconds in a `u64` last for 584 years.
        self.epoch.elapsed().as_nanos() as u64
    }
}

impl OrderedSet<JobHandle> for Hub {
    type Set = KeySet;

    fn insert(&self, set: &Self::Set, key: JobHandle) -> bool {
        set.insert(key)
    }

    fn remove(&self, set: &Self::Set, key: &JobHandle) -> bool {
        set.remove(key)
    }

    #[inline]
    fn last(&self, set: &Self::Set, below: Option<&JobHandle>) -> Option<JobHandle> {
        set.last(below)
    }
}

impl Fifo<JobHandle> for Hub {
    type Queue = SegQueue<JobHandle>;

    #[inline]
    fn push(&self, queue: &Self::Queue, value: JobHandle) {
        queue.push(value);
    }

    #[inline]
    fn pop(&self, queue: &Self::Queue) -> Option<JobHandle> {
        queue.pop()
    }

    #[inline]
    fn len(&self, queue: &Self::Queue) -> usize {
        queue.len()
    }
}

impl Table<Arc<NativeBody>> for Hub {
    type Places = JobTable<Arc<NativeBody>>;

    fn put(&self, table: &Self::Places, value: Arc<NativeBody>) -> Result<usize, Arc<NativeBody>> {
        table.put(value)
    }

    fn get(&self, table: &Self::Places, index: usize) -> Option<Arc<NativeBody>> {
        table.get(index)
    }

    fn used(&self, table: &Self::Places) -> usize {
        table.used()
    }

    fn clear(&self, table: &Self::Places, index: usize) -> Option<Arc<NativeBody>> {
        table.clear(index)
    }
}

impl Exclusive<Ledger> for Hub {
    type Place = NativePlace;

    fn change<R>(&self, place: &NativePlace, change: impl FnOnce(&mut Ledger) -> R) -> R {
        change(&mut lock(place))
    }
}

impl PipelinePorts for Hub {
    fn shared(&self) -> &Shared {
        &self.shared
    }

    #[inline]
    fn word(&self, value: usize) -> NativeWord {
        NativeWord::new(value)
    }

    fn place(&self) -> NativePlace {
        Mutex::default()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a lent thread sleeps while others run its job's last slots"
    )]
    fn park_with(&self, wait: impl FnOnce(&Waker, &mut dyn FnMut())) {
        wait(&unparker(), &mut thread::park);
    }

    fn nest(&self, outer: (&Arc<NativeState>, JobHandle), cx: &StepCx<'_>, spec: JobSpec) -> JobEnd {
        nest_in(self, outer, cx, spec)
    }

    fn hand_over(&self, looks: usize) -> bool {
        let Some(workers) = self.workers.get() else {
            return false;
        };
        match looks {
            1 => workers.spawn(PipelineTask).is_ok(),
            looks => workers.spawn_batch(vec![PipelineTask; looks]).is_ok(),
        }
    }

    fn wake_spare(&self, spare: usize) {
        self.spares.wake(spare);
    }

    fn all_ended(&self) {
        *lock(&self.ended) = true;
        self.ended_told.notify_all();
    }

    fn place_freed(&self) {
        self.room.wake_waiters();
    }

    // Always inlined: each call site knows the kind of event, so only that arm remains.
    #[inline(always)]
    fn observe(&self, event: PipelineEvent<'_>) {
        match event {
            PipelineEvent::SlotRan { worker, role, .. } => self.meter.slot_ran(worker, role),
            PipelineEvent::Claimed { .. } => {}
            PipelineEvent::Entered {
                worker, role, at_ns, ..
            } => self.meter.entered(worker, role, at_ns),
            PipelineEvent::Left {
                worker,
                role,
                since_ns,
                at_ns,
                claims,
                ..
            } => self.meter.left(worker, role, since_ns, at_ns, claims),
            PipelineEvent::Started {
                class,
                worker,
                wait_ns,
                ..
            } => self.meter.waited(worker, class, wait_ns),
            PipelineEvent::Ended {
                class,
                error,
                wait_ns,
                run_ns,
                ..
            } => {
                let error = error.map(|error| error.kind);
                self.meter.ended(self.own_worker(), class, error, wait_ns, run_ns);
            }
            PipelineEvent::Submitted { .. }
            | PipelineEvent::StageStarted { .. }
            | PipelineEvent::StageOver { .. }
            | PipelineEvent::Inner(_)
            | PipelineEvent::Failed { .. } => {}
        }
        if log::is_logged(&event) && spans::are_possible() {
            guard::quietly(|| self.log(&event));
        }
        if !matches!(event, PipelineEvent::SlotRan { .. })
            && let Some(recorder) = &self.recorder
        {
            self.record(recorder, &event);
        }
    }
}
