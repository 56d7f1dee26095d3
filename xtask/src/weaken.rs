//! `cargo xtask weaken [FILTER]`: weakens each atomic ordering of shipped code, and names the loom
//! model that notices.
//!
//! If all models pass, the ordering is too strong or a model is missing. Each site is weakened in a
//! copy of the tree, and its crate's models run until one fails:
//!
//! ```text
//! SeqCst ─► AcqRel          AcqRel ─► Acquire, Release          Acquire, Release ─► Relaxed
//! a fence that is Acquire or Release ─► none
//! ```
//!
//! Models of the site's edges run first, at their own bounds; then all others at two preemptions.
//! `docs/memory-model.md` says why each survivor stays. It takes half an hour and is not in CI.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use crate::copy::Copy;
use crate::loom::model;
use crate::process::{self, Limit};
use crate::tidy::{self, OrderingUse};
use crate::usage::{Misuse, Outcome};
use crate::workspace::Workspace;
use crate::{loom, table};

const ELSEWHERE: &str = "2";

pub(crate) fn run(arguments: Vec<OsString>) -> anyhow::Result<Outcome> {
    let filter = match arguments.as_slice() {
        [] => String::new(),
        [filter] if !filter.to_string_lossy().starts_with('-') => filter.to_string_lossy().into_owned(),
        [first, ..] => {
            let what = format!(
                "weaken takes one filter and no options, not `{}`",
                first.display()
            );
            return Err(Misuse::new(what).into());
        }
    };
    let workspace = Workspace::load()?;
    let changes = changes(&workspace, &filter)?;
    if changes.is_empty() {
        bail!("no ordering that could be weaker matches `{filter}`");
    }
    let trial = Trial(Copy::make(&workspace, "weaken")?);
    let mut rows = Vec::new();
    let mut survivors = 0;
    for (number, change) in changes.iter().enumerate() {
        eprintln!("\n[{}/{}] {}", number + 1, changes.len(), change.title());
        let killed = trial.try_change(&workspace, change)?;
        survivors += usize::from(killed.is_none());
        rows.push([
            change.place(),
            change.what(),
            killed.unwrap_or_else(|| "SURVIVED".to_owned()),
        ]);
    }
    println!();
    table::print(["ordering", "weakened", "noticed by"], &rows);
    println!("weaken: {survivors} of {} survived", changes.len());
    Ok(if survivors == 0 {
        Outcome::Passed
    } else {
        Outcome::Failed
    })
}

#[derive(Debug)]
struct Change {
    site: OrderingUse,
    package: String,
    weaker: Weaker,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weaker {
    To(&'static str),
    /// Removed, since a fence cannot be relaxed.
    NoFence,
}

impl Change {
    fn place(&self) -> String {
        format!("{}:{}", self.site.path, self.site.line)
    }

    fn what(&self) -> String {
        let to = match self.weaker {
            Weaker::To(ordering) => ordering,
            Weaker::NoFence => "no fence",
        };
        format!("{} to {to}", self.site.ordering)
    }

    fn title(&self) -> String {
        format!("{}: {}", self.place(), self.what())
    }

    fn apply(&self, text: &str) -> anyhow::Result<String> {
        let OrderingUse { at, ordering, .. } = &self.site;
        let after = at + ordering.len();
        let (start, end, new) = match self.weaker {
            Weaker::To(weaker) => (*at, after, weaker),
            Weaker::NoFence => {
                let statement = text[..*at].rfind('\n').map_or(0, |end| end + 1);
                let length = text[after..].find(';').context("a fence is a statement")?;
                (statement, after + length + 1, "")
            }
        };
        Ok([&text[..start], new, &text[end..]].concat())
    }
}

fn changes(workspace: &Workspace, filter: &str) -> anyhow::Result<Vec<Change>> {
    let mut changes = Vec::new();
    for site in tidy::orderings(workspace)? {
        let with_models = workspace.with_target("test", loom::TARGET);
        let package = with_models
            .filter(|package| site.path.starts_with(&format!("{}/", package.folder)))
            .map(|package| package.name.clone())
            .next();
        let Some(package) = package else { continue };
        let text = std::fs::read_to_string(workspace.root.join(&site.path))?;
        let line = text.lines().nth(site.line - 1).unwrap_or_default();
        for &weaker in weaker(&site.ordering, line.contains("fence(")) {
            let change = Change {
                site: site.clone(),
                package: package.clone(),
                weaker,
            };
            if change.place().contains(filter) {
                changes.push(change);
            }
        }
    }
    Ok(changes)
}

fn weaker(ordering: &str, fence: bool) -> &'static [Weaker] {
    match (ordering, fence) {
        ("SeqCst", _) => &[Weaker::To("AcqRel")],
        ("AcqRel", _) => &[Weaker::To("Acquire"), Weaker::To("Release")],
        ("Acquire" | "Release", true) => &[Weaker::NoFence],
        ("Acquire" | "Release", false) => &[Weaker::To("Relaxed")],
        _ => &[],
    }
}

#[derive(Debug)]
struct Trial(Copy);

impl Trial {
    fn try_change(&self, workspace: &Workspace, change: &Change) -> anyhow::Result<Option<String>> {
        let path = &change.site.path;
        let text = std::fs::read_to_string(self.0.root.join(path))?;
        self.0.write(path, change.apply(&text)?.as_bytes())?;
        let killed = self.explore(workspace, change);
        self.0.write(path, text.as_bytes())?;
        killed
    }

