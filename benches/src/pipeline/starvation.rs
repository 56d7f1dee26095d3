//! A minute of more short jobs than can run, beside a job of medium weight and a heavy one: the
//! share of each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam::utils::CachePadded;
use pipeline_exec::{Job, PipelineExecutor, Stage, StepCx, StepError, step};
use rayon::prelude::*;

use super::{builder, rayon_of, started};
use crate::THREADS;
use crate::burn::{STEPS_1_MS, burn, now_ns};
use crate::contender::{Contender, Outcome};
use crate::target::{Of, Target};
use crate::workload::{Column, Effort, Workload};

/// Waiting short jobs at any moment, at least.
const BACKLOG: u64 = 64;

/// Slots of the two large jobs: more than can run meanwhile.
const SLOTS: usize = 1_000_000;

/// Longest time that a job may go without service.
const GAP_MAX_MS: f64 = 1_000.0;

/// Who is served.
const SHORT: usize = 0;
const MIDDLE: usize = 1;
const HEAVIEST: usize = 2;

pub(super) fn workload(effort: Effort) -> Workload {
    let window = Duration::from_secs(effort.of(60, 5));
    let mut contenders: Vec<Contender> = Vec::new();
    for (name, threads) in [("windlass", THREADS), ("windlass, 1 worker", 1)] {
        let start = move || {
            let executor = started(builder().threads(threads));
            move || ours(&executor, threads, window)
        };
        contenders.push(Contender::ours(name, start));
    }
    let start = move || {
        let pool = Arc::new(rayon_of(THREADS));
        move || peer(&pool, window)
    };
    contenders.push(Contender::peer("rayon", start));
    let ours = ["windlass", "windlass, 1 worker"];
    let no_gap = |column| {
        ours.map(|row| {
            Target::at_most(GAP_MAX_MS, Of::Number(1.0))
                .row(row)
                .column(column)
        })
    };
    Workload::new(
        "starvation",
        format!(
            "For {} s at least {BACKLOG} jobs of one slot of some 0.2 ms wait, beside a job of \
             slots of some 0.5 ms whose cost is stated as a tenth of the heaviest's, which has \
             slots of some 1 ms. Shares of the workers' time, and the longest time in which nothing \
             of a job ran.",
            window.as_secs()
        ),
    )
    .columns([
        Column::gained("short, %", SHORT),
        Column::gained("middle, %", MIDDLE),
        Column::gained("heaviest, %", HEAVIEST),
        Column::measured("longest gap: short, ms", 3 + SHORT),
        Column::measured("middle, ms", 3 + MIDDLE),
        Column::measured("heaviest, ms", 3 + HEAVIEST),
    ])
    .cold()
    .rounds_max(1)
    .rows(contenders)
    .targets((3..6).flat_map(no_gap))
}

/// Service of each of the three kinds.
#[derive(Default)]
struct Ledger {
    kinds: [CachePadded<Served>; 3],
    /// Short jobs that have run.
    shorts: CachePadded<AtomicU64>,
    stop: AtomicBool,
}

#[derive(Default)]
struct Served {
    busy_ns: AtomicU64,
    last_ns: AtomicU64,
    longest_gap_ns: AtomicU64,
}

