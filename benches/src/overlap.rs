//! Reading beside computing: the same queries over a Parquet file in memory, on the disk, and
//! behind slow lines to a server.
//!
//! ```text
//!   reading    ████████████████████        time during which anything was being read
//!   computing     ██████ ████ ███████      time of the workers in slots, by the number of workers
//!   elapsed    ───────────────────────     hidden: what of the shorter one is not in it
//! ```

mod watched;

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use columnar::TableSource;
use object_server::{Line, ObjectServer};
use parquet::file::properties::WriterProperties;
use query::QueryResult;
use query::Work;
use query::object_store::ObjectStoreExt as _;
use query::object_store::memory::InMemory;
use query::source::{self, ScaleFactor, TpchTable, TpchTableKind};

use crate::bench::{About, Bench};
use crate::contender::{Contender, Outcome};
use crate::engine::{self, Ahead, Engine};
use crate::options::{Knob, Options};
use crate::workload::{Column, Workload};
use crate::{THREADS, tpch};
use watched::{Reading, Watched};

const SCALE_QUICK: f64 = 0.05;
/// Small, so that a table has several groups to read at the same time.
const GROUP_ROWS: usize = 65_536;
const GROUP_ROWS_QUICK: usize = 5_000;
const MEGABYTES_PER_SECOND: u64 = 200;

/// A time below one part in this many of the whole need not be hidden.
const LITTLE: f64 = 20.0;

/// Little computation a byte, and much.
const QUERIES: [(&str, &str); 2] = [
    (
        "Q6",
        "select sum(l_extendedprice * l_discount) from lineitem where l_shipdate >= date \
         '1994-01-01' and l_shipdate < date '1995-01-01' and l_discount between 0.05 and 0.07 and \
         l_quantity < 24",
    ),
    ("Q1", tpch::Q1),
];

const KNOBS: &[Knob] = &[
    Knob::new(
        "latency-ms",
        "10,50",
        "latencies of lines to the server, in milliseconds",
    ),
    Knob::new("at-once", "1,4,8,16", "requests at a time, besides the default"),
];

pub(crate) struct Overlap;

impl Bench for Overlap {
    fn about(&self) -> &'static About {
        &About {
            name: "overlap",
            question: "reading from files and slow servers beside computing",
            page: "benches/overlap.md",
            plots: "",
            rounds: 2,
            knobs: KNOBS,
        }
    }

    fn workloads(&self, options: &Options) -> Result<Vec<Workload>> {
        let scale = if options.quick { SCALE_QUICK } else { 1.0 };
        let file = Rc::new(File::generate(options, scale)?);
        let expected = |sql| answer(&Engine::new([Arc::clone(&file.generated)])?.run(sql)?.result);
        let mut workloads = Vec::new();
        for (name, sql) in QUERIES {
            let expected = Rc::new(expected(sql)?);
            let mut rows = Vec::new();
            for place in places(options, &file)? {
                for ahead in place.ways.clone() {
                    let row = (Rc::clone(&place), Rc::clone(&file), Rc::clone(&expected));
                    rows.push(Contender::ours(
                        format!("{}: {}", place.name, told(ahead)),
                        move || {
                            let (place, file, expected) = row.clone();
                            move || once(sql, &place, ahead, &file, &expected)
                        },
                    ));
                }
            }
            let story = format!(
                "lineitem at scale {scale}, {} columns, {} MB, row groups of {} rows, lines of \
                 {MEGABYTES_PER_SECOND} MB/s.",
                tpch::LINEITEM.len(),
                file.bytes.len() / 1_000_000,
                file.group_rows,
            );
            let workload = Workload::new(format!("reading beside {name}"), story)
                .columns([
                    Column::measured("elapsed, ms", 0),
                    Column::told("reading, ms", 1),
                    Column::told("of all morsels, ms", 2),
                    Column::told("at once", 3),
                    Column::told("computing, ms", 4),
                    Column::told("hidden, %", 5),
                ])
                .rows(rows)
                .elsewhere();
            workloads.push(workload);
        }
        Ok(workloads)
    }
}

/// Also the pools that read and compute.
struct File {
    generated: Arc<dyn TableSource>,
    work: Work,
    folder: tempfile::TempDir,
    bytes: Vec<u8>,
    group_rows: usize,
}

const FILE: &str = "lineitem.parquet";

impl File {
    fn generate(options: &Options, scale: f64) -> Result<Self> {
        let work = engine::work()?;
        let generated = TpchTable::new(TpchTableKind::Lineitem, ScaleFactor::new(scale)?);
        generated.load(&tpch::indices(&generated.schema(), &tpch::LINEITEM)?, &work)?;
        let folder = tempfile::tempdir()?;
        let path = folder.path().join(FILE);
        let group_rows = if options.quick {
            GROUP_ROWS_QUICK
        } else {
            GROUP_ROWS
        };
        let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group_rows));
        tpch::write(&generated, &tpch::LINEITEM, Some(properties.build()), &path)?;
        Ok(Self {
            generated: Arc::new(generated),
            work,
            bytes: std::fs::read(&path)?,
            folder,
            group_rows,
        })
    }
}

