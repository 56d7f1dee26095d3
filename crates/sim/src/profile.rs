//! Work and span of a run: the time of its task graph on one worker, and on infinitely many.
//!
//! Both follow from the tasks' time ([`SimCtx::work`](crate::SimCtx::work)) and spawns, so they are
//! equal for every schedule. The *burdened* span adds to each edge the least cost of waking a
//! worker, as in Cilkview (He, Leiserson and Leiserson, "The Cilkview scalability analyzer", SPAA
//! 2010). A greedy scheduler without costs is between two bounds (Brent; Graham):
//!
//! ```text
//!   max(work / P, span)  ≤  makespan  ≤  work / P + span
//! ```
//!
//! The left bound holds for every run. With costs the right one takes the burdened span, and the
//! makespan on one worker as the work.

use crate::clock::PS;
use crate::oracle::TaskId;

/// A position on a path of spawns: the time of everything before it. See
/// [`SimCtx::reached`](crate::SimCtx::reached).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    span_ps: u64,
    burdened_ps: u64,
    at_ps: u64,
}

impl Reached {
    pub(crate) fn burdened(self, burden_ps: u64) -> Self {
        Self {
            burdened_ps: self.burdened_ps + burden_ps,
            ..self
        }
    }

    /// The further of two positions.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            span_ps: self.span_ps.max(other.span_ps),
            burdened_ps: self.burdened_ps.max(other.burdened_ps),
            at_ps: self.at_ps.max(other.at_ps),
        }
    }
}

/// Work and span of a run, its beginning and end, in nanoseconds of virtual time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Tasks, or slots of jobs, that ended.
    pub tasks: u64,
    /// The sum of their times.
    pub work_ns: u64,
    /// The longest path through them.
    pub span_ns: u64,
    /// The span with the [burden](crate::Costs::burden_ps) on each edge.
    pub burdened_span_ns: u64,
    /// From the start of the producers until the last task ended.
    pub elapsed_ns: u64,
    /// From the start of the producers until a waiting environment actor knew of the end.
    pub answered_ns: Option<u64>,
}

impl Profile {
    /// The least time on `workers` workers: `max(work / P, span)`, in nanoseconds.
    #[must_use]
    pub fn lower_bound_ns(&self, workers: usize) -> u64 {
        self.span_ns.max(self.work_ns.div_ceil(workers as u64))
    }

    /// The most time of a greedy scheduler without costs: `work / P + span`, in nanoseconds.
    #[must_use]
    pub fn greedy_bound_ns(&self, workers: usize) -> u64 {
        self.span_ns + self.work_ns.div_ceil(workers as u64)
    }

    /// Work over span: further workers do not help.
    #[must_use]
    pub fn parallelism(&self) -> f64 {
        self.work_ns as f64 / self.span_ns.max(1) as f64
    }
}

#[derive(Debug, Default)]
pub(crate) struct Profiler {
    tasks: Vec<Reached>,
    actors: Vec<Reached>,
    span: Reached,
    work_ps: u64,
    ended: Ended,
    /// With slots of jobs, the tasks are only looks at the board.
    slots: Ended,
    answered_ps: Option<u64>,
}

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
    pub(crate) fn add_actor(&mut self) {
        self.actors.push(Reached::default());
    }

    pub(crate) fn spawned(&mut self, actor: usize, burden_ps: u64) {
        self.tasks.push(self.actors[actor].burdened(burden_ps));
    }

    pub(crate) fn started(&mut self, actor: usize, task: TaskId) {
        self.actors[actor] = self.tasks[task as usize];
    }

    pub(crate) fn works(&mut self, actor: usize, ps: u64) {
        let reached = &mut self.actors[actor];
        reached.span_ps += ps;
        reached.burdened_ps += ps;
        self.work_ps += ps;
    }

    pub(crate) fn reached(&self, actor: usize, at_ps: u64) -> Reached {
        Reached {
            at_ps,
            ..self.actors[actor]
        }
    }

    /// Returns the time of `reached`.
    pub(crate) fn comes_after(&mut self, actor: usize, reached: Reached) -> u64 {
        self.actors[actor] = self.actors[actor].max(reached);
        reached.at_ps
    }

    pub(crate) fn begins_at(&mut self, actor: usize, reached: Reached) {
        self.actors[actor] = reached;
    }

    pub(crate) fn ended(&mut self, actor: usize, now_ps: u64) {
        self.span = self.span.max(self.actors[actor]);
        self.ended.add(now_ps);
    }

    pub(crate) fn slot_ended(&mut self, actor: usize, now_ps: u64) {
        self.span = self.span.max(self.actors[actor]);
        self.slots.add(now_ps);
    }

    pub(crate) fn answered(&mut self, now_ps: u64) {
        self.answered_ps = self.answered_ps.max(Some(now_ps));
    }

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
        (0..2).for_each(|_| profiler.add_actor());
        // Task 0 of 5 ns spawns task 1 of 4 ns after 3 ns.
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
