//! A task enum: counts the primes below a bound, in parallel.
//!
//! ```text
//! cargo run --release -p executor-threaded --example task_enum -- 200000000
//! ```
//!
//! The runner holds what all tasks read. A worker's scratch value holds what its tasks write: a
//! sieve that is reused, and a count that is added to the total when the scratch value is dropped,
//! before `join` returns.

use std::error::Error;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use executor_threaded::{Executor, WorkerCtx, for_host};

/// Numbers in a segment, whose sieve fits a second-level cache.
const SEGMENT: u64 = 1 << 19;

/// Segments that a task sieves itself; it splits a larger range.
const SEGMENTS_MAX: u64 = 4;

enum Task {
    FindSmallPrimes { bound: u64 },
    CountSegments { segments: Range<u64>, bound: u64 },
}

struct Scratch {
    /// For each odd number of a segment, whether it is composite.
    sieve: Vec<bool>,
    primes: u64,
    total: Arc<AtomicU64>,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.total.fetch_add(self.primes, Ordering::Relaxed);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let bound: u64 = match std::env::args().nth(1) {
        Some(text) => text
            .parse()
            .map_err(|error| format!("the bound {text:?}: {error}"))?,
        None => 20_000_000,
    };
    let total = Arc::new(AtomicU64::new(0));
    let small_primes: OnceLock<Vec<u64>> = OnceLock::new();

    let executor = Executor::<Task>::new(
        for_host()?,
        {
            let total = Arc::clone(&total);
            move |_worker| Scratch {
                sieve: vec![false; SEGMENT as usize / 2],
                primes: 0,
                total: Arc::clone(&total),
            }
        },
        move |task, cx| run(task, &small_primes, cx),
    )?;
    executor.spawn_external(Task::FindSmallPrimes { bound })?;
    let metrics = executor.join();

    let primes = total.load(Ordering::Relaxed);
    println!("{primes} primes below {bound}");
    println!("{metrics}");
    // For powers of ten: sequence A006880 of the On-Line Encyclopedia of Integer Sequences.
    let known = [
        (10, 4),
        (1_000, 168),
        (1_000_000, 78_498),
        (20_000_000, 1_270_607),
        (100_000_000, 5_761_455),
        (1_000_000_000, 50_847_534),
    ];
    match known.iter().find(|(n, _)| *n == bound) {
        Some((_, expected)) if *expected != primes => Err(format!("there are {expected}").into()),
        _ => Ok(()),
    }
}

fn run(task: Task, small_primes: &OnceLock<Vec<u64>>, cx: &mut WorkerCtx<Task, Scratch>) {
    match task {
        Task::FindSmallPrimes { bound } => {
            small_primes.get_or_init(|| odd_primes_up_to(bound.isqrt()));
            let segments = 0..bound.div_ceil(SEGMENT);
            cx.spawn_local(Task::CountSegments { segments, bound });
        }
        Task::CountSegments { segments, bound } if segments.end - segments.start > SEGMENTS_MAX => {
            let middle = segments.start.midpoint(segments.end);
            for segments in [middle..segments.end, segments.start..middle] {
                cx.spawn_local(Task::CountSegments { segments, bound });
            }
        }
        Task::CountSegments { segments, bound } => {
            let small_primes = small_primes.get().expect("the first task has found them");
            for segment in segments {
                let numbers = segment * SEGMENT..bound.min((segment + 1) * SEGMENT);
                cx.scratch.primes += count_primes(numbers, small_primes, &mut cx.scratch.sieve);
            }
        }
    }
}

/// The primes among `numbers`, which start at an even number, by the sieve of Eratosthenes.
fn count_primes(numbers: Range<u64>, small_primes: &[u64], sieve: &mut [bool]) -> u64 {
    let Range { start, end } = numbers;
    sieve.fill(false);
    for &prime in small_primes.iter().take_while(|&&prime| prime * prime < end) {
        // The first odd multiple that is not smaller than the prime's square.
        let first = (prime * prime).max(start.div_ceil(prime) * prime);
        let first = if first.is_multiple_of(2) {
            first + prime
        } else {
            first
        };
        for multiple in (first..end).step_by(2 * prime as usize) {
            sieve[((multiple - start) / 2) as usize] = true;
        }
    }
    // Entry i stands for start + 2i + 1.
    let odd = (end - start) as usize / 2;
    let odd_primes = sieve[..odd].iter().filter(|&&composite| !composite).count() as u64;
    // One is counted and no prime, two is a prime and not counted.
    if end <= 2 { 0 } else { odd_primes }
}

fn odd_primes_up_to(bound: u64) -> Vec<u64> {
    let is_prime = |n: &u64| {
        (3..)
            .step_by(2)
            .take_while(|d| d * d <= *n)
            .all(|d| !n.is_multiple_of(d))
    };
    (3..=bound).step_by(2).filter(is_prime).collect()
}
