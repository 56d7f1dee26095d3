//! Cancel to stopped: how long slots still run after the call.

use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use pipeline_exec::{JobErrorKind, JobTicket};
use rayon::prelude::*;

use super::burning::Burning;
use super::{rayon_of, windlass};
use crate::THREADS;
use crate::burn::{STEPS_1_MS, burn, now_ns};
use crate::contender::{Contender, Outcome};
use crate::options::Options;
use crate::stats::percentile;
use crate::target::{Of, Target};
use crate::workload::{Column, Workload};

/// Slots of a heavy job, more than run before its cancel.
const SLOTS: usize = 10_000;

const AIM_MS: f64 = 4.0;

/// Least time that a job runs before it is cancelled, and the most added to it.
const RUNS_US: u64 = 3_000;
const RUNS_MORE_US: u64 = 8_000;

pub(super) fn workload(options: &Options) -> Workload {
    let cancels = options.of(60, 10);
    let ours = move || {
        let executor = windlass();
        move || {
            let heavy = || {
                let job = Burning::new(SLOTS, STEPS_1_MS).job();
                executor.submit(job).expect("there is room")
            };
            let mut measured = Measured::default();
            // One a worker; they are cancelled and replaced in turn.
            let mut running: Vec<JobTicket> = (0..THREADS).map(|_| heavy()).collect();
            for number in 0..cancels {
                thread::sleep(moment(number));
                let ticket = running.remove(0);
                let begun = now_ns();
                ticket.control().cancel();
                measured.add(begun, wait_for(ticket));
                running.push(heavy());
            }
            running.iter().for_each(|ticket| ticket.control().cancel());
            let left = running.into_iter().map(wait_for);
            assert_eq!(left.count(), THREADS);
            measured.outcome()
        }
    };
    let rayon = move || {
        let pool = Arc::new(rayon_of(THREADS));
        move || {
            let mut measured = Measured::default();
            for number in 0..cancels {
                let stop = Arc::new(AtomicBool::new(false));
                let (pool, stopped) = (Arc::clone(&pool), Arc::clone(&stop));
                let job = thread::spawn(move || {
                    pool.install(|| {
                        let slots = (0..SLOTS).into_par_iter().with_max_len(1);
                        slots.for_each(|slot| {
                            if !stopped.load(Ordering::Relaxed) {
                                std::hint::black_box(burn(slot as u64, STEPS_1_MS));
                            }
                        });
                        now_ns()
                    })
                });
                thread::sleep(moment(number));
                let begun = now_ns();
                stop.store(true, Ordering::Relaxed);
                let ended = job.join().expect("it does not panic");
                measured.add(begun, (ended, now_ns()));
            }
            measured.outcome()
        }
    };
    let contenders: Vec<Contender> = vec![
        Contender::ours("windlass", ours),
        Contender::peer("rayon, a flag", rayon),
    ];
    Workload::new(
        "cancel",
        format!(
            "Heavy jobs of slots of some 1 ms keep all workers busy; one is cancelled at a moment \
             by chance, {cancels} times a round. From the call to the moment when its ticket fires, \
             and to the one when its waiter goes on, which has to be given a core. The slots of \
             rayon's one job look at a flag before they start, and those that are left are skipped."
        ),
    )
    .units(cancels)
    .columns([
        Column::percentile("fires p50, ms", 50.0),
        Column::percentile("fires p99, ms", 99.0),
        Column::measured("seen p99, ms", 0),
    ])
    .cold()
    .answer(move || cancels)
    .rows(contenders)
    .targets([Target::at_most(AIM_MS, Of::Number(1.0)).column(1)])
}

/// Time from one cancel to the next: the same for all rows.
fn moment(number: u64) -> Duration {
    let by_chance = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    Duration::from_micros(RUNS_US + by_chance % RUNS_MORE_US)
}

#[derive(Default)]
struct Measured {
    fires_ms: Vec<f64>,
    seen_ms: Vec<f64>,
}

impl Measured {
    fn add(&mut self, begun: u64, (fired, seen): (u64, u64)) {
        // It may have fired on another thread before this one read the clock.
        self.fires_ms.push(fired.saturating_sub(begun) as f64 / 1e6);
        self.seen_ms.push((seen - begun) as f64 / 1e6);
    }

    fn outcome(mut self) -> Outcome {
        self.seen_ms.sort_by(f64::total_cmp);
        Outcome {
            answer: self.fires_ms.len() as u64,
            measured: vec![percentile(&self.seen_ms, 99.0)],
            samples: self.fires_ms,
        }
    }
}

struct Noting {
    thread: Thread,
    fired_ns: AtomicU64,
}

impl Wake for Noting {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.fired_ns.store(now_ns(), Ordering::Release);
        self.thread.unpark();
    }
}

/// Returns when the ticket fired, and when this thread continued.
fn wait_for(mut ticket: JobTicket) -> (u64, u64) {
    let noting = Arc::new(Noting {
        thread: thread::current(),
        fired_ns: AtomicU64::new(0),
    });
    let waker = Waker::from(Arc::clone(&noting));
    let end = loop {
        match Pin::new(&mut ticket).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(end) => break end,
            Poll::Pending => thread::park(),
        }
    };
    let seen = now_ns();
    let error = end.expect_err("it had more to do");
    assert_eq!(error.kind, JobErrorKind::Cancelled);
    match noting.fired_ns.load(Ordering::Acquire) {
        0 => (seen, seen),
        fired => (fired, seen),
    }
}
