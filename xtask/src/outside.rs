//! `cargo xtask outside`: programs that depend on one library alone, as a user's do.
//!
//! Each folder of `xtask/tests/outside/` is a package outside the workspace: a real program on one
//! library. The README's example is one more. They are built offline with a copy of the workspace's
//! lock file, so that all versions stay, and run. Cargo's lock file then lists the tree; `never` in
//! a package's metadata lists forbidden families: no Arrow and no tokio below the columns.

mod lock;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use self::lock::Lock;
use crate::process::{self, Limit, OverLimit, cargo};
use crate::table;
use crate::usage::{self, Outcome};
use crate::workspace::Workspace;

const FOLDER: &str = "xtask/tests/outside";

/// Dependencies have fewer features than in the workspace's tests, so they are built again;
/// unoptimised, since the programs are small.
const PROFILE: &str = "\n[profile.dev]\ndebug = false\nincremental = false\n";

const README_LIBRARY: &str = "executor-threaded";

pub(crate) fn run(arguments: Vec<OsString>) -> anyhow::Result<Outcome> {
    let [] = usage::flags(arguments, [])?;
    let report = check(&Workspace::load()?, Limit::NONE)?;
    report.print();
    Ok(if report.passed() {
        Outcome::Passed
    } else {
        Outcome::Failed
    })
}

#[derive(Debug)]
pub(crate) struct Report {
    rows: Vec<[String; 3]>,
    failed: usize,
}

/// Builds and runs every program; a failure does not stop the next.
pub(crate) fn check(workspace: &Workspace, limit: Limit) -> anyhow::Result<Report> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let lock_path = workspace.root.join("Cargo.lock");
    let lock = fs::read_to_string(&lock_path).context("cannot read Cargo.lock, build the workspace first")?;
    let runs = Runs {
        workspace,
        lock,
        replacements: replacements(workspace)?,
        limit,
    };
    let mut report = Report {
        rows: Vec::new(),
        failed: 0,
    };
    let mut record = |name: String, outcome: anyhow::Result<usize>| {
        let (packages, result) = match outcome {
            Ok(packages) => (packages.to_string(), "builds and runs".to_owned()),
            Err(error) if error.is::<OverLimit>() => return Err(error),
            Err(error) => {
                report.failed += 1;
                (String::new(), format!("FAILED: {error:#}"))
            }
        };
        report.rows.push([name, packages, result]);
        Ok(())
    };
    for package in packages(workspace)? {
        record(package.name.clone(), package.check(&runs))?;
    }
    let readme = fs::read_to_string(workspace.root.join("README.md")).context("cannot read README.md")?;
    let outcome = example(&readme).and_then(|source| {
        let manifest = head(README_LIBRARY) + &dependency(workspace, "", README_LIBRARY)? + PROFILE;
        write(folder.path(), &manifest, &source)?;
        Ok(runs.build_and_run(folder.path())?.len())
    });
    record("README.md".to_owned(), outcome)?;
    Ok(report)
}

fn write(folder: &Path, manifest: &str, source: &str) -> anyhow::Result<()> {
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join("src/main.rs"), source)?;
    Ok(())
}

/// What all packages are built with.
struct Runs<'a> {
    workspace: &'a Workspace,
    lock: String,
    /// A user does not have the workspace's replacements of packages: loom alone needs them, and
    /// only its lines in a lock file reach a user.
    replacements: Vec<String>,
    limit: Limit,
}

impl Runs<'_> {
    /// Runs a package with a copy of the lock file. Returns the one that cargo leaves.
    fn build_and_run(&self, folder: &Path) -> anyhow::Result<Lock> {
        fs::write(folder.join("Cargo.lock"), &self.lock)?;
        let mut command = cargo();
        command
            .args(["run", "--offline", "--quiet", "--manifest-path"])
            .arg(folder.join("Cargo.toml"));
        for replacement in &self.replacements {
            command.arg("--config").arg(replacement);
        }
        command.arg("--target-dir").arg(&self.workspace.target);
        let status = process::run(&mut command, self.limit)?;
        ensure!(status.success(), "cargo run: {status}");
        let left = fs::read_to_string(folder.join("Cargo.lock")).context("cargo left no lock file")?;
        let tree = Lock::parse(&left);
        tree.check_resolved_by(&Lock::parse(&self.lock))?;
        Ok(tree)
    }
}

/// The paths in `[patch.crates-io]` of the workspace, as values of cargo's `--config`.
fn replacements(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let manifest = fs::read_to_string(workspace.root.join("Cargo.toml")).context("cannot read Cargo.toml")?;
    let manifest: toml::Table = manifest.parse()?;
    let patches = (manifest.get("patch"))
        .and_then(|patch| patch.get("crates-io")?.as_table())
        .into_iter()
        .flatten();
    patches
        .map(|(name, patch)| {
            let path = patch.get("path").and_then(toml::Value::as_str);
            let path = path.with_context(|| format!("the workspace replaces {name}, not by a path"))?;
            let path = workspace.root.join(path);
            Ok(format!("patch.crates-io.{name}.path={path:?}"))
        })
        .collect()
}

impl Report {
    pub(crate) fn passed(&self) -> bool {
        self.failed == 0
    }

    pub(crate) fn summary(&self) -> String {
        format!("{} outside crates, {} failed", self.rows.len(), self.failed)
    }

    pub(crate) fn print(&self) {
        println!();
        table::print(["library alone", "packages", "result"], &self.rows);
        println!("outside: {}", self.summary());
    }
}

/// A package in [`FOLDER`].
struct Package {
    name: String,
    folder: PathBuf,
    manifest: toml::Table,
}