impl Ledger {
    fn begin() -> Arc<Self> {
        let ledger = Self::default();
        let now = now_ns();
        for kind in &ledger.kinds {
            kind.last_ns.store(now, Ordering::Relaxed);
        }
        Arc::new(ledger)
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Runs a slot of `kind`, unless the time is over.
    fn slot(&self, kind: usize, steps: u64) {
        if self.stopped() {
            return;
        }
        let served = &self.kinds[kind];
        let begun = now_ns();
        // Several threads may serve one job: the latest earlier service counts.
        let last = served.last_ns.fetch_max(begun, Ordering::Relaxed);
        served
            .longest_gap_ns
            .fetch_max(begun.saturating_sub(last), Ordering::Relaxed);
        std::hint::black_box(burn(begun, steps));
        let ended = now_ns();
        served.busy_ns.fetch_add(ended - begun, Ordering::Relaxed);
        served.last_ns.fetch_max(ended, Ordering::Relaxed);
    }

    fn short(&self) {
        self.slot(SHORT, STEPS_1_MS / 5);
        self.shorts.fetch_add(1, Ordering::Relaxed);
    }

    /// Keeps short jobs coming for `window`, then stops.
    fn feed(&self, window: Duration, mut submit: impl FnMut()) {
        let (begun, mut sent) = (now_ns(), 0);
        while u128::from(now_ns() - begun) < window.as_nanos() {
            // Twice the backlog, enough while this thread sleeps or waits for a core.
            while sent < self.shorts.load(Ordering::Relaxed) + 2 * BACKLOG {
                submit();
                sent += 1;
            }
            thread::sleep(Duration::from_millis(1));
        }
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Shares and gaps up to now; the time since a kind's last slot is a gap, too.
    fn outcome(&self, threads: usize, window: Duration) -> Outcome {
        let now = now_ns();
        let all = window.as_nanos() as f64 * threads as f64;
        let shares = self.kinds.iter().map(|kind| {
            let busy = kind.busy_ns.load(Ordering::Relaxed);
            busy as f64 / all * 100.0
        });
        let gaps = self.kinds.iter().map(|kind| {
            let last = now.saturating_sub(kind.last_ns.load(Ordering::Relaxed));
            let longest = kind.longest_gap_ns.load(Ordering::Relaxed).max(last);
            longest as f64 / 1e6
        });
        Outcome {
            answer: 1,
            measured: shares.chain(gaps).collect(),
            ..Outcome::default()
        }
    }
}

/// One of the two large jobs.
struct Large {
    ledger: Arc<Ledger>,
    kind: usize,
    steps: u64,
}

impl Stage for Large {
    fn slots(&self) -> usize {
        SLOTS
    }

    fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        self.ledger.slot(self.kind, self.steps);
        Ok(())
    }
}

/// Kind, steps of a slot and cost of the two large jobs.
const LARGE: [(usize, u64, u64); 2] = [
    (MIDDLE, STEPS_1_MS / 2, 100_000),
    (HEAVIEST, STEPS_1_MS, 1_000_000),
];

fn ours(executor: &PipelineExecutor, threads: usize, window: Duration) -> Outcome {
    let ledger = Ledger::begin();
    let large = LARGE.map(|(kind, steps, cost)| {
        let ledger = Arc::clone(&ledger);
        let stage = Arc::new(Large { ledger, kind, steps });
        let job = Job::builder("large").cost(cost).stage(stage).build();
        executor.submit(job).expect("there is room")
    });
    ledger.feed(window, || {
        let ledger = Arc::clone(&ledger);
        let short = step(move |_: &StepCx<'_>| {
            ledger.short();
            Ok(())
        });
        drop(
            executor
                .submit(Job::from_steps("short", vec![short]))
                .expect("there is room"),
        );
    });
    let outcome = ledger.outcome(threads, window);
    for ticket in large {
        ticket.control().cancel();
        ticket.wait().expect_err("it had more to do");
    }
    outcome
}

fn peer(pool: &Arc<rayon::ThreadPool>, window: Duration) -> Outcome {
    let ledger = Ledger::begin();
    for (kind, steps, _) in LARGE {
        let ledger = Arc::clone(&ledger);
        pool.spawn(move || {
            let slots = (0..SLOTS).into_par_iter().with_max_len(1);
            slots.for_each(|_| ledger.slot(kind, steps));
        });
    }
    ledger.feed(window, || {
        let ledger = Arc::clone(&ledger);
        pool.spawn(move || ledger.short());
    });
    ledger.outcome(THREADS, window)
}
