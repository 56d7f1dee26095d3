//! A long task in turns: how often does a word occur in records of very different size?
//!
//! ```text
//! cargo run --release -p executor-threaded --example long_task
//! ```
//!
//! The scan is one task, a cursor over the records. Between two records it asks a policy whether
//! its turn is over; if so it puts the cursor back, in two halves if a worker is idle.

use std::error::Error;
use std::ops::Range;

use executor_threaded::yield_policy::{AdaptiveYield, YieldPolicy};
use executor_threaded::{ExecutorConfig, WorkerCtx, for_host, scope};

enum Task {
    Scan(Range<usize>),
    Ping,
}

struct ByBytes {
    budget: usize,
    left: usize,
}

impl ByBytes {
    fn weigh(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }
}

impl YieldPolicy for ByBytes {
    fn begin_turn(&mut self) {
        self.left = self.budget;
    }

    fn should_yield(&mut self, has_idle_workers: bool) -> bool {
        let enough = if has_idle_workers { self.budget / 8 * 7 } else { 0 };
        self.left <= enough
    }
}

struct Scratch {
    policy: ByBytes,
    found: usize,
    turns: usize,
    pings: usize,
}

const WORD: &[u8] = b"windlass";

fn main() -> Result<(), Box<dyn Error>> {
    let records = records(3_000);
    let expected: usize = records.iter().map(|record| count(record)).sum();

    let config: ExecutorConfig = for_host()?;
    let report = scope(
        config,
        |_worker| Scratch {
            policy: ByBytes {
                budget: 64 << 10,
                left: 0,
            },
            found: 0,
            turns: 0,
            pings: 0,
        },
        |task, cx| match task {
            Task::Scan(range) => scan(range, &records, cx),
            Task::Ping => cx.scratch.pings += 1,
        },
        |executor| {
            executor.spawn(Task::Scan(0..records.len()))?;
            (0..100).try_for_each(|_| executor.spawn(Task::Ping))
        },
    )?;
    report.value?;

    let sum = |of: fn(&Scratch) -> usize| report.scratches.iter().map(of).sum::<usize>();
    let (found, turns) = (sum(|scratch| scratch.found), sum(|scratch| scratch.turns));
    println!("{found} times in {} records, in {turns} turns", records.len());
    println!("{}", report.metrics);
    assert_eq!((found, sum(|scratch| scratch.pings)), (expected, 100));
    assert!(turns > 1, "the scan was one long task");

    // The same by measured time, for steps of unknown weight.
    let mut policy = AdaptiveYield::default();
    policy.begin_turn();
    let first_turn = records.iter().position(|record| {
        std::hint::black_box(count(record));
        policy.should_yield(false)
    });
    match first_turn {
        Some(last) => println!("a turn of about 200 µs is {} records here", last + 1),
        None => println!("all the records are less than 200 µs"),
    }
    Ok(())
}

fn scan(mut range: Range<usize>, records: &[Vec<u8>], cx: &mut WorkerCtx<Task, Scratch>) {
    cx.scratch.turns += 1;
    cx.scratch.policy.begin_turn();
    while let Some(record) = range.next() {
        cx.scratch.found += count(&records[record]);
        cx.scratch.policy.weigh(records[record].len());
        let any_idle = cx.has_idle_workers();
        if range.is_empty() || !cx.scratch.policy.should_yield(any_idle) {
            continue;
        }
        if any_idle && range.len() > 1 {
            let middle = range.start.midpoint(range.end);
            // The far half first: thieves take the oldest, and this worker goes on here.
            cx.spawn_local(Task::Scan(middle..range.end));
            range.end = middle;
        }
        cx.spawn_local(Task::Scan(range));
        return;
    }
}

fn count(record: &[u8]) -> usize {
    record
        .windows(WORD.len())
        .filter(|window| *window == WORD)
        .count()
}

/// The same records in every run, of 16 bytes to 64 KiB.
fn records(n: usize) -> Vec<Vec<u8>> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        // Xorshift: Marsaglia, "Xorshift RNGs", 2003.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let record = |_| {
        let mut record = vec![b'.'; 16 << (random() % 13)];
        let places = record.len() / WORD.len();
        for _ in 0..random() % 4 {
            let at = random() as usize % places * WORD.len();
            record[at..at + WORD.len()].copy_from_slice(WORD);
        }
        record
    };
    (0..n).map(record).collect()
}
