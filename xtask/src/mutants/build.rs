//! The builds in which bugs can be planted: one per layer, each in its own folder.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::ensure;

use super::bug::{Bug, CRATES};
use super::layer::Layer;
use crate::process::{self, Limit, cargo};
use crate::workspace::Workspace;

/// The environment variable that names the bug.
const VARIABLE: &str = "WINDLASS_MUTANT";

/// Crates whose unit and integration tests are a layer. Crates above them should not be the first
/// to find such a bug.
const TESTED: [&str; 4] = ["executor-core", "injector", "executor-threaded", "pipeline-exec"];

#[derive(Debug, Clone)]
pub(super) struct TestBinary {
    pub(super) package: String,
    pub(super) path: PathBuf,
    folder: PathBuf,
}

impl TestBinary {
    pub(super) fn command(&self, bug: Option<Bug>) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.folder);
        plant(&mut command, bug);
        command
    }
}

/// Sets the planted bug in the command's environment.
pub(super) fn plant(command: &mut Command, bug: Option<Bug>) {
    match bug {
        Some(bug) => command.env(VARIABLE, bug.value()),
        None => command.env_remove(VARIABLE),
    };
}

#[derive(Debug)]
pub(super) struct Builds {
    pub(super) unit: Vec<TestBinary>,
    pub(super) sim: Option<PathBuf>,
    pub(super) loom: Vec<TestBinary>,
}

impl Builds {
    pub(super) fn make(
        workspace: &Workspace,
        layers: &[Layer],
        quick: bool,
        limit: Limit,
    ) -> anyhow::Result<Self> {
        let mut builds = Self {
            unit: Vec::new(),
            sim: None,
            loom: Vec::new(),
        };
        // A quick run tests only the crates with the bugs.
        let tested: &[&str] = if quick { &CRATES } else { &TESTED };
        if layers.contains(&Layer::Unit) {
            let mut command = cargo();
            command.args(["test", "--no-run", "--lib", "--test", "integration"]);
            command.args(tested.iter().flat_map(|name| ["--package", name]));
            builds.unit = test_binaries(workspace, &mut command, &[], limit)?;
        }
        if layers.contains(&Layer::Sim) {
            builds.sim = Some(simulator(workspace, true, limit)?);
        }
        if layers.contains(&Layer::Loom) {
            let mut command = cargo();
            command.args(["test", "--release", "--no-run", "--test", "loom"]);
            command.args(CRATES.iter().flat_map(|name| ["--package", name]));
            builds.loom = test_binaries(workspace, &mut command, &["--cfg", "windlass_loom"], limit)?;
        }
        Ok(builds)
    }
}

pub(super) fn simulator(workspace: &Workspace, release: bool, limit: Limit) -> anyhow::Result<PathBuf> {
    let mut command = cargo();
    command.args(["build", "--package", "sim", "--bin", "windlass-sim"]);
    if release {
        command.arg("--release");
    }
    prepare(workspace, &mut command, &[]);
    let built = process::built(&mut command, limit)?;
    ensure!(
        built.len() == 1,
        "the simulator is one program, not {}",
        built.len()
    );
    Ok(built[0].path.clone())
}

fn test_binaries(
    workspace: &Workspace,
    command: &mut Command,
    flags: &[&str],
    limit: Limit,
) -> anyhow::Result<Vec<TestBinary>> {
    prepare(workspace, command, flags);
    let packages: BTreeMap<PathBuf, &str> = (workspace.packages.iter())
        .map(|package| (workspace.root.join(&package.folder), package.name.as_str()))
        .collect();
    let built = process::built(command, limit)?.into_iter();
    let binaries = built.filter_map(|built| {
        let folder = built.manifest.parent()?.to_owned();
        let package = (*packages.get(&folder)?).to_owned();
        let path = built.path;
        Some(TestBinary {
            package,
            path,
            folder,
        })
    });
    let mut binaries: Vec<TestBinary> = binaries.collect();
    // Lowest crates first, and in each the quicker unit tests; cargo's order is arbitrary.
    let rank = |binary: &TestBinary| {
        let place = TESTED.iter().position(|name| *name == binary.package);
        let name = binary
            .path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        (place, name.is_some_and(|name| name.starts_with("integration")))
    };
    binaries.sort_by_key(rank);
    Ok(binaries)
}

/// Gives the build the switch and a folder of its own.
pub(super) fn prepare(workspace: &Workspace, command: &mut Command, flags: &[&str]) {
    process::add_rustflags(command, &[flags, &["--cfg", "windlass_mutants"]].concat());
    let folder = if flags.is_empty() {
        "mutants"
    } else {
        "mutants-loom"
    };
    command.env("CARGO_TARGET_DIR", workspace.target.join(folder));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_with_bugs_keeps_to_its_own_folder() {
        let workspace = Workspace::load().unwrap();
        let mut command = cargo();
        prepare(&workspace, &mut command, &["--cfg", "windlass_loom"]);
        let variable = |name: &str| {
            let found = command.get_envs().find(|(key, _)| *key == name);
            found
                .and_then(|(_, value)| value)
                .unwrap()
                .to_string_lossy()
                .into_owned()
        };
        assert!(variable("CARGO_TARGET_DIR").ends_with("mutants-loom"));
        let flags = variable("CARGO_ENCODED_RUSTFLAGS");
        assert!(
            flags.ends_with("--cfg\x1fwindlass_loom\x1f--cfg\x1fwindlass_mutants"),
            "{flags:?}"
        );
    }
}
