//! Scans in the simulator: a tree of plain data that fails by seed, and what must hold all the same.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use scan::files::Kind;
use scan::machine::{Machine, Task};
use scan::{CancelToken, ParallelScanConfig, Progress, RuleConfig};
use sim::{Failure, Simulation};

use crate::support::data::{Random, text};
use crate::support::sim_files::{SimFiles, Strike};
use crate::support::simulated_tree;
use crate::support::{Memory, Numbered, Word, expected};

/// A tree, the texts in it, and how it is scanned.
struct Scene {
    files: SimFiles,
    texts: BTreeMap<PathBuf, Vec<u8>>,
    config: ParallelScanConfig,
    word: Word,
    /// Names that a turn takes.
    turn: usize,
    /// Tasks after which the scan is cancelled.
    cancel_after: Option<usize>,
}

impl Scene {
    fn draw(seed: u64, workers: usize) -> Self {
        let mut random = Random::new(seed);
        let faults = if random.one_in(3) {
            0
        } else {
            1 + random.below(4) as u32
        };
        let rarity = 3 + random.below(30);
        let files = SimFiles::new(seed, faults, rarity);
        let mut texts = BTreeMap::new();
        files.dir("/root");
        fill(&mut random, &files, &mut texts, "/root", 0);
        let mut config = ParallelScanConfig {
            chunk_size: *random.of(&[16, 32, 100]),
            max_in_flight_objects: 1 + random.below(4) as usize,
            pool_buffers: workers + random.below(3) as usize,
            sort: random.one_in(2),
            follow_symlinks: random.one_in(4),
            kept_bytes_max: *random.of(&[0, 50, 1 << 20]),
            open_files_max: 3 * workers + random.below(4) as usize,
            max_file_size: random.one_in(8).then_some(200),
            skip_hidden: false,
            ..ParallelScanConfig::with_workers(workers)
        };
        config.rules = RuleConfig::default().without_ignore_files();
        let word = Word {
            max_line: *random.of(&[7, 64, 10_000]),
            ..Word::new("needle")
        };
        Self {
            files,
            texts,
            config,
            word,
            turn: 1 + random.below(3) as usize,
            cancel_after: random.one_in(6).then(|| random.below(60) as usize),
        }
    }
}

fn fill(
    random: &mut Random,
    files: &SimFiles,
    texts: &mut BTreeMap<PathBuf, Vec<u8>>,
    folder: &str,
    depth: usize,
) {
    for number in 0..random.below(8) {
        let path = format!("{folder}/{number}");
        match random.below(12) {
            0..=2 if depth < 3 => {
                files.dir(&path);
                fill(random, files, texts, &path, depth + 1);
            }
            3 => files.link(&path, random.of::<&str>(&["0", "..", "nowhere"])),
            4 => files.fifo(&path),
            _ => {
                let max = *random.of(&[40, 300, 1_500]);
                let text = text(random, max);
                files.file(&path, text.clone());
                texts.insert(PathBuf::from(path), text);
            }
        }
    }
}

fn scan(simulation: Simulation) -> Result<(), Failure> {
    let seed = simulation.seed();
    let workers = 1 + (seed % 3) as usize;
    let Scene {
        files,
        texts,
        config,
        word,
        turn,
        cancel_after,
    } = Scene::draw(seed, workers);
    let progress = Arc::new(Progress::default());
    let cancel = CancelToken::default();
    let sink = Memory::new(Numbered::default());
    let machine = Machine::tree(files.clone(), word.clone(), &config, sink);
    let machine = Rc::new(
        machine
            .watched(cancel.clone(), Arc::clone(&progress))
            .in_turns_of(turn),
    );
    let most_at_once = Rc::new(Cell::new(0));
    let before = {
        let (cancel, turns) = (cancel.clone(), Cell::new(0));
        move || {
            turns.set(turns.get() + 1);
            if cancel_after.is_some_and(|turn| turns.get() > turn) {
                cancel.cancel();
            }
        }
    };
    let after = {
        let (progress, most_at_once) = (Arc::clone(&progress), Rc::clone(&most_at_once));
        move || {
            let at_once = progress.discovered() - progress.reported();
            most_at_once.set(at_once.max(most_at_once.get()));
        }
    };
    let (report, summary) = simulated_tree::run(simulation, workers, &machine, "/root", before, after)?;
    let found = judge(
        &machine,
        &files,
        &texts,
        &config,
        &word,
        &progress,
        cancel.is_cancelled(),
    );
    let found = summary.map_err(|error| error.to_string()).and(found);
    // Each worker may have a turn's names in hand, whose objects without a permit it searches next.
    let limit = (config.max_in_flight_objects + workers * turn) as u64;
    let at_once = most_at_once.get();
    let found = found.and(ensure(at_once <= limit, || {
        format!("{at_once} objects were under way, of {limit}")
    }));
    report.ensure(found.is_ok(), || found.clone().err().unwrap_or_default())?;
    Ok(())
}

type Scanned = Machine<SimFiles, Word, Memory<Numbered>>;

