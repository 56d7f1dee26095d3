//! Planted bugs as patches, each built in a copy of the tree: the tests that it names must fail.
//!
//! ```text
//!   tree ──► copy ──► patch ──► incremental build ──► the tests, oracles or models that it names ──► killed
//!                                                       └─ all pass ──► the rest of the layer ──► by another name, or survived
//! ```

mod builds;
pub(crate) mod compile;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use self::builds::Programs;
use super::layer::Layer;
use super::patch::{FOLDER, Patch};
use super::swarm::{self, Found};
use crate::copy::Copy;
use crate::loom::model;
use crate::process::{Built, Limit, OverLimit};
use crate::tidy;
use crate::workspace::Workspace;

/// Time of a test with a bug, and of a model: several times the longest without one.
const TEST: Duration = Duration::from_secs(120);
const MODEL: Duration = Duration::from_secs(600);

/// Seeds of the runs that show whether other oracles notice.
const ONLY_SEEDS: u64 = 500;

/// Preemptions in a model's first run. Most bugs need no more; a deeper search finds them late.
const FEW_PREEMPTIONS: &str = "2";

#[derive(Debug)]
pub(crate) struct Patched {
    rows: Vec<Row>,
    seconds: f64,
}

#[derive(Debug)]
struct Row {
    name: String,
    layer: Layer,
    fate: Fate,
    seconds: f64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Fate {
    Killed(String),
    ByAnother(String),
    Survived(String),
    NotBuilt(String),
}

pub(crate) fn run(workspace: &Workspace, names: &[String], write: bool) -> anyhow::Result<Patched> {
    let mut patches = patches(workspace)?;
    patches.retain(|patch| super::is_named(&patch.title(), names));
    let copy = Copy::make(workspace, "patched")?;
    unpatched_passes(&copy, &patches)?;
    let patched = plant_all(workspace, &copy, &patches, Limit::NONE)?;
    if write {
        table::write(workspace, &patched)?;
    }
    Ok(patched)
}

/// One per layer: for CI, which has tested the unpatched tree.
pub(crate) fn canaries(workspace: &Workspace, limit: Limit) -> anyhow::Result<Patched> {
    let mut patches = patches(workspace)?;
    patches.retain(|patch| patch.canary);
    let copy = Copy::make(workspace, "patched")?;
    plant_all(workspace, &copy, &patches, limit)
}

pub(crate) fn copy_with(workspace: &Workspace, name: &str, title: &str) -> anyhow::Result<Copy> {
    let copy = Copy::make(workspace, name)?;
    let patches = patches(workspace)?;
    let patch = patches.iter().find(|patch| patch.title() == title);
    let patch = patch.with_context(|| format!("no patch is called `{title}`"))?;
    apply(workspace, &copy, patch)?;
    Ok(copy)
}

/// Only for patches that an oracle must notice and whose names contain one of `names`.
pub(super) fn each_simulator(
    workspace: &Workspace,
    names: &[String],
    mut ask: impl FnMut(&str, &Path) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let copy = Copy::make(workspace, "patched")?;
    // A run that differs from its repetition is no property of its line.
    let is_asked =
        |patch: &&Patch| patch.layer == Layer::Sim && !patch.twice && super::is_named(&patch.title(), names);
    for patch in patches(workspace)?.iter().filter(is_asked) {
        let texts = apply(workspace, &copy, patch)?;
        let programs = builds::build(&copy, &patch.krate, patch.layer, Limit::NONE)?;
        if let Programs::Simulator(simulator) = programs {
            ask(&patch.title(), &simulator).with_context(|| patch.title())?;
        }
        undo(&copy, texts)?;
    }
    Ok(())
}

/// Patches by crate and layer, so that little is rebuilt between them.
fn patches(workspace: &Workspace) -> anyhow::Result<Vec<Patch>> {
    let mut patches = Vec::new();
    for path in tidy::files(workspace)?
        .iter()
        .filter(|path| path.starts_with(&format!("{FOLDER}/")))
    {
        let text = std::fs::read_to_string(workspace.root.join(path))?;
        patches.push(Patch::parse(path, &text).with_context(|| path.clone())?);
    }
    patches.sort_by_key(|patch| (patch.krate.clone(), patch.layer, patch.name.clone()));
    Ok(patches)
}

fn unpatched_passes(copy: &Copy, patches: &[Patch]) -> anyhow::Result<()> {
    let mut asked: BTreeMap<(&str, Layer), Vec<&Patch>> = BTreeMap::new();
    for patch in patches {
        asked.entry((&patch.krate, patch.layer)).or_default().push(patch);
    }
    let mut simulated = BTreeSet::new();
    for ((krate, layer), patches) in asked {
        let programs = builds::build(copy, krate, layer, Limit::NONE)?;
        for patch in patches {
            if layer == Layer::Sim && !simulated.insert(patch.twice) {
                continue;
            }
            let failed = named(&programs, patch)?;
            ensure!(
                failed.is_none(),
                "the tree without a patch fails: {}",
                failed.unwrap_or_default()
            );
        }
    }
    Ok(())
}

fn plant_all(workspace: &Workspace, copy: &Copy, patches: &[Patch], limit: Limit) -> anyhow::Result<Patched> {
    let started = Instant::now();
    let mut rows = Vec::new();
    for patch in patches {
        let began = Instant::now();
        let fate = plant(workspace, copy, patch, limit).with_context(|| patch.title())?;
        let row = Row {
            name: patch.title(),
            layer: patch.layer,
            fate,
            seconds: began.elapsed().as_secs_f64(),
        };
        println!("{}: {} ({:.0} s)", row.name, row.fate.text(), row.seconds);
        rows.push(row);
    }
    Ok(Patched {
        rows,
        seconds: started.elapsed().as_secs_f64(),
    })
}

fn plant(workspace: &Workspace, copy: &Copy, patch: &Patch, limit: Limit) -> anyhow::Result<Fate> {
    let texts = apply(workspace, copy, patch)?;
    let fate = match builds::build(copy, &patch.krate, patch.layer, limit) {
        Ok(programs) => fate(&programs, patch),
        Err(error) if error.is::<OverLimit>() => Err(error),
        Err(error) => Ok(Fate::NotBuilt(error.to_string())),
    };
    undo(copy, texts)?;
    fate
}

/// Returns the former texts of the changed files.
fn apply<'a>(workspace: &Workspace, copy: &Copy, patch: &'a Patch) -> anyhow::Result<Vec<(&'a str, String)>> {
    let mut texts = Vec::new();
    for change in &patch.files {
        let text = std::fs::read_to_string(workspace.root.join(&change.path))?;
        copy.write(&change.path, change.apply(&text)?.as_bytes())?;
        texts.push((change.path.as_str(), text));
    }
    Ok(texts)
}

