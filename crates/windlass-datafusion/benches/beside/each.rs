//! The 22 queries of TPC-H one after another, by one client: time and memory of each engine.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use paced_load::percentile::at;
use tokio::runtime::Runtime;

use crate::engine::Engine;
use crate::options::Options;
use crate::queries::TPCH;
use crate::rows;
use crate::tables::Tables;

struct Took {
    engine: Engine,
    name: &'static str,
    times: Vec<Vec<Duration>>,
    /// Bytes of peak memory beyond those before the query.
    memory: Vec<u64>,
}

pub(crate) fn run(options: &Options, tables: &Tables, runtime: &Runtime) -> anyhow::Result<()> {
    let mut engines = Vec::new();
    for &kind in &options.engines {
        engines.push(Took {
            engine: runtime.block_on(Engine::new(kind, tables, options.main, options.spares))?,
            name: kind.name(),
            times: vec![Vec::new(); TPCH.len()],
            memory: vec![0; TPCH.len()],
        });
    }
    for round in 0..options.load.rounds {
        for (number, sql) in TPCH.iter().enumerate() {
            if !options.asks(number) {
                continue;
            }
            let mut answer = None;
            for place in 0..engines.len() {
                let turn = (place + round + number) % engines.len();
                let took = &mut engines[turn];
                let before = reset_peak()?;
                let began = Instant::now();
                let batches = runtime.block_on(took.engine.query(sql))?;
                took.times[number].push(began.elapsed());
                let peak = memory("VmHWM")?.saturating_sub(before);
                took.memory[number] = took.memory[number].max(peak);
                let found = rows(&batches)?;
                let expected = answer.get_or_insert_with(|| found.clone());
                ensure!(
                    *expected == found,
                    "query {} differs by {}",
                    number + 1,
                    took.name
                );
            }
        }
    }
    print(options, &mut engines);
    Ok(())
}

fn print(options: &Options, engines: &mut [Took]) {
    for took in &mut *engines {
        took.times.iter_mut().for_each(|times| times.sort_unstable());
    }
    let row = |name: &str, ms: &[f64], bytes: &[u64]| {
        let ratios = ms.iter().map(|&of| format!("{of:>9.1} ({:.3})", of / ms[0]));
        let memory = bytes.iter().map(|&of| {
            let part = of as f64 / bytes[0].max(1) as f64;
            format!("{:>7.1} ({part:.3})", of as f64 / (1 << 20) as f64)
        });
        let columns: Vec<_> = ratios.chain(memory).collect();
        println!("{name:>5} {}", columns.join("  "));
    };
    let names: Vec<_> = engines.iter().map(|took| took.name).collect();
    println!("query, ms and MiB by {}; beside the first", names.join(", "));
    let asked: Vec<usize> = (0..TPCH.len()).filter(|&number| options.asks(number)).collect();
    for &number in &asked {
        let ms: Vec<_> = engines.iter().map(|took| at(&took.times[number], 0.5)).collect();
        let bytes: Vec<_> = engines.iter().map(|took| took.memory[number]).collect();
        row(&format!("q{}", number + 1), &ms, &bytes);
    }
    let total = |took: &Took| {
        asked
            .iter()
            .map(|&number| at(&took.times[number], 0.5))
            .sum::<f64>()
    };
    let ms: Vec<_> = engines.iter().map(total).collect();
    let most = |took: &Took| took.memory.iter().copied().max().unwrap_or(0);
    let bytes: Vec<_> = engines.iter().map(most).collect();
    row("all", &ms, &bytes);
}

fn reset_peak() -> anyhow::Result<u64> {
    fs::write("/proc/self/clear_refs", "5").context("the peak of memory cannot be reset")?;
    memory("VmRSS")
}

fn memory(name: &str) -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("no status of this process")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    let kib: u64 = kib.with_context(|| format!("no {name}"))?.parse()?;
    Ok(kib << 10)
}
