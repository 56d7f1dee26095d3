//! Many clients with short queries only, back to back.

use std::time::{Duration, Instant};

use paced_load::percentile::at;
use tokio::runtime::Runtime;

use crate::engine::Engine;
use crate::options::Options;
use crate::queries::SHORT;
use crate::tables::Tables;

pub(crate) fn run(options: &Options, tables: &Tables, runtime: &Runtime) -> anyhow::Result<()> {
    for _round in 0..options.load.rounds {
        for &kind in &options.engines {
            let engine = runtime.block_on(Engine::new(kind, tables, options.main, options.spares))?;
            runtime.block_on(engine.query(SHORT))?;
            let cpu = cpu_time::ProcessTime::now();
            let began = Instant::now();
            let until = began + options.load.lasts;
            let clients: Vec<_> = (0..options.load.clients)
                .map(|_client| runtime.spawn(client(engine.clone(), until)))
                .collect();
            let mut latencies = Vec::new();
            for client in clients {
                latencies.extend(runtime.block_on(client)??);
            }
            let wall = began.elapsed().as_secs_f64();
            latencies.sort_unstable();
            println!(
                "{:<15} {} clients, {:.0} queries/s, p50 {:.1} p99 {:.1} ms, {:.2} CPUs",
                kind.name(),
                options.load.clients,
                latencies.len() as f64 / wall,
                at(&latencies, 0.5),
                at(&latencies, 0.99),
                cpu.elapsed().as_secs_f64() / wall,
            );
        }
    }
    Ok(())
}

async fn client(engine: Engine, until: Instant) -> anyhow::Result<Vec<Duration>> {
    let mut latencies = Vec::new();
    while Instant::now() < until {
        let began = Instant::now();
        engine.query(SHORT).await?;
        latencies.push(began.elapsed());
    }
    Ok(latencies)
}
