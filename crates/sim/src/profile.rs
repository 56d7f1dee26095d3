//! Work and span of a run: what a task graph takes on one worker, and on as many as one likes.
//!
//! Both follow from the virtual time that tasks say they take ([`SimCtx::work`](crate::SimCtx::work)) and from who spawned whom when, so
//! they are the same for every schedule. *Work* is the sum over all tasks, *span* the longest path: a task cannot start before it was
//! spawned. The *burdened* span has on each edge what it takes at least to bring a task to a worker that sleeps, as in Cilkview (He,
//! Leiserson and Leiserson, "The Cilkview scalability analyzer", SPAA 2010). A greedy scheduler that costs nothing needs between the two
//! bounds (Brent; Graham):
//!
//! ```text
//!   max(work / P, span)  ≤  makespan  ≤  work / P + span
//! ```
//!
//! The left one holds for every run. The right one is for a scheduler without costs; with the burdened span for the span and the makespan
//! on one worker for the work it takes costs in.

use crate::clock::PS;
use crate::oracle::TaskId;

/// How far along its path something is: how long everything takes that it had to come after. Kept by a task for another one that has to
/// wait for it; see [`SimCtx::reached`](crate::SimCtx::reached).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    span_ps: u64,
    burdened_ps: u64,
    /// When that was.
    at_ps: u64,
}

impl Reached {
    /// The same with one edge more on the burdened path.
    pub(crate) fn burdened(self, burden_ps: u64) -> Self {
        Self {
            burdened_ps: self.burdened_ps + burden_ps,
            ..self
        }
    }

    /// Whatever is further along, for something that has to come after both.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            span_ps: self.span_ps.max(other.span_ps),
            burdened_ps: self.burdened_ps.max(other.burdened_ps),
            at_ps: self.at_ps.max(other.at_ps),
        }
    }
}

/// Work and span of a run, and when it began and ended. All in nanoseconds of virtual time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Tasks, or slots of jobs, that came to their end.
    pub tasks: u64,
    /// What they said they take, added up.
    pub work_ns: u64,
    /// The longest path through them.
    pub span_ns: u64,
    /// The same with the [burden](crate::Costs::burden_ps) on each edge.
    pub burdened_span_ns: u64,
    /// From when the producers began until the last task ended.
    pub elapsed_ns: u64,
    /// From when the producers began until somebody outside who waited for the end knew of it, if anybody did.
    pub answered_ns: Option<u64>,
}

impl Profile {
    /// No run on `workers` workers takes less: `max(work / P, span)`, in nanoseconds.
    #[must_use]
    pub fn lower_bound_ns(&self, workers: usize) -> u64 {
        self.span_ns.max(self.work_ns.div_ceil(workers as u64))
    }

    /// What a greedy scheduler without costs takes at most: `work / P + span`, in nanoseconds.
    #[must_use]
    pub fn greedy_bound_ns(&self, workers: usize) -> u64 {
        self.span_ns + self.work_ns.div_ceil(workers as u64)
    }

    /// Work over span: more workers than these help nothing.
    #[must_use]
    pub fn parallelism(&self) -> f64 {
        self.work_ns as f64 / self.span_ns.max(1) as f64
    }
}

/// Follows the tasks of a run.
#[derive(Debug, Default)]
pub(crate) struct Profiler {
    /// Where each task begins.
    tasks: Vec<Reached>,
    /// Where each party is.
    parties: Vec<Reached>,
    span: Reached,
    work_ps: u64,
    ended: Ended,
    /// Slots of jobs, if it is about jobs: tasks are only looks at the board then.
    slots: Ended,
    answered_ps: Option<u64>,
}

/// How many have ended, and when the last one did.
#[derive(Clone, Copy, Debug, Default)]
struct Ended {
    count: u64,
    last_ps: u64,
}

