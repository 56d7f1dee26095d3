//! Reading beside computing: the same queries over a Parquet file in memory, on the disk, and behind lines to a server that are slow.
//!
//! `cargo xtask bench --overlap` runs it. All ways to read take turns, round by round; every answer is compared with that of the rows in memory.
//! `benches/overlap.md` says what the columns mean and keeps the latest figures.
//!
//! ```text
//!   reading    ████████████████████        time during which anything was being read
//!   computing     ██████ ████ ███████      time of the workers in slots, by the number of workers
//!   elapsed    ───────────────────────     hidden: what of the shorter one is not in it
//! ```

mod watched;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use benches::number::short;
use benches::{lineitem, machine, parquet_file, program};
use columnar::TableSource;
use lexopt::{Arg, ValueExt as _};
use object_server::{Line, ObjectServer};
use parquet::file::properties::WriterProperties;
use query::object_store::ObjectStoreExt as _;
use query::object_store::memory::InMemory;
use query::pipeline_exec::{JobReport, PipelineExecutor};
use query::source::{self, JobRunner as _, ScaleFactor, TpchTable, TpchTableKind};
use query::{Catalog, PipelineBuilder, QueryPlanner, QueryResult};

use watched::{Reading, Watched};

const THREADS: usize = 2;
const ROUNDS: usize = 5;
const SCALE: f64 = 1.0;
/// Rows of a row group, so that there are some to read at the same time.
const GROUP_ROWS: usize = 65_536;
const LATENCIES_MS: [u64; 2] = [10, 50];
const MEGABYTES_PER_SECOND: u64 = 200;
/// Requests at a time, besides what is so by default.
const AT_ONCE: [usize; 2] = [1, 4];

/// What is less than one part in so many of the whole time need not be hidden.
const LITTLE: f64 = 20.0;

/// What computes little by the byte, and what computes much.
const QUERIES: [(&str, &str); 2] = [
    (
        "Q6",
        "select sum(l_extendedprice * l_discount) from lineitem where l_shipdate >= date '1994-01-01' \
         and l_shipdate < date '1995-01-01' and l_discount between 0.05 and 0.07 and l_quantity < 24",
    ),
    ("Q1", lineitem::Q1),
];

const USAGE: &str = "usage: overlap [FILTER] [--rounds N] [--threads N] [--scale S] [--group-rows N] [--latency-ms L,L] [--megabytes M] [--at-once N,N]

  FILTER            only the query with this name: Q1, Q6
  --rounds N        rounds (5)
  --threads N       threads that compute (2)
  --scale S         scale of the table (1)
  --group-rows N    rows of a row group (65536)
  --latency-ms L,L  latencies of lines to the server, in milliseconds (10,50)
  --megabytes M     megabytes that a line carries in a second (200)
  --at-once N,N     requests at a time, besides the default (1,4)";

fn main() -> ExitCode {
    program::run(Options::read(lexopt::Parser::from_env()), USAGE, run)
}

/// What the command line asks for.
#[derive(Debug, PartialEq)]
struct Options {
    filter: String,
    rounds: usize,
    threads: usize,
    scale: f64,
    group_rows: usize,
    latencies_ms: Vec<u64>,
    megabytes: u64,
    at_once: Vec<usize>,
}

