//! A job's words, ledger and service.

use std::fmt;
use std::iter;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;
use std::time::Duration;

use executor_core::nanos;
use executor_core::ports::{Exclusive, Fetch, Memory};

use super::claim::Claims;
use super::ledger::{CloseReason, JobTimes, Ledger};
use super::numbers::{lent_number, place_of, spare_number};
use super::spec::{Class, Cost, JobSpec, Terms};
use super::standing::Standing;
use crate::job_id::JobId;
use crate::policy::guard::quietly_drop;
use crate::report::{JobEnd, JobReport};

pub struct JobState<W, P> {
    pub(crate) claims: Claims<W>,
    pub(crate) standing: Standing<W>,
    pub(crate) ledger: P,
    pub(crate) service: W,
    /// Number of workers in the job. A worker from the queue of singles counts only if the job
    /// limits workers.
    visitors: W,
    lent: W,
    workers_max: usize,
    weight: Class,
    /// By worker, helper, spare thread. Empty for a one-slot job, which uses `solo`.
    slots_per_worker: Box<[W]>,
    /// Number, plus one, of the worker.
    solo: W,
    workers: usize,
    /// Whether the first stages were started by hand.
    pub(crate) begun: bool,
    pub(crate) grows: bool,
    invited: W,
    cost: Cost,
    seq: usize,
    id: JobId,
    outer: Option<Arc<Self>>,
    pub(crate) submitted_ns: u64,
    pub(crate) deadline_ns: Option<u64>,
}

impl<W, P> JobState<W, P> {
    pub(super) fn new(
        spec: &JobSpec,
        claims: Claims<W>,
        begun: bool,
        workers: usize,
        ledger: P,
        mut word: impl FnMut(usize) -> W,
    ) -> Self {
        let Terms {
            class, workers_max, ..
        } = spec.terms();
        Self {
            claims,
            standing: Standing::new(&mut word),
            ledger,
            service: word(0),
            visitors: word(0),
            lent: word(0),
            workers_max,
            weight: class,
            slots_per_worker: Box::default(),
            solo: word(0),
            workers,
            begun,
            grows: spec.stages.grows(),
            invited: word(0),
            cost: spec.cost.map_or(Cost::Slots(0), Cost::Stated),
            seq: 0,
            id: spec.id,
            outer: None,
            submitted_ns: 0,
            deadline_ns: None,
        }
    }

    pub(super) fn enrol(&mut self, seq: usize, slots: usize, now_ns: u64, deadline: Option<Duration>) {
        self.seq = seq;
        if let Cost::Slots(cost) = &mut self.cost {
            *cost = slots as u64;
        }
        self.submitted_ns = now_ns;
        self.deadline_ns = deadline.map(|deadline| now_ns.saturating_add(nanos(deadline)));
    }

    pub(super) fn count_slots_apart(&mut self, spares: usize, word: impl Fn(usize) -> W) {
        let numbers = spare_number(self.workers, spares);
        self.slots_per_worker = (0..numbers).map(|_| word(0)).collect();
    }

    pub(super) fn put_inside(&mut self, outer: Arc<Self>) {
        self.outer = Some(outer);
    }

    /// Before the end, keeps `waker` to wake it then.
    ///
    /// # Panics
    ///
    /// If the end was taken before.
    pub fn poll<E>(&self, env: &E, waker: &Waker) -> Option<JobEnd>
    where
        E: Memory<Word = W> + Exclusive<Ledger, Place = P>,
    {
        let mut waker = Some(waker.clone());
        let told = env.change(&self.ledger, |ledger| ledger.poll(&mut waker));
        quietly_drop(waker);
        Some(match told? {
            Err(error) => Err(*error),
            Ok(JobTimes { wait_ns, run_ns }) => {
                // The read of the ledger has acquired these words.
                let slots_per_worker = self.slots_per_worker(env);
                Ok(JobReport {
                    output: (),
                    id: self.id,
                    slots: slots_per_worker.iter().sum(),
                    wait: Duration::from_nanos(wait_ns),
                    run: Duration::from_nanos(run_ns),
                    slots_per_worker,
                })
            }
        })
    }

    pub fn progress<E>(&self, env: &E) -> (usize, usize)
    where
        E: Memory<Word = W> + Exclusive<Ledger, Place = P>,
    {
        if self.grows {
            env.change(&self.ledger, |ledger| ledger.tasks().progress())
        } else {
            self.claims.progress(env)
        }
    }

    pub fn claims(&self) -> &Claims<W> {
        &self.claims
    }

    pub fn ledger(&self) -> &P {
        &self.ledger
    }

    pub fn cost(&self) -> u64 {
        match self.cost {
            Cost::Stated(units) | Cost::Slots(units) => units,
        }
    }

    pub(crate) fn cost_kind(&self) -> Cost {
        self.cost
    }