fn packages(workspace: &Workspace) -> anyhow::Result<Vec<Package>> {
    let mut packages = Vec::new();
    for entry in fs::read_dir(workspace.root.join(FOLDER)).with_context(|| format!("cannot read {FOLDER}"))? {
        let entry = entry?;
        let folder = entry.path();
        let manifest = fs::read_to_string(folder.join("Cargo.toml"));
        packages.push(Package {
            name: entry.file_name().to_string_lossy().into_owned(),
            manifest: manifest.with_context(|| folder.display().to_string())?.parse()?,
            folder,
        });
    }
    ensure!(!packages.is_empty(), "{FOLDER} is empty");
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(packages)
}

impl Package {
    /// Runs it and checks its tree. Returns the tree's number of packages.
    fn check(&self, runs: &Runs<'_>) -> anyhow::Result<usize> {
        let tree = runs.build_and_run(&self.folder)?;
        let never: Vec<&str> = self.never().collect();
        tree.check_without(&never)?;
        Ok(tree.len())
    }

    /// Families of packages that its tree must not have.
    fn never(&self) -> impl Iterator<Item = &str> {
        let never = (self.manifest.get("package"))
            .and_then(|package| package.get("metadata")?.get("outside")?.get("never")?.as_array());
        never.into_iter().flatten().filter_map(toml::Value::as_str)
    }
}

fn example(readme: &str) -> anyhow::Result<String> {
    let mut lines = readme
        .lines()
        .skip_while(|line| *line != "```rust")
        .skip(1)
        .peekable();
    ensure!(lines.peek().is_some(), "README.md has no code in Rust");
    Ok(lines
        .take_while(|line| *line != "```")
        .map(|line| format!("{line}\n"))
        .collect())
}

/// Keeps the package out of any workspace.
fn head(library: &str) -> String {
    format!("[package]\nname = \"outside-{library}\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n")
}

/// The line of a workspace member, by path, or of a registry package, as in the workspace's
/// manifest.
fn dependency(workspace: &Workspace, manifest: &str, name: &str) -> anyhow::Result<String> {
    if let Some(package) = workspace.packages.iter().find(|package| package.name == name) {
        let path = workspace.root.join(&package.folder);
        return Ok(format!("{name} = {{ path = {path:?} }}\n"));
    }
    let line = manifest
        .lines()
        .find(|line| line.starts_with(&format!("{name} = ")));
    let line = line.with_context(|| format!("the workspace neither has nor uses a crate `{name}`"))?;
    Ok(format!("{line}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_depend_on_libraries_by_path_and_on_others_as_the_workspace_does() {
        let workspace = Workspace::load().unwrap();
        let root: toml::Table = fs::read_to_string(workspace.root.join("Cargo.toml"))
            .unwrap()
            .parse()
            .unwrap();
        let shared = &root["workspace"]["dependencies"];
        let packages = packages(&workspace).unwrap();
        assert!(packages.iter().any(|package| package.name == README_LIBRARY));
        for package in &packages {
            assert!(package.manifest["workspace"].as_table().unwrap().is_empty());
            let dependencies = package.manifest["dependencies"].as_table().unwrap();
            assert!(dependencies.contains_key(&package.name), "{}", package.name);
            for (name, dependency) in dependencies {
                match dependency.get("path") {
                    Some(path) => assert_eq!(path.as_str(), Some(&*format!("../../../../crates/{name}"))),
                    None => assert_eq!(dependency, &shared[name]),
                }
            }
        }
    }

    #[test]
    fn below_the_columns_are_no_columns_and_no_runtime() {
        let packages = packages(&Workspace::load().unwrap()).unwrap();
        for (name, families) in [
            ("executor-core", &["arrow", "parquet", "tokio"][..]),
            ("injector", &["arrow", "parquet", "tokio"]),
            ("executor-threaded", &["arrow", "parquet", "tokio"]),
            ("pipeline-exec", &["arrow", "parquet", "tokio"]),
            ("sim", &["arrow", "parquet", "tokio"]),
            ("pools", &["arrow", "parquet"]),
            ("columnar", &["tokio"]),
        ] {
            let package = packages.iter().find(|package| package.name == name);
            let never: Vec<&str> = package.unwrap().never().collect();
            assert_eq!(never, families, "{name}");
        }
    }

    #[test]
    fn an_example_depends_on_a_library_by_path_and_on_an_engine_as_the_workspace_does() {
        let workspace = Workspace::load().unwrap();
        let from = "[workspace.dependencies]\narrow = { version = \"59\" }\n";
        let lines = ["sim", "arrow"].map(|name| dependency(&workspace, from, name).unwrap());
        let manifest = head("sim") + &lines.concat() + PROFILE;
        let table: toml::Table = manifest.parse().unwrap();
        let path = table["dependencies"]["sim"]["path"].as_str().unwrap();
        assert!(path.ends_with("crates/sim"), "{path}");
        assert_eq!(table["dependencies"]["arrow"]["version"].as_str(), Some("59"));
        assert!(table.contains_key("workspace"));
        assert!(dependency(&workspace, from, "tokio").is_err());
    }

    #[test]
    fn the_coroutines_of_loom_are_replaced_by_path() {
        let replacements = replacements(&Workspace::load().unwrap()).unwrap();
        let [one] = &replacements[..] else {
            panic!("{replacements:?}")
        };
        assert!(one.starts_with("patch.crates-io.generator.path=\""), "{one}");
        assert!(one.ends_with("crates/loom-coroutines\""), "{one}");
    }

    #[test]
    fn the_example_of_the_readme_is_its_first_code_in_rust() {
        let readme = "# A\n```sh\nls\n```\n```rust\nfn main() {}\n```\n```rust\nfn second() {}\n```\n";
        assert_eq!(example(readme).unwrap(), "fn main() {}\n");
        assert!(example("no code").is_err());
    }
}
