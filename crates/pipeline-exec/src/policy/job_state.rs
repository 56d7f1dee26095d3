//! A job as the executor holds it: what the user gave, and the state that outlives it.
//!
//! ```text
//!   table ──► JobBody ── spec: the stages, the user's own data
//!   workers ──┘   │
//!                 └────► JobState: claims, ledger, service
//!   ticket, control ───────┘
//! ```
//!
//! Two parts, so that a ticket or a control that somebody keeps does not keep the user's data: the body goes when the job has
//! ended.

use std::borrow::Cow;
use std::fmt;
use std::iter;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;
use std::time::Duration;

use executor_core::ports::{Exclusive, Fetch, Memory};

use super::board::JobHandle;
use super::claim::Claims;
use super::close::quietly_drop;
use super::job_spec::{Class, JobSpec, Terms};
use super::ledger::{CloseReason, Ledger, Ran};
use super::lend::lent_number;
use super::need::Cost;
use super::standing::Standing;
use crate::error::JobError;
use crate::job_id::JobId;
use crate::mutant;
use crate::output::JobOutput;
use crate::report::JobReport;
use crate::spans::JobSpans;
use crate::stage_graph::StageGraph;

/// What the table holds of a job.
pub struct JobBody<W, P> {
    /// What it is about; for people.
    pub(crate) table_name: Cow<'static, str>,
    terms: Option<Box<Terms>>,
    /// Its stages.
    pub(crate) stages: StageGraph,
    /// Made when the last stage is over, if it gives something.
    pub(crate) output: Option<Arc<JobOutput>>,
    /// What happens to it, and the rest of what the user gave.
    pub(crate) state: Arc<JobState<W, P>>,
    /// What `tracing` knows of it.
    pub(crate) spans: JobSpans,
}

/// What happens to a job.
pub struct JobState<W, P> {
    /// Which slots are claimed and done.
    pub(crate) claims: Claims<W>,
    /// Whether it is on the board.
    pub(crate) standing: Standing<W>,
    /// Everything about it that is no word.
    pub(crate) ledger: P,
    /// Service received, in weighted microseconds.
    pub(crate) service: W,
    /// Workers that are in the job. One that took it from the queue of singles is not counted, unless the job limits its workers.
    visitors: W,
    /// Not 0 once a thread is lent to the job.
    lent: W,
    workers_max: usize,
    weight: Class,
    /// Slots that each worker ran, and behind the last one a lent thread. Empty in a job of one slot, for which `solo` says it.
    slots_per_worker: Box<[W]>,
    /// Whose slot it was, if a job of one slot has run: the worker's number and one.
    solo: W,
    workers: usize,
    /// Whether the first stages have been started by hand.
    pub(crate) begun: bool,
    /// Whether it is made of tasks, which are added while it runs.
    pub(crate) grows: bool,
    /// Workers that have been invited to its stages so far, in this run of stages.
    invited: W,
    cost: u64,
    /// Whether the cost was stated, and is not the number of slots.
    cost_is_stated: bool,
    seq: usize,
    id: JobId,
    /// The job in a slot of which this one was submitted by [`nest`](mod@super::nest).
    outer: Option<Arc<Self>>,
    pub(crate) submitted_ns: u64,
    pub(crate) deadline_ns: Option<u64>,
}

/// How a job ended; what it gives lies elsewhere.
pub type JobEnd = Result<JobReport, JobError>;

impl<W, P> JobBody<W, P> {
    /// A job to submit to an executor of `workers` workers; words are made by `word`, `ledger` is an empty
    /// [`Ledger`] in its place.
    pub fn new(spec: JobSpec, workers: usize, ledger: P, mut word: impl FnMut(usize) -> W) -> Self {
        let claims = Claims::new(spec.stages.counts(), &mut word);
        Self::resume(spec, claims, false, workers, ledger, word)
    }

    /// The same with some slots claimed before; `begun` if the first stage's slots are known.
    pub(crate) fn resume(
        spec: JobSpec,
        claims: Claims<W>,
        begun: bool,
        workers: usize,
        ledger: P,
        mut word: impl FnMut(usize) -> W,
    ) -> Self {
        let Terms {
            class, workers_max, ..
        } = spec.terms();
        let state = JobState {
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
            cost: spec.cost,
            cost_is_stated: spec.cost > 0,
            seq: 0,
            id: spec.id,
            outer: None,
            submitted_ns: 0,
            deadline_ns: None,
        };
        Self {
            table_name: spec.table_name,
            terms: spec.terms,
            stages: spec.stages,
            output: spec.output,
            state: Arc::new(state),
            spans: JobSpans::default(),
        }
    }