impl Options {
    fn read(mut parser: lexopt::Parser) -> Result<Self, lexopt::Error> {
        let mut options = Self {
            filter: String::new(),
            rounds: ROUNDS,
            threads: THREADS,
            scale: SCALE,
            group_rows: GROUP_ROWS,
            latencies_ms: LATENCIES_MS.to_vec(),
            megabytes: MEGABYTES_PER_SECOND,
            at_once: AT_ONCE.to_vec(),
        };
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Long("rounds") => options.rounds = parser.value()?.parse()?,
                Arg::Long("threads") => options.threads = parser.value()?.parse()?,
                Arg::Long("scale") => options.scale = parser.value()?.parse()?,
                Arg::Long("group-rows") => options.group_rows = parser.value()?.parse()?,
                Arg::Long("latency-ms") => {
                    options.latencies_ms = program::numbers("--latency-ms", &parser.value()?.string()?)?;
                }
                Arg::Long("megabytes") => options.megabytes = parser.value()?.parse()?,
                Arg::Long("at-once") => {
                    options.at_once = program::numbers("--at-once", &parser.value()?.string()?)?;
                }
                Arg::Value(filter) if options.filter.is_empty() => options.filter = filter.string()?,
                other => return Err(other.unexpected()),
            }
        }
        if [options.rounds, options.threads, options.group_rows].contains(&0) || options.megabytes == 0 {
            return Err("a number is 0, and should be 1 or more".into());
        }
        Ok(options)
    }
}

/// How far is read ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ahead {
    /// Not at all: slots read by themselves.
    Off,
    /// One byte: a morsel, while the one before is computed.
    OneMorsel,
    /// As far as by default, with so many requests at a time; by default, if nothing is said.
    Default(Option<usize>),
}

impl Ahead {
    fn name(self) -> String {
        match self {
            Self::Off => "off".to_owned(),
            Self::OneMorsel => "one morsel".to_owned(),
            Self::Default(Some(requests)) => format!("default, {requests} at once"),
            Self::Default(None) => "default".to_owned(),
        }
    }
}

/// Where the table lies, and the ways to read it.
struct Place {
    name: String,
    table: Arc<Watched>,
    ways: Vec<Ahead>,
}

/// One run.
#[derive(Clone, Copy, Debug)]
struct Run {
    elapsed: Duration,
    reading: Reading,
    /// Of all workers together.
    computing: Duration,
}

impl Run {
    fn computing_each(&self, threads: usize) -> f64 {
        self.computing.as_secs_f64() / threads as f64
    }

    /// What of the shorter one of reading and computing is not in the time that passed; nothing where there is little to hide.
    fn hidden(&self, threads: usize) -> Option<f64> {
        let (read, computed) = (self.reading.busy.as_secs_f64(), self.computing_each(threads));
        let (shorter, elapsed) = (read.min(computed), self.elapsed.as_secs_f64());
        (shorter * LITTLE > elapsed).then(|| (read + computed - elapsed) / shorter)
    }
}

fn run(options: &Options) -> anyhow::Result<()> {
    let executor = PipelineExecutor::new(options.threads)?;
    eprintln!("generating lineitem at scale {}", options.scale);
    let generated = TpchTable::new(TpchTableKind::Lineitem, ScaleFactor::new(options.scale)?);
    generated.load(
        &parquet_file::indices(&generated.schema(), &lineitem::COLUMNS)?,
        &executor,
    )?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("lineitem.parquet");
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(options.group_rows))
        .build();
    parquet_file::write(&generated, &lineitem::COLUMNS, Some(properties), &path)?;
    let generated: Arc<dyn TableSource> = Arc::new(generated);
    let file = std::fs::read(&path)?;
    let bytes = file.len();
    let servers = servers(options, &file);
    let places = places(options, &executor, &path, file, &servers)?;

    let mut runs: BTreeMap<(usize, usize, Ahead), Vec<Run>> = BTreeMap::new();
    let queries = QUERIES.iter().enumerate();
    let queries = queries.filter(|(_, (name, _))| name.contains(&options.filter));
    for (query, (name, sql)) in queries.clone() {
        let expected = answer(in_one_job(sql, generated.clone(), &executor)?.output)?;
        for round in 0..=options.rounds {
            eprintln!("{name}, round {round}");
            for (at, place) in places.iter().enumerate() {
                for &ahead in &place.ways {
                    let (run, result) = once(sql, place, ahead, &executor)?;
                    let same = answer(result)? == expected;
                    ensure!(same, "{name} over {} gave another answer", place.name);
                    // The first round warms up.
                    if round > 0 {
                        runs.entry((query, at, ahead)).or_default().push(run);
                    }
                }
            }
        }
    }
    for (query, (name, _)) in queries {
        println!("{name}:\n\n{}", table(query, &places, &runs, options.threads));
    }
    println!(
        "lineitem at scale {}, 7 columns, {} MB, row groups of {} rows, lines of {} MB/s, {} threads, {}, {} rounds, {}",
        options.scale,
        bytes / 1_000_000,
        options.group_rows,
        options.megabytes,
        options.threads,
        machine::processor(),
        options.rounds,
        machine::date()
    );
    Ok(())
}

