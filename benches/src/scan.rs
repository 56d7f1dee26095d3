//! `windlass scan` beside ripgrep, as whole commands: speed, memory, fairness, cancelling, and the
//! same output byte for byte; and as the simulator predicts it for many workers.
//!
//! ```text
//!   Corpus ──► Place ──► Invocation ──► verify: the same lines ──► rounds in turn ──► Report
//!   by seed    a path    flags for all  (or no figures)           launch, one process each
//! ```
//!
//! A part that cannot be measured, or whose programs print different things, is a missed aim with
//! its reason, and the rest is measured all the same.

mod binary;
mod cancel;
mod corpus;
mod digest;
mod fairness;
pub(crate) mod floor;
pub(crate) mod launch;
mod memory;
mod part;
mod program;
mod same;
mod speed;
mod table;
mod verify;
mod workers;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::THREADS;
use crate::bench::{About, Bench};
use crate::contender::Role;
use crate::interleave;
use crate::options::{Knob, Options};
use crate::report::Report;
use crate::target::Verdict;
use crate::workload::{Family, Workload};
use corpus::{Corpora, Place};
use part::{Made, Part};
use program::{OURS, PEER, Programs};
use table::Line;

const KNOBS: &[Knob] = &[
    Knob::new("windlass", "", "the program; by default the release build"),
    Knob::new("rg", "", "ripgrep 15.2.0; by default target/peers/bin/rg"),
    Knob::new(
        "folder",
        "",
        "where generated files are kept; by default target/scan-corpora",
    ),
    Knob::new("scale", "1", "part of the full size of what is generated"),
    Knob::new("log-gib", "4", "size of the log L, in GiB"),
    Knob::new(
        "corpora",
        "keep",
        "`make` only generates them, `remove` removes them",
    ),
];

pub(crate) struct Scan;

struct Setup {
    programs: Programs,
    corpora: Corpora,
    is_quick: bool,
}

impl Bench for Scan {
    fn about(&self) -> &'static About {
        &About {
            name: "scan",
            question: "`windlass scan` beside ripgrep: speed, memory, fairness, cancelling, the same output",
            page: "benches/scan.md",
            plots: "",
            rounds: 7,
            knobs: KNOBS,
        }
    }

    fn peers(&self, options: &Options) -> Result<Vec<String>> {
        Ok(Programs::find(options, &target()?)?.versions())
    }

    fn run(&self, options: &Options, show: &mut dyn FnMut(Report)) -> Result<()> {
        let target = target()?;
        let corpora = Corpora::new(options, &target)?;
        match options.text("corpora") {
            "keep" => {}
            "make" => {
                corpora
                    .make_all()?
                    .iter()
                    .for_each(|place| eprintln!("{}", place.label));
                return Ok(());
            }
            "remove" => return corpora.remove_all(),
            other => anyhow::bail!("--corpora takes `keep`, `make` or `remove`, not {other:?}"),
        }
        let all = parts();
        let chosen: Vec<&Part> = all
            .iter()
            .filter(|part| part.name.contains(&options.filter))
            .collect();
        let names = || {
            all.iter()
                .map(|part| part.name.as_str())
                .collect::<Vec<_>>()
                .join("; ")
        };
        ensure!(
            !chosen.is_empty(),
            "no part's name contains {:?}; there are {}",
            options.filter,
            names()
        );
        let programs = Programs::find(options, &target)?;
        eprintln!("{}", programs.versions().join(", "));
        let setup = Setup {
            programs,
            corpora,
            is_quick: options.quick,
        };
        for part in chosen {
            match (part.make)(&setup) {
                Ok(Some(made)) => show(measured(made, self.rounds_of(options))),
                Ok(None) => eprintln!("{}: this machine does not have it", part.name),
                Err(error) => show(not_measured(&part.name, &error)),
            }
        }
        Ok(())
    }
}

fn parts() -> Vec<Part> {
    let mut parts = speed::parts();
    parts.extend(fairness::parts());
    parts.extend(cancel::parts());
    parts.extend(memory::parts());
    parts.extend(workers::parts());
    parts.extend(same::parts());
    parts
}

impl Setup {
    /// Our row and the peer's, with the same flags.
    fn both(&self, flags: &[&str], place: &Place) -> Vec<Line> {
        let Programs { ours, peer, .. } = &self.programs;
        vec![
            Line::new(OURS, Role::Ours, ours.search(THREADS, flags, place)),
            Line::new(PEER, Role::Peer, peer.search(THREADS, flags, place)),
        ]
    }
}

fn measured(made: Made, rounds: usize) -> Report {
    let run = |workload: Workload| {
        let (name, story) = (workload.name.clone(), workload.story.clone());
        let (family, columns) = (workload.family.clone(), workload.columns.clone());
        interleave::run(workload, rounds).unwrap_or_else(|error| Report {
            story,
            columns,
            family,
            ..not_measured(&name, &error)
        })
    };
    match made {
        Made::Report(report) => report,
        Made::Workload(workload) => run(workload),
        Made::Table(table) => {
            let (name, story) = (table.workload.name.clone(), table.workload.story.clone());
            let (family, columns) = (table.workload.family.clone(), table.workload.columns.clone());
            match table.verified() {
                Ok(workload) => run(workload),
                Err(error) => Report {
                    story,
                    columns,
                    family,
                    ..not_measured(&name, &error)
                },
            }
        }
    }
}

/// A missed aim, with its reason.
fn not_measured(name: &str, error: &anyhow::Error) -> Report {
    eprintln!("{name}: {error:#}");
    Report {
        name: name.to_owned(),
        story: String::new(),
        rounds: 0,
        others: None,
        columns: Vec::new(),
        rows: Vec::new(),
        verdicts: vec![Verdict {
            text: format!("not measured: {error:#}"),
            met: Some(false),
        }],
        note: String::new(),
        family: None::<Family>,
    }
}

/// The build folder: this program lies in a folder of it.
fn target() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.parent().and_then(Path::parent);
    Ok(target.context("a program lies in the build folder")?.to_owned())
}
