//! The counters of an executor: a place for each worker, and one for all other threads. A worker
//! loads and stores its own words; other threads share the last place, with read-modify-writes.

mod stopwatch;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam::utils::CachePadded;
use executor_core::TimeHistogram;

use super::counts::{Activity, JobCounts, Times};
use crate::error::JobErrorKind;
use crate::policy::job::spec::Class;
use crate::step_cx::Role;
use stopwatch::Stopwatch;

#[derive(Debug)]
pub(crate) struct Meter {
    places: Box<[CachePadded<Place>]>,
    refused_full: AtomicU64,
}

#[derive(Debug)]
struct Place {
    /// Whether several threads count here.
    shared: bool,
    main: InRole,
    reserve: InRole,
    lent: InRole,
    spare: InRole,
    visits: AtomicU64,
    claims: AtomicU64,
    ended: Ended,
    times: [OnceLock<Box<TimeWords>>; Class::ALL.len()],
}

#[derive(Debug, Default)]
struct InRole {
    slots: AtomicU64,
    busy: Stopwatch,
}

#[derive(Debug, Default)]
struct Ended {
    completed: AtomicU64,
    failed: AtomicU64,
    panicked: AtomicU64,
    cancelled: AtomicU64,
    deadline_exceeded: AtomicU64,
    handed_back: AtomicU64,
}

#[derive(Debug, Default)]
struct TimeWords {
    wait: Samples,
    run: Samples,
}

#[derive(Debug)]
struct Samples {
    counts: Box<[AtomicU64]>,
    sum_ns: AtomicU64,
    max_ns: AtomicU64,
}

impl Meter {
    pub(crate) fn new(workers: usize) -> Self {
        let places = (0..=workers).map(|place| CachePadded::new(Place::new(place == workers)));
        Self {
            places: places.collect(),
            refused_full: AtomicU64::new(0),
        }
    }

    #[inline]
    pub(crate) fn slot_ran(&self, worker: usize, role: Role) {
        let place = self.place(worker);
        place.add(&place.role(role).slots, 1);
    }

    pub(crate) fn entered(&self, worker: usize, role: Role, at_ns: u64) {
        self.place(worker).entered(role, at_ns);
    }

    pub(crate) fn left(&self, worker: usize, role: Role, since_ns: u64, at_ns: u64, claims: usize) {
        let place = self.place(worker);
        place.add(&place.visits, 1);
        place.add(&place.claims, claims as u64);
        place.left(role, since_ns, at_ns);
    }

    pub(crate) fn waited(&self, worker: usize, class: Class, wait_ns: u64) {
        let place = self.place(worker);
        place.took(&place.times(class).wait, wait_ns);
    }

    pub(crate) fn ended(
        &self,
        worker: Option<usize>,
        class: Class,
        error: Option<JobErrorKind>,
        wait_ns: u64,
        run_ns: Option<u64>,
    ) {
        let place = self.place(worker.unwrap_or(usize::MAX));
        place.add(place.ended.by(error), 1);
        match run_ns {
            Some(run_ns) => place.took(&place.times(class).run, run_ns),
            None => place.took(&place.times(class).wait, wait_ns),
        }
    }

    pub(crate) fn refused_full(&self) {
        // Ordering: Relaxed. A statistic.
        self.refused_full.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn activities(&self, now_ns: u64) -> Vec<Activity> {
        self.places.iter().map(|place| place.activity(now_ns)).collect()
    }

    pub(crate) fn jobs(&self, submitted: u64) -> JobCounts {
        let sum =
            |word: fn(&Ended) -> &AtomicU64| self.places.iter().map(|place| read(word(&place.ended))).sum();
        JobCounts {
            submitted,
            refused_full: read(&self.refused_full),
            completed: sum(|ended| &ended.completed),
            failed: sum(|ended| &ended.failed),
            panicked: sum(|ended| &ended.panicked),
            cancelled: sum(|ended| &ended.cancelled),
            deadline_exceeded: sum(|ended| &ended.deadline_exceeded),
            handed_back: sum(|ended| &ended.handed_back),
        }
    }

    pub(crate) fn times(&self, class: Class) -> Times {
        let mut times = Times::default();
        for words in self
            .places
            .iter()
            .filter_map(|place| place.times[class as usize].get())
        {
            times.wait.merge(&words.wait.histogram());
            times.run.merge(&words.run.histogram());
        }
        times
    }

    #[inline]
    fn place(&self, worker: usize) -> &Place {
        &self.places[worker.min(self.places.len() - 1)]
    }
}

impl Place {
    fn new(shared: bool) -> Self {
        Self {
            shared,
            main: InRole::default(),
            reserve: InRole::default(),
            lent: InRole::default(),
            spare: InRole::default(),
            visits: AtomicU64::new(0),
            claims: AtomicU64::new(0),
            ended: Ended::default(),
            times: Default::default(),
        }
    }