/// A server for each latency.
fn servers(options: &Options, file: &[u8]) -> Vec<(u64, ObjectServer)> {
    let latencies = options.latencies_ms.iter();
    let server = |&ms: &u64| {
        let line = Line {
            latency: Duration::from_millis(ms),
            bytes_per_second: Some(options.megabytes * 1_000_000),
        };
        (ms, ObjectServer::behind(line, "lineitem.parquet", file.to_vec()))
    };
    latencies.map(server).collect()
}

fn places(
    options: &Options,
    executor: &PipelineExecutor,
    path: &std::path::Path,
    file: Vec<u8>,
    servers: &[(u64, ObjectServer)],
) -> anyhow::Result<Vec<Place>> {
    let numbers = options
        .at_once
        .iter()
        .map(|&requests| Ahead::Default(Some(requests)));
    let mut ways = vec![Ahead::OneMorsel];
    ways.extend(numbers);
    ways.push(Ahead::Default(None));
    let store = Arc::new(InMemory::new());
    let put = executor
        .mixed()
        .block_on(store.put(&"lineitem.parquet".into(), file.into()));
    put??;
    let place = |name: &str, table, ways: Vec<Ahead>| Place {
        name: name.to_owned(),
        table: Watched::new(table),
        ways,
    };
    let memory = source::open_object("lineitem", "memory", store, "lineitem.parquet".into(), executor)?;
    let mut with_off = vec![Ahead::Off];
    with_off.extend(&ways);
    let mut places = vec![
        place("memory", memory, ways.clone()),
        place("file", source::open("lineitem", path, executor)?, with_off),
    ];
    for (ms, server) in servers {
        let table = source::open("lineitem", server.url(), executor)?;
        places.push(place(&format!("http, {ms} ms"), table, ways.clone()));
    }
    Ok(places)
}

fn once(
    sql: &str,
    place: &Place,
    ahead: Ahead,
    executor: &PipelineExecutor,
) -> anyhow::Result<(Run, QueryResult)> {
    place.table.take();
    let before = executor.snapshot();
    let start = Instant::now();
    let report = match ahead {
        Ahead::Off => in_one_job(sql, place.table.clone(), executor)?,
        Ahead::OneMorsel | Ahead::Default(_) => {
            let plan = QueryPlanner::plan(sql, &catalog(place.table.clone())?)?;
            let (mut execution, _run) = PipelineBuilder::new(plan).prepare();
            match ahead {
                Ahead::OneMorsel => execution = execution.read_ahead(1),
                Ahead::Default(Some(requests)) => execution = execution.requests_at_once(requests),
                Ahead::Off | Ahead::Default(None) => {}
            }
            execution.run(executor)?
        }
    };
    let elapsed = start.elapsed();
    let total = executor.snapshot().since(&before).total();
    let run = Run {
        elapsed,
        reading: place.table.take(),
        computing: total.busy_main + total.busy_reserve + total.busy_lent,
    };
    Ok((run, report.output))
}

fn in_one_job(
    sql: &str,
    table: Arc<dyn TableSource>,
    executor: &PipelineExecutor,
) -> anyhow::Result<JobReport<QueryResult>> {
    let plan = QueryPlanner::plan(sql, &catalog(table)?)?;
    let (job, _run) = PipelineBuilder::new(plan).build();
    let ticket = executor
        .submit(job)
        .map_err(|_| anyhow::anyhow!("the executor took no job"))?;
    Ok(ticket.wait()?)
}

