//! Our engine in a process of its own, as `kinds.py` is for the others: questions of the benches
//! `kinds` and `concurrent`, from a Parquet file or from memory. Or one of the limits beside it.
//! Prints one line of JSON.

#[path = "../answer.rs"]
mod answer;
mod fused;
mod limit;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use arrow::datatypes::{Field, Schema};
use columnar::{MORSEL_ROWS, MemoryTable};
use cpu_time::ProcessTime;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use program_allocator::keep_freed_memory;
use query::pipeline_exec::PipelineExecutor;
use query::{QueryResult, Session};
use serde::Deserialize;
use serde_json::json;

use answer::Answer;

#[derive(Deserialize)]
struct Workload {
    tables: std::collections::HashMap<String, PathBuf>,
    from_files: bool,
    clients: usize,
    /// Questions of each client.
    each: usize,
    questions: Vec<Question>,
}

#[derive(Deserialize)]
struct Question {
    name: String,
    sql: String,
    answer: Answer,
}

/// A question, its answer, and the time that it took.
type Asked<'a> = (&'a Question, QueryResult, Duration);

fn main() -> Result<()> {
    // As in the program `windlass`.
    keep_freed_memory();
    let mut arguments = std::env::args_os().skip(1);
    let mut argument = || {
        let argument = arguments.next();
        argument.context("a workload, a contender and threads are needed")
    };
    let workload = std::fs::read(argument()?)?;
    let workload: Workload = serde_json::from_slice(&workload)?;
    let contender = argument()?;
    let threads = argument()?.to_string_lossy().parse()?;
    let measured = match contender.to_str() {
        Some("windlass") => ask_at_once(&workload, threads)?,
        Some("loop") => limit::by_hand(&workload, threads)?,
        Some("memcpy") => limit::copied(&workload, threads)?,
        Some("pages") => limit::decompressed(&workload, threads)?,
        _ => bail!("there is no contender {contender:?}"),
    };
    let told = json!({
        "times_ms": measured.times.into_iter().map(ms).collect::<Vec<f64>>(),
        "wall_ms": ms(measured.wall),
        "cpu_ms": ms(measured.cpu),
        "peak_mib": peak_mib()?,
    });
    println!("{told}");
    Ok(())
}

struct Measured {
    times: Vec<Duration>,
    wall: Duration,
    cpu: Duration,
}

/// All clients' questions, asked at once behind one round of them that is not counted.
fn ask_at_once(workload: &Workload, threads: usize) -> Result<Measured> {
    let mut session = Session::new(PipelineExecutor::new(threads)?);
    for (name, path) in &workload.tables {
        if workload.from_files {
            session.open(name, path)?;
        } else {
            session.register(Arc::new(loaded(name, path)?))?;
        }
    }
    forget_peak()?;
    for question in &workload.questions {
        verify(&ask(&session, question)?)?;
    }
    let ready = Barrier::new(workload.clients + 1);
    let (wall, cpu, asked) = thread::scope(|scope| {
        let (session, ready) = (&session, &ready);
        let clients: Vec<_> = (0..workload.clients)
            .map(|client| scope.spawn(move || ask_all(session, workload, client, ready)))
            .collect();
        let (start, cpu) = (Instant::now(), ProcessTime::now());
        ready.wait();
        let asked: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
        (start.elapsed(), cpu.elapsed(), asked)
    });
    let mut times = Vec::new();
    for client in asked {
        for asked in client.map_err(|_panic| anyhow::anyhow!("a client panicked"))?? {
            verify(&asked)?;
            times.push(asked.2);
        }
    }
    Ok(Measured { times, wall, cpu })
}

/// The questions of a client, from that of its own number on.
fn ask_all<'a>(
    session: &Session,
    workload: &'a Workload,
    client: usize,
    ready: &Barrier,
) -> Result<Vec<Asked<'a>>> {
    let questions = workload.questions.iter().cycle();
    let own = questions.skip(client % workload.questions.len());
    ready.wait();
    own.take(workload.each)
        .map(|question| ask(session, question))
        .collect()
}

fn ask<'a>(session: &Session, question: &'a Question) -> Result<Asked<'a>> {
    let start = Instant::now();
    let rows = session.sql(&question.sql)?.run()?.rows;
    Ok((question, rows, start.elapsed()))
}

fn verify((question, rows, _): &Asked<'_>) -> Result<()> {
    let verified = Answer::of(rows).and_then(|answer| question.answer.verify(&answer));
    verified.with_context(|| question.name.clone())
}

/// With the types that a query of the file has, and never in memory as a whole before it is encoded.
fn loaded(name: &str, path: &Path) -> Result<MemoryTable> {
    let mut session = Session::new(PipelineExecutor::new(1)?);
    session.open(name, path)?;
    let none = session.sql(&format!("select * from {name} limit 0"))?.run()?;
    let schema = none.rows.schema;
    let file = File::open(path)?;
    let of_file = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())?;
    let fields = schema.fields().iter().zip(of_file.schema().fields());
    let typed =
        fields.map(|(field, of_file)| of_file.as_ref().clone().with_data_type(field.data_type().clone()));
    let typed = Schema::new(typed.collect::<Vec<Field>>());
    let options = ArrowReaderOptions::new().with_schema(Arc::new(typed));
    let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options)?;
    let reader = reader.with_batch_size(MORSEL_ROWS).build()?;
    Ok(MemoryTable::try_encoded(name, schema, reader)?)
}

/// Counts the peak from here on, without what loading took. `man proc_pid_clear_refs` has the 5.
fn forget_peak() -> Result<()> {
    std::fs::write("/proc/self/clear_refs", "5").context("the system forgets no peak of memory")
}

/// The greatest resident memory: `ru_maxrss` would count that of the bench, which started this
/// process.
fn peak_mib() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|peak| peak.split_whitespace().next());
    let kib: f64 = kib.context("the system tells no peak of memory")?.parse()?;
    Ok(kib / 1_024.0)
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
