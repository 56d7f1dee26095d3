//! The 22 queries of TPC-H one after another, by one client: time and memory of each engine, which has
//! processes of its own.
//!
//! In one process a query may take a tenth more than in the next, because of where its memory lies.
//! So each engine has several, one after the other, each beside one of every other engine.

use std::time::Duration;

use anyhow::ensure;
use paced_load::percentile::at;
use tokio::runtime::Runtime;

use crate::alone::Alone;
use crate::engine::Kind;
use crate::options::Options;
use crate::queries::TPCH;
use crate::tables::Tables;

struct Took {
    kind: Kind,
    /// Of each query in each process.
    times: Vec<Vec<Vec<Duration>>>,
    /// Bytes at most, beyond those before the query.
    memory: Vec<u64>,
}

impl Took {
    /// The median in milliseconds, of all processes.
    fn median(&self, number: usize) -> f64 {
        middle(
            self.times
                .iter()
                .flat_map(|process| process[number].iter().copied()),
        )
    }

    /// The median of one process.
    fn median_in(&self, process: usize, number: usize) -> f64 {
        middle(self.times[process][number].iter().copied())
    }
}

fn middle(times: impl Iterator<Item = Duration>) -> f64 {
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    at(&times, 0.5)
}

pub(crate) fn run(options: &Options, runtime: &Runtime) -> anyhow::Result<()> {
    if let Some(folder) = &options.parquet {
        // Otherwise each process would write them.
        runtime.block_on(Tables::in_files(folder, options.load.scale))?;
    }
    let took = |&kind: &Kind| Took {
        kind,
        times: Vec::new(),
        memory: vec![0; TPCH.len()],
    };
    let mut all: Vec<Took> = options.engines.iter().map(took).collect();
    for _process in 0..options.processes.get() {
        ask(options, &mut all)?;
    }
    print(options, &all);
    Ok(())
}

/// Asks a new process of each engine.
fn ask(options: &Options, all: &mut [Took]) -> anyhow::Result<()> {
    let mut engines = all
        .iter()
        .map(|took| Alone::start(took.kind))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut times = vec![vec![Vec::new(); TPCH.len()]; engines.len()];
    for round in 0..options.load.rounds {
        for number in options.asked() {
            let mut answer = None;
            for place in 0..engines.len() {
                let turn = (place + round + number) % engines.len();
                let found = engines[turn].ask(number)?;
                times[turn][number].push(found.time);
                let memory = &mut all[turn].memory[number];
                *memory = found.memory.max(*memory);
                let expected = answer.get_or_insert_with(|| found.rows.clone());
                ensure!(
                    *expected == found.rows,
                    "query {} differs by {}",
                    number + 1,
                    engines[turn].name()
                );
            }
        }
    }
    for (took, times) in all.iter_mut().zip(times) {
        took.times.push(times);
    }
    engines.into_iter().try_for_each(Alone::end)
}

fn print(options: &Options, all: &[Took]) {
    let row = |name: &str, ms: &[f64], spread: &[String], bytes: &[u64]| {
        let ratios = ms.iter().zip(spread);
        let ratios = ratios.map(|(&of, spread)| format!("{of:>9.1} ({:.3}{spread})", of / ms[0]));
        let memory = bytes.iter().map(|&of| {
            let mib = |bytes: u64| bytes as f64 / (1 << 20) as f64;
            // Less than a MiB is mostly memory that the allocator has at hand.
            let part = (mib(bytes[0]) >= 1.0).then(|| format!("{:.3}", mib(of) / mib(bytes[0])));
            format!("{:>7.1} ({:>5})", mib(of), part.unwrap_or_default())
        });
        let columns: Vec<_> = ratios.chain(memory).collect();
        println!("{name:>5} {}", columns.join("  "));
    };
    let names: Vec<_> = all.iter().map(|took| took.kind.name()).collect();
    println!(
        "query, ms and MiB by {}; beside the first, in all processes and in those with the least and the greatest ratio",
        names.join(", ")
    );
    let first = &all[0];
    for number in options.asked() {
        let ms: Vec<_> = all.iter().map(|took| took.median(number)).collect();
        let spread = all.iter().map(|took| {
            let ratio = |process| took.median_in(process, number) / first.median_in(process, number);
            let ratios = (0..options.processes.get()).map(ratio);
            let least = ratios.clone().fold(f64::INFINITY, f64::min);
            format!("; {least:.2} to {:.2}", ratios.fold(0.0, f64::max))
        });
        let bytes: Vec<_> = all.iter().map(|took| took.memory[number]).collect();
        row(
            &format!("q{}", number + 1),
            &ms,
            &spread.collect::<Vec<_>>(),
            &bytes,
        );
    }
    let total = |took: &Took| options.asked().map(|number| took.median(number)).sum::<f64>();
    let ms: Vec<_> = all.iter().map(total).collect();
    let most = |took: &Took| took.memory.iter().copied().max().unwrap_or(0);
    let bytes: Vec<_> = all.iter().map(most).collect();
    row("all", &ms, &vec![String::new(); all.len()], &bytes);
}
