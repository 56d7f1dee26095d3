//! Ten kinds of query over `lineitem`, from a Parquet file and from memory, in our engine and in
//! others.
//!
//! Each engine has the same rows, SQL and number of threads, and a process of its own a round. Each
//! answer is compared with ours from generated rows, which is known before a clock runs.

mod answer;
mod question;

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use columnar::TableSource;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use query::source::{self, ScaleFactor, TpchTable, TpchTableKind};
use serde::{Deserialize, Serialize};

use crate::THREADS;
use crate::bench::{About, Bench};
use crate::contender::{Contender, Outcome};
use crate::engine::{self, Engine};
use crate::options::{Knob, Options};
use crate::peer::{self, ENGINES, OURS, Peer, Python};
use crate::target::{ALL_PEERS, Of, Target};
use crate::tpch::{self, indices};
use crate::workload::{Column, Workload};
use answer::Answer;
use question::{QUESTIONS, Question};

/// Runs of a query in a round.
const RUNS: usize = 5;
const SCALE_QUICK: f64 = 0.02;

/// The greatest ratio of our time to the best peer's.
const AIM: f64 = 0.7;
/// The least ratio of our time on one thread to that on two.
const SPEED_UP: f64 = 1.85;
const ON_ONE_THREAD: &str = "windlass, one thread";

/// Rows of a row group, as the program tpchgen-cli writes them at scale 1.
const GROUP_ROWS: usize = 113_743;

const COLUMNS: [&str; 13] = [
    "l_orderkey",
    "l_partkey",
    "l_suppkey",
    "l_quantity",
    "l_extendedprice",
    "l_discount",
    "l_tax",
    "l_returnflag",
    "l_linestatus",
    "l_shipdate",
    "l_shipinstruct",
    "l_shipmode",
    "l_comment",
];

const PEERS: [(&str, &str); 3] = [
    ("duckdb", "DuckDB"),
    ("datafusion", "DataFusion"),
    ("polars", "Polars, streaming"),
];
const SCRIPT: &str = "kinds.py";
/// Our engine's program, beside this one.
const PROGRAM: &str = "kinds-engine";

const KNOBS: &[Knob] = &[
    ENGINES,
    Knob::new("scale", "1", "scale factor of the rows"),
    Knob::new("tables", "files,memory", "where the rows are"),
];

pub(crate) struct Kinds;

#[derive(Debug, Deserialize)]
struct Measured {
    times_ms: Vec<f64>,
    cpu_ms: Vec<f64>,
    peak_mib: f64,
}

/// The peers' input.
#[derive(Serialize)]
struct Told<'a> {
    tables: HashMap<&'static str, &'a Path>,
    from_files: bool,
    name: &'static str,
    sql: &'static str,
    answer: &'a Answer,
}

impl Bench for Kinds {
    fn about(&self) -> &'static About {
        &About {
            name: "kinds",
            question: "ten kinds of query, from Parquet and from memory, here and in DuckDB, DataFusion and Polars",
            page: "benches/kinds.md",
            plots: "",
            rounds: 3,
            knobs: KNOBS,
        }
    }

    fn peers(&self, options: &Options) -> Result<Vec<String>> {
        let peers = Python::new(options, SCRIPT).peers(&PEERS, options)?;
        Ok(peers.iter().map(Peer::versioned).collect())
    }

    fn workloads(&self, options: &Options) -> Result<Vec<Workload>> {
        let python = Python::new(options, SCRIPT);
        let peers = python.peers(&PEERS, options)?;
        let setup = Rc::new(Setup::new(options, python)?);
        let mut workloads = Vec::new();
        for place in options.text("tables").split(',') {
            let from_files = match place {
                "files" => true,
                "memory" => false,
                other => anyhow::bail!("--tables takes `files` and `memory`, not {other:?}"),
            };
            for question in &QUESTIONS {
                workloads.push(setup.workload(question, from_files, &peers, options)?);
            }
        }
        Ok(workloads)
    }
}

struct Setup {
    /// Over the generated rows, and over the file.
    engines: [Engine; 2],
    file: PathBuf,
    folder: tempfile::TempDir,
    python: Python,
}