    /// What the user gave, the claims so far, and whether the first stage's slots are known.
    pub(crate) fn into_parts(self) -> (JobSpec, Claims<W>, bool) {
        let state = Arc::into_inner(self.state).expect("a job that is not submitted is nobody else's");
        let spec = JobSpec {
            table_name: self.table_name,
            id: state.id,
            cost: state.cost,
            terms: self.terms,
            stages: self.stages,
            output: self.output,
        };
        (spec, state.claims, state.begun)
    }

    /// What the user gave.
    pub fn spec(&self) -> JobSpec {
        let state = &self.state;
        JobSpec {
            table_name: self.table_name.clone(),
            id: state.id,
            cost: if state.cost_is_stated { state.cost } else { 0 },
            terms: self.terms.clone(),
            stages: self.stages.clone(),
            output: self.output.clone(),
        }
    }

    /// Its stages.
    pub fn stages(&self) -> &StageGraph {
        &self.stages
    }

    /// What happens to the job.
    pub fn state(&self) -> &Arc<JobState<W, P>> {
        &self.state
    }

    /// It is submitted in a slot of `outer`; nobody else knows it yet.
    pub(crate) fn put_inside(&mut self, outer: &Arc<JobState<W, P>>) {
        let state = Arc::get_mut(&mut self.state).expect("a job that is not submitted is nobody else's");
        state.outer = Some(Arc::clone(outer));
    }

    /// Whether the table's place still holds the job that `job` means.
    pub(crate) fn is(&self, job: JobHandle) -> bool {
        self.state.seq == job.seq
    }

    /// The job's key when it stands at `index`.
    pub(crate) fn handle(&self, index: usize) -> JobHandle {
        JobHandle {
            cost: self.state.cost,
            seq: self.state.seq,
            index,
        }
    }

    /// Sets what submission decides; nobody else knows the job yet. `slots` are those of the stages that start. Words are made by
    /// `word`.
    pub(crate) fn enrol(&mut self, seq: usize, slots: usize, now_ns: u64, word: impl Fn(usize) -> W) {
        let is_solo = slots <= 1 && self.stages.len() == 1 && !self.state.begun && !self.state.grows;
        let state = Arc::get_mut(&mut self.state).expect("a job that is not submitted is nobody else's");
        state.seq = seq;
        if !is_solo {
            // The last place is a lent thread's.
            state.slots_per_worker = (0..=lent_number(state.workers)).map(|_| word(0)).collect();
        }
        if state.cost == 0 {
            state.cost = slots as u64;
        }
        state.submitted_ns = now_ns;
        state.deadline_ns = self
            .terms
            .as_ref()
            .and_then(|terms| terms.deadline)
            .map(|deadline| {
                let ns = u64::try_from(deadline.as_nanos()).unwrap_or(u64::MAX);
                now_ns.saturating_add(ns)
            });
        self.spans = JobSpans::open(&self.table_name, self.stages.len(), state);
    }
}

