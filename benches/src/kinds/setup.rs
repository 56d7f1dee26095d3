//! A table in a file, questions with known answers, and engines that are asked them, each in a
//! process of its own.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;

use anyhow::{Context as _, Result, bail, ensure};
use query::source;
use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::data::Data;
use super::question::Question;
use crate::THREADS;
use crate::contender::{Contender, Outcome, Role};
use crate::engine::{self, Engine};
use crate::options::{Knob, Options};
use crate::peer::{self, OURS, Peer, Python};

pub(super) const TABLES: Knob = Knob::new("tables", "files,memory", "where the rows are");

const PEERS: [(&str, &str); 3] = [
    ("duckdb", "DuckDB"),
    ("datafusion", "DataFusion"),
    ("polars", "Polars, streaming"),
];
const SCRIPT: &str = "kinds.py";
/// Our engine's program, beside this one.
const PROGRAM: &str = "kinds-engine";

/// Where the rows are that a query reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    Files,
    Memory,
}

pub(super) struct Setup {
    data: Data,
    over_file: Engine,
    over_rows: Option<Engine>,
    file: PathBuf,
    /// Gone with the setup, which each row keeps.
    folder: tempfile::TempDir,
    python: Python,
    peers: Vec<Peer>,
    is_ours_wanted: bool,
}

/// A row of our engine, and its threads.
pub(super) type Ours = (&'static str, usize);
/// A row of a limit, and its name in our program.
pub(super) type Limit = (&'static str, &'static str);

/// Clients that ask at once, each its own number of questions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asking {
    pub(super) clients: usize,
    pub(super) each: usize,
}

/// The input of our program and of the peers' script.
#[derive(Serialize)]
struct Told<'a> {
    tables: HashMap<&'static str, &'a Path>,
    from_files: bool,
    clients: usize,
    each: usize,
    questions: Vec<ToldQuestion>,
}

#[derive(Serialize)]
struct ToldQuestion {
    name: &'static str,
    sql: &'static str,
    answer: Answer,
}

#[derive(Debug, Deserialize)]
struct Measured {
    times_ms: Vec<f64>,
    wall_ms: f64,
    cpu_ms: f64,
    peak_mib: f64,
}

impl Place {
    pub(super) fn wanted(options: &Options) -> Result<Vec<Self>> {
        let places = options.text(TABLES.name).split(',').map(|place| match place {
            "files" => Ok(Self::Files),
            "memory" => Ok(Self::Memory),
            other => bail!("--tables takes `files` and `memory`, not {other:?}"),
        });
        places.collect()
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Memory => "memory",
        }
    }
}

pub(super) fn peers(options: &Options) -> Result<Vec<Peer>> {
    Python::new(options, SCRIPT).peers(&PEERS, options)
}

impl Setup {
    pub(super) fn new(data: Data, options: &Options) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join(format!("{}.parquet", data.table()));
        let rows = data.write(options, &file)?;
        let work = engine::work()?;
        let opened = source::open(data.table(), &file, &work)?;
        Ok(Self {
            data,
            over_file: Engine::on(work, [opened])?,
            over_rows: rows.map(|rows| Engine::new([rows])).transpose()?,
            file,
            folder,
            python: Python::new(options, SCRIPT),
            peers: peers(options)?,
            is_ours_wanted: peer::is_wanted(options, OURS),
        })
    }

    /// Whether `name` is a row: aims that name it can be judged.
    pub(super) fn has(&self, name: &str) -> bool {
        if name == OURS {
            self.is_ours_wanted
        } else {
            self.peers.iter().any(|peer| peer.name == name)
        }
    }

    pub(super) fn has_peers(&self) -> bool {
        !self.peers.is_empty()
    }

    /// Writes the input of all rows of a workload, with known answers.
    pub(super) fn told(
        &self,
        workload: &str,
        questions: &'static [Question],
        place: Place,
        Asking { clients, each }: Asking,
    ) -> Result<PathBuf> {
        let told = self.folder.path().join(format!("{workload}.json"));
        let questions = questions.iter().map(|question| {
            Ok(ToldQuestion {
                name: question.name,
                sql: question.sql,
                answer: self.answer(question)?,
            })
        });
        let what = Told {
            tables: [(self.data.table(), self.file.as_path())].into(),
            from_files: place == Place::Files,
            clients,
            each,
            questions: questions.collect::<Result<_>>()?,
        };
        serde_json::to_writer(File::create(&told)?, &what)?;
        Ok(told)
    }

    pub(super) fn answer(&self, question: &Question) -> Result<Answer> {
        let answer = question.answer(&self.over_file)?;
        if let Some(rows) = &self.over_rows {
            let verified = question.answer(rows)?.verify(&answer);
            verified.context("the file has other rows")?;
        }
        Ok(answer)
    }

    /// The rows of a workload: `ours` and `limits` in our program, and one of each peer.
    pub(super) fn rows(self: &Rc<Self>, told: &Path, ours: &[Ours], limits: &[Limit]) -> Vec<Contender> {
        let row = |name, role, engine: &'static str, threads| {
            let (setup, told) = (Rc::clone(self), told.to_owned());
            Contender::new(name, role, move || {
                let (setup, told) = (Rc::clone(&setup), told.clone());
                move || setup.run_ours(&told, engine, threads)
            })
        };
        let wanted = if self.is_ours_wanted { ours } else { &[] };
        let ours = wanted
            .iter()
            .map(|(name, threads)| row(*name, Role::Ours, OURS, *threads));
        let peers = self.peers.iter().map(|peer| {
            let (setup, peer, told) = (Rc::clone(self), peer.clone(), told.to_owned());
            Contender::peer(peer.name, move || {
                let (setup, peer, told) = (Rc::clone(&setup), peer.clone(), told.clone());
                move || setup.run_peer(&peer, &told)
            })
        });
        let limits = limits
            .iter()
            .map(|(name, engine)| row(*name, Role::Baseline, engine, THREADS));
        ours.chain(peers).chain(limits).collect()
    }

    fn run_peer(&self, peer: &Peer, told: &Path) -> Result<Outcome> {
        let arguments = ["--threads".to_owned(), THREADS.to_string()];
        let mut all: Vec<Measured> = self.python.run(peer, told, &arguments)?;
        ensure!(all.len() == 1, "{} told of {} measurements", peer.name, all.len());
        Ok(all.remove(0).outcome())
    }

    fn run_ours(&self, told: &Path, engine: &str, threads: usize) -> Result<Outcome> {
        let program = std::env::current_exe()?.with_file_name(PROGRAM);
        let output = Command::new(&program)
            .arg(told)
            .arg(engine)
            .arg(threads.to_string())
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot run {}", program.display()))?;
        ensure!(output.status.success(), "{PROGRAM} ended with {}", output.status);
        let measured: Measured = serde_json::from_slice(&output.stdout)?;
        Ok(measured.outcome())
    }
}

impl Measured {
    /// Figures: CPU time over wall time, the peak of memory, queries a second.
    fn outcome(self) -> Outcome {
        let per_s = self.times_ms.len() as f64 / self.wall_ms * 1e3;
        Outcome {
            samples: self.times_ms,
            ..Outcome::verified(vec![self.cpu_ms / self.wall_ms, self.peak_mib, per_s])
        }
    }
}
