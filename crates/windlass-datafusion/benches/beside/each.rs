//! The 22 queries of TPC-H one after another, by one client: time and memory of each engine, which has
//! a process of its own.

use std::time::Duration;

use anyhow::ensure;
use paced_load::percentile::at;
use tokio::runtime::Runtime;

use crate::alone::Alone;
use crate::options::Options;
use crate::queries::TPCH;
use crate::tables::Tables;

struct Took {
    engine: Alone,
    times: Vec<Vec<Duration>>,
    /// Bytes at most, beyond those before the query.
    memory: Vec<u64>,
}

pub(crate) fn run(options: &Options, runtime: &Runtime) -> anyhow::Result<()> {
    if let Some(folder) = &options.parquet {
        // Otherwise each process would write them.
        runtime.block_on(Tables::in_files(folder, options.load.scale))?;
    }
    let mut engines = Vec::new();
    for &kind in &options.engines {
        engines.push(Took {
            engine: Alone::start(kind)?,
            times: vec![Vec::new(); TPCH.len()],
            memory: vec![0; TPCH.len()],
        });
    }
    for round in 0..options.load.rounds {
        for number in options.asked() {
            let mut answer = None;
            for place in 0..engines.len() {
                let turn = (place + round + number) % engines.len();
                let took = &mut engines[turn];
                let found = took.engine.ask(number)?;
                took.times[number].push(found.time);
                took.memory[number] = took.memory[number].max(found.memory);
                let expected = answer.get_or_insert_with(|| found.rows.clone());
                ensure!(
                    *expected == found.rows,
                    "query {} differs by {}",
                    number + 1,
                    took.engine.name()
                );
            }
        }
    }
    print(options, &mut engines);
    engines.into_iter().try_for_each(|took| took.engine.end())
}

fn print(options: &Options, engines: &mut [Took]) {
    for took in &mut *engines {
        took.times.iter_mut().for_each(|times| times.sort_unstable());
    }
    let row = |name: &str, ms: &[f64], bytes: &[u64]| {
        let ratios = ms.iter().map(|&of| format!("{of:>9.1} ({:.3})", of / ms[0]));
        let memory = bytes.iter().map(|&of| {
            let mib = |bytes: u64| bytes as f64 / (1 << 20) as f64;
            // Less than a MiB is mostly memory that the allocator has at hand.
            let part = (mib(bytes[0]) >= 1.0).then(|| format!("{:.3}", mib(of) / mib(bytes[0])));
            format!("{:>7.1} ({:>5})", mib(of), part.unwrap_or_default())
        });
        let columns: Vec<_> = ratios.chain(memory).collect();
        println!("{name:>5} {}", columns.join("  "));
    };
    let names: Vec<_> = engines.iter().map(|took| took.engine.name()).collect();
    println!("query, ms and MiB by {}; beside the first", names.join(", "));
    for number in options.asked() {
        let ms: Vec<_> = engines.iter().map(|took| at(&took.times[number], 0.5)).collect();
        let bytes: Vec<_> = engines.iter().map(|took| took.memory[number]).collect();
        row(&format!("q{}", number + 1), &ms, &bytes);
    }
    let total = |took: &Took| {
        options
            .asked()
            .map(|number| at(&took.times[number], 0.5))
            .sum::<f64>()
    };
    let ms: Vec<_> = engines.iter().map(total).collect();
    let most = |took: &Took| took.memory.iter().copied().max().unwrap_or(0);
    let bytes: Vec<_> = engines.iter().map(most).collect();
    row("all", &ms, &bytes);
}
