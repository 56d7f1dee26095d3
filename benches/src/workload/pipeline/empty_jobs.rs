//! Jobs that do nothing: how many a second, and how long one takes there and back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Thread};

use pipeline_exec::{Job, PipelineExecutor, StepCx, step};
use tokio::sync::oneshot;

use super::{builder, rayon_of, started, windlass};
use crate::THREADS;
use crate::burn::now_ns;
use crate::contender::{Contender, Named, Outcome, Role};
use crate::target::{ALL_PEERS, Of, Target};
use crate::workload::{Column, Effort, Workload};

const JOBS: u64 = 50_000;

pub(super) fn workloads(effort: Effort) -> Vec<Workload> {
    vec![rate(), round_trip(effort)]
}

/// Counts jobs and adds their numbers up in one word, as cheaply as that can be done, and wakes whoever waits for the last.
struct Countdown {
    /// Jobs that have run, times [`ONE`](Self::ONE), and the sum of their numbers.
    word: AtomicU64,
    jobs: u64,
    waiting: Thread,
}

impl Countdown {
    /// More than the sum of all numbers.
    const ONE: u64 = 1 << 40;

    /// For so many jobs, to be waited for by this thread.
    fn new(jobs: u64) -> Arc<Self> {
        Arc::new(Self {
            word: AtomicU64::new(0),
            jobs,
            waiting: thread::current(),
        })
    }

    /// Job `number` has run.
    fn count(&self, number: u64) {
        let before = self.word.fetch_add(Self::ONE + number, Ordering::AcqRel);
        if before / Self::ONE + 1 == self.jobs {
            self.waiting.unpark();
        }
    }

    /// Sleeps until all have run; the sum of their numbers.
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

/// One thread outside hands over empty jobs, until all have run.
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
            // Counted in its slot, the last job may still end; its place is needed in the next run.
            while executor.snapshot().queue_depth > 0 {
                thread::yield_now();
            }
            sum.into()
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
            countdown.wait().into()
        }
    };
    let contenders: Vec<Box<dyn Contender>> = vec![
        Named::new("windlass", Role::Ours, ours).boxed(),
        Named::new("rayon spawn", Role::Peer, rayon).boxed(),
    ];
    Workload {
        name: "pipeline, empty jobs".to_owned(),
        story: format!(
            "{JOBS} jobs of one slot that counts in a shared word, from one thread outside, until all have run. Nobody keeps a ticket."
        ),
        units: JOBS,
        columns: vec![Column::ns_per("ns per job")],
        warm_ups: 1,
        rounds_max: usize::MAX,
        answer: Box::new(|| JOBS * (JOBS - 1) / 2),
        contenders,
        targets: vec![Target::as_fast(0.3, Of::Row("rayon spawn"))],
        is_elsewhere: false,
        family: None,
    }
}

/// There and back: handed over, run, and its end seen by the thread that waits for it.
fn round_trip(effort: Effort) -> Workload {
    let trips = effort.of(3_000, 300);
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
            pool.spawn(move || sender.send(1).expect("somebody waits"));
            receiver.blocking_recv().expect("it is sent")
        })
    };
    let contenders: Vec<Box<dyn Contender>> = vec![
        Named::new("windlass", Role::Ours, waiting).boxed(),
        Named::new("windlass, awaited", Role::Ours, awaiting).boxed(),
        Named::new("rayon spawn and oneshot", Role::Peer, rayon).boxed(),
    ];
    Workload {
        name: "pipeline, round trip".to_owned(),
        story: format!(
            "{trips} times a round: a job of one slot that does nothing is handed over from outside, and its end waited for, \
             to the moment when the caller goes on. Two sleepers are woken in each, a worker and the caller."
        ),
        units: trips,
        columns: vec![
            Column::Percentile {
                head: "p50, µs",
                percent: 50.0,
            },
            Column::Percentile {
                head: "p99, µs",
                percent: 99.0,
            },
        ],
        warm_ups: 1,
        rounds_max: usize::MAX,
        answer: Box::new(move || trips),
        contenders,
        targets: vec![Target::told(ALL_PEERS), Target::told(ALL_PEERS).column(1)],
        is_elsewhere: false,
        family: None,
    }
}

/// Runs `trip` so many times, and gives the time of each, in microseconds.
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

/// Hands over a job.
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
