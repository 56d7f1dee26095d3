//! Each of the nine packages given to this project is used, and there is one arrow and one
//! object_store.
//!
//! A package is used where code names it, not where a manifest lists it.

use super::tree::Tree;
use super::violation::Violation;
use crate::workspace::Package;

const GIVEN: &[&str] = &[
    "crossbeam",
    "crossbeam-deque",
    "crossbeam-skiplist",
    "rand_xorshift",
    "core_affinity",
    "num_cpus",
    "loom",
    "criterion",
    "tracing",
];

#[derive(Debug)]
pub(crate) struct Use {
    package: &'static str,
    files: Vec<String>,
}

impl Use {
    pub(crate) fn row(&self) -> [String; 3] {
        let first = self.files.first().map_or("none", String::as_str);
        [
            self.package.to_owned(),
            self.files.len().to_string(),
            first.to_owned(),
        ]
    }
}

pub(crate) fn uses(tree: &Tree, packages: &[Package]) -> Vec<Use> {
    let named: Vec<_> = tree
        .rust("")
        .map(|(file, source)| (file, source.paths()))
        .collect();
    let uses = GIVEN.iter().map(|package| {
        let name = package.replace('-', "_");
        // A module may have the package's name, so only crates that depend on it count.
        let users = packages
            .iter()
            .filter(|user| user.dependencies.iter().any(|given| given.name == *package));
        let folders: Vec<String> = users.map(|user| format!("{}/", user.folder)).collect();
        let names = named.iter().filter(|(file, paths)| {
            folders.iter().any(|folder| file.path.starts_with(folder))
                && paths
                    .iter()
                    .any(|path| path.is_in(&name) && (path.import || path.path.len() > name.len()))
        });
        let mut files: Vec<String> = names.map(|(file, _)| file.path.clone()).collect();
        files.sort_by_key(|path| !path.contains("/src/"));
        Use { package, files }
    });
    uses.collect()
}

pub(crate) fn check(tree: &Tree, uses: &[Use]) -> Vec<Violation> {
    let idle = uses.iter().filter(|given| given.files.is_empty()).map(|given| {
        Violation::new(
            "Cargo.toml",
            1,
            format!("no source file uses `{}`, use it or drop it", given.package),
        )
    });
    // arrow-pg is another project's, with versions of its own.
    let is_arrow =
        |name: &str| name == "arrow" || name == "parquet" || name.starts_with("arrow-") && name != "arrow-pg";
    idle.chain(second(tree, "arrow", is_arrow))
        .chain(second(tree, "object_store", |name| name == "object_store"))
        .collect()
}

/// A second arrow would mean two incompatible kinds of column in one program; a second
/// object_store, stores that one engine cannot read.
fn second(tree: &Tree, family: &str, is_member: impl Fn(&str) -> bool) -> Option<Violation> {
    let lock = tree.file("Cargo.lock")?;
    let lines: Vec<&str> = lock.text.lines().collect();
    let mut versions: Vec<(&str, usize)> = Vec::new();
    for (index, pair) in lines.windows(2).enumerate() {
        let name = quoted(pair[0], "name = ");
        let version = quoted(pair[1], "version = ");
        if let (Some(name), Some(version)) = (name, version)
            && is_member(name)
        {
            versions.push((compatible(version), index + 1));
        }
    }
    let (first, _) = *versions.first()?;
    let (other, line) = *versions.iter().find(|(version, _)| *version != first)?;
    let what = format!("{family} {first} and {family} {other} are both in the tree, align the versions");
    Some(Violation::new("Cargo.lock", line, what))
}

/// The part shared by compatible versions: `59` of `59.3.2`, `0.13` of `0.13.2`.
fn compatible(version: &str) -> &str {
    let mut parts = version.match_indices('.').map(|(at, _)| at);
    let end = parts.next().filter(|_| !version.starts_with("0."));
    &version[..end.or_else(|| parts.next()).unwrap_or(version.len())]
}

fn quoted<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.strip_prefix(key)?.strip_prefix('"')?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::super::violation::assert_found;
    use super::*;
    use crate::workspace::Dependency;

    #[test]
    fn a_package_counts_as_used_where_code_of_a_dependent_names_it() {
        let tree = Tree::planted(&[
            ("crates/a/tests/b.rs", "use crossbeam_deque::Worker;"),
            (
                "crates/a/src/lib.rs",
                "//! crossbeam::channel\nfn tracing() { crossbeam_deque::Injector::<u8>::new(); }",
            ),
            (
                "xtask/src/main.rs",
                "mod loom;\nfn main() { loom::run(); crossbeam_deque::run(); }",
            ),
        ]);
        let dependency = |name: &&str| Dependency {
            name: (*name).to_owned(),
            dev: false,
        };
        let package = Package {
            name: "a".to_owned(),
            folder: "crates/a".to_owned(),
            dependencies: GIVEN.iter().map(dependency).collect(),
            targets: Vec::new(),
        };
        let uses = uses(&tree, &[package]);
        assert_eq!(uses[1].row(), ["crossbeam-deque", "2", "crates/a/src/lib.rs"]);
        let found = check(&tree, &uses);
        assert_eq!(found.len(), GIVEN.len() - 1);
        assert!(found[0].to_string().contains("`crossbeam`"), "{}", found[0]);
    }

    #[test]
    fn a_second_object_store_is_found() {
        let lock = "[[package]]\nname = \"object_store\"\nversion = \"0.13.2\"\n\n[[package]]\nname = \"object_store\"\nversion = \"0.14.2\"\n";
        assert_found(
            &check(&Tree::planted(&[("Cargo.lock", lock)]), &[]),
            &["Cargo.lock:6: object_store 0.13 and object_store 0.14"],
        );
        assert_found(
            &check(
                &Tree::planted(&[("Cargo.lock", &lock.replace("0.14", "0.13"))]),
                &[],
            ),
            &[],
        );
    }

    #[test]
    fn a_second_arrow_major_is_found() {
        let lock = "[[package]]\nname = \"arrow\"\nversion = \"59.3.0\"\n\n[[package]]\nname = \"arrow-array\"\nversion = \"58.0.0\"\n";
        assert_found(
            &check(&Tree::planted(&[("Cargo.lock", lock)]), &[]),
            &["Cargo.lock:6: arrow 59 and arrow 58"],
        );
        assert_found(
            &check(
                &Tree::planted(&[("Cargo.lock", &lock.replace("58.0", "59.1"))]),
                &[],
            ),
            &[],
        );
    }
}