struct Place {
    name: String,
    table: Arc<Watched>,
    ways: Vec<Ahead>,
    /// Kept while the table is read from it.
    _server: Option<ObjectServer>,
}

fn told(ahead: Ahead) -> String {
    match ahead {
        Ahead::Off => "no reading ahead".to_owned(),
        Ahead::OneMorsel => "one morsel ahead".to_owned(),
        Ahead::Default(Some(requests)) => format!("{requests} at once"),
        Ahead::Default(None) => "default".to_owned(),
    }
}

fn places(options: &Options, file: &File) -> Result<Vec<Rc<Place>>> {
    let work = &file.work;
    let mut ways = vec![Ahead::OneMorsel];
    let at_once: Vec<usize> = options.numbers("at-once")?;
    ways.extend(at_once.into_iter().map(|requests| Ahead::Default(Some(requests))));
    ways.push(Ahead::Default(None));
    let store = Arc::new(InMemory::new());
    let put = work
        .pools()
        .mixed()
        .block_on(store.put(&FILE.into(), file.bytes.clone().into()));
    put??;
    let place = |name: String, table, ways: &[Ahead], server| {
        Rc::new(Place {
            name,
            table: Watched::new(table),
            ways: ways.to_vec(),
            _server: server,
        })
    };
    let memory = source::open_object("lineitem", "memory", store, FILE.into(), work)?;
    let on_disk = source::open("lineitem", file.folder.path().join(FILE), work)?;
    let with_off = [&[Ahead::Off], ways.as_slice()].concat();
    let mut places = vec![
        place("memory".to_owned(), memory, &ways, None),
        place("file".to_owned(), on_disk, &with_off, None),
    ];
    for ms in options.numbers("latency-ms")? {
        let line = Line {
            latency: Duration::from_millis(ms),
            bytes_per_second: Some(MEGABYTES_PER_SECOND * 1_000_000),
        };
        let server = ObjectServer::behind(line, FILE, file.bytes.clone());
        let table = source::open("lineitem", server.url(), work)?;
        places.push(place(format!("http, {ms} ms"), table, &ways, Some(server)));
    }
    Ok(places)
}

fn once(sql: &str, place: &Place, ahead: Ahead, file: &File, expected: &[String]) -> Result<Outcome> {
    let engine = Engine::on(file.work.clone(), [Arc::clone(&place.table) as _])?;
    place.table.take();
    let before = engine.busy();
    let start = Instant::now();
    let result = engine.run_ahead(sql, ahead)?;
    let elapsed = start.elapsed();
    let computing = (engine.busy() - before) / THREADS as u32;
    let reading = place.table.take();
    ensure!(answer(&result)? == expected, "{} gave another answer", place.name);
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    Ok(Outcome::verified(vec![
        ms(elapsed),
        ms(reading.busy),
        ms(reading.sum),
        reading.at_once as f64,
        ms(computing),
        hidden(elapsed, &reading, computing).map_or(f64::NAN, |part| part * 100.0),
    ]))
}

/// The part of the shorter one that is hidden in the elapsed time; `None` if there is little to
/// hide.
fn hidden(elapsed: Duration, reading: &Reading, computing: Duration) -> Option<f64> {
    let (read, computed) = (reading.busy.as_secs_f64(), computing.as_secs_f64());
    let (shorter, elapsed) = (read.min(computed), elapsed.as_secs_f64());
    (shorter * LITTLE > elapsed).then(|| (read + computed - elapsed) / shorter)
}

/// The rows as one batch, so that cuts do not matter, and as text, because text columns have other
/// types in files.
fn answer(result: &QueryResult) -> Result<Vec<String>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_a_part_of_the_shorter_one() {
        let ms = Duration::from_millis;
        let reading = Reading {
            busy: ms(100),
            sum: ms(300),
            at_once: 3,
        };
        // Of 40 ms on each of two workers: all, half, nothing.
        for (elapsed, part) in [(100, 1.0), (120, 0.5), (140, 0.0)] {
            let found = hidden(ms(elapsed), &reading, ms(40)).unwrap();
            assert!((found - part).abs() < 1e-9, "{elapsed}");
        }
        assert_eq!(hidden(ms(1_000), &reading, ms(40)), None);
    }

    #[test]
    fn every_way_to_read_gives_the_answer() {
        let words = [
            "overlap",
            "--quick",
            "--rounds",
            "1",
            "--latency-ms",
            "1",
            "--at-once",
            "2",
        ];
        let benches = crate::benches();
        let (bench, options) = Options::read(words.map(std::ffi::OsString::from), &benches).unwrap();
        let mut rows = 0;
        bench
            .run(&options, &mut |report| rows += report.rows.len())
            .unwrap();
        // In memory and behind a line three ways, from the disk four.
        assert_eq!(rows, 2 * (3 + 4 + 3));
    }
}
