//! `cargo xtask tidy`: checks of the tree that the compiler and clippy cannot make.
//!
//! Each check is a pure function from the tree or from `cargo metadata` to violations, with tests
//! that plant its fault. A test of this package runs all checks, too.
//!
//! ```text
//! cargo metadata ──► arrows
//! tree ──► top_level, manifests, given, edges, orderings, ports, floors, patches, unsafe_code, links, story, leftovers,
//!          machine, size
//! ```

mod arrows;
mod edges;
mod floors;
mod given;
mod leftovers;
mod links;
mod machine;
mod manifests;
mod orderings;
mod patches;
mod ports;
mod rust_source;
mod size;
mod story;
mod top_level;
mod tree;
mod unsafe_code;
mod violation;

use std::ffi::OsString;

use self::given::Use;
pub(crate) use self::orderings::OrderingUse;
use self::tree::Tree;
use self::violation::Violation;
use crate::table;
use crate::usage::{self, Outcome};
use crate::workspace::Workspace;

pub(crate) fn run(arguments: Vec<OsString>) -> anyhow::Result<Outcome> {
    let [] = usage::flags(arguments, [])?;
    let report = check(&Workspace::load()?)?;
    report.print();
    Ok(if report.violations.is_empty() {
        Outcome::Passed
    } else {
        Outcome::Failed
    })
}

#[derive(Debug)]
pub(crate) struct Report {
    violations: Vec<Violation>,
    warnings: Vec<Violation>,
    given: Vec<Use>,
    files: usize,
    edges: usize,
}

pub(crate) fn check(workspace: &Workspace) -> anyhow::Result<Report> {
    let tree = Tree::load(&workspace.root)?;
    let given = given::uses(&tree, &workspace.packages);
    let mut violations = [
        arrows::check(&workspace.packages),
        top_level::check(&tree),
        manifests::check(&tree),
        given::check(&tree, &given),
        edges::check(&tree),
        orderings::check(&tree),
        ports::check(&tree),
        unsafe_code::check(&tree),
        floors::check(&tree),
        patches::check(&tree),
        links::check(&tree),
        story::check(&tree),
        leftovers::check(&tree),
        machine::check(&tree),
    ]
    .concat();
    violations.sort();
    let warnings = size::check(&tree);
    Ok(Report {
        violations,
        warnings,
        given,
        files: tree.len(),
        edges: edges::count(&tree),
    })
}

pub(crate) fn models_of_edge(workspace: &Workspace, edge: &str) -> anyhow::Result<Vec<String>> {
    Ok(edges::models_of(&Tree::load(&workspace.root)?, edge))
}

pub(crate) fn orderings(workspace: &Workspace) -> anyhow::Result<Vec<OrderingUse>> {
    Ok(orderings::in_tree(&Tree::load(&workspace.root)?))
}

pub(crate) fn files(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let tree = Tree::load(&workspace.root)?;
    Ok(tree.files().map(|file| file.path.clone()).collect())
}

impl Report {
    pub(crate) fn is_tidy(&self) -> bool {
        self.violations.is_empty()
    }

    pub(crate) fn summary(&self) -> String {
        let Report {
            violations,
            warnings,
            files,
            edges,
            ..
        } = self;
        format!(
            "{files} files, {edges} edges, {} violations, {} warnings",
            violations.len(),
            warnings.len()
        )
    }

    pub(crate) fn print(&self) {
        let rows: Vec<_> = self.given.iter().map(Use::row).collect();
        table::print(["package", "files", "for example"], &rows);
        for warning in &self.warnings {
            println!("warning: {warning}");
        }
        for violation in &self.violations {
            println!("{violation}");
        }
        println!("tidy: {}", self.summary());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_tree_is_tidy() {
        let report = check(&Workspace::load().unwrap()).unwrap();
        let list: Vec<String> = report.violations.iter().map(ToString::to_string).collect();
        assert!(list.is_empty(), "{} violations:\n{}", list.len(), list.join("\n"));
    }
}
