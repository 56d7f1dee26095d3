//! Writes a picture of a run, a heavy job beside a stream of short ones, for Perfetto
//! (ui.perfetto.dev) and `chrome://tracing`.
//!
//! `cargo run --release -p pipeline-exec --example pipeline_trace [FILE]`

use std::error::Error;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pipeline_exec::{Class, Job, PipelineExecutor, Stage, StepCx, StepError, trace::PipelineTrace};

struct Spin {
    name: &'static str,
    slots: usize,
    each: Duration,
}

impl Stage for Spin {
    fn name(&self) -> &str {
        self.name
    }

    fn slots(&self) -> usize {
        self.slots
    }

    fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        let began = Instant::now();
        while began.elapsed() < self.each {
            std::hint::spin_loop();
        }
        Ok(())
    }
}

fn spin(name: &'static str, slots: usize, each_us: u64) -> Arc<dyn Stage> {
    let each = Duration::from_micros(each_us);
    Arc::new(Spin { name, slots, each })
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args_os().nth(1).map(PathBuf::from);
    let file = file.unwrap_or_else(|| std::env::temp_dir().join("pipeline-trace.json"));

    let trace = PipelineTrace::new();
    let executor = PipelineExecutor::builder().threads(2).trace(&trace).build()?;
    let heavy = Job::builder("lineitem")
        .stage(spin("scan", 200, 300))
        .stage(spin("merge", 4, 500))
        .cost(1_000)
        .class(Class::Batch);
    let heavy = executor.submit(heavy.build())?;
    for _ in 0..8 {
        let short = Job::builder("customer").stage(spin("count", 2, 250));
        executor.submit(short.class(Class::Interactive).build())?.wait()?;
        std::thread::sleep(Duration::from_millis(2));
    }
    heavy.wait()?;
    println!("{}", executor.snapshot());
    executor.drain();

    let mut out = BufWriter::new(File::create(&file)?);
    trace.write_to(&mut out)?;
    out.flush()?;
    writeln!(io::stdout(), "\nwritten to {}", file.display())?;
    Ok(())
}
