//! `cargo xtask outside`: what a user gets who depends on one library alone.
//!
//! For each library a small package is written into a temporary folder, with a path dependency on that library and a
//! real program against its names (the programs are in `xtask/outside/`). It is built offline against a copy of the
//! workspace's lock file, so nothing may be resolved anew, and run. The lock file that cargo leaves behind says what is in
//! its tree: below the columns there is no Arrow and no tokio.

mod lock;

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use anyhow::Context as _;

use self::lock::Lock;
use crate::process::{self, cargo};
use crate::table;
use crate::usage::{self, Outcome};
use crate::workspace::Workspace;

/// A program on one library.
struct Program {
    library: &'static str,
    source: &'static str,
    /// Whether columns and their formats may be in its tree.
    columns: bool,
}

const PROGRAMS: &[Program] = &[
    Program {
        library: "executor-core",
        source: include_str!("../outside/executor_core.rs"),
        columns: false,
    },
    Program {
        library: "executor-threaded",
        source: include_str!("../outside/executor_threaded.rs"),
        columns: false,
    },
];

/// Builds and runs all programs.
pub(crate) fn run(arguments: Vec<OsString>) -> anyhow::Result<Outcome> {
    let [] = usage::flags(arguments, [])?;
    let report = check(&Workspace::load()?)?;
    report.print();
    Ok(if report.passed() {
        Outcome::Passed
    } else {
        Outcome::Failed
    })
}

/// What became of the programs.
#[derive(Debug)]
pub(crate) struct Report {
    rows: Vec<[String; 3]>,
    failed: usize,
}

/// Builds and runs every program; one that fails does not stop the next.
///
/// # Errors
///
/// When the temporary folder or the lock file of the workspace cannot be used.
pub(crate) fn check(workspace: &Workspace) -> anyhow::Result<Report> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let lock_path = workspace.root.join("Cargo.lock");
    let lock = fs::read_to_string(&lock_path).context("cannot read Cargo.lock, build the workspace first")?;
    let mut report = Report {
        rows: Vec::new(),
        failed: 0,
    };
    for program in PROGRAMS {
        let outcome = program.check(workspace, &folder.path().join(program.library), &lock);
        let (packages, result) = match outcome {
            Ok(packages) => (packages.to_string(), "builds and runs".to_owned()),
            Err(error) => {
                report.failed += 1;
                (String::new(), format!("FAILED: {error:#}"))
            }
        };
        report.rows.push([program.library.to_owned(), packages, result]);
    }
    Ok(report)
}

impl Report {
    /// Whether every program did what it should.
    pub(crate) fn passed(&self) -> bool {
        self.failed == 0
    }

    /// One line for the table of `cargo xtask ci`.
    pub(crate) fn summary(&self) -> String {
        format!("{} outside crates, {} failed", self.rows.len(), self.failed)
    }

    /// Prints the table.
    pub(crate) fn print(&self) {
        println!();
        table::print(["library alone", "packages", "result"], &self.rows);
        println!("outside: {}", self.summary());
    }
}

impl Program {
    /// Returns how many packages are in the program's tree.
    fn check(&self, workspace: &Workspace, folder: &Path, lock: &str) -> anyhow::Result<usize> {
        let package = workspace
            .packages
            .iter()
            .find(|package| package.name == self.library);
        let package = package.with_context(|| format!("the workspace has no crate `{}`", self.library))?;
        fs::create_dir_all(folder.join("src"))?;
        let path = workspace.root.join(&package.folder);
        let workspace_manifest = fs::read_to_string(workspace.root.join("Cargo.toml"))?;
        let manifest = manifest(self.library, &path) + &profiles(&workspace_manifest);
        fs::write(folder.join("Cargo.toml"), manifest)?;
        fs::write(folder.join("src/main.rs"), self.source)?;
        fs::write(folder.join("Cargo.lock"), lock)?;
        let mut command = cargo();
        command
            .args(["run", "--offline", "--quiet", "--manifest-path"])
            .arg(folder.join("Cargo.toml"));
        // The workspace's own folder and profiles, so that what the tests have built is not built again.
        command.arg("--target-dir").arg(&workspace.target);
        let status = process::run(&mut command)?;
        anyhow::ensure!(status.success(), "cargo run: {status}");
        let left = fs::read_to_string(folder.join("Cargo.lock")).context("cargo left no lock file")?;
        let (allowed, tree) = (Lock::parse(lock), Lock::parse(&left));
        tree.check_resolved_by(&allowed)?;
        if !self.columns {
            tree.check_plain()?;
        }
        Ok(tree.len())
    }
}

/// Stands outside the workspace, wherever the temporary folder is.
fn manifest(library: &str, path: &Path) -> String {
    format!(
        "[package]\nname = \"outside-{library}\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n{library} = {{ path = {path:?} }}\n"
    )
}

/// The `[profile]` sections of a manifest, as they stand.
fn profiles(manifest: &str) -> String {
    let mut inside = false;
    let lines = manifest.lines().filter(|line| {
        if line.starts_with('[') {
            inside = line.starts_with("[profile.");
        }
        inside
    });
    lines.map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_depends_on_one_library_and_builds_like_the_workspace() {
        let profile =
            profiles("[workspace]\na = 1\n[profile.dev]\nb = 2\n[lints]\nc = 3\n[profile.release]\nd = 4\n");
        assert_eq!(profile, "[profile.dev]\nb = 2\n[profile.release]\nd = 4\n");
        let manifest = manifest("sim", Path::new("/w/crates/sim")) + &profile;
        let table: toml::Table = manifest.parse().unwrap();
        assert_eq!(table["dependencies"].as_table().unwrap().len(), 1);
        assert_eq!(
            table["dependencies"]["sim"]["path"].as_str(),
            Some("/w/crates/sim")
        );
        assert!(table.contains_key("workspace"));
    }
}