impl Ended {
    fn add(&mut self, now_ps: u64) {
        self.count += 1;
        self.last_ps = self.last_ps.max(now_ps);
    }
}

impl Profiler {
    pub(crate) fn add_party(&mut self) {
        self.parties.push(Reached::default());
    }

    /// `party` has made the next task; its edge has this burden.
    pub(crate) fn spawned(&mut self, party: usize, burden_ps: u64) {
        self.tasks.push(self.parties[party].burdened(burden_ps));
    }

    /// `party` starts `task`.
    pub(crate) fn started(&mut self, party: usize, task: TaskId) {
        self.parties[party] = self.tasks[task as usize];
    }

    /// What runs on `party` takes so long.
    pub(crate) fn works(&mut self, party: usize, ps: u64) {
        let reached = &mut self.parties[party];
        reached.span_ps += ps;
        reached.burdened_ps += ps;
        self.work_ps += ps;
    }

    /// Where `party` is at its time `at_ps`.
    pub(crate) fn reached(&self, party: usize, at_ps: u64) -> Reached {
        Reached {
            at_ps,
            ..self.parties[party]
        }
    }

    /// What `party` does from now on also comes after `reached`. Gives when that was.
    pub(crate) fn comes_after(&mut self, party: usize, reached: Reached) -> u64 {
        self.parties[party] = self.parties[party].max(reached);
        reached.at_ps
    }

    /// What `party` does next comes after `reached` and nothing else.
    pub(crate) fn begins_at(&mut self, party: usize, reached: Reached) {
        self.parties[party] = reached;
    }

    /// What ran on `party` has ended, at `now_ps` by its clock.
    pub(crate) fn ended(&mut self, party: usize, now_ps: u64) {
        self.span = self.span.max(self.parties[party]);
        self.ended.add(now_ps);
    }

    /// A slot that ran on `party` has ended.
    pub(crate) fn slot_ended(&mut self, party: usize, now_ps: u64) {
        self.span = self.span.max(self.parties[party]);
        self.slots.add(now_ps);
    }

    /// Somebody outside knows that all is over.
    pub(crate) fn answered(&mut self, now_ps: u64) {
        self.answered_ps = self.answered_ps.max(Some(now_ps));
    }

    /// What came of it, in a run whose producers began at `began_ns`.
    pub(crate) fn profile(&self, began_ns: u64) -> Profile {
        let Ended { count, last_ps } = match self.slots {
            Ended { count: 0, .. } => self.ended,
            slots => slots,
        };
        let since = |ps: u64| (ps / PS).saturating_sub(began_ns);
        Profile {
            tasks: count,
            work_ns: self.work_ps / PS,
            span_ns: self.span.span_ps / PS,
            burdened_span_ns: self.span.burdened_ps / PS,
            elapsed_ns: since(last_ps),
            answered_ns: self.answered_ps.map(since),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_the_sum_and_span_the_longest_path() {
        let mut profiler = Profiler::default();
        (0..2).for_each(|_| profiler.add_party());
        // One outside, and task 0 with 5 ns, of which it spawns task 1 after 3; that has 4.
        profiler.spawned(1, 100_000);
        profiler.started(0, 0);
        profiler.works(0, 3_000);
        profiler.spawned(0, 100_000);
        profiler.works(0, 2_000);
        profiler.ended(0, 20_000);
        profiler.started(1, 1);
        profiler.works(1, 4_000);
        profiler.ended(1, 30_000);
        profiler.answered(41_000);
        let profile = profiler.profile(10);
        let expected = Profile {
            tasks: 2,
            work_ns: 9,
            span_ns: 7,
            burdened_span_ns: 207,
            elapsed_ns: 20,
            answered_ns: Some(31),
        };
        assert_eq!(profile, expected);
        assert_eq!((profile.lower_bound_ns(1), profile.lower_bound_ns(4)), (9, 7));
        assert_eq!(profile.greedy_bound_ns(2), 12);
    }
}