impl<W, P> JobState<W, P> {
    /// Takes the end out if there is one; if not, `waker` is woken once there is.
    ///
    /// # Panics
    ///
    /// If it was taken before.
    pub fn poll<E>(&self, env: &E, waker: &Waker) -> Option<JobEnd>
    where
        E: Memory<Word = W> + Exclusive<Ledger, Place = P>,
    {
        let mut waker = Some(waker.clone());
        let told = env.change(&self.ledger, |ledger| ledger.poll(&mut waker));
        quietly_drop(waker);
        Some(match told? {
            Err(error) => Err(*error),
            Ok(Ran { wait_ns, run_ns }) => {
                // Who reads the ledger has acquired these with it.
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

    /// Slots that are accounted for and slots of the stages that have started; of a job that grows, tasks
    /// that are over and tasks that were added.
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

    /// Which slots are claimed and done.
    pub fn claims(&self) -> &Claims<W> {
        &self.claims
    }

    /// Where its ledger is.
    pub fn ledger(&self) -> &P {
        &self.ledger
    }

    /// Estimated work, as it stands on the board.
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// Its cost, and what it means.
    pub(crate) fn cost_kind(&self) -> Cost {
        if self.cost_is_stated {
            Cost::Stated(self.cost)
        } else {
            Cost::Slots(self.cost)
        }
    }

    /// Its name.
    pub fn id(&self) -> &JobId {
        &self.id
    }

    /// Whether its cost was stated, and is not the number of slots.
    pub(crate) fn has_stated_cost(&self) -> bool {
        self.cost_is_stated
    }

    /// How urgent it is.
    pub fn class(&self) -> Class {
        self.weight
    }

    /// When it was submitted, on its executor's clock.
    pub fn submitted_ns(&self) -> u64 {
        self.submitted_ns
    }

    /// Whether it is made of tasks, which are added while it runs.
    pub fn grows(&self) -> bool {
        self.grows
    }

    /// Number in the order of submission.
    pub fn seq(&self) -> usize {
        self.seq
    }

    /// Service received so far, in units that all jobs of an executor share. Other parties may change it at once.
    pub fn service<M: Memory<Word = W>>(&self, mem: &M) -> usize {
        // Ordering: Relaxed. A number for people and oracles, and a hint for the choice of a job.
        mem.load(&self.service, Ordering::Relaxed)
    }

    /// Its place in the order of service. Young jobs, with less than `young` of service, come
    /// first. A worker that is in a job already counts as well, for one place among the young and
    /// for `young`, a stay, among the old: so workers that look at the same time go to different
    /// jobs, and not all to the first.
    pub(crate) fn tag<M: Memory<Word = W>>(&self, mem: &M, young: usize) -> usize {
        // Ordering: Relaxed. Whoever goes in or out settles the job afterwards.
        let inside = mem.load(&self.visitors, Ordering::Relaxed);
        match self.service(mem) {
            service if service < young => inside.min(young - 1),
            service => service.saturating_add(inside.saturating_mul(self.weigh(young))),
        }
    }

    /// The most workers that `slots` slots of it can use.
    pub(crate) fn usable(&self, slots: usize) -> usize {
        slots.max(1).min(self.workers_max)
    }

    /// Stages have started that are worth `workers` workers. Gives the same.
    pub(crate) fn invites_anew<M: Memory<Word = W>>(&self, mem: &M, workers: usize) -> usize {
        // Ordering: Relaxed. A hint; to invite some twice does no harm.
        mem.store(&self.invited, workers, Ordering::Relaxed);
        workers
    }

    /// What is left turns out to be worth `workers` workers. Gives how many more that is than were invited.
    pub(crate) fn invites<M: Memory<Word = W>>(&self, mem: &M, workers: usize) -> usize {
        // Ordering: Relaxed. As above.
        let invited = mem.load(&self.invited, Ordering::Relaxed);
        if invited >= workers {
            return 0;
        }
        self.invites_anew(mem, workers) - invited
    }

    /// The caller's thread is lent to the job. `true` if it has the number of lent threads in it to itself.
    pub(crate) fn take_lent_number<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Relaxed. Nothing is handed over with the number: whoever has it keeps it until the job has ended.
        mem.compare_exchange(&self.lent, 0, 1, Ordering::Relaxed).is_ok()
    }

    /// Whether only so many workers may be in it.
    pub(crate) fn is_limited(&self) -> bool {
        self.workers_max != usize::MAX
    }

    /// Whether a worker could go in and claim something.
    pub fn has_room<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Relaxed. Where a wake hangs on it, the fence of the look orders it.
        (!self.is_limited() || mem.load(&self.visitors, Ordering::Relaxed) < self.workers_max)
            && self.claims.is_claimable(mem)
    }

    /// Whether it was submitted in a slot of a job that is over by `now_ns`, or inside one that was: nobody needs it any more.
    pub(crate) fn is_orphaned<M: Memory<Word = W>>(&self, mem: &M, now_ns: impl Fn() -> u64) -> bool {
        let outers = iter::successors(self.outer.as_deref(), |outer| outer.outer.as_deref());
        let is_over = |outer: &Self| {
            outer.claims.is_closed(mem) || outer.deadline_ns.is_some_and(|deadline| now_ns() >= deadline)
        };
        outers.into_iter().any(is_over) && !mutant::m86_inner_job_outlives_the_outer()
    }

    /// Why a shutdown closes it. A job that somebody runs in a slot is a part of that slot, and comes back to nobody.
    pub(crate) fn stop_reason(&self) -> CloseReason {
        match self.outer {
            None => CloseReason::Stopped,
            Some(_) => CloseReason::Cancelled,
        }
    }

    /// A worker goes in, unless as many as may are in.
    pub(crate) fn enter<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        if !self.is_limited() {
            // Ordering: Relaxed. It decides about the job's place among others; whoever settles the job brings it along.
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

    /// A worker leaves. It looks at the board afterwards, so whoever found the job full may rely on it.
    pub(crate) fn leave<M: Memory<Word = W>>(&self, mem: &M) {
        // Ordering: Relaxed. Those who found it full are ordered by the fences of their look and of this worker's.
        mem.fetch(&self.visitors, Fetch::Sub(1), Ordering::Relaxed);
    }

    /// Whether it is of one stage of one slot at most, of which nothing was run by hand: [`JobBody::enrol`] has found so.
    pub(crate) fn is_solo(&self) -> bool {
        self.slots_per_worker.is_empty()
    }

    /// Notes that `worker` has run `slots` slots. Only that worker calls it.
    pub(crate) fn count_slots<M: Memory<Word = W>>(&self, mem: &M, worker: usize, slots: usize) {
        // Ordering: Relaxed, all. Written by one worker alone, and published with the slots, which are accounted for afterwards.
        if let Some(word) = self.slots_per_worker.get(worker) {
            let before = mem.load(word, Ordering::Relaxed);
            mem.store(word, before + slots, Ordering::Relaxed);
        } else {
            mem.store(&self.solo, worker + 1, Ordering::Relaxed);
        }
    }

    /// How many slots ran.
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
                let solo = mem.load(&self.solo, Ordering::Relaxed);
                (1..=lent_number(self.workers) + 1)
                    .map(|worker| usize::from(worker == solo))
                    .collect()
            }
            words => words
                .iter()
                .map(|word| mem.load(word, Ordering::Relaxed))
                .collect(),
        }
    }

