//! `cargo xtask mutants [NAME...]`: plants bugs on purpose, and reports which tests notice them.
//!
//! A bug is a patch (`mutants/`, docs/decisions/0047). Bugs of `executor-core` and `pipeline-exec`
//! are not patches yet: one build per layer contains them all behind `--cfg windlass_mutants`,
//! which no normal build sets (docs/decisions/0010), and the environment chooses one.
//!
//! ```text
//!   unit    lib and integration tests, debug       up to the first test that fails
//!   sim     windlass-sim, release                  from 11 seed bases: which oracle, after how many schedules
//!   loom    the models, release                    up to the first model that fails
//! ```
//!
//! ```text
//!   (no option)     every patch; every other bug on every layer, then each oracle of the simulator without the others' help
//!   NAME...         the patches and bugs whose names contain one of these
//!   --layer LAYER   on this layer only                --write      the rows, or the tables, into mutants/README.md beside
//!   --oracles       only the oracles; NAME... are oracles then      --write      as above
//!   --quick         what CI does: one patch a layer; each other bug on the cheapest layer that kills it
//!   --shrunk        how small failing runs get     --write      as above
//!   --replays       1,000 failing runs again from their lines, in debug and in release
//! ```
//!
//! It fails if a patch survives, or a test kills it that it does not name; if another bug survives
//! all layers or can no longer be planted; if the canary lives; and if the build without a bug
//! fails.

mod bug;
mod build;
mod layer;
mod models;
mod oracles;
pub(crate) mod patch;
pub(crate) mod patched;
mod replays;
mod report;
mod shrunk;
mod swarm;
mod unit;
mod verdict;

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Context as _, ensure};

use self::bug::{BUGS, Bug, CANARY, Hint, NONE};
use self::build::Builds;
use self::layer::Layer;
use self::report::{Matrix, Row};
use self::verdict::Verdict;
use crate::process::Limit;
use crate::usage::{Misuse, Outcome};
use crate::workspace::Workspace;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Arguments {
    names: Vec<String>,
    layer: Option<Layer>,
    quick: bool,
    oracles: bool,
    write: bool,
    replays: bool,
    shrunk: bool,
}

/// Plants the bugs whose name contains one of the arguments, or all.
pub(crate) fn run(arguments: Vec<OsString>) -> anyhow::Result<Outcome> {
    let arguments = Arguments::parse(arguments)?;
    let workspace = Workspace::load()?;
    let passed = if arguments.replays {
        replays::run(&workspace)?
    } else if arguments.shrunk {
        shrunk::run(&workspace, arguments.write)?;
        true
    } else if arguments.quick {
        let report = quick(&workspace, &arguments.names, Limit::NONE)?;
        report.matrix.print();
        println!("{}", report.summary());
        let canaries = patched::canaries(&workspace, Limit::NONE)?;
        canaries.print();
        report.passed() && canaries.passed()
    } else if arguments.oracles {
        let builds = Builds::make(&workspace, &[Layer::Sim], false, Limit::NONE)?;
        let problems = oracles(&workspace, &builds, &arguments)?;
        problems.iter().for_each(|problem| println!("mutants: {problem}"));
        problems.is_empty()
    } else {
        named(&workspace, &arguments)?
    };
    Ok(if passed { Outcome::Passed } else { Outcome::Failed })
}

/// Sets the switch for what `command` builds, and the bug `name` for what it runs.
pub(crate) fn plant(workspace: &Workspace, command: &mut Command, name: &str) -> anyhow::Result<()> {
    let bug = Bug::of_name(name).with_context(|| format!("no planted bug is called `{name}`"))?;
    build::prepare(workspace, command, &[]);
    build::plant(command, Some(bug));
    Ok(())
}

fn named(workspace: &Workspace, arguments: &Arguments) -> anyhow::Result<bool> {
    let (mut patches, mut bugs) = (Vec::new(), Vec::new());
    for name in &arguments.names {
        let is_patch = patched::has(workspace, name)?;
        (if is_patch { &mut patches } else { &mut bugs }).push(name.clone());
    }
    let all = arguments.names.is_empty();
    let mut passed = true;
    if !patches.is_empty() || all && arguments.layer.is_none() {
        let report = patched::run(workspace, &patches, arguments.write)?;
        report.print();
        passed = report.passed();
    }
    if !bugs.is_empty() || all {
        let arguments = Arguments {
            names: bugs,
            ..arguments.clone()
        };
        passed &= full(workspace, &arguments)?;
    }
    Ok(passed)
}