    pub fn id(&self) -> &JobId {
        &self.id
    }

    pub(crate) fn stated_cost(&self) -> Option<u64> {
        match self.cost {
            Cost::Stated(units) => Some(units),
            Cost::Slots(_) => None,
        }
    }

    pub fn class(&self) -> Class {
        self.weight
    }

    pub fn submitted_ns(&self) -> u64 {
        self.submitted_ns
    }

    pub fn grows(&self) -> bool {
        self.grows
    }

    pub fn seq(&self) -> usize {
        self.seq
    }

    /// In weighted microseconds.
    pub fn service<M: Memory<Word = W>>(&self, mem: &M) -> usize {
        // Ordering: Relaxed. A statistic, and a hint for the choice of a job.
        mem.load(&self.service, Ordering::Relaxed)
    }

    /// Returns the tag in the order of service; jobs below `young` come first. A worker in the job
    /// adds one to a young tag and a stay to an old one, so that workers spread over jobs.
    pub(crate) fn tag<M: Memory<Word = W>>(&self, mem: &M, young: usize) -> usize {
        // Ordering: Relaxed. A party that goes in or out reconciles the job afterwards.
        let inside = mem.load(&self.visitors, Ordering::Relaxed);
        match self.service(mem) {
            service if service < young => inside.min(young - 1),
            service => service.saturating_add(inside.saturating_mul(self.weigh(young))),
        }
    }

    pub(crate) fn usable(&self, slots: usize) -> usize {
        slots.max(1).min(self.workers_max)
    }

    pub(crate) fn invites_anew<M: Memory<Word = W>>(&self, mem: &M, workers: usize) -> usize {
        // Ordering: Relaxed. A hint; a worker that is invited twice does no harm.
        mem.store(&self.invited, workers, Ordering::Relaxed);
        workers
    }

    pub(crate) fn invites<M: Memory<Word = W>>(&self, mem: &M, workers: usize) -> usize {
        // Ordering: Relaxed. As above.
        let invited = mem.load(&self.invited, Ordering::Relaxed);
        if invited >= workers {
            return 0;
        }
        self.invites_anew(mem, workers) - invited
    }

