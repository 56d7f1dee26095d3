//! The cost of a push: our injector, crossbeam's, and crossbeam's channel, without an executor.
//!
//! A single producer empties its queue between bursts, outside the measured time; a consumer takes
//! up to [`RUN`] values at a time and pauses when it finds none.

use std::hint::{self, black_box};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::{self, Receiver, Sender};
use crossbeam_deque::{Injector as DequeInjector, Steal, Worker};
use injector::{Injector, Next};

use crate::contender::{Contender, Outcome};
use crate::target::{ALL_PEERS, Target};
use crate::workload::{Column, Workload};

/// Number of a producer's pushes.
const PUSHES: u64 = 400_000;
/// Values between two emptyings of the queue.
const BURST: u64 = 100;
/// Values that are taken at once.
const RUN: usize = 32;
/// Spins of a consumer that found nothing.
const PAUSE: u32 = 1_000;

/// Nanoseconds of producers' time a push.
fn scene(queue: &impl Queue, producers: u64) -> Outcome {
    Outcome::verified(vec![match producers {
        0 => alone(queue),
        producers => beside_a_consumer(queue, producers),
    }])
}

pub(super) fn workloads() -> Vec<Workload> {
    let scenes = [
        (0, "a producer alone"),
        (1, "a producer and a consumer"),
        (2, "two producers and a consumer"),
    ];
    let workload = |(producers, label): (u64, &str)| {
        let rows = [
            Contender::ours("injector", move || move || scene(&Injector::new(), producers)),
            Contender::peer("crossbeam Injector", move || {
                move || scene(&DequeInjector::new(), producers)
            }),
            Contender::peer("crossbeam channel", move || {
                move || {
                    let (sender, receiver) = channel::unbounded();
                    scene(&Channel(sender, receiver), producers)
                }
            }),
        ];
        Workload::new(
            format!("push: {label}"),
            format!("{PUSHES} values of 8 bytes a producer, without an executor around the queue."),
        )
        .columns([Column::measured("ns a push", 0)])
        .rows(rows)
        .targets([Target::told(ALL_PEERS).row("injector")])
        .pivot("push", "threads", label, &[0])
    };
    scenes.map(workload).into()
}

trait Queue: Sync {
    fn push(&self, value: u64);

    /// Takes at most [`RUN`] values. Returns their number.
    fn take(&self, own: &Worker<u64>) -> usize;
}

struct Channel(Sender<u64>, Receiver<u64>);

impl Queue for Injector<u64> {
    fn push(&self, value: u64) {
        Injector::push(self, value);
    }

    fn take(&self, own: &Worker<u64>) -> usize {
        let mut left = RUN;
        Injector::take(self, |value| {
            own.push(value);
            left -= 1;
            if left > 0 { Next::More } else { Next::Enough }
        })
    }
}

impl Queue for DequeInjector<u64> {
    fn push(&self, value: u64) {
        DequeInjector::push(self, value);
    }

    fn take(&self, own: &Worker<u64>) -> usize {
        if self.is_empty() {
            return 0;
        }
        match self.steal_batch_with_limit(own, RUN) {
            Steal::Success(()) => own.len(),
            Steal::Empty | Steal::Retry => 0,
        }
    }
}

impl Queue for Channel {
    fn push(&self, value: u64) {
        self.0.send(value).expect("the receiver is here");
    }

    fn take(&self, own: &Worker<u64>) -> usize {
        self.1.try_iter().take(RUN).map(|value| own.push(value)).count()
    }
}

fn consume(queue: &impl Queue, own: &Worker<u64>) -> usize {
    let taken = queue.take(own);
    while let Some(value) = own.pop() {
        black_box(value);
    }
    taken
}

fn per_push(time: Duration, pushes: u64) -> f64 {
    time.as_secs_f64() * 1e9 / pushes as f64
}

fn alone(queue: &impl Queue) -> f64 {
    let own = Worker::new_fifo();
    let mut time = Duration::ZERO;
    for _ in 0..PUSHES / BURST {
        let start = Instant::now();
        (0..BURST).for_each(|value| queue.push(value));
        time += start.elapsed();
        while consume(queue, &own) > 0 {}
    }
    per_push(time, PUSHES)
}

fn beside_a_consumer(queue: &impl Queue, producers: u64) -> f64 {
    let done = AtomicBool::new(false);
    let start = Barrier::new(producers as usize + 1);
    thread::scope(|scope| {
        scope.spawn(|| {
            let own = Worker::new_fifo();
            start.wait();
            loop {
                // Read first: the look then finds everything pushed before.
                let last = done.load(Ordering::Acquire);
                if consume(queue, &own) > 0 {
                    continue;
                }
                if last {
                    break;
                }
                (0..PAUSE).for_each(|_| hint::spin_loop());
            }
        });
        let produce = || {
            start.wait();
            let from = Instant::now();
            (0..PUSHES).for_each(|value| queue.push(value));
            from.elapsed()
        };
        let threads: Vec<_> = (0..producers).map(|_| scope.spawn(produce)).collect();
        let time: Duration = threads
            .into_iter()
            .map(|producer| producer.join().expect("a producer does not panic"))
            .sum();
        done.store(true, Ordering::Release);
        per_push(time, producers * PUSHES)
    })
}
