//! What a push costs: our injector, crossbeam's, and crossbeam's channel, without an executor around them.
//!
//! ```text
//! cargo run --release -p benches --example push_cost [rounds]
//! ```
//!
//! Three scenes, interleaved round by round, the median of each: a producer alone, whose queue is emptied between bursts by
//! itself, outside the measured time; a producer beside a consumer that takes up to 32 and pauses when it finds nothing; two
//! producers beside that consumer. Nanoseconds a push, of the producers' time.

use std::hint::{self, black_box};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::{self, Receiver, Sender};
use crossbeam_deque::{Injector as DequeInjector, Steal, Worker};
use injector::{Injector, Next};

const PUSHES: u64 = 400_000;
const BURST: u64 = 100;
const RUN: usize = 32;
const PAUSE: u32 = 1_000;

/// A queue as producers and a consumer see it.
trait Queue: Sync {
    fn push(&self, value: u64);

    /// Takes up to [`RUN`] values; gives how many.
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

/// Takes once, and is done with what it took.
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

/// Bursts of pushes, emptied in between.
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

/// Producers beside a consumer.
fn beside_a_consumer(queue: &impl Queue, producers: u64) -> f64 {
    let done = AtomicBool::new(false);
    let start = Barrier::new(producers as usize + 1);
    thread::scope(|scope| {
        scope.spawn(|| {
            let own = Worker::new_fifo();
            start.wait();
            loop {
                // Read before the look: what was pushed before is found then.
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

fn scenes(queue: &impl Queue) -> [f64; 3] {
    [
        alone(queue),
        beside_a_consumer(queue, 1),
        beside_a_consumer(queue, 2),
    ]
}

fn main() {
    let rounds = std::env::args()
        .nth(1)
        .map_or(15, |rounds| rounds.parse().expect("rounds are a number"));
    let mut figures: [Vec<[f64; 3]>; 3] = Default::default();
    for _ in 0..rounds {
        figures[0].push(scenes(&Injector::new()));
        figures[1].push(scenes(&DequeInjector::new()));
        let (sender, receiver) = channel::unbounded();
        figures[2].push(scenes(&Channel(sender, receiver)));
    }
    println!("ns a push, median of {rounds} rounds (best)");
    println!(
        "{:22}{:>16}{:>16}{:>16}",
        "", "alone", "1 and consumer", "2 and consumer"
    );
    for (name, rounds) in ["injector", "crossbeam Injector", "crossbeam channel"]
        .iter()
        .zip(figures)
    {
        print!("{name:22}");
        for scene in 0..3 {
            let mut all: Vec<f64> = rounds.iter().map(|round| round[scene]).collect();
            all.sort_by(f64::total_cmp);
            print!("{:>9.1} ({:>4.1})", all[all.len() / 2], all[0]);
        }
        println!();
    }
}
