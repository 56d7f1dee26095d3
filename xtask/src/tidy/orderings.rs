//! Every atomic ordering in shipped code has a comment that says why it is enough.
//!
//! The comment has `Ordering:` and the ordering's name, on its line or within [`LINES_ABOVE`] lines
//! above. Unit tests are left alone.

use super::edges;
use super::rust_source::{Comment, RustSource, Token};
use super::tree::Tree;
use super::violation::Violation;

const NAMES: &[&str] = &["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];

const LINES_ABOVE: usize = 10;

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (file, source) in tree.rust("crates/").filter(|(file, _)| file.is_product()) {
        for token in uses(source) {
            let Token { text, line, .. } = token;
            let what = match reason(source, *line) {
                None => format!("`{text}` without a word why, add `// Ordering: {text}. ...` right above"),
                Some(comment) if !comment.text.contains(text.as_str()) => {
                    format!(
                        "`{text}` is not what the comment at line {} speaks of, correct one of them",
                        comment.line
                    )
                }
                Some(_) => continue,
            };
            found.push(Violation::new(&file.path, *line, what));
        }
    }
    found
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrderingUse {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) at: usize,
    pub(crate) ordering: String,
    pub(crate) edges: Vec<String>,
}

pub(crate) fn in_tree(tree: &Tree) -> Vec<OrderingUse> {
    let mut found = Vec::new();
    for (file, source) in tree.rust("crates/").filter(|(file, _)| file.is_product()) {
        found.extend(uses(source).into_iter().map(|token| OrderingUse {
            path: file.path.clone(),
            line: token.line,
            at: token.at,
            ordering: token.text.clone(),
            edges: reason(source, token.line).map_or_else(Vec::new, |comment| edges::labels(&comment.text)),
        }));
    }
    found
}

fn reason(source: &RustSource, line: usize) -> Option<&Comment> {
    source.comments.iter().rev().find(|comment| {
        comment.text.contains("Ordering:") && comment.line <= line && comment.end + LINES_ABOVE >= line
    })
}

/// Imports do not count.
fn uses(source: &RustSource) -> Vec<&Token> {
    let imports: Vec<_> = source.paths().into_iter().filter(|named| named.import).collect();
    let bare = imports.iter().any(|named| named.path.contains("::Ordering::"));
    let tokens = &source.tokens;
    let is_use = |at: usize| {
        let token = &tokens[at];
        let qualified = at >= 3 && tokens[at - 1].text == ":" && tokens[at - 3].text == "Ordering";
        let imported = imports
            .iter()
            .any(|named| named.line == token.line && named.path.ends_with(&token.text));
        NAMES.contains(&token.text.as_str()) && !token.test && !imported && (qualified || bare)
    };
    (0..tokens.len())
        .filter(|at| is_use(*at))
        .map(|at| &tokens[at])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::violation::assert_found;
    use super::*;

    fn check_code(code: &str) -> Vec<Violation> {
        check(&Tree::planted(&[("crates/a/src/lib.rs", code)]))
    }

    #[test]
    fn an_ordering_without_a_word_is_found_qualified_or_bare() {
        assert_found(
            &check_code("fn f() { a.load(Ordering::Acquire); }"),
            &["lib.rs:1: `Acquire` without a word"],
        );
        let bare = "use std::sync::atomic::Ordering::{Acquire, Relaxed};\nfn f() { a.load(Acquire); }";
        assert_found(&check_code(bare), &["lib.rs:2: `Acquire`"]);
        assert_found(
            &check_code("fn f() { std::sync::atomic::fence(atomic::Ordering::SeqCst) }"),
            &["`SeqCst`"],
        );
    }

    #[test]
    fn a_comment_on_the_line_or_close_above_explains() {
        assert_found(
            &check_code("// Ordering: Relaxed. A statistic.\na.load(Ordering::Relaxed);"),
            &[],
        );
        assert_found(
            &check_code("a.load(Ordering::Relaxed); // Ordering: Relaxed, a statistic."),
            &[],
        );
        let far = format!(
            "// Ordering: Relaxed.\n{}a.load(Ordering::Relaxed);",
            "\n".repeat(10)
        );
        assert_found(&check_code(&far), &["lib.rs:12"]);
        assert_found(
            &check_code("// Orders nothing.\na.load(Ordering::Relaxed);"),
            &["lib.rs:2"],
        );
    }

    #[test]
    fn a_use_is_told_with_its_place_and_its_edges() {
        let code =
            "// Ordering: Release. Edge `a/b`: pairs with the load.\nword.store(1, Ordering::Release);";
        let tree = Tree::planted(&[("crates/a/src/lib.rs", code)]);
        let found = in_tree(&tree);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].edges, ["a/b"]);
        assert!(code[found[0].at..].starts_with("Release);"));
    }

    #[test]
    fn a_comment_that_speaks_of_another_ordering_is_found() {
        let stale = "// Ordering: Release. Publishes.\na.fetch_add(1, Ordering::AcqRel);";
        assert_found(
            &check_code(stale),
            &["lib.rs:2: `AcqRel` is not what the comment at line 1 speaks of"],
        );
        let both = "// Ordering: AcqRel, Relaxed on failure.\na.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed);";
        assert_found(&check_code(both), &[]);
    }

    #[test]
    fn other_orderings_tests_and_words_are_left_alone() {
        assert_found(
            &check_code("a.cmp(&b) == Ordering::Less; enum Lock { Release }"),
            &[],
        );
        assert_found(
            &check_code("#[cfg(test)] mod tests { fn f() { a.load(Ordering::Relaxed); } }"),
            &[],
        );
        assert_found(&check_code("/// `a.load(Ordering::Relaxed)`\nfn f() {}"), &[]);
    }
}