    fn role(&self, role: Role) -> &InRole {
        match role {
            Role::Main => &self.main,
            Role::Reserve => &self.reserve,
            Role::Lent => &self.lent,
            Role::Spare => &self.spare,
        }
    }

    fn times(&self, class: Class) -> &TimeWords {
        self.times[class as usize].get_or_init(Box::default)
    }

    #[inline]
    fn add(&self, word: &AtomicU64, n: u64) {
        // Ordering: Relaxed, all. Statistics; only one thread writes a worker's own place.
        if self.shared {
            word.fetch_add(n, Ordering::Relaxed);
        } else {
            word.store(word.load(Ordering::Relaxed) + n, Ordering::Relaxed);
        }
    }

    fn took(&self, samples: &Samples, ns: u64) {
        self.add(&samples.counts[TimeHistogram::bucket_of(ns)], 1);
        self.add(&samples.sum_ns, ns);
        // Ordering: Relaxed, both. Statistics.
        if samples.max_ns.load(Ordering::Relaxed) < ns {
            samples.max_ns.fetch_max(ns, Ordering::Relaxed);
        }
    }

    fn entered(&self, role: Role, at_ns: u64) {
        // The time of threads that share this place is added when they leave.
        if self.shared {
            return;
        }
        // A visit that user code left by a panic has not recorded its end.
        self.main.busy.stop(at_ns);
        self.reserve.busy.stop(at_ns);
        self.role(role).busy.start(at_ns);
    }

    fn left(&self, role: Role, since_ns: u64, at_ns: u64) {
        let busy = &self.role(role).busy;
        if self.shared {
            busy.add(at_ns.saturating_sub(since_ns));
        } else {
            busy.stop(at_ns);
        }
    }

    fn activity(&self, now_ns: u64) -> Activity {
        Activity {
            slots_main: read(&self.main.slots),
            slots_reserve: read(&self.reserve.slots),
            slots_lent: read(&self.lent.slots),
            slots_spare: read(&self.spare.slots),
            visits: read(&self.visits),
            claims: read(&self.claims),
            jobs_ended: self.ended.all().into_iter().map(read).sum(),
            busy_main: self.main.busy.at(now_ns),
            busy_reserve: self.reserve.busy.at(now_ns),
            busy_lent: self.lent.busy.at(now_ns),
            busy_spare: self.spare.busy.at(now_ns),
        }
    }
}

impl Ended {
    fn by(&self, error: Option<JobErrorKind>) -> &AtomicU64 {
        match error {
            None => &self.completed,
            Some(JobErrorKind::Failed) => &self.failed,
            Some(JobErrorKind::Panicked) => &self.panicked,
            Some(JobErrorKind::Cancelled) => &self.cancelled,
            Some(JobErrorKind::DeadlineExceeded) => &self.deadline_exceeded,
            Some(JobErrorKind::HandedBack) => &self.handed_back,
        }
    }

    fn all(&self) -> [&AtomicU64; 6] {
        let Self {
            completed,
            failed,
            panicked,
            cancelled,
            deadline_exceeded,
            handed_back,
        } = self;
        [
            completed,
            failed,
            panicked,
            cancelled,
            deadline_exceeded,
            handed_back,
        ]
    }
}

impl Samples {
    fn histogram(&self) -> TimeHistogram {
        TimeHistogram::from_buckets(
            self.counts.iter().map(read),
            read(&self.sum_ns),
            read(&self.max_ns),
        )
    }
}

impl Default for Samples {
    fn default() -> Self {
        Self {
            counts: (0..TimeHistogram::BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            sum_ns: AtomicU64::new(0),
            max_ns: AtomicU64::new(0),
        }
    }
}

fn read(word: &AtomicU64) -> u64 {
    // Ordering: Relaxed. A statistic.
    word.load(Ordering::Relaxed)
}
