//! Empty jobs: throughput, and the time of a round trip.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Thread};

use pipeline_exec::{Job, PipelineExecutor, StepCx, step};
use tokio::sync::oneshot;

use super::{builder, rayon_of, started, windlass};
use crate::THREADS;
use crate::burn::now_ns;
use crate::contender::{Contender, Outcome};
use crate::options::Options;
use crate::target::{ALL_PEERS, Of, Target};
use crate::workload::{Column, Workload};

const JOBS: u64 = 50_000;

pub(super) fn workloads(options: &Options) -> Vec<Workload> {
    vec![rate(), round_trip(options)]
}

/// Counts jobs and sums their numbers in one word, and wakes the thread that waits for the last.
struct Countdown {
    /// Jobs that have run, times [`ONE`](Self::ONE), and the sum of their numbers.
    word: AtomicU64,
    jobs: u64,
    waiting: Thread,
}

impl Countdown {
    /// A number above the sum of all job numbers.
    const ONE: u64 = 1 << 40;

    /// This thread waits for them.
    fn new(jobs: u64) -> Arc<Self> {
        Arc::new(Self {
            word: AtomicU64::new(0),
            jobs,
            waiting: thread::current(),
        })
    }

    fn count(&self, number: u64) {
        let before = self.word.fetch_add(Self::ONE + number, Ordering::AcqRel);
        if before / Self::ONE + 1 == self.jobs {
            self.waiting.unpark();
        }
    }

    /// Returns the sum of their numbers.
    fn wait(&self) -> u64 {
        loop {
            let word = self.word.load(Ordering::Acquire);
            if word / Self::ONE == self.jobs {
                return word % Self::ONE;
            }
            thread::park();
        }
    }
}

/// One thread outside hands over empty jobs.
fn rate() -> Workload {
    let ours = || {
        let executor = started(builder().queue_capacity(JOBS as usize));
        move || {
            let countdown = Countdown::new(JOBS);
            for number in 0..JOBS {
                let countdown = Arc::clone(&countdown);
                let count = move |_: &StepCx<'_>| {
                    countdown.count(number);
                    Ok(())
                };
                drop(submit(&executor, Job::from_steps("empty", vec![step(count)])));
            }
            let sum = countdown.wait();
            // The last job may still end; the next run needs its place.
            while executor.snapshot().queue_depth > 0 {
                thread::yield_now();
            }
            sum
        }
    };
    let rayon = || {
        let pool = rayon_of(THREADS);
        move || {
            let countdown = Countdown::new(JOBS);
            for number in 0..JOBS {
                let countdown = Arc::clone(&countdown);
                pool.spawn(move || countdown.count(number));
            }
            countdown.wait()
        }
    };
    let contenders: Vec<Contender> = vec![
        Contender::ours("windlass", ours),
        Contender::peer("rayon spawn", rayon),
    ];
    Workload::new(
        "empty jobs",
        format!(
            "{JOBS} jobs of one slot that counts in a shared word, from one thread outside, until \
             all have run. No ticket is kept."
        ),
    )
    .units(JOBS)
    .columns([Column::ns_per("ns per job")])
    .answer(|| JOBS * (JOBS - 1) / 2)
    .rows(contenders)
    .targets([Target::as_fast(0.3, Of::Row("rayon spawn"))])
}

/// Hand-over, run, and the waiting thread's notice of the end.
fn round_trip(options: &Options) -> Workload {
    let trips = options.of(3_000, 300);
    let waiting = move || {
        let executor = windlass();
        sampled(trips, move |_| {
            let ticket = submit(&executor, Job::from_steps("empty", vec![step(|_| Ok(()))]));
            ticket.wait().expect("the step does not fail").slots as u64
        })
    };
    let awaiting = move || {
        let executor = windlass();
        sampled(trips, move |_| {
            let ticket = submit(&executor, Job::from_steps("empty", vec![step(|_| Ok(()))]));
            let report = pollster::block_on(ticket);
            report.expect("the step does not fail").slots as u64
        })
    };
    let rayon = move || {
        let pool = rayon_of(THREADS);
        sampled(trips, move |_| {
            let (sender, receiver) = oneshot::channel();
            pool.spawn(move || sender.send(1).expect("the caller waits"));
            receiver.blocking_recv().expect("it is sent")
        })
    };
    let contenders: Vec<Contender> = vec![
        Contender::ours("windlass", waiting),
        Contender::ours("windlass, awaited", awaiting),
        Contender::peer("rayon spawn and oneshot", rayon),
    ];
    Workload::new(
        "round trip",
        format!(
            "{trips} times a round: a job of one slot that does nothing is handed over from \
             outside, and its end waited for, to the moment when the caller goes on. Two sleepers \
             are woken in each, a worker and the caller."
        ),
    )
    .units(trips)
    .columns([
        Column::percentile("p50, µs", 50.0),
        Column::percentile("p99, µs", 99.0),
    ])
    .answer(move || trips)
    .rows(contenders)
    .targets([Target::told(ALL_PEERS), Target::told(ALL_PEERS).column(1)])
}

/// Returns the time of each trip in microseconds.
fn sampled(trips: u64, mut trip: impl FnMut(u64) -> u64 + 'static) -> impl FnMut() -> Outcome {
    move || {
        let mut outcome = Outcome::default();
        for number in 0..trips {
            let begun = now_ns();
            outcome.answer += trip(number);
            outcome.samples.push((now_ns() - begun) as f64 / 1e3);
        }
        outcome
    }
}

fn submit(executor: &PipelineExecutor, job: Job) -> pipeline_exec::JobTicket {
    executor.submit(job).expect("there is room")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_countdown_waits_for_all_and_gives_their_sum() {
        let countdown = Countdown::new(4_000);
        let sum = thread::scope(|scope| {
            for thread in 0..4 {
                let countdown = &countdown;
                scope.spawn(move || (0..1_000).for_each(|n| countdown.count(thread * 1_000 + n)));
            }
            countdown.wait()
        });
        assert_eq!(sum, 4_000 * 3_999 / 2);
    }
}
