//! The cost of an idle executor: the kernel's count of its workers' context switches.
//!
//! ```text
//! cargo run --release -p executor-threaded --example idle_cost -- [seconds, default 10] [workers, default as the host]
//! ```
//!
//! Linux only. It fails if a worker was switched to even once.

use std::error::Error;
use std::fs;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use executor_threaded::{Executor, for_host};

/// The names of the workers' threads; the kernel shows 15 bytes.
const NAME: &str = "idle-cost-";

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |what: &str, default: u64| match arguments.next() {
        Some(text) => text
            .parse()
            .map_err(|error| format!("the number of {what} {text:?}: {error}")),
        None => Ok(default),
    };
    let host = for_host()?;
    let seconds = number("seconds", 10)?;
    let workers = usize::try_from(number("workers", host.workers as u64)?)?;

    let executor = Executor::<()>::builder()
        .config(host.workers(workers))
        .thread_name("idle-cost")
        .build(|_| (), |(), _cx| {})?;
    executor.spawn_external_batch(vec![(); 1_000])?;
    executor.wait_idle();
    thread::sleep(Duration::from_secs(1));

    let before = context_switches()?;
    thread::sleep(Duration::from_secs(seconds));
    let switches = context_switches()? - before;
    println!("{workers} idle workers: {switches} context switches in {seconds} s");
    println!("{}", executor.join());
    Ok(if switches == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn context_switches() -> Result<u64, Box<dyn Error>> {
    let value = |line: &str| line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let mut switches = 0;
    for task in fs::read_dir("/proc/self/task")? {
        let status = fs::read_to_string(task?.path().join("status"))?;
        let is_worker = status
            .lines()
            .next()
            .is_some_and(|name| value(name).starts_with(NAME));
        if is_worker {
            for line in status.lines().filter(|line| line.contains("ctxt_switches:")) {
                switches += value(line).parse::<u64>()?;
            }
        }
    }
    Ok(switches)
}
