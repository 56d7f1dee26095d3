//! Links from documentation to Rust items: a link names only what some source names too.
//!
//! Rustdoc resolves them fully (`cargo xtask docs`); this check needs no build.

use std::collections::BTreeSet;

use pulldown_cmark::{BrokenLink, CowStr, Event, Options, Parser, Tag};

use super::super::rust_source::CommentKind;
use super::super::tree::Tree;
use super::super::violation::Violation;
use super::line_at;

const KEYWORDS: &[&str] = &["crate", "self", "super", "Self"];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let names = names(tree);
    let mut found = Vec::new();
    let mut look = |path: &str, first_line: usize, text: &str| {
        for (line, target) in targets(text) {
            if let Some(unknown) = unknown(&target, &names) {
                let what = format!("link to `{target}`: nothing here is called `{unknown}`, was it renamed?");
                found.push(Violation::new(path, first_line + line - 1, what));
            }
        }
    };
    for (file, source) in tree.rust("") {
        let docs = source
            .comments
            .iter()
            .filter(|comment| comment.kind != CommentKind::Plain);
        docs.for_each(|comment| look(&file.path, comment.line, &comment.text));
    }
    for file in tree
        .with_extension("md")
        .filter(|file| file.path.starts_with("crates/"))
    {
        look(&file.path, 1, &file.text);
    }
    found
}

fn names(tree: &Tree) -> BTreeSet<&str> {
    let tokens = tree.rust("").flat_map(|(_, source)| &source.tokens);
    tokens
        .filter(|token| token.ident)
        .map(|token| token.text.as_str())
        .collect()
}

/// Links that may mean items, with their lines in the text.
fn targets(text: &str) -> Vec<(usize, String)> {
    // A reference without a definition links to an item if it is code: `[`Sleep`]`.
    let item = |link: BrokenLink<'_>| {
        let code = link.reference.starts_with('`') && link.reference.ends_with('`');
        code.then(|| {
            (
                CowStr::from(link.reference.trim_matches('`').to_owned()),
                CowStr::from(""),
            )
        })
    };
    let parser = Parser::new_with_broken_link_callback(text, Options::ENABLE_TABLES, Some(item));
    let links = parser
        .into_offset_iter()
        .filter_map(|(event, range)| match event {
            Event::Start(Tag::Link { dest_url, .. }) => {
                Some((line_at(text, range.start), dest_url.into_string()))
            }
            _ => None,
        });
    links.collect()
}

/// `None` if all names are known, or if `target` is no item path.
fn unknown<'a>(target: &'a str, names: &BTreeSet<&str>) -> Option<&'a str> {
    let path = target.split_once('@').map_or(target, |(_kind, path)| path);
    let path = path.split(['#', '<']).next().unwrap_or(path);
    let path = path.trim_end_matches("()").trim_end_matches('!');
    let is_name = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
    if !path.split("::").all(is_name) {
        return None;
    }
    path.split("::")
        .find(|part| !names.contains(part) && !KEYWORDS.contains(part))
}

#[cfg(test)]
mod tests {
    use super::super::super::violation::assert_found;
    use super::*;

    fn check_docs(docs: &str) -> Vec<Violation> {
        let code =
            format!("{docs}\npub struct Sleep;\nimpl Sleep {{ fn wake(self) {{ std::mem::drop(self) }} }}");
        check(&Tree::planted(&[("crates/a/src/sleep.rs", &code)]))
    }

    #[test]
    fn links_to_names_that_exist_pass() {
        for fine in [
            "/// [`Sleep`], [`Sleep::wake`], [`Sleep::wake()`], [struct@Sleep], [it](Sleep::wake#panics)",
            "/// [`std::mem::drop`] and [`mem`](std::mem).",
            "/// [0, 1) and `[Gone]` and [web](https://example.org/Gone) and [file](../gone.md)",
            "// [`Gone`] in a plain comment",
            "/// ```\n/// let a = [Gone];\n/// ```",
        ] {
            assert_found(&check_docs(fine), &[]);
        }
    }

    #[test]
    fn a_link_to_a_name_that_is_gone_is_found() {
        assert_found(
            &check_docs("/// One.\n/// See [`Slumber`]."),
            &["sleep.rs:2: link to `Slumber`"],
        );
        assert_found(
            &check_docs("/// [it](Sleep::rouse)"),
            &["nothing here is called `rouse`"],
        );
    }

    #[test]
    fn markdown_beside_the_code_is_read_too() {
        let files = [
            (
                "crates/a/src/sleep/README.md",
                "One\n[`Slumber`](super::Slumber) [a](b.md)",
            ),
            ("docs/a.md", "[`Slumber`]"),
            ("crates/a/src/lib.rs", "use super::Sleep;"),
        ];
        assert_found(&check(&Tree::planted(&files)), &["sleep/README.md:2"]);
    }
}