fn undo(copy: &Copy, texts: Vec<(&str, String)>) -> anyhow::Result<()> {
    texts
        .into_iter()
        .try_for_each(|(path, text)| copy.write(path, text.as_bytes()))
}

fn fate(programs: &Programs, patch: &Patch) -> anyhow::Result<Fate> {
    if let Some(name) = named(programs, patch)? {
        return Ok(match others(programs, patch, &name)? {
            None => Fate::Killed(name),
            Some(other) => Fate::ByAnother(other),
        });
    }
    let (binaries, mut passed) = match programs {
        Programs::Tests(binaries) => (binaries, 0),
        Programs::Simulator(simulator) => {
            return Ok(match swarm::first_failure(simulator, patch.twice)? {
                Found::By { oracle, .. } => Fate::ByAnother(oracle),
                Found::Nothing => Fate::Survived("no oracle of the swarm speaks".to_owned()),
                Found::Hang => Fate::ByAnother("a hang".to_owned()),
                Found::Crash(status) => Fate::ByAnother(status),
            });
        }
    };
    for (binary, test) in tests(binaries)? {
        if fails(binary, &test, patch.layer)? {
            return Ok(Fate::ByAnother(test));
        }
        passed += 1;
    }
    Ok(Fate::Survived(format!("{passed} {}s pass", patch.layer.noun())))
}

fn named(programs: &Programs, patch: &Patch) -> anyhow::Result<Option<String>> {
    match programs {
        Programs::Tests(binaries) => {
            let tests = tests(binaries)?;
            for name in &patch.by {
                let of_name = tests.iter().filter(|(_, test)| model::short(test) == name);
                let mut of_name = of_name.peekable();
                ensure!(
                    of_name.peek().is_some(),
                    "no {} is called `{name}`",
                    patch.layer.noun()
                );
                for (binary, test) in of_name {
                    if fails(binary, test, patch.layer)? {
                        return Ok(Some(name.clone()));
                    }
                }
            }
            Ok(None)
        }
        Programs::Simulator(simulator) => Ok(match swarm::first_failure(simulator, patch.twice)? {
            Found::By { oracle, .. } => patch.by.contains(&oracle).then_some(oracle),
            _ => None,
        }),
    }
}

/// A check besides `name` that notices a patch which only `name` may notice.
fn others(programs: &Programs, patch: &Patch, name: &str) -> anyhow::Result<Option<String>> {
    let Programs::Simulator(simulator) = programs else {
        return Ok(None);
    };
    if !patch.only {
        return Ok(None);
    }
    let file = simulator.with_file_name("failures");
    for silenced in [None, Some(name)] {
        let runs = swarm::failing_runs(simulator, (0, ONLY_SEEDS), patch.twice, silenced, &file)?;
        let oracles = runs.iter().filter_map(|run| run.split(' ').next());
        if let Some(other) = oracles.into_iter().find(|oracle| *oracle != name) {
            return Ok(Some(format!("{other}, in {ONLY_SEEDS} seeds")));
        }
    }
    Ok(None)
}