fn catalog(table: Arc<dyn TableSource>) -> anyhow::Result<Catalog> {
    let mut catalog = Catalog::new();
    catalog.register(table)?;
    Ok(catalog)
}

/// The rows as one batch, so that it does not matter how they were cut; and as text, since texts have other types in files.
fn answer(result: QueryResult) -> anyhow::Result<Vec<String>> {
    let whole: RecordBatch = concat_batches(&result.schema, &result.batches)?;
    let mut rows = Vec::with_capacity(whole.num_rows());
    for row in 0..whole.num_rows() {
        let mut text = String::new();
        for column in whole.columns() {
            text += &arrow::util::display::array_value_to_string(column, row)?;
            text.push('|');
        }
        rows.push(text);
    }
    Ok(rows)
}

/// A row for each place and way: medians, elapsed with its range.
fn table(
    query: usize,
    places: &[Place],
    runs: &BTreeMap<(usize, usize, Ahead), Vec<Run>>,
    threads: usize,
) -> String {
    let mut text = "| from | read ahead | elapsed, ms | reading, ms | of all morsels, ms | at once | computing, ms | hidden |\n\
                    |---|---|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for (at, place) in places.iter().enumerate() {
        for &ahead in &place.ways {
            let Some(runs) = runs.get(&(query, at, ahead)) else {
                continue;
            };
            let ms = |time: Duration| time.as_secs_f64() * 1e3;
            let (least, elapsed, most) = spread(runs.iter().map(|run| ms(run.elapsed)));
            let (_, busy, _) = spread(runs.iter().map(|run| ms(run.reading.busy)));
            let (_, sum, _) = spread(runs.iter().map(|run| ms(run.reading.sum)));
            let (_, computing, _) = spread(runs.iter().map(|run| run.computing_each(threads) * 1e3));
            let hidden: Option<Vec<f64>> = runs.iter().map(|run| run.hidden(threads)).collect();
            let hidden = hidden.map_or("–".to_owned(), |hidden| {
                format!("{:.0} %", spread(hidden.into_iter()).1 * 100.0)
            });
            let at_once = runs.iter().map(|run| run.reading.at_once).max().unwrap_or(0);
            text += &format!(
                "| {} | {} | {} ({} – {}) | {} | {} | {at_once} | {} | {hidden} |\n",
                place.name,
                ahead.name(),
                short(elapsed),
                short(least),
                short(most),
                short(busy),
                short(sum),
                short(computing),
            );
        }
    }
    text
}

/// The least, the median and the greatest.
fn spread(values: impl Iterator<Item = f64>) -> (f64, f64, f64) {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    (values[0], values[values.len() / 2], values[values.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_a_part_of_the_shorter_one() {
        let ms = Duration::from_millis;
        let run = |elapsed| Run {
            elapsed: ms(elapsed),
            reading: Reading {
                busy: ms(100),
                sum: ms(300),
                at_once: 3,
            },
            computing: ms(80),
        };
        // Of 40 ms on each of two workers: all, half, nothing.
        for (elapsed, hidden) in [(100, 1.0), (120, 0.5), (140, 0.0)] {
            let found = run(elapsed).hidden(2).unwrap();
            assert!((found - hidden).abs() < 1e-9, "{elapsed}");
        }
        assert_eq!(run(1_000).hidden(2), None);
    }

    #[test]
    fn every_way_to_read_gives_the_answer() {
        let words = [
            "--scale",
            "0.01",
            "--rounds",
            "1",
            "--group-rows",
            "5000",
            "--latency-ms",
            "1",
            "--at-once",
            "2",
        ];
        run(&Options::read(lexopt::Parser::from_args(words)).unwrap()).unwrap();
    }
}