    fn explore(&self, workspace: &Workspace, change: &Change) -> anyhow::Result<Option<String>> {
        let mut build = process::cargo();
        build.args(["test", "--release", "--no-run", "--package", &change.package]);
        build.args(["--test", loom::TARGET]);
        process::add_rustflags(&mut build, &["--cfg", "windlass_loom"]);
        build
            .current_dir(&self.0.root)
            .env("CARGO_TARGET_DIR", &self.0.builds);
        let built = process::built(&mut build, Limit::NONE)?;
        let binary = &built.last().context("nothing was built")?.path;
        let (near, elsewhere) = self.models(workspace, change, binary)?;
        let near = near.iter().map(|test| (test, None));
        let elsewhere = elsewhere.iter().map(|test| (test, Some(ELSEWHERE)));
        for (test, bound) in near.chain(elsewhere) {
            let mut command = Command::new(binary);
            command.envs(bound.map(|bound| ("LOOM_MAX_PREEMPTIONS", bound)));
            if let Some(said) = model::fails(&mut command, test, Limit::NONE)? {
                let name = model::short(test);
                eprintln!("model `{name}` fails: {said}");
                return Ok(Some(name.to_owned()));
            }
        }
        Ok(None)
    }

    fn models(
        &self,
        workspace: &Workspace,
        change: &Change,
        binary: &Path,
    ) -> anyhow::Result<(Vec<String>, Vec<String>)> {
        let tests = model::list(binary, Limit::NONE)?;
        let mut near = Vec::new();
        for edge in &change.site.edges {
            near.extend(tidy::models_of_edge(workspace, edge)?);
        }
        let is_near = |test: &String| near.iter().any(|name| name == model::short(test));
        let (near, elsewhere): (Vec<String>, _) = tests.into_iter().partition(is_near);
        ensure!(
            !near.is_empty() || !elsewhere.is_empty(),
            "`{}` has no loom models",
            change.package
        );
        Ok((near, elsewhere))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(text: &str, ordering: &str, weaker: Weaker) -> String {
        let change = Change {
            site: OrderingUse {
                path: "crates/a/src/lib.rs".to_owned(),
                line: 1,
                at: text.find(ordering).unwrap(),
                ordering: ordering.to_owned(),
                edges: Vec::new(),
            },
            package: "a".to_owned(),
            weaker,
        };
        change.apply(text).unwrap()
    }

    #[test]
    fn an_ordering_is_replaced_and_a_fence_without_one_goes() {
        assert_eq!(
            change("a.load(Ordering::Acquire);", "Acquire", Weaker::To("Relaxed")),
            "a.load(Ordering::Relaxed);"
        );
        assert_eq!(
            change(
                "a();\n    mem.fence(Ordering::Acquire);\n    b();",
                "Acquire",
                Weaker::NoFence
            ),
            "a();\n\n    b();"
        );
    }

    #[test]
    fn every_step_down_is_tried_and_relaxed_has_none() {
        assert_eq!(weaker("AcqRel", false).len(), 2);
        assert_eq!(weaker("Acquire", true), [Weaker::NoFence]);
        assert!(weaker("Relaxed", false).is_empty());
    }

    #[test]
    fn the_shipped_code_has_orderings_to_weaken_in_every_crate_with_models_but_for_locks() {
        // A lock guards the data of its models.
        const LOCKED: &str = "pools";
        let workspace = Workspace::load().unwrap();
        let changes = changes(&workspace, "").unwrap();
        for package in workspace.with_target("test", loom::TARGET) {
            let some = changes.iter().any(|change| change.package == package.name);
            assert_eq!(some, package.name != LOCKED, "{}", package.name);
        }
    }
}