    pub(crate) fn take_lent_number<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Relaxed. The number hands nothing over: its holder keeps it until the job has
        // ended.
        mem.compare_exchange(&self.lent, 0, 1, Ordering::Relaxed).is_ok()
    }

    pub(crate) fn is_limited(&self) -> bool {
        self.workers_max != usize::MAX
    }

    pub fn has_room<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Relaxed. Where a wake depends on it, the fence of the look orders it.
        (!self.is_limited() || mem.load(&self.visitors, Ordering::Relaxed) < self.workers_max)
            && self.claims.is_claimable(mem)
    }

    pub(crate) fn is_orphaned<M: Memory<Word = W>>(&self, mem: &M, now_ns: impl Fn() -> u64) -> bool {
        let outers = iter::successors(self.outer.as_deref(), |outer| outer.outer.as_deref());
        let is_over = |outer: &Self| {
            outer.claims.is_closed(mem) || outer.deadline_ns.is_some_and(|deadline| now_ns() >= deadline)
        };
        outers.into_iter().any(is_over)
    }

    /// A shutdown cancels a nested job, because it is part of a running slot.
    pub(crate) fn stop_reason(&self) -> CloseReason {
        match self.outer {
            None => CloseReason::Stopped,
            Some(_) => CloseReason::Cancelled,
        }
    }

    /// Returns `false` at the limit of workers.
    pub(crate) fn enter<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        if !self.is_limited() {
            // Ordering: Relaxed. It affects the job's place; the party that reconciles the job
            // reads it.
            mem.fetch(&self.visitors, Fetch::Add(1), Ordering::Relaxed);
            return true;
        }
        // Ordering: Relaxed. A bound on one word; nothing is read because of it.
        let mut visitors = mem.load(&self.visitors, Ordering::Relaxed);
        while visitors < self.workers_max {
            // Ordering: Relaxed. As above.
            match mem.compare_exchange(&self.visitors, visitors, visitors + 1, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => visitors = now,
            }
        }
        false
    }

    /// The worker then looks at the board: a party that found the job full relies on it.
    pub(crate) fn leave<M: Memory<Word = W>>(&self, mem: &M) {
        // Ordering: Relaxed. The fences of both looks order it for a party that found the job full.
        mem.fetch(&self.visitors, Fetch::Sub(1), Ordering::Relaxed);
    }

    pub(crate) fn is_solo(&self) -> bool {
        self.slots_per_worker.is_empty()
    }

    /// Only this worker calls it.
    pub(crate) fn count_slots<M: Memory<Word = W>>(&self, mem: &M, worker: usize, slots: usize) {
        // Ordering: Relaxed, all. One worker writes the word, and it is published with the slots.
        if let Some(word) = self.slots_per_worker.get(worker) {
            let before = mem.load(word, Ordering::Relaxed);
            mem.store(word, before + slots, Ordering::Relaxed);
        } else {
            mem.store(&self.solo, worker + 1, Ordering::Relaxed);
        }
    }

    pub(crate) fn slots_ran<M: Memory<Word = W>>(&self, mem: &M) -> usize {
        // Ordering: Relaxed, both. Acquired with the last slot.
        match &*self.slots_per_worker {
            [] => usize::from(mem.load(&self.solo, Ordering::Relaxed) > 0),
            words => words.iter().map(|word| mem.load(word, Ordering::Relaxed)).sum(),
        }
    }

    fn slots_per_worker<M: Memory<Word = W>>(&self, mem: &M) -> Vec<usize> {
        // Ordering: Relaxed, both. Acquired with the last slot.
        match &*self.slots_per_worker {
            [] => {
                let solo = mem.load(&self.solo, Ordering::Relaxed).checked_sub(1);
                self.by_worker(solo.into_iter().map(|worker| (worker, 1)))
            }
            words => {
                let words = words.iter().map(|word| mem.load(word, Ordering::Relaxed));
                self.by_worker(words.enumerate())
            }
        }
    }

    fn by_worker(&self, slots: impl Iterator<Item = (usize, usize)>) -> Vec<usize> {
        let mut by_worker = vec![0; lent_number(self.workers) + 1];
        for (number, slots) in slots {
            by_worker[place_of(number, self.workers)] += slots;
        }
        by_worker
    }

    /// Charges the job for `ns` nanoseconds of a worker. A job that grows old continues at `floor`
    /// plus this visit, and at most `young` or this visit ahead of it.
    pub(crate) fn charge<M: Memory<Word = W>>(&self, mem: &M, ns: u64, young: usize, floor: usize) {
        let us = usize::try_from(ns / 1_000).unwrap_or(usize::MAX);
        let charged = self.weigh(us).max(1);
        let most = floor.max(young).saturating_add(young.max(charged));
        // Ordering: Relaxed. It affects the job's place; the party that reconciles the job reads
        // it.
        let mut before = mem.load(&self.service, Ordering::Relaxed);
        loop {
            let sum = before.saturating_add(charged);
            let after = if sum < young {
                sum
            } else if before < young {
                sum.max(floor.saturating_add(charged)).min(most)
            } else {
                sum.min(most).max(before)
            };
            // Ordering: Relaxed. As above.
            match mem.compare_exchange(&self.service, before, after, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => before = now,
            }
        }
    }

    /// Moves an idle old job that grows to at least `floor`: waiting for a wake earns no service.
    pub(crate) fn line_up<M: Memory<Word = W>>(&self, mem: &M, young: usize, floor: usize) {
        // Ordering: Relaxed. As in `tag`.
        if mem.load(&self.visitors, Ordering::Relaxed) > 0 {
            return;
        }
        let mut before = self.service(mem);
        while before >= young && before < floor {
            // Ordering: Relaxed. As in `charge`.
            match mem.compare_exchange(&self.service, before, floor, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => before = now,
            }
        }
    }

    pub(crate) fn old_service(&self, young: usize, floor: usize) -> usize {
        floor.max(young).saturating_add(self.weigh(young))
    }

    fn weigh(&self, us: usize) -> usize {
        match self.weight {
            Class::Interactive => us / 4,
            Class::Normal => us,
            Class::Batch => us.saturating_mul(4),
        }
    }

    pub(crate) fn is_past_deadline(&self, now_ns: u64) -> bool {
        self.deadline_ns.is_some_and(|deadline| now_ns >= deadline)
    }
}

impl<W, P> fmt::Debug for JobState<W, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobState")
            .field("seq", &self.seq)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use executor_core::ports::{Native, NativeWord};

    use super::*;
    use crate::stage_graph::StageGraph;

    #[test]
    fn as_many_workers_as_a_job_may_have_go_in_and_one_more_when_one_has_left() {
        for (workers_max, let_in) in [(1, 1), (3, 3), (usize::MAX, 5)] {
            let terms = Terms {
                workers_max,
                ..Terms::default()
            };
            let stages = StageGraph::from(vec![crate::stage::steps(Vec::new())]);
            let spec = JobSpec {
                terms: terms.boxed(),
                ..JobSpec::new("t", JobId::new(0), stages)
            };
            let claims = Claims::new(spec.stages.counts(), NativeWord::new);
            let state = JobState::new(&spec, claims, false, 5, (), NativeWord::new);
            let entered = (0..5).filter(|_| state.enter(&Native)).count();
            assert_eq!(entered, let_in, "at most {workers_max}");
            state.leave(&Native);
            assert!(state.enter(&Native));
        }
    }
}
