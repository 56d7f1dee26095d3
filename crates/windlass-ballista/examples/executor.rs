//! An executor of Ballista whose stages are jobs of the CPU pool.
//!
//! ```sh
//! ballista-scheduler
//! cargo run --release -p windlass-ballista --example executor
//! ```

use std::sync::Arc;

use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use clap::Parser;
use windlass_ballista::WindlassEngine;
use windlass_datafusion::Windlass;
use windlass_datafusion::pools::Pools;

#[derive(Parser)]
struct Arguments {
    /// Where the scheduler listens.
    #[arg(long, default_value = "localhost")]
    scheduler_host: String,
    /// Its port.
    #[arg(long, default_value_t = 50050)]
    scheduler_port: u16,
    /// The port on which other executors read this one's rows.
    #[arg(long, default_value_t = 50051)]
    port: u16,
    /// Threads that compute; by default one for each core.
    #[arg(long)]
    threads: Option<usize>,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let mut pools = Pools::builder();
    if let Some(threads) = arguments.threads {
        pools = pools.cpu_threads(threads);
    }
    let windlass = Windlass::install(pools.build()?)?;
    let config = ExecutorProcessConfig {
        scheduler_host: arguments.scheduler_host,
        scheduler_port: arguments.scheduler_port,
        port: arguments.port,
        override_execution_engine: Some(Arc::new(WindlassEngine::new(&windlass))),
        ..ExecutorProcessConfig::default()
    };
    let serve = start_executor_process(Arc::new(config));
    windlass.pools().mixed().block_on(serve)??;
    Ok(())
}