    /// Charges for `ns` nanoseconds of a worker's time. A job that grows old by it, which it does
    /// at `young` of service, goes on at `floor` and this visit if that is more: it gets in line
    /// behind those that have waited. And no job gets further ahead of the floor than by `young`,
    /// or by this one visit: a job that was alone for a while, or the heaviest, need not wait until
    /// all others have had as much.
    ///
    /// So whoever gets a place among the old ones later than a job that waits has no lower tag, and comes after it: nobody starves.
    pub(crate) fn charge<M: Memory<Word = W>>(&self, mem: &M, ns: u64, young: usize, floor: usize) {
        let us = usize::try_from(ns / 1_000).unwrap_or(usize::MAX);
        let charged = self.weigh(us).max(1);
        let most = floor.max(young).saturating_add(young.max(charged));
        // Ordering: Relaxed. It decides about the job's place; whoever settles the job afterwards brings it along.
        let mut before = mem.load(&self.service, Ordering::Relaxed);
        loop {
            let sum = before.saturating_add(charged);
            let after = if sum < young {
                sum
            } else if before < young && !mutant::m57_newcomers_do_not_get_in_line() {
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

    /// Of a job that grows, as it comes onto the board. An old one that no worker is in has waited for a
    /// wake: it goes on at `floor` at least, since a job that had nothing to run is owed nothing.
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

    /// The service with which it begins if it is old from the beginning: as if it had just grown
    /// old.
    pub(crate) fn old_service(&self, young: usize, floor: usize) -> usize {
        let floor = if mutant::m57_newcomers_do_not_get_in_line() {
            0
        } else {
            floor
        };
        floor.max(young).saturating_add(self.weigh(young))
    }

    /// So much time as it counts for a job of this class.
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

impl<W, P> fmt::Debug for JobBody<W, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobBody")
            .field("spec", &self.spec())
            .finish_non_exhaustive()
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
            let body = JobBody::new(spec, 5, (), NativeWord::new);
            let state = body.state();
            let entered = (0..5).filter(|_| state.enter(&Native)).count();
            assert_eq!(entered, let_in, "at most {workers_max}");
            state.leave(&Native);
            assert!(state.enter(&Native));
        }
    }
}
