//! The top folder holds what `docs/architecture.md` lists, and nothing else.

use std::collections::BTreeSet;

use super::tree::Tree;
use super::violation::Violation;

const MUST: &[&str] = &[
    "Cargo.lock",
    "Cargo.toml",
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "benches",
    "crates",
    "docs",
    "mutants",
    "rust-toolchain.toml",
    "xtask",
];

/// Names with a leading dot are free.
pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let names: BTreeSet<&str> = tree
        .files()
        .filter_map(|file| file.path.split('/').next())
        .collect();
    let extra = names
        .iter()
        .filter(|name| !name.starts_with('.') && !MUST.contains(name))
        .map(|name| {
            Violation::new(
                name,
                1,
                "does not belong at the top, move it into one of the folders",
            )
        });
    let missing = MUST.iter().filter(|name| !names.contains(*name));
    extra
        .chain(missing.map(|name| Violation::new(name, 1, "is missing at the top, write it")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::violation::assert_found;
    use super::*;

    #[test]
    fn extra_and_missing_names_are_found() {
        let mut files: Vec<(String, &str)> = MUST.iter().map(|name| ((*name).to_owned(), "")).collect();
        files.retain(|(name, _)| name != "docs");
        files.extend([("notes.txt".to_owned(), ""), (".ci/run".to_owned(), "")]);
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        assert_found(
            &check(&Tree::planted(&files)),
            &["notes.txt:1: does not belong", "docs:1: is missing"],
        );
    }
}
