//! `cargo xtask outside`: what a user gets who depends on one library alone.
//!
//! For each library a small package is written into a temporary folder, with a path dependency on that library and a
//! real program against its names (the programs are in `xtask/outside/`); one more is the example of the README. It is built offline against a copy of the
//! workspace's lock file, so nothing may be resolved anew, and run. The lock file that cargo leaves behind says what is in
//! its tree: below the columns there is no Arrow and no tokio.

mod lock;

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};

use self::lock::Lock;
use crate::process::{self, Limit, OverLimit, cargo};
use crate::table;
use crate::usage::{self, Outcome};
use crate::workspace::Workspace;

/// A program on one library.
struct Program {
    library: &'static str,
    source: &'static str,
    /// What the program names besides, since it is in the library's own interface; members of the workspace.
    beside: &'static [&'static str],
    /// Whether columns and their formats may be in its tree.
    columns: bool,
    /// Whether an async runtime may be.
    runtime: bool,
}

const PROGRAMS: &[Program] = &[
    Program {
        library: "executor-core",
        source: include_str!("../outside/executor_core.rs"),
        beside: &[],
        columns: false,
        runtime: false,
    },
    Program {
        library: "injector",
        source: include_str!("../outside/injector.rs"),
        beside: &[],
        columns: false,
        runtime: false,
    },
    Program {
        library: "executor-threaded",
        source: include_str!("../outside/executor_threaded.rs"),
        beside: &[],
        columns: false,
        runtime: false,
    },
    Program {
        library: "pipeline-exec",
        source: include_str!("../outside/pipeline_exec.rs"),
        beside: &[],
        columns: false,
        runtime: false,
    },
    Program {
        library: "sim",
        source: include_str!("../outside/sim.rs"),
        beside: &[],
        columns: false,
        runtime: false,
    },
    Program {
        library: "pools",
        source: include_str!("../outside/pools.rs"),
        beside: &["pipeline-exec"],
        columns: false,
        runtime: true,
    },
    Program {
        library: "columnar",
        source: include_str!("../outside/columnar.rs"),
        beside: &["arrow", "pipeline-exec"],
        columns: true,
        runtime: false,
    },
    Program {
        library: "query",
        source: include_str!("../outside/query.rs"),
        beside: &[],
        columns: true,
        runtime: true,
    },
];

/// Without the rest of the workspace, dependencies have fewer features than in its tests, so they are built once more; not
/// optimised, since the programs are small.
const PROFILE: &str = "\n[profile.dev]\ndebug = false\nincremental = false\n";

/// The library of the example in the README.
const README_LIBRARY: &str = "executor-threaded";

/// Builds and runs all programs.
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
/// When the temporary folder or the lock file of the workspace cannot be used, or when the limit was over.
pub(crate) fn check(workspace: &Workspace, limit: Limit) -> anyhow::Result<Report> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let lock_path = workspace.root.join("Cargo.lock");
    let lock = fs::read_to_string(&lock_path).context("cannot read Cargo.lock, build the workspace first")?;
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
    for program in PROGRAMS {
        let outcome = program.check(
            workspace,
            &folder.path().join(program.library),
            &lock,
            program.source,
            limit,
        );
        record(program.library.to_owned(), outcome)?;
    }
    let readme = fs::read_to_string(workspace.root.join("README.md")).context("cannot read README.md")?;
    let outcome = example(&readme).and_then(|source| {
        let program = PROGRAMS.iter().find(|program| program.library == README_LIBRARY);
        let program = program.context("the library of the README's example has no program")?;
        program.check(workspace, &folder.path().join("readme"), &lock, &source, limit)
    });
    record("README.md".to_owned(), outcome)?;
    Ok(report)
}

/// Builds and runs the example in the README of a member that is built apart, on that member and `engine` alone. The
/// engine has the features with which the member's own tests use it.
///
/// # Errors
///
/// When the example does not build or run, or when the limit was over.
pub(crate) fn check_apart(
    workspace: &Workspace,
    member: &'static str,
    engine: &str,
    limit: Limit,
) -> anyhow::Result<()> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let read = |path: &str| {
        let text = fs::read_to_string(workspace.root.join(path));
        text.with_context(|| format!("cannot read {path}"))
    };
    let workspace_manifest = read("Cargo.toml")?;
    let package = workspace.packages.iter().find(|package| package.name == member);
    let package = package.with_context(|| format!("there is no member `{member}`"))?;
    let home = &package.folder;
    let source = example(&read(&format!("{home}/README.md"))?)?;
    let engine = with_features(
        &dependency(workspace, &workspace_manifest, engine)?,
        &read(&format!("{home}/Cargo.toml"))?,
        engine,
    )?;
    let member = dependency(workspace, "", member)?;
    // The workspace's own profile, so that what the member's tests have built is not built once more.
    let manifest = head(&package.name) + &member + &engine + &profile(&workspace_manifest);
    let lock = read("Cargo.lock")?;
    build_and_run(workspace, folder.path(), &lock, &manifest, &source, limit)?;
    Ok(())
}

