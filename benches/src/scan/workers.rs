//! Speed-up over workers, as the simulator predicts it: the scan's own lines over a tree of sizes, by
//! virtual time.
//!
//! ```text
//!   one thread, measured ──► price of an object, price of a byte ──┐
//!   names and sizes of the real tree ──► Sizes, a file system ─────┴─► 1 … 64 workers
//! ```
//!
//! Each simulated worker has a core of its own, and neither memory nor the kernel becomes slower by
//! many workers. So a curve says what the scan's tasks and locks allow, not what a machine does.

mod priced;
mod sizes;

use std::rc::Rc;
use std::sync::Arc;

use anyhow::{Result, ensure};
use executor_core::ExecutorConfig;
use scan::machine::{FileTask, Machine, SourceCursor, Task};
use scan::{LocalScratch, ParallelScanConfig};
use sim::{Ending, Profile, SimCtx, Simulation, StrategyKind};

use super::Setup;
use super::corpus::{Corpus, Place, RARE};
use super::launch::{self, How};
use super::part::{Made, Part};
use crate::contender::{Contender, Outcome, Role};
use crate::number::short;
use crate::stats::median;
use crate::workload::{Column, Workload};
use priced::{Bill, Nothing, Priced, Reading};
use sizes::Sizes;

const WORKERS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Threads of the runs that are measured.
const MEASURED: [usize; 2] = [1, 2];

/// Runs whose median is a price.
const RUNS: usize = 5;

/// All workers sleep by then.
const BEGIN_NS: u64 = 20_000_000;

const SEED: u64 = 1;

pub(super) fn parts() -> Vec<Part> {
    let corpora = [Corpus::Registry, Corpus::Documents, Corpus::Beside, Corpus::Log];
    let part = |corpus| Part::new("workers", corpus, move |setup: &Setup| make(setup, corpus));
    corpora.into_iter().map(part).collect()
}

fn make(setup: &Setup, corpus: Corpus) -> Result<Option<Made>> {
    let Some(place) = setup.corpora.place(corpus)? else {
        return Ok(None);
    };
    let Some(prices) = Prices::measured(setup)? else {
        return Ok(None);
    };
    let sizes = Arc::new(Sizes::of(&place.whole())?);
    let points = WORKERS.map(|workers| predict(&sizes, workers, prices));
    let one_ns = points[0].elapsed_ns;
    let mut rows = Vec::new();
    for (workers, profile) in WORKERS.into_iter().zip(&points) {
        let measured_ms = if MEASURED.contains(&workers) {
            search_ms(setup, workers, &place)?
        } else {
            f64::NAN
        };
        let figures = vec![
            profile.elapsed_ns as f64 / 1e6,
            one_ns as f64 / profile.elapsed_ns.max(1) as f64,
            profile.work_ns as f64 / profile.lower_bound_ns(workers).max(1) as f64,
            measured_ms,
        ];
        let name = format!("{workers} worker{}", if workers == 1 { "" } else { "s" });
        rows.push(Contender::new(name, Role::Baseline, move || {
            let figures = figures.clone();
            move || Outcome::verified(figures.clone())
        }));
    }
    let story = format!(
        "`{RARE}`, predicted. An object costs {} ns, a byte {} ns, and a process {} ms, as measured with one \
         thread on R, L and a file alone; a prediction is without the process. {} tasks.",
        short(prices.object_ns),
        short(prices.byte_ns),
        short(prices.process_ms),
        short(points[0].tasks as f64),
    );
    let workload = Workload::new(format!("workers, {}", place.label), story)
        .columns([
            Column::told("predicted, ms", 0),
            Column::told("speed-up", 1),
            Column::told("at most", 2),
            Column::told("measured, ms", 3),
        ])
        .cold()
        .elsewhere()
        .rounds_max(1)
        .rows(rows);
    Ok(Some(Made::Workload(workload)))
}

/// What a search of one thread takes.
#[derive(Clone, Copy, Debug)]
struct Prices {
    /// A file or a directory, whatever is in it.
    object_ns: f64,
    /// Reading and searching a byte.
    byte_ns: f64,
    /// A process that searches nothing.
    process_ms: f64,
}

