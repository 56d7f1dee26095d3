//! Each Rust source file opens with its story: `//!` and at least one whole sentence.
//!
//! A module with a README beside it may open with `#![doc = include_str!("...")]` instead.

use super::rust_source::{CommentKind, RustSource};
use super::tree::Tree;
use super::violation::Violation;

const WORDS_MIN: usize = 5;

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let untold = tree
        .rust("")
        .filter(|(_, source)| !tells(source) && !includes(source));
    untold
        .map(|(file, _)| {
            Violation::new(
                &file.path,
                1,
                "opens without its story, say in a `//!` sentence what it is for",
            )
        })
        .collect()
}

fn tells(source: &RustSource) -> bool {
    let first = source
        .comments
        .iter()
        .find(|comment| comment.kind == CommentKind::Inner);
    first.is_some_and(|story| story.line < source.code_starts && has_sentence(&story.text))
}

fn includes(source: &RustSource) -> bool {
    let opening: String = source
        .tokens
        .iter()
        .take(8)
        .map(|token| token.text.as_str())
        .collect();
    opening.starts_with("#![doc=include_str!(")
}

fn has_sentence(text: &str) -> bool {
    text.split_inclusive(['.', ':', '!', '?']).any(|sentence| {
        sentence.ends_with(['.', ':', '!', '?']) && sentence.split_whitespace().count() >= WORDS_MIN
    })
}

#[cfg(test)]
mod tests {
    use super::super::violation::assert_found;
    use super::*;

    #[test]
    fn a_file_without_a_story_is_found() {
        let tree = Tree::planted(&[
            ("a.rs", "//! The word that counts tasks in flight.\nfn a() {}"),
            (
                "b.rs",
                "fn b() {}\nmod c { //! Too late to tell a story here.\n }",
            ),
            ("c.rs", "//! Placeholder.\n"),
            ("d.rs", "// The wrong kind of comment for a story.\n"),
            ("e.rs", "#![doc = include_str!(\"e/README.md\")]\nfn e() {}"),
            (
                "f.rs",
                "#![forbid(unsafe_code)]\n//! A story that comes after an attribute.",
            ),
            ("g.rs", ""),
        ]);
        assert_found(&check(&tree), &["b.rs:1", "c.rs:1", "d.rs:1", "f.rs:1", "g.rs:1"]);
    }
}