fn judge(
    machine: &Scanned,
    files: &SimFiles,
    texts: &BTreeMap<PathBuf, Vec<u8>>,
    config: &ParallelScanConfig,
    word: &Word,
    progress: &Progress,
    cancelled: bool,
) -> Result<(), String> {
    let taken = machine.sink().take();
    let counters = machine.counters();
    let held = [&counters.permits, &counters.slots, &counters.buffers].map(|gauge| gauge.taken());
    ensure(held == [0; 3], || {
        format!("permits, slots and buffers still held: {held:?}")
    })?;
    let disk = files.disk();
    ensure(disk.open_max <= config.open_files_max, || {
        format!("{} files were open, of {}", disk.open_max, config.open_files_max)
    })?;
    for (path, reports) in &taken.reports {
        ensure(reports.len() == 1, || {
            format!(
                "{} was reported {} times: {reports:?}",
                path.display(),
                reports.len()
            )
        })?;
    }
    let (discovered, reported) = (progress.discovered(), progress.reported());
    ensure(discovered == reported, || {
        format!("{discovered} objects, and {reported} reports")
    })?;
    let mut struck = disk.struck.clone();
    for path in texts.keys().filter(|path| disk.has_changed(path)) {
        struck.entry(path.clone()).or_insert(Strike::Changed);
    }
    if !cancelled {
        every_object_is_reported(&taken.reports, &disk.listed, &disk.struck, config)?;
    }
    the_output_is_that_of_a_loop(
        &taken.bytes,
        &taken.reports,
        texts,
        &struck,
        config,
        word,
        cancelled,
    )
}

fn every_object_is_reported(
    reports: &BTreeMap<PathBuf, Vec<String>>,
    listed: &BTreeMap<PathBuf, Kind>,
    struck: &BTreeMap<PathBuf, Strike>,
    config: &ParallelScanConfig,
) -> Result<(), String> {
    for (path, kind) in listed {
        let report = reports.get(path).map(|reports| reports[0].as_str());
        let strike = struck.get(path).copied();
        let is_broken = strike >= Some(Strike::Broken);
        let expected: &[&str] = match kind {
            // What is behind a link is another test's.
            Kind::Link if config.follow_symlinks => continue,
            Kind::Link => &["skipped"],
            Kind::Other => &["skipped"],
            Kind::Dir if is_broken => &["error"],
            Kind::Dir => continue,
            _ if strike == Some(Strike::Refused) => &["error"],
            _ if is_broken => &["error", "skipped"],
            _ => &["clean", "findings", "skipped"],
        };
        let fits = report.is_some_and(|report| expected.iter().any(|begin| report.starts_with(begin)));
        ensure(
            fits || strike == Some(Strike::Broken) && report.is_some_and(is_before),
            || {
                format!(
                    "{} ({kind:?}, broken: {is_broken}) was reported as {report:?}",
                    path.display()
                )
            },
        )?;
    }
    Ok(())
}

/// A search that a NUL ended before the broken place.
fn is_before(report: &str) -> bool {
    report == "clean" || report == "findings"
}

fn the_output_is_that_of_a_loop(
    bytes: &[u8],
    reports: &BTreeMap<PathBuf, Vec<String>>,
    texts: &BTreeMap<PathBuf, Vec<u8>>,
    struck: &BTreeMap<PathBuf, Strike>,
    config: &ParallelScanConfig,
    word: &Word,
    cancelled: bool,
) -> Result<(), String> {
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut found: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
    let mut at = 0;
    // A line of a file may have an end of line within what was cut off before, but begins with its path.
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let end = memchr::memchr(b':', line)
            .ok_or_else(|| format!("no line: {}", String::from_utf8_lossy(line)))?;
        let path = PathBuf::from(String::from_utf8_lossy(&line[..end]).into_owned());
        if paths.last() != Some(&path) {
            ensure(!found.contains_key(&path), || {
                format!("the lines of {} are not together", path.display())
            })?;
            paths.push(path.clone());
        }
        found.entry(path).or_default().extend_from_slice(line);
        at += line.len();
    }
    ensure(at == bytes.len(), || "bytes are left".to_owned())?;
    if config.sort {
        let mut sorted = paths.clone();
        sorted.sort();
        ensure(paths == sorted, || format!("not in order: {paths:?}"))?;
    }
    for (path, text) in texts {
        let Some(report) = reports.get(path).map(|reports| reports[0].as_str()) else {
            continue;
        };
        let is_searched = report == "clean" || report == "findings";
        let expected = expected(path, text, word, false);
        let found = found.get(path).map_or(&[][..], Vec::as_slice);
        if struck.contains_key(path) || cancelled && !is_searched {
            if !struck.contains_key(path) {
                ensure(expected.starts_with(found), || differ(path, found, &expected))?;
            }
        } else if is_searched {
            ensure(found == expected, || differ(path, found, &expected))?;
            ensure((report == "findings") != expected.is_empty(), || {
                format!("{} is {report}", path.display())
            })?;
        } else {
            ensure(found.is_empty(), || {
                format!("{} was {report}, and put out", path.display())
            })?;
        }
    }
    Ok(())
}

fn differ(path: &Path, found: &[u8], expected: &[u8]) -> String {
    format!(
        "{}: found {:?}, expected {:?}",
        path.display(),
        String::from_utf8_lossy(found),
        String::from_utf8_lossy(expected)
    )
}

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}

#[test]
fn under_every_schedule_each_object_has_one_report_and_the_output_is_that_of_a_loop() {
    Simulation::new(0).check(sim::seeds(1_500), scan);
}

#[test]
fn what_went_wrong_once_does_not_again() {
    assert!(Simulation::check_corpus(include_str!("../corpus.txt"), scan) > 0);
}

#[test]
fn a_task_is_small() {
    assert!(size_of::<Task<scan::files::Native, Numbered>>() <= 32);
}
