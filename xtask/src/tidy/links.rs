//! Links have targets: Markdown links to files and headings, and repository paths in prose.
//!
//! Links to Rust items are checked by name; web addresses are not checked.

mod headings;
mod items;
mod mentions;

use pulldown_cmark::{Event, Options, Parser, Tag};

use super::tree::{File, Tree, resolve};
use super::violation::Violation;

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.with_extension("md") {
        for (line, target) in targets(&file.text) {
            let problem = problem(tree, file, &target);
            found.extend(problem.map(|what| Violation::new(&file.path, line, what)));
        }
    }
    found.extend(mentions::check(tree));
    found.extend(items::check(tree));
    found
}

fn targets(text: &str) -> Vec<(usize, String)> {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES).into_offset_iter();
    events
        .filter_map(|(event, range)| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Some((line_at(text, range.start), dest_url.into_string()))
            }
            _ => None,
        })
        .collect()
}

fn problem(tree: &Tree, file: &File, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") || is_item(file, target) {
        return None;
    }
    let (path, anchor) = target
        .split_once('#')
        .map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let resolved = match path {
        "" => Some(file.path.clone()),
        path => resolve(&file.path, path),
    };
    let Some(resolved) = resolved.filter(|path| tree.exists(path)) else {
        return Some(format!("link to `{target}` leads nowhere, correct the path"));
    };
    let anchor = anchor?;
    let known = tree
        .file(&resolved)
        .is_some_and(|file| headings::slugs(&file.text).iter().any(|slug| slug == anchor));
    (!known).then(|| format!("link to `{target}`: {resolved} has no heading `#{anchor}`"))
}

/// Whether a link may name an item: only in READMEs beside the code, which rustdoc reads.
fn is_item(file: &File, target: &str) -> bool {
    file.path.starts_with("crates/")
        && (target.contains("::")
            || !target.is_empty() && target.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

fn line_at(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::super::violation::assert_found;
    use super::*;

    fn check_readme(text: &str) -> Vec<Violation> {
        let docs = (
            "docs/a.md",
            "# Title\n\n## What `it` *does*: a-b_c (x)\n\n## Twice\n\n## Twice\n",
        );
        check(&Tree::planted(&[
            ("README.md", text),
            docs,
            ("crates/a/src/lib.rs", "//! A library."),
        ]))
    }

    #[test]
    fn links_to_files_folders_headings_and_the_web_pass() {
        assert_found(
            &check_readme(
                "# Here\n[a](docs/a.md) [b](docs) [c](./crates/a/) [d](docs/a.md#what-it-does-a-b_c-x) [e](#here)
                [f](docs/a.md#twice-1) [g](https://example.org/x.md) ![h](docs/a.md)",
            ),
            &[],
        );
    }

    #[test]
    fn a_broken_link_is_found() {
        assert_found(
            &check_readme("one\n[a](docs/b.md)"),
            &["README.md:2: link to `docs/b.md` leads nowhere"],
        );
        assert_found(&check_readme("[a]\n\n[a]: ../outside.md"), &["leads nowhere"]);
        assert_found(
            &check_readme("| a |\n|---|\n| [x](docs/gone.md) |"),
            &["README.md:3"],
        );
    }

    #[test]
    fn a_broken_anchor_is_found() {
        assert_found(
            &check_readme("[a](docs/a.md#gone)"),
            &["docs/a.md has no heading `#gone`"],
        );
        assert_found(&check_readme("[a](#gone)"), &["README.md has no heading `#gone`"]);
        assert_found(&check_readme("[a](docs/a.md#twice-2)"), &["has no heading"]);
    }

    #[test]
    fn links_to_items_are_left_to_rustdoc_beside_code_only() {
        let text = "[`Sleep`](super::Sleep) [x](Sleep)";
        assert_found(
            &check(&Tree::planted(&[
                ("crates/a/src/sleep/README.md", text),
                ("crates/a/src/sleep.rs", "struct Sleep;"),
            ])),
            &[],
        );
        assert_found(
            &check(&Tree::planted(&[("docs/a.md", text)])),
            &["super::Sleep", "Sleep"],
        );
    }
}
