//! Repository paths in comments and documents: `docs/architecture.md`, `crates/sim`.
//!
//! A word is such a path if it starts with a top folder or names a Markdown file. A number alone
//! may name a decision record (`docs/decisions/0002`).

use super::super::tree::{Tree, resolve};
use super::super::violation::Violation;

const TOPS: &[&str] = &["docs/", "crates/", "xtask/", "benches/", ".ci/", ".cargo/"];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut look = |path: &str, line: usize, text: &str| {
        for word in text.split(|c: char| c.is_whitespace() || "`\"'()[]<>,;|!".contains(c)) {
            if let Some(mention) = mention(word).filter(|mention| !leads_somewhere(tree, path, mention)) {
                let what = format!("mentions `{mention}`, which is not in the repository; was it renamed?");
                found.push(Violation::new(path, line, what));
            }
        }
    };
    for file in tree.files() {
        if let Some(source) = &file.rust {
            for comment in &source.comments {
                let lines = comment.text.lines().enumerate();
                lines.for_each(|(offset, line)| look(&file.path, comment.line + offset, line));
            }
        } else if file.path.ends_with(".md") {
            for (index, line) in file.text.lines().enumerate() {
                // Links are checked elsewhere; other paths are in code spans.
                line.split('`')
                    .skip(1)
                    .step_by(2)
                    .for_each(|span| look(&file.path, index + 1, span));
            }
        } else if file.path.ends_with(".toml") || file.text.starts_with("#!") {
            for (index, line) in file.text.lines().enumerate() {
                look(
                    &file.path,
                    index + 1,
                    line.split_once('#').map_or("", |(_, comment)| comment),
                );
            }
        }
    }
    found
}

fn mention(word: &str) -> Option<&str> {
    let word = word.split('#').next().unwrap_or(word);
    let word = word.split("::").next().unwrap_or(word);
    let word = word
        .split(':')
        .next()
        .unwrap_or(word)
        .trim_end_matches(['.', '/', '…']);
    let pattern =
        word.contains(['*', '{', '}', '…', '$', '\\', '=']) || word.contains("NNNN") || word.contains("..");
    let path = TOPS.iter().any(|top| word.starts_with(top)) || (word.ends_with(".md") && word.len() > 3);
    (path && !pattern).then_some(word)
}

fn leads_somewhere(tree: &Tree, from: &str, mention: &str) -> bool {
    let record = mention.strip_prefix("docs/decisions/").is_some_and(|name| {
        name.len() == 4
            && tree
                .files()
                .any(|file| file.path.starts_with(&format!("{mention}-")))
    });
    // A path starts at the root, the file, its module's folder, or its crate.
    let module = from.strip_suffix(".rs").map(|module| format!("{module}/x"));
    let package = from.split('/').take(2).collect::<Vec<_>>().join("/");
    let bases = [
        Some("x".to_owned()),
        Some(from.to_owned()),
        module,
        Some(format!("{package}/x")),
    ];
    record
        || bases
            .into_iter()
            .flatten()
            .any(|base| resolve(&base, mention).is_some_and(|path| tree.exists(&path)))
}

#[cfg(test)]
mod tests {
    use super::super::super::violation::assert_found;
    use super::*;

    fn check_comment(comment: &str) -> Vec<Violation> {
        check(&Tree::planted(&[
            ("crates/a/src/sleep.rs", comment),
            ("crates/a/src/sleep/README.md", ""),
            ("docs/decisions/0002-coroutines.md", ""),
        ]))
    }

    #[test]
    fn paths_that_exist_pass() {
        for fine in [
            "// See docs/decisions/0002-coroutines.md.",
            "// See docs/decisions/0002.",
            "/// `crates/a/src/sleep.rs:12` and crates/a/, sleep/README.md, `README.md`",
            "//! crates/*/tests, docs/decisions/NNNN-title.md, crates/{a,b}",
            "let a = \"docs/gone.md\";",
        ] {
            assert_found(&check_comment(fine), &[]);
        }
    }

    #[test]
    fn a_path_that_is_gone_is_found() {
        assert_found(
            &check_comment("//! A\n//! see docs/gone.md."),
            &["sleep.rs:2: mentions `docs/gone.md`"],
        );
        assert_found(
            &check_comment("// docs/decisions/0003"),
            &["mentions `docs/decisions/0003`"],
        );
        assert_found(
            &check_comment("// (crates/b/src/lib.rs:3)"),
            &["mentions `crates/b/src/lib.rs`"],
        );
        assert_found(
            &check_comment("// idle/README.md"),
            &["mentions `idle/README.md`"],
        );
    }

    #[test]
    fn documents_and_manifests_are_read_too() {
        let tree = Tree::planted(&[
            ("docs/a.md", "x\n`crates/b` and crates/c"),
            ("Cargo.toml", "a = 1 # docs/x.md\nb = \"docs/y.md\""),
        ]);
        assert_found(
            &check(&tree),
            &[
                "Cargo.toml:1: mentions `docs/x.md`",
                "docs/a.md:2: mentions `crates/b`",
            ],
        );
    }
}
