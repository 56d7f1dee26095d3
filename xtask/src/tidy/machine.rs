//! Traces of the author's machine: absolute paths, private registries.

use super::tree::{File, Tree};
use super::violation::Violation;

const ROOTS: &[&str] = &[
    "home",
    "root",
    "work",
    "tmp",
    "Users",
    "mnt",
    "workspace",
    "private",
];

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

const REDIRECTIONS: &[&str] = &[
    "[source",
    "[registr",
    "replace-with",
    "[patch",
    "[http",
    "[net",
    "paths",
];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.files() {
        for (index, line) in file.text.lines().enumerate() {
            let problem = registry(file, line).or_else(|| absolute(line));
            found.extend(problem.map(|what| Violation::new(&file.path, index + 1, what)));
        }
    }
    found
}

fn absolute(line: &str) -> Option<String> {
    for root in ROOTS {
        let path = format!("/{root}/");
        for (at, _) in line.match_indices(&path) {
            let before = line[..at].chars().next_back();
            if !before.is_some_and(|c| c.is_alphanumeric() || "._-/~*}>)".contains(c)) {
                return Some(format!(
                    "`{path}` is a folder of one machine, use a path that works everywhere"
                ));
            }
        }
    }
    None
}

fn registry(file: &File, line: &str) -> Option<String> {
    let line = line.trim();
    if file.path == "Cargo.lock" {
        let source = line.strip_prefix("source = ")?.trim_matches('"');
        return (source != REGISTRY)
            .then(|| format!("`{source}` is not the public registry, lock against that one"));
    }
    let config = file.path.starts_with(".cargo/") || file.path.ends_with("/.cargo/config.toml");
    let redirected = config && REDIRECTIONS.iter().any(|key| line.starts_with(key));
    redirected
        .then(|| format!("`{line}` redirects the registry for everybody, keep it in your own configuration"))
}

#[cfg(test)]
mod tests {
    use super::super::violation::assert_found;
    use super::*;

    #[test]
    fn absolute_paths_of_a_machine_are_found_and_relative_ones_are_not() {
        for root in ROOTS {
            let line = format!("one\nsee \"/{root}/someone/x\"");
            assert_found(&check(&Tree::planted(&[("docs/a.md", &line)])), &["docs/a.md:2"]);
            for fine in [
                format!("target/{root}/x"),
                format!("https://a.b/{root}/x"),
                format!("../{root}/x"),
            ] {
                assert_found(&check(&Tree::planted(&[("docs/a.md", &fine)])), &[]);
            }
        }
    }

    #[test]
    fn a_lock_file_against_another_registry_is_found() {
        let other = "source = \"registry+https://packages.example/index\"";
        assert_found(
            &check(&Tree::planted(&[("Cargo.lock", other)])),
            &["Cargo.lock:1: `registry+https"],
        );
        assert_found(
            &check(&Tree::planted(&[(
                "Cargo.lock",
                &format!("source = \"{REGISTRY}\""),
            )])),
            &[],
        );
    }

    #[test]
    fn a_redirected_registry_is_found() {
        let config = "[alias]\nxtask = \"run\"\n[source.crates-io]\nreplace-with = \"x\"";
        let found = check(&Tree::planted(&[(".cargo/config.toml", config)]));
        assert_found(&found, &["config.toml:3", "config.toml:4"]);
    }
}
