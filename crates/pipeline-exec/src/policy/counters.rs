//! What an executor counts about itself, always on.
//!
//! Slots are counted in words of each worker's own, jobs in shared words, a few times in a job's life.

use std::sync::atomic::Ordering;

use crossbeam::utils::CachePadded;
use executor_core::ports::{Fetch, Memory};

use crate::error::JobErrorKind;
use crate::step_cx::Role;

/// Buckets of a time histogram: bucket `k` counts times below 2ᵏ microseconds and not below half of that, the last one
/// everything longer.
pub const TIME_BUCKETS: usize = 32;

/// The counters, as words.
#[derive(Debug)]
pub struct Counters<W> {
    slots: Box<[CachePadded<SlotsByRole<W>>]>,
    /// Slots that lent threads ran, of which there may be several at once.
    slots_lent: CachePadded<W>,
    jobs: CachePadded<JobCounters<W>>,
    wait_times: Box<[W]>,
    run_times: Box<[W]>,
}

#[derive(Debug)]
struct SlotsByRole<W> {
    main: W,
    reserve: W,
}

#[derive(Debug)]
struct JobCounters<W> {
    submitted: W,
    completed: W,
    failed: W,
    cancelled: W,
    handed_back: W,
}

/// The counters at one moment. Each only grows; among one another they may be some operations apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterValues {
    /// Jobs that were let in.
    pub submitted: usize,
    /// Jobs that completed.
    pub completed: usize,
    /// Jobs of which a step failed or panicked.
    pub failed: usize,
    /// Jobs that were cancelled, or past their deadline.
    pub cancelled: usize,
    /// Jobs that were handed back.
    pub handed_back: usize,
    /// Slots that workers ran in the main role.
    pub slots_main: usize,
    /// Slots that workers ran in the reserve role.
    pub slots_reserve: usize,
    /// Slots that threads ran which were lent to a job.
    pub slots_lent: usize,
    /// How long jobs waited for their first claim: see [`TIME_BUCKETS`].
    pub wait_times: Vec<usize>,
    /// How long jobs ran from their first claim on: see [`TIME_BUCKETS`].
    pub run_times: Vec<usize>,
}

impl<W> Counters<W> {
    pub(crate) fn new(workers: usize, mut word: impl FnMut(usize) -> W) -> Self {
        Self {
            slots: (0..workers)
                .map(|_| {
                    CachePadded::new(SlotsByRole {
                        main: word(0),
                        reserve: word(0),
                    })
                })
                .collect(),
            slots_lent: CachePadded::new(word(0)),
            jobs: CachePadded::new(JobCounters {
                submitted: word(0),
                completed: word(0),
                failed: word(0),
                cancelled: word(0),
                handed_back: word(0),
            }),
            wait_times: (0..TIME_BUCKETS).map(|_| word(0)).collect(),
            run_times: (0..TIME_BUCKETS).map(|_| word(0)).collect(),
        }
    }

    pub(crate) fn submitted<M: Memory<Word = W>>(&self, mem: &M) {
        add(mem, &self.jobs.submitted, 1);
    }

    pub(crate) fn ended<M: Memory<Word = W>>(
        &self,
        mem: &M,
        error: Option<JobErrorKind>,
        wait_ns: u64,
        run_ns: u64,
    ) {
        let jobs = &self.jobs;
        let word = match error {
            None => &jobs.completed,
            Some(JobErrorKind::Failed | JobErrorKind::Panicked) => &jobs.failed,
            Some(JobErrorKind::Cancelled | JobErrorKind::DeadlineExceeded) => &jobs.cancelled,
            Some(JobErrorKind::HandedBack) => &jobs.handed_back,
        };
        add(mem, word, 1);
        if error.is_none() {
            add(mem, &self.wait_times[bucket(wait_ns)], 1);
            add(mem, &self.run_times[bucket(run_ns)], 1);
        }
    }

    /// `worker` has run `slots` slots in `role`. Only that worker calls it, or a lent thread.
    pub(crate) fn ran<M: Memory<Word = W>>(&self, mem: &M, worker: usize, role: Role, slots: usize) {
        let word = match role {
            Role::Main => &self.slots[worker].main,
            Role::Reserve => &self.slots[worker].reserve,
            Role::Lent => return add(mem, &self.slots_lent, slots),
        };
        // Ordering: Relaxed, both. A number for people, written by one worker alone.
        let before = mem.load(word, Ordering::Relaxed);
        mem.store(word, before + slots, Ordering::Relaxed);
    }

    /// Reads all of it.
    pub fn values<M: Memory<Word = W>>(&self, mem: &M) -> CounterValues {
        // Ordering: Relaxed. Numbers for people.
        let read = |word: &W| mem.load(word, Ordering::Relaxed);
        CounterValues {
            submitted: read(&self.jobs.submitted),
            completed: read(&self.jobs.completed),
            failed: read(&self.jobs.failed),
            cancelled: read(&self.jobs.cancelled),
            handed_back: read(&self.jobs.handed_back),
            slots_main: self.slots.iter().map(|slots| read(&slots.main)).sum(),
            slots_reserve: self.slots.iter().map(|slots| read(&slots.reserve)).sum(),
            slots_lent: read(&self.slots_lent),
            wait_times: self.wait_times.iter().map(read).collect(),
            run_times: self.run_times.iter().map(read).collect(),
        }
    }
}

fn add<M: Memory>(mem: &M, word: &M::Word, n: usize) {
    // Ordering: Relaxed. A number for people.
    mem.fetch(word, Fetch::Add(n), Ordering::Relaxed);
}

fn bucket(ns: u64) -> usize {
    let us = ns / 1_000;
    ((u64::BITS - us.leading_zeros()) as usize).min(TIME_BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bucket_ends_at_twice_the_time_of_the_one_before_it() {
        for (ns, expected) in [
            (0, 0),
            (999, 0),
            (1_000, 1),
            (1_999, 1),
            (2_000, 2),
            (3_999, 2),
            (4_000, 3),
            (1 << 62, TIME_BUCKETS - 1),
            (u64::MAX, TIME_BUCKETS - 1),
        ] {
            assert_eq!(bucket(ns), expected, "{ns} ns");
        }
    }
}
