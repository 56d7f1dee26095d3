//! Empty jobs only: for profiles, and to count instructions and allocations per job.
//!
//! ```text
//! cargo build --release -p benches --example empty_jobs
//! for jobs in 10000 30000; do
//!     valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/empty_jobs $jobs
//! done
//! ```
//!
//! Arguments: jobs (100,000 by default) and workers (one). Jobs come in rounds of a thousand, so
//! that waiting ones fit into caches. The cost per job is the difference of two counts over the
//! difference in jobs. The program prints the time of a job.

use std::error::Error;
use std::thread;
use std::time::Instant;

use pipeline_exec::{Job, PipelineExecutor, step};

const ROUND: u64 = 1_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| match arguments.next() {
        Some(text) => text.parse().map_err(|error| format!("{text:?}: {error}")),
        None => Ok(default),
    };
    let jobs = number(100_000)?;
    let workers = usize::try_from(number(1)?)?;
    let executor = PipelineExecutor::new(workers)?;
    let begun = Instant::now();
    for _ in 0..jobs / ROUND {
        let mut last = None;
        for _ in 0..ROUND {
            last = Some(executor.submit(Job::from_steps("empty", vec![step(|_| Ok(()))]))?);
        }
        if let Some(ticket) = last {
            ticket.wait()?;
        }
        while executor.snapshot().queue_depth > 0 {
            thread::yield_now();
        }
    }
    println!(
        "{} ns per job",
        begun.elapsed().as_nanos() / u128::from(jobs / ROUND * ROUND)
    );
    executor.drain();
    Ok(())
}
