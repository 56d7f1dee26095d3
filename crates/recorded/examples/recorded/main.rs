//! Records runs on threads, and checks that the policy allows them.
//!
//!     cargo run --release -p recorded --example recorded -- [--events N] [--cost] [--trace FILE]
//! [--expect-rejection]
//!
//! Each load runs on 1, 2, 4 and 16 workers until `N` events (default: a million) were checked.
//! `--cost` measures recording instead; `--trace` draws the last run. `--expect-rejection` is for a
//! build with a planted bug: a run must be rejected.

mod cost;
mod load;

use std::process::ExitCode;
use std::time::Instant;

use recorded::{check_record, order_record};
use sim::write_chrome_trace;

use load::{LOADS, Load};

const WORKERS: [usize; 4] = [1, 2, 4, 16];

struct Options {
    events: u64,
    cost: bool,
    trace: Option<String>,
    expect_rejection: bool,
}

#[derive(Default)]
struct Row {
    runs: u64,
    events: u64,
    tasks: u64,
    bytes: usize,
    seconds: f64,
}

fn main() -> ExitCode {
    match options().and_then(|options| {
        // Tasks panic on purpose.
        std::panic::set_hook(Box::new(|_| {}));
        if options.cost {
            cost::measure();
            Ok(true)
        } else {
            run(&options)
        }
    }) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        events: 1_000_000,
        cost: false,
        trace: None,
        expect_rejection: false,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--events" => {
                let number = arguments.next().unwrap_or_default();
                options.events = number
                    .replace('_', "")
                    .parse()
                    .map_err(|_| format!("--events takes a number, not `{number}`"))?;
            }
            "--cost" => options.cost = true,
            "--trace" => options.trace = Some(arguments.next().ok_or("--trace takes a file")?),
            "--expect-rejection" => options.expect_rejection = true,
            other => return Err(format!("recorded does not know `{other}`")),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Result<bool, String> {
    let mut rows: Vec<(&Load, usize, Row)> = LOADS
        .iter()
        .flat_map(|load| WORKERS.map(|workers| (load, workers, Row::default())))
        .collect();
    let (mut events, mut round) = (0, 0);
    while events < options.events {
        for (load, workers, row) in &mut rows {
            let run = load.record(*workers, round);
            let record = &run.record;
            let started = Instant::now();
            let checked = match check_record(record) {
                Ok(checked) => checked,
                Err(rejection) => {
                    println!("{} on {workers} workers is rejected by {rejection}", load.name);
                    if let Some(said) = &run.panic {
                        println!("a panic said: {said}");
                    }
                    println!("recorded: `{}` rejects {}", rejection.oracle, load.name);
                    return Ok(options.expect_rejection);
                }
            };
            row.seconds += started.elapsed().as_secs_f64();
            row.runs += 1;
            row.events += checked.events;
            row.tasks += checked.tasks;
            row.bytes += record.bytes();
            events += checked.events;
        }
        round += 1;
    }
    print(&rows);
    if let Some(file) = &options.trace {
        let run = LOADS[0].record(2, 0);
        let ordered = order_record(&run.record).map_err(|rejection| rejection.to_string())?;
        let out = std::fs::File::create(file).map_err(|error| format!("{file}: {error}"))?;
        write_chrome_trace(
            std::io::BufWriter::new(out),
            &ordered.course,
            &[],
            &ordered.actors,
        )
        .map_err(|error| format!("{file}: {error}"))?;
    }
    Ok(!options.expect_rejection)
}

fn print(rows: &[(&Load, usize, Row)]) {
    println!(
        "{:<18} {:>7} {:>5} {:>10} {:>10} {:>9} {:>12} {:>12}  verdict",
        "load", "workers", "runs", "tasks", "events", "seconds", "events/s", "bytes/event"
    );
    let mut total = Row::default();
    let line = |name: &str, workers: &str, row: &Row| {
        println!(
            "{name:<18} {workers:>7} {:>5} {:>10} {:>10} {:>9.3} {:>12.0} {:>12.1}  accepted",
            row.runs,
            row.tasks,
            row.events,
            row.seconds,
            row.events as f64 / row.seconds,
            row.bytes as f64 / row.events as f64
        );
    };
    for (load, workers, row) in rows {
        line(load.name, &workers.to_string(), row);
        total.runs += row.runs;
        total.events += row.events;
        total.tasks += row.tasks;
        total.bytes += row.bytes;
        total.seconds += row.seconds;
    }
    line("all", "", &total);
    println!("recorded: {} runs, {} events accepted", total.runs, total.events);
}
