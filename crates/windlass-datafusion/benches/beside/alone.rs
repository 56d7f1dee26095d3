//! An engine in a process of its own, which is asked for queries of TPC-H through its standard input.
//!
//! What an allocation costs depends on all that was allocated and freed before. Two engines in one
//! process change each other's times, by which of them came first.
//!
//! ```text
//!              ready, once it has its tables
//!   question   the place of a query among the 22
//!   answer     nanoseconds, bytes of peak memory, number of rows
//!              a line for each row: those of TPC-H have no line breaks
//! ```

use std::io::{BufRead as _, BufReader, Lines, Write as _, stdin, stdout};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context as _, ensure};
use clap::ValueEnum as _;
use tokio::runtime::Runtime;

use crate::engine::{Engine, Kind};
use crate::options::Options;
use crate::queries::TPCH;
use crate::rows;
use crate::tables::Tables;

const READY: &str = "ready";

pub(crate) struct Alone {
    kind: Kind,
    process: Child,
    questions: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

pub(crate) struct Answer {
    pub(crate) time: Duration,
    /// Bytes of peak memory beyond those before the query.
    pub(crate) memory: u64,
    pub(crate) rows: Vec<String>,
}

impl Alone {
    /// Starts a process with the arguments of this one, and waits until it has its tables: to make them
    /// takes both cores.
    pub(crate) fn start(kind: Kind) -> anyhow::Result<Self> {
        let name = kind.to_possible_value().context("an engine without a name")?;
        let mut process = Command::new(env::current_exe()?)
            .args(env::args_os().skip(1))
            .args(["--alone", name.get_name()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let questions = process.stdin.take().context("no standard input")?;
        let answers = process.stdout.take().context("no standard output")?;
        let mut answers = BufReader::new(answers).lines();
        let first = answers.next().transpose()?;
        ensure!(
            first.as_deref() == Some(READY),
            "the process of {} is not ready",
            kind.name()
        );
        Ok(Self {
            kind,
            process,
            questions,
            answers,
        })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// Asks for the query at this place of the 22.
    pub(crate) fn ask(&mut self, place: usize) -> anyhow::Result<Answer> {
        let name = self.name();
        self.answer_to(place)
            .with_context(|| format!("{name} does not answer query {}", place + 1))
    }

    fn answer_to(&mut self, place: usize) -> anyhow::Result<Answer> {
        writeln!(self.questions, "{place}")?;
        let mut line = || {
            self.answers
                .next()
                .context("its process has ended")?
                .context("its output")
        };
        let first = line()?;
        let mut numbers = first.split_whitespace().map(str::parse::<u64>);
        let mut number = || {
            numbers
                .next()
                .context("a number is missing")?
                .context(first.clone())
        };
        let (time, memory, count) = (Duration::from_nanos(number()?), number()?, number()?);
        let rows = (0..count).map(|_row| line()).collect::<Result<_, _>>()?;
        Ok(Answer { time, memory, rows })
    }

    /// Ends the process, which had nothing left to do.
    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        drop(self.questions);
        let status = self.process.wait()?;
        ensure!(
            status.success(),
            "the process of {} ended: {status}",
            self.kind.name()
        );
        Ok(())
    }
}

/// Answers questions until the input ends.
pub(crate) fn serve(kind: Kind, options: &Options, tables: &Tables, runtime: &Runtime) -> anyhow::Result<()> {
    let engine = runtime.block_on(Engine::new(kind, tables, options.main, options.spares))?;
    println!("{READY}");
    for question in stdin().lines() {
        let place: usize = question?.parse()?;
        let sql = TPCH.get(place).context("no such query")?;
        let before = reset_peak()?;
        let began = Instant::now();
        let batches = runtime.block_on(engine.query(sql))?;
        let time = began.elapsed();
        let memory = memory("VmHWM")?.saturating_sub(before);
        let rows = rows(&batches)?;
        let mut out = stdout().lock();
        writeln!(out, "{} {memory} {}", time.as_nanos(), rows.len())?;
        rows.iter().try_for_each(|row| writeln!(out, "{row}"))?;
    }
    Ok(())
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
