//! Draws a run: sorts in parallel and writes what each worker did when.
//!
//! ```text
//! cargo run --release -p executor-threaded --example chrome_trace -- run.json
//! ```
//!
//! Open the file in Perfetto or in `chrome://tracing`. Without a file name only its size is
//! printed.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;

use executor_threaded::{ChromeTrace, Executor, WorkerCtx, for_host};

const SMALL: usize = 4_096;

struct Sort<'a>(&'a mut [u64]);

fn main() -> Result<(), Box<dyn Error>> {
    let mut numbers: Vec<u64> = (0..1_000_000_u64)
        .map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect();
    let trace = ChromeTrace::new();
    let report = Executor::<Sort<'_>>::builder()
        .config(for_host()?)
        .trace_hooks(trace.hooks(|Sort(part): &Sort<'_>| match part.len() {
            0..=SMALL => "sort",
            _ => "partition",
        }))
        .scope(
            |_worker| (),
            run,
            |executor| executor.spawn(Sort(&mut numbers)).is_ok(),
        )?;
    assert!(report.value && numbers.is_sorted());

    match std::env::args_os().nth(1) {
        Some(path) => trace.write_to(BufWriter::new(File::create(path)?))?,
        None => {
            let mut file = Vec::new();
            trace.write_to(&mut file)?;
            println!("a trace of {} bytes", file.len());
        }
    }
    println!("{}", report.metrics);
    Ok(())
}

fn run<'a>(Sort(part): Sort<'a>, cx: &mut WorkerCtx<Sort<'a>, ()>) {
    if part.len() <= SMALL {
        part.sort_unstable();
        return;
    }
    let (left, _, right) = part.select_nth_unstable(part.len() / 2);
    cx.spawn_local(Sort(left));
    cx.spawn_local(Sort(right));
}