fn full(workspace: &Workspace, arguments: &Arguments) -> anyhow::Result<bool> {
    bug::check_lists(workspace)?;
    let chosen = chosen(&arguments.names)?;
    let layers = arguments.layer.map_or(Layer::ALL.to_vec(), |layer| vec![layer]);
    let builds = Builds::make(workspace, &layers, false, Limit::NONE)?;
    let mut matrix = Matrix::default();
    let names_none = is_named(NONE, &arguments.names);
    let without = names_none.then_some(None);
    for bug in without.into_iter().chain(chosen.into_iter().map(Some)) {
        let mut row = Row::of(bug.map_or(NONE, |bug| bug.name));
        for &layer in &layers {
            let verdict = ask(workspace, &builds, bug, layer, false)?;
            println!("{} {}: {}", row.name(), layer.name(), verdict.cell());
            row.set(layer, &verdict);
        }
        if arguments.write {
            // Written row by row, so that an interrupted run keeps its rows.
            report::write_row(workspace, &row)?;
        }
        matrix.push(row);
    }
    let mut problems = matrix.problems(&layers);
    matrix.print();
    if layers.contains(&Layer::Sim) && arguments.names.is_empty() {
        problems.extend(oracles(workspace, &builds, arguments)?);
    }
    problems.iter().for_each(|problem| println!("mutants: {problem}"));
    Ok(problems.is_empty())
}

/// Tests each oracle, or those whose names contain an argument. Returns the problems.
fn oracles(workspace: &Workspace, builds: &Builds, arguments: &Arguments) -> anyhow::Result<Vec<String>> {
    let table = oracles::table(workspace, builds.sim.as_deref(), &arguments.names)?;
    table.print();
    if arguments.write {
        report::write_oracles(workspace, &table)?;
    }
    Ok(table.problems().collect())
}

#[derive(Debug)]
pub(crate) struct Quick {
    matrix: Matrix,
    survivors: Vec<String>,
}

/// Plants the bugs whose name contains one of `names`, or all, on the cheapest layer that kills
/// each.
pub(crate) fn quick(workspace: &Workspace, names: &[String], limit: Limit) -> anyhow::Result<Quick> {
    bug::check_lists(workspace)?;
    let chosen = chosen(names)?;
    let mut layers: Vec<Layer> = chosen.iter().map(|bug| bug.cheapest).collect();
    layers.sort_unstable();
    layers.dedup();
    let builds = Builds::make(workspace, &layers, true, limit)?;
    let mut matrix = Matrix::default();
    let mut survivors = Vec::new();
    if builds.sim.is_some() {
        let without = ask(workspace, &builds, None, Layer::Sim, true)?;
        ensure!(!without.killed, "the build without a bug fails: {}", without.how);
    }
    for bug in chosen {
        let verdict = ask(workspace, &builds, Some(bug), bug.cheapest, true)?;
        let mut row = Row::of(bug.name);
        row.set(bug.cheapest, &verdict);
        matrix.push(row);
        if !verdict.killed {
            survivors.push(bug.name.to_owned());
        }
    }
    Ok(Quick { matrix, survivors })
}

impl Quick {
    pub(crate) fn passed(&self) -> bool {
        self.survivors.is_empty()
    }

    pub(crate) fn summary(&self) -> String {
        let all = self.matrix.len();
        match self.survivors.as_slice() {
            [] => format!("{all} planted bugs, all killed, the canary included"),
            survivors => format!("of {all} planted bugs SURVIVED: {}", survivors.join(", ")),
        }
    }
}