impl Setup {
    fn new(options: &Options, python: Python) -> Result<Self> {
        let scale = if options.quick {
            SCALE_QUICK
        } else {
            options.number("scale")?
        };
        let table = TpchTable::new(TpchTableKind::Lineitem, ScaleFactor::new(scale)?);
        table.load(&indices(&table.schema(), &COLUMNS)?, &engine::work()?)?;
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("lineitem.parquet");
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        tpch::write(&table, &COLUMNS, Some(properties), &file)?;
        let work = engine::work()?;
        let opened = source::open("lineitem", &file, &work)?;
        let over_file = Engine::on(work, [opened])?;
        Ok(Self {
            engines: [Engine::new([Arc::new(table) as Arc<dyn TableSource>])?, over_file],
            file,
            folder,
            python,
        })
    }

    fn workload(
        self: &Rc<Self>,
        question: &'static Question,
        from_files: bool,
        peers: &[Peer],
        options: &Options,
    ) -> Result<Workload> {
        let [generated, over_file] = &self.engines;
        let answer = question.answer(generated)?;
        answer
            .verify(&question.answer(over_file)?)
            .context("the file has other rows")?;
        let place = if from_files { "files" } else { "memory" };
        let told = self.folder.path().join(format!("{place}-{}.json", question.name));
        let what = Told {
            tables: [("lineitem", self.file.as_path())].into(),
            from_files,
            name: question.name,
            sql: question.sql,
            answer: &answer,
        };
        serde_json::to_writer(File::create(&told)?, &what)?;
        let mut rows = Vec::new();
        if peer::is_wanted(options, OURS) {
            for (name, threads) in [(OURS, THREADS), (ON_ONE_THREAD, 1)] {
                let told = told.clone();
                rows.push(Contender::ours(name, move || {
                    let told = told.clone();
                    move || ours(&told, threads)
                }));
            }
        }
        for peer in peers {
            let (setup, peer, told) = (Rc::clone(self), peer.clone(), told.clone());
            rows.push(Contender::peer(peer.name, move || {
                let (setup, peer, told) = (Rc::clone(&setup), peer.clone(), told.clone());
                move || setup.peers(&peer, &told)
            }));
        }
        let story = format!(
            "{RUNS} runs a round behind one that is not counted. The median of all; in brackets that of \
             the least and of the greatest round."
        );
        let workload = Workload::new(format!("{}, {place}", question.name), story)
            .columns([
                Column::percentile("ms", 50.0),
                Column::told("CPU / wall", 0),
                Column::told("peak, MiB", 1),
            ])
            .cold()
            .rows(rows)
            .elsewhere()
            .pivot(
                if from_files { "Parquet" } else { "memory" },
                "query",
                question.name,
                &[0, 1],
            );
        Ok(if peers.is_empty() || !peer::is_wanted(options, OURS) {
            workload
        } else {
            workload.targets([
                Target::at_most(AIM, ALL_PEERS),
                Target::as_fast(SPEED_UP, Of::Row(ON_ONE_THREAD)),
            ])
        })
    }

    fn peers(&self, peer: &Peer, told: &Path) -> Result<Outcome> {
        let arguments = ["--threads", &THREADS.to_string(), "--runs", &RUNS.to_string()];
        let mut all: Vec<Measured> = self.python.run(peer, told, &arguments.map(str::to_owned))?;
        ensure!(all.len() == 1, "{} told of {} queries", peer.name, all.len());
        Ok(all.remove(0).outcome())
    }
}

fn ours(told: &Path, threads: usize) -> Result<Outcome> {
    let program = std::env::current_exe()?.with_file_name(PROGRAM);
    let output = Command::new(&program)
        .arg(told)
        .args([threads, RUNS].map(|number| number.to_string()))
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {}", program.display()))?;
    ensure!(output.status.success(), "{PROGRAM} ended with {}", output.status);
    let measured: Measured = serde_json::from_slice(&output.stdout)?;
    Ok(measured.outcome())
}

impl Measured {
    fn outcome(self) -> Outcome {
        let (wall, cpu): (f64, f64) = (self.times_ms.iter().sum(), self.cpu_ms.iter().sum());
        Outcome {
            samples: self.times_ms,
            ..Outcome::verified(vec![cpu / wall, self.peak_mib])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_answer_is_an_error() {
        let benches = crate::benches();
        let words = ["kinds", "--quick"].map(std::ffi::OsString::from);
        let (_, options) = Options::read(words, &benches).unwrap();
        let setup = Setup::new(&options, Python::new(&options, SCRIPT)).unwrap();
        let answers: Vec<Answer> = QUESTIONS
            .iter()
            .map(|question| question.answer(&setup.engines[0]).unwrap())
            .collect();
        for (at, answer) in answers.iter().enumerate() {
            assert!(answer.verify(answer).is_ok());
            assert!(answer.verify(&answers[(at + 1) % answers.len()]).is_err());
        }
    }
}