impl Prices {
    fn measured(setup: &Setup) -> Result<Option<Self>> {
        let place = |corpus| setup.corpora.place(corpus);
        let (Some(tree), Some(log)) = (place(Corpus::Registry)?, place(Corpus::Log)?) else {
            return Ok(None);
        };
        let alone = Place {
            path: "Cargo.toml".to_owned(),
            folder: place(Corpus::Checkout)?.map_or_else(Default::default, |checkout| checkout.whole()),
            label: String::new(),
        };
        let process_ms = search_ms(setup, 1, &alone)?;
        let ns = |place: &Place| -> Result<(f64, Sizes)> {
            let search_ns = (search_ms(setup, 1, place)? - process_ms) * 1e6;
            Ok((search_ns, Sizes::of(&place.whole())?))
        };
        let (log_ns, log) = ns(&log)?;
        let byte_ns = log_ns / log.bytes() as f64;
        let (tree_ns, tree) = ns(&tree)?;
        let object_ns = (tree_ns - byte_ns * tree.bytes() as f64) / tree.objects() as f64;
        ensure!(
            byte_ns > 0.0 && object_ns > 0.0,
            "prices are {byte_ns} and {object_ns} ns"
        );
        Ok(Some(Self {
            object_ns,
            byte_ns,
            process_ms,
        }))
    }
}

/// Median of some runs.
fn search_ms(setup: &Setup, threads: usize, place: &Place) -> Result<f64> {
    let call = setup.programs.ours.search(threads, &["-e", RARE], place);
    let runs = (0..RUNS).map(|_| Ok(launch::run(&call, How::Sum)?.wall_ns as f64 / 1e6));
    Ok(median(runs.collect::<Result<Vec<f64>>>()?))
}

/// Panics if an oracle finds a violation.
fn predict(sizes: &Arc<Sizes>, workers: usize, prices: Prices) -> Profile {
    type Running = Machine<Priced, Reading, Nothing>;
    let bill = Arc::new(Bill::default());
    let files = Priced::new(sizes, &bill, prices.object_ns, prices.byte_ns);
    let config = ParallelScanConfig::with_workers(workers);
    let machine: Rc<Running> = Rc::new(Machine::tree(files, Reading, &config, Nothing));
    let root = FileTask {
        file_id: 0,
        path: Sizes::ROOT.into(),
    };
    let source = Arc::new(SourceCursor::new(Box::new(std::iter::once(root))));
    let scratch = {
        let machine = Rc::clone(&machine);
        move |_worker| machine.scratch()
    };
    let runner = {
        let machine = Rc::clone(&machine);
        move |task, cx: &mut SimCtx<'_, Task<Priced, Nothing>, LocalScratch<Reading>>| {
            machine.run(task, &mut priced::Payer { cx, bill: &bill });
        }
    };
    let report = Simulation::new(SEED)
        .strategy(StrategyKind::Earliest)
        .ending(Ending::Idle)
        .begin_ns(BEGIN_NS)
        .step_limit(u64::MAX)
        .keep_choices(false)
        .config(ExecutorConfig::new(workers))
        .run([Task::Source(source)], scratch, runner);
    let mut report = report.unwrap_or_else(|failure| panic!("{failure}"));
    let summary = machine.end(std::mem::take(&mut report.scratches));
    let errors = summary.map_or(1, |summary| summary.errors);
    assert_eq!(errors, 0, "a tree of sizes can be read");
    report.profile
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn workers_share_files_and_chunks() {
        let folder = tempfile::tempdir().unwrap();
        for file in 0..200 {
            fs::write(folder.path().join(format!("{file}.txt")), "a\n").unwrap();
        }
        let large = fs::File::create(folder.path().join("large.txt")).unwrap();
        large.set_len(32 << 20).unwrap();
        let sizes = Arc::new(Sizes::of(folder.path()).unwrap());
        assert_eq!((sizes.objects(), sizes.bytes()), (202, 400 + (32 << 20)));
        let prices = Prices {
            object_ns: 5_000.0,
            byte_ns: 0.1,
            process_ms: 0.0,
        };
        let [one, two, four, eight] = [1, 2, 4, 8].map(|workers| predict(&sizes, workers, prices));
        let work_ns = (202.0 * prices.object_ns + sizes.bytes() as f64 * prices.byte_ns) as u64;
        assert!(
            one.work_ns >= work_ns && one.work_ns < work_ns * 11 / 10,
            "{} of {work_ns}",
            one.work_ns
        );
        assert!(two.elapsed_ns < one.elapsed_ns * 6 / 10, "{two:?} {one:?}");
        assert!(four.elapsed_ns < one.elapsed_ns * 4 / 10, "{four:?} {one:?}");
        assert!(eight.elapsed_ns < one.elapsed_ns / 5, "{eight:?} {one:?}");
    }
}