fn ask(
    workspace: &Workspace,
    builds: &Builds,
    bug: Option<Bug>,
    layer: Layer,
    quick: bool,
) -> anyhow::Result<Verdict> {
    match layer {
        Layer::Unit => unit::run(&builds.unit, bug, quick && bug.is_some()),
        Layer::Sim => {
            let simulator = builds.sim.as_deref().expect("the layer was built");
            swarm::run(simulator, bug, quick)
        }
        Layer::Loom => {
            let hinted = bug.is_some_and(|bug| bug.hint != Hint::None);
            models::run(workspace, &builds.loom, bug, quick && hinted)
        }
    }
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<Bug>> {
    for name in names {
        ensure!(
            name == NONE || BUGS.iter().any(|bug| bug.name.contains(name)),
            "no planted bug is called `{name}`"
        );
    }
    let chosen = BUGS.iter().filter(|bug| is_named(bug.name, names));
    Ok(chosen.copied().collect())
}

/// Whether `name` contains one of `names`, or `names` is empty.
fn is_named(name: &str, names: &[String]) -> bool {
    names.is_empty() || names.iter().any(|part| name.contains(part))
}

impl Matrix {
    /// The problems in it, if `layers` ran.
    fn problems(&self, layers: &[Layer]) -> Vec<String> {
        let mut problems = Vec::new();
        for row in self.rows() {
            let killed_by = layers.iter().filter(|&&layer| row.is_killed(layer));
            let killed_by: Vec<&str> = killed_by.map(|layer| layer.name()).collect();
            let asked_all = layers.len() == Layer::ALL.len();
            match row.name() {
                NONE if !killed_by.is_empty() => {
                    problems.push(format!("the build without a bug fails: {}", killed_by.join(", ")));
                }
                NONE => {}
                CANARY if killed_by.len() < layers.len() => {
                    problems.push("the canary lives: somebody has stopped noticing anything".to_owned());
                }
                name => {
                    let Some(bug) = Bug::of_name(name) else { continue };
                    if killed_by.is_empty() && (asked_all || layers.contains(&bug.cheapest)) {
                        problems.push(format!("{name} SURVIVED"));
                    }
                    if bug.is_invisible_to_the_simulator() && row.is_killed(Layer::Sim) {
                        problems.push(format!("{name} is visible to the simulator, and should not be"));
                    }
                }
            }
        }
        problems
    }
}

impl Arguments {
    fn parse(arguments: Vec<OsString>) -> anyhow::Result<Self> {
        let mut parsed = Self::default();
        let mut parser = lexopt::Parser::from_args(arguments);
        let misuse = |error: lexopt::Error| Misuse::new(error.to_string());
        while let Some(argument) = parser.next().map_err(misuse)? {
            match argument {
                lexopt::Arg::Long("layer") => {
                    let name = parser.value().map_err(misuse)?.to_string_lossy().into_owned();
                    let layer = Layer::of_name(&name);
                    parsed.layer =
                        Some(layer.ok_or_else(|| Misuse::new(format!("there is no layer `{name}`")))?);
                }
                lexopt::Arg::Long("quick") => parsed.quick = true,
                lexopt::Arg::Long("oracles") => parsed.oracles = true,
                lexopt::Arg::Long("write") => parsed.write = true,
                lexopt::Arg::Long("replays") => parsed.replays = true,
                lexopt::Arg::Long("shrunk") => parsed.shrunk = true,
                lexopt::Arg::Value(name) => parsed.names.push(name.to_string_lossy().into_owned()),
                other => return Err(misuse(other.unexpected()).into()),
            }
        }
        let of_matrix = parsed.layer.is_some() || !parsed.names.is_empty();
        let alone = parsed.quick && (parsed.write || parsed.layer.is_some())
            || parsed.replays && (parsed.quick || parsed.write || of_matrix)
            || parsed.oracles && (parsed.quick || parsed.replays || parsed.layer.is_some());
        if alone || parsed.shrunk && (parsed.quick || parsed.replays || parsed.oracles || of_matrix) {
            let what = "`--quick`, `--oracles`, `--replays` and `--shrunk` go alone";
            return Err(Misuse::new(what.to_owned()).into());
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> anyhow::Result<Arguments> {
        Arguments::parse(words.iter().map(Into::into).collect())
    }

    #[test]
    fn a_name_a_layer_and_where_it_goes() {
        let parsed = parse(&["m04", "m12_", "--layer", "sim", "--write"]).unwrap();
        assert_eq!((parsed.layer, parsed.write), (Some(Layer::Sim), true));
        let bugs = chosen(&parsed.names).unwrap();
        assert_eq!(bugs.len(), 2, "{bugs:?}");
        assert_eq!(chosen(&[]).unwrap().len(), BUGS.len());
        assert!(chosen(&["m04".to_owned(), "m999".to_owned()]).is_err());
        assert!(parse(&["--oracles", "latency", "--write"]).unwrap().oracles);
        for wrong in [
            &["--layer", "kani"][..],
            &["--quick", "--write"],
            &["--oracles", "--quick"],
            &["--replays", "m04"],
            &["--shrunk", "--layer", "sim"],
        ] {
            assert!(parse(wrong).unwrap_err().is::<Misuse>(), "{wrong:?}");
        }
    }

    fn matrix(rows: &[(&str, [bool; 3])]) -> Matrix {
        let mut matrix = Matrix::default();
        for (name, killed) in rows {
            let mut row = Row::of(name);
            for (layer, killed) in Layer::ALL.into_iter().zip(*killed) {
                let how = "how".to_owned();
                row.set(layer, &Verdict { killed, how });
            }
            matrix.push(row);
        }
        matrix
    }

    #[test]
    fn what_survives_everywhere_is_a_problem_and_so_is_a_canary_that_lives() {
        let fine = [
            (NONE, [false; 3]),
            (CANARY, [true; 3]),
            ("m03_no_wake", [false, true, false]),
        ];
        assert_eq!(matrix(&fine).problems(&Layer::ALL), [""; 0]);
        for (row, about) in [
            ((NONE, [false, true, false]), "without a bug"),
            ((CANARY, [true, false, true]), "canary"),
            (("m03_no_wake", [false; 3]), "m03_no_wake SURVIVED"),
            (("m24_completion_relaxed", [false, true, true]), "visible"),
        ] {
            let problems = matrix(&[row]).problems(&Layer::ALL);
            assert!(problems.len() == 1 && problems[0].contains(about), "{problems:?}");
        }
    }
}
