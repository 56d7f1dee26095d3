//! Our engine in a process of its own, as `kinds.py` is for the others: one query of the bench
//! `kinds`, from a Parquet file or from memory. Prints one line of JSON.

#[path = "../answer.rs"]
mod answer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use columnar::MemoryTable;
use cpu_time::ProcessTime;
use nix::sys::resource::{UsageWho, getrusage};
use query::Session;
use query::pipeline_exec::PipelineExecutor;
use serde::Deserialize;
use serde_json::json;

use answer::Answer;

#[derive(Deserialize)]
struct Workload {
    tables: std::collections::HashMap<String, PathBuf>,
    from_files: bool,
    name: String,
    sql: String,
    answer: Answer,
}

/// As in the program `windlass`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let mut argument = || {
        arguments
            .next()
            .context("a workload, threads and runs are needed")
    };
    let workload = std::fs::read(argument()?)?;
    let mut number = || -> Result<usize> { Ok(argument()?.to_string_lossy().parse()?) };
    let (threads, runs) = (number()?, number()?);
    let workload: Workload = serde_json::from_slice(&workload)?;
    let mut session = Session::new(PipelineExecutor::new(threads)?);
    for (name, path) in &workload.tables {
        if workload.from_files {
            session.open(name, path)?;
        } else {
            session.register(Arc::new(loaded(name, path, threads)?))?;
        }
    }
    let (mut times_ms, mut cpu_ms) = (Vec::new(), Vec::new());
    for _ in 0..=runs {
        let (start, cpu) = (Instant::now(), ProcessTime::now());
        let report = session.sql(&workload.sql)?.run()?;
        times_ms.push(ms(start.elapsed()));
        cpu_ms.push(ms(cpu.elapsed()));
        let answer = Answer::of(&report.rows)?;
        workload
            .answer
            .verify(&answer)
            .with_context(|| workload.name.clone())?;
    }
    let peak_kib = getrusage(UsageWho::RUSAGE_SELF)?.max_rss();
    let told = json!({
        "times_ms": times_ms[1..],
        "cpu_ms": cpu_ms[1..],
        "peak_mib": peak_kib as f64 / 1_024.0,
    });
    println!("{told}");
    Ok(())
}

fn loaded(name: &str, path: &Path, threads: usize) -> Result<MemoryTable> {
    let mut session = Session::new(PipelineExecutor::new(threads)?);
    session.open(name, path)?;
    let rows = session.sql(&format!("select * from {name}"))?.run()?.rows;
    Ok(MemoryTable::try_new(name, rows.schema, rows.batches)?.encoded()?)
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