/// The line of a dependency with the features that a member's tests ask for.
fn with_features(line: &str, manifest: &str, name: &str) -> anyhow::Result<String> {
    let manifest: toml::Table = manifest.parse()?;
    let asked = manifest.get("dev-dependencies").and_then(|all| all.get(name));
    let features = asked.and_then(|dependency| dependency.get("features")?.as_array());
    let features = features.with_context(|| format!("no test asks for features of `{name}`"))?;
    let features: Vec<&str> = features.iter().filter_map(toml::Value::as_str).collect();
    let table = line.trim_end().strip_suffix('}');
    let table = table.with_context(|| format!("`{name}` is not written as a table"))?;
    Ok(format!("{}, features = {features:?} }}\n", table.trim_end()))
}

/// The tables of a manifest that make the profile of tests, with an empty line before each.
fn profile(manifest: &str) -> String {
    let mut tables = String::new();
    let mut inside = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.starts_with("[profile.dev");
            tables += if inside { "\n" } else { "" };
        }
        if inside && !line.is_empty() && !line.starts_with('#') {
            tables += line;
            tables += "\n";
        }
    }
    tables
}

/// Writes a package and runs it. Returns the lock file that cargo leaves.
fn build_and_run(
    workspace: &Workspace,
    folder: &Path,
    lock: &str,
    manifest: &str,
    source: &str,
    limit: Limit,
) -> anyhow::Result<Lock> {
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join("src/main.rs"), source)?;
    fs::write(folder.join("Cargo.lock"), lock)?;
    let mut command = cargo();
    command
        .args(["run", "--offline", "--quiet", "--manifest-path"])
        .arg(folder.join("Cargo.toml"));
    command.arg("--target-dir").arg(&workspace.target);
    let status = process::run(&mut command, limit)?;
    ensure!(status.success(), "cargo run: {status}");
    let left = fs::read_to_string(folder.join("Cargo.lock")).context("cargo left no lock file")?;
    let tree = Lock::parse(&left);
    tree.check_resolved_by(&Lock::parse(lock))?;
    Ok(tree)
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
    fn check(
        &self,
        workspace: &Workspace,
        folder: &Path,
        lock: &str,
        source: &str,
        limit: Limit,
    ) -> anyhow::Result<usize> {
        let workspace_manifest = fs::read_to_string(workspace.root.join("Cargo.toml"))?;
        let mut manifest = head(self.library);
        for name in std::iter::once(&self.library).chain(self.beside) {
            manifest += &dependency(workspace, &workspace_manifest, name)?;
        }
        manifest += PROFILE;
        let tree = build_and_run(workspace, folder, lock, &manifest, source, limit)?;
        let heavy = [
            (self.columns, &["arrow", "parquet"][..]),
            (self.runtime, &["tokio"]),
        ];
        for (allowed, families) in heavy {
            if !allowed {
                tree.check_without(families)?;
            }
        }
        Ok(tree.len())
    }
}

/// The example of the README: its first Rust code, as it stands.
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

/// Stands outside the workspace, wherever the temporary folder is.
fn head(library: &str) -> String {
    format!("[package]\nname = \"outside-{library}\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n")
}

/// A line for a member of the workspace, by its path, or for a package from the registry, in the workspace's own words.
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
    fn a_program_depends_on_its_library_by_path_and_on_packages_as_the_workspace_does() {
        let workspace = Workspace::load().unwrap();
        let from = "[workspace.dependencies]\narrow = { version = \"59\" }\n";
        let lines = ["sim", "arrow"].map(|name| dependency(&workspace, from, name).unwrap());
        let manifest = head("sim") + &lines.concat() + PROFILE;
        let table: toml::Table = manifest.parse().unwrap();
        assert_eq!(table["dependencies"].as_table().unwrap().len(), 2);
        assert!(
            table["dependencies"]["sim"]["path"]
                .as_str()
                .unwrap()
                .ends_with("crates/sim")
        );
        assert_eq!(table["dependencies"]["arrow"]["version"].as_str(), Some("59"));
        assert!(table.contains_key("workspace"));
        assert!(dependency(&workspace, from, "tokio").is_err());
    }

    #[test]
    fn an_engine_has_the_features_that_tests_ask_for() {
        let line = "engine = { version = \"1\", default-features = false }";
        let manifest = "[dev-dependencies]\nengine = { workspace = true, features = [\"sql\"] }";
        let line = with_features(line, manifest, "engine").unwrap();
        let table: toml::Table = line.parse().unwrap();
        assert_eq!(table["engine"]["features"][0].as_str(), Some("sql"));
        assert_eq!(table["engine"]["default-features"].as_bool(), Some(false));
        assert!(with_features("engine = \"1\"", manifest, "engine").is_err());
    }

    #[test]
    fn the_profile_of_tests_is_all_its_tables() {
        let manifest = "[profile.release]\ndebug = 1\n\n# Why.\n[profile.dev]\ndebug = 2\n\n[profile.dev.package.a]\nopt-level = 0\n[lints]\nb = 1\n";
        let expected = "\n[profile.dev]\ndebug = 2\n\n[profile.dev.package.a]\nopt-level = 0\n";
        assert_eq!(profile(manifest), expected);
    }

    #[test]
    fn the_example_of_the_readme_is_its_first_code_in_rust() {
        let readme = "# A\n```sh\nls\n```\n```rust\nfn main() {}\n```\n```rust\nfn second() {}\n```\n";
        assert_eq!(example(readme).unwrap(), "fn main() {}\n");
        assert!(example("no code").is_err());
    }
}