fn tests(binaries: &[Built]) -> anyhow::Result<Vec<(&Built, String)>> {
    let mut tests = Vec::new();
    for binary in binaries {
        let listed = model::list(&binary.path, Limit::of(TEST))?;
        tests.extend(listed.into_iter().map(|test| (binary, test)));
    }
    Ok(tests)
}

fn fails(binary: &Built, test: &str, layer: Layer) -> anyhow::Result<bool> {
    let is_model = layer == Layer::Loom;
    let few = is_model.then_some(Some(FEW_PREEMPTIONS));
    let limit = if is_model { MODEL } else { TEST };
    for preemptions in few.into_iter().chain([None]) {
        let mut command = Command::new(&binary.path);
        command.current_dir(binary.manifest.parent().context("a manifest has a folder")?);
        command.envs(preemptions.map(|most| ("LOOM_MAX_PREEMPTIONS", most)));
        match model::fails(&mut command, test, Limit::of(limit)) {
            Ok(None) => {}
            Ok(Some(said)) => {
                eprintln!("{} `{test}` fails: {said}", layer.noun());
                return Ok(true);
            }
            Err(error) if error.is::<OverLimit>() => {
                eprintln!("{} `{test}` does not end", layer.noun());
                return Ok(true);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

impl Fate {
    fn is_killed(&self) -> bool {
        matches!(self, Fate::Killed(_))
    }

    fn text(&self) -> String {
        match self {
            Fate::Killed(name) => name.clone(),
            Fate::ByAnother(name) => format!("KILLED BY ANOTHER: {name}"),
            Fate::Survived(how) => format!("SURVIVED: {how}"),
            Fate::NotBuilt(error) => format!("DOES NOT BUILD: {error}"),
        }
    }
}

impl Patched {
    pub(crate) fn passed(&self) -> bool {
        self.rows.iter().all(|row| row.fate.is_killed())
    }

    pub(crate) fn summary(&self) -> String {
        let lives = self.rows.iter().filter(|row| !row.fate.is_killed());
        let lives: Vec<String> = lives
            .map(|row| format!(", {} {}", row.name, row.fate.text()))
            .collect();
        let killed = self.rows.len() - lives.len();
        format!(
            "{killed} of {} patches killed by those they name{}",
            self.rows.len(),
            lives.concat()
        )
    }

    pub(crate) fn print(&self) {
        let row = |row: &Row| {
            let seconds = format!("{:.1}", row.seconds);
            [
                row.name.clone(),
                row.layer.name().to_owned(),
                row.fate.text(),
                seconds,
            ]
        };
        let rows: Vec<_> = self.rows.iter().map(row).collect();
        println!();
        crate::table::print(["patch", "layer", "killed by", "seconds"], &rows);
        println!("mutants: {} in {:.0} s", self.summary(), self.seconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_is_named_kills() {
        let row = |fate| Row {
            name: "pools/no_wake".to_owned(),
            layer: Layer::Loom,
            fate,
            seconds: 1.0,
        };
        let patched = |fate| Patched {
            rows: vec![row(fate)],
            seconds: 1.0,
        };
        let killed = patched(Fate::Killed("a".to_owned()));
        assert!(killed.passed() && killed.summary() == "1 of 1 patches killed by those they name");
        for fate in [
            Fate::ByAnother("b".to_owned()),
            Fate::Survived("c".to_owned()),
            Fate::NotBuilt("d".to_owned()),
        ] {
            let text = fate.text();
            let lives = patched(fate);
            assert!(
                !lives.passed() && lives.summary().ends_with(&text),
                "{}",
                lives.summary()
            );
        }
    }

    #[test]
    fn each_oracle_has_a_patch_that_it_alone_notices() {
        let workspace = Workspace::load().unwrap();
        let code = std::fs::read_to_string(workspace.root.join("crates/sim/src/oracle.rs")).unwrap();
        let names = code.lines().filter_map(|line| {
            let (variant, name) = line.strip_prefix("    ")?.split_once(" = \"")?;
            let is_variant = variant.chars().all(char::is_alphanumeric);
            is_variant.then(|| name.trim_end_matches("\","))
        });
        // A user's expectation of an own run, and gaps in a record of threads: no swarm has them.
        let beyond_the_swarm = ["expectation", "record"];
        let names: Vec<&str> = names.filter(|name| !beyond_the_swarm.contains(name)).collect();
        assert!(names.len() > 30, "{names:?}");
        let patches = patches(&workspace).unwrap();
        for name in names {
            let mut alone = patches.iter().filter(|patch| patch.only);
            assert!(
                alone.any(|patch| patch.by == [name]),
                "no patch needs the oracle `{name}`"
            );
        }
    }

    #[test]
    fn each_layer_with_patches_has_a_canary() {
        let patches = patches(&Workspace::load().unwrap()).unwrap();
        for layer in Layer::ALL {
            let of_layer = || patches.iter().filter(|patch| patch.layer == layer);
            let canaries = of_layer().filter(|patch| patch.canary).count();
            assert_eq!(canaries, usize::from(of_layer().count() > 0), "{}", layer.name());
        }
    }
}
