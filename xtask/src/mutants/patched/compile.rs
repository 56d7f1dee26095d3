//! Whether each patch compiles. Patches of one crate that change different files are checked
//! together: a crate takes as many checks as its most patched file has patches.

use std::collections::BTreeSet;

use super::super::patch::Patch;
use super::{apply, patches, undo};
use crate::copy::Copy;
use crate::process::{self, Limit, cargo};
use crate::workspace::Workspace;

#[derive(Debug)]
pub(crate) struct Compiled {
    patches: usize,
    /// Patches that were checked together, where the compiler refused one.
    refused: Vec<String>,
}

pub(crate) fn compile(workspace: &Workspace, limit: Limit) -> anyhow::Result<Compiled> {
    let patches = patches(workspace)?;
    let copy = Copy::make(workspace, "patched")?;
    let mut refused = Vec::new();
    for group in groups(&patches) {
        let mut texts = Vec::new();
        for patch in &group {
            texts.extend(apply(workspace, &copy, patch)?);
        }
        let mut check = cargo();
        check
            .args(["check", "--quiet", "--lib", "--package", &group[0].krate])
            .current_dir(&copy.root)
            .env("CARGO_TARGET_DIR", copy.builds.join("compile"))
            .env("CARGO_INCREMENTAL", "1");
        let status = process::run(&mut check, limit);
        undo(&copy, texts)?;
        if !status?.success() {
            refused.push(
                group
                    .iter()
                    .map(|patch| patch.title())
                    .collect::<Vec<_>>()
                    .join(" or "),
            );
        }
    }
    Ok(Compiled {
        patches: patches.len(),
        refused,
    })
}

/// Patches of one crate, no two of which change the same file.
fn groups(patches: &[Patch]) -> Vec<Vec<&Patch>> {
    let mut groups: Vec<(BTreeSet<&str>, Vec<&Patch>)> = Vec::new();
    for patch in patches {
        let paths = || patch.files.iter().map(|file| file.path.as_str());
        let has_room = |(taken, group): &(BTreeSet<&str>, Vec<&Patch>)| {
            group[0].krate == patch.krate && paths().all(|path| !taken.contains(path))
        };
        match groups.iter().position(has_room) {
            Some(at) => {
                groups[at].0.extend(paths());
                groups[at].1.push(patch);
            }
            None => groups.push((paths().collect(), vec![patch])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

impl Compiled {
    pub(crate) fn passed(&self) -> bool {
        self.refused.is_empty()
    }

    pub(crate) fn summary(&self) -> String {
        let refused = self.refused.iter().map(|group| format!(", but not {group}"));
        format!("{} patches compile{}", self.patches, refused.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_of_a_file_or_of_two_crates_are_never_checked_together() {
        let patch = |krate: &str, name: &str, files: &[&str]| {
            let diff: String = files
                .iter()
                .map(|file| format!("crates/{krate}/src/{file}"))
                .map(|path| format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n"))
                .collect();
            let header = "breaks: It.\nlayer: unit\nby: a_test\n\n";
            Patch::parse(
                &format!("mutants/{krate}/{name}.patch"),
                &format!("{header}{diff}"),
            )
            .unwrap()
        };
        let patches = [
            patch("pools", "bug_one", &["a.rs"]),
            patch("pools", "bug_two", &["a.rs", "b.rs"]),
            patch("pools", "bug_three", &["c.rs"]),
            patch("pools", "bug_four", &["b.rs"]),
            patch("sim", "bug_five", &["d.rs"]),
        ];
        let names = groups(&patches);
        let names: Vec<Vec<&str>> = names
            .iter()
            .map(|group| group.iter().map(|patch| patch.name.as_str()).collect())
            .collect();
        assert_eq!(
            names,
            [
                vec!["bug_one", "bug_three", "bug_four"],
                vec!["bug_two"],
                vec!["bug_five"]
            ]
        );
    }
}
