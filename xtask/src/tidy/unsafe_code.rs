//! `unsafe` appears in three crates' sources; no other crate switches off the lint against it.
//!
//! The workspace's lint is `deny`, since a crate cannot be excepted from `forbid`; this check
//! closes that gap.

use super::rust_source::Token;
use super::tree::Tree;
use super::violation::Violation;

/// `docs/decisions/0016-an-injector-of-our-own.md`, for the models
/// `docs/decisions/0050-coroutines-for-loom.md`, and in the programs
/// `docs/decisions/0059-the-programs-allocator.md`.
const ALLOWED: &[&str] = &[
    "crates/injector/src/",
    "crates/loom-coroutines/src/lib.rs",
    "crates/program-allocator/src/lib.rs",
];

const LOOSE: &[&str] = &["allow", "expect", "warn", "deny"];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    let is_checked = |path: &str| !ALLOWED.iter().any(|allowed| path.starts_with(allowed));
    for (file, source) in tree.rust("").filter(|(file, _)| is_checked(&file.path)) {
        for (at, token) in source.tokens.iter().enumerate() {
            let what = match token.text.as_str() {
                "unsafe" => format!(
                    "`unsafe` outside of {}, write it without or decide anew",
                    ALLOWED.join(" and ")
                ),
                "unsafe_code" if is_loosened(&source.tokens[..at]) => {
                    "the lint `unsafe_code` is loosened, only `forbid` may stand here".to_owned()
                }
                _ => continue,
            };
            found.push(Violation::new(&file.path, token.line, what));
        }
    }
    found
}

fn is_loosened(before: &[Token]) -> bool {
    let open = before.iter().rposition(|token| token.text == "(");
    let level = open.and_then(|open| before[..open].last());
    level.is_some_and(|level| LOOSE.contains(&level.text.as_str()))
}

#[cfg(test)]
mod tests {
    use super::super::violation::assert_found;
    use super::*;

    fn check_code(path: &str, code: &str) -> Vec<Violation> {
        check(&Tree::planted(&[(path, code)]))
    }

    #[test]
    fn unsafe_code_is_found_everywhere_but_in_the_three_crates() {
        let code = "fn f() {\n    unsafe { g() }\n}";
        for path in [
            "crates/executor-threaded/src/lib.rs",
            "crates/injector/tests/integration/main.rs",
            "benches/src/main.rs",
            "xtask/src/main.rs",
        ] {
            assert_found(&check_code(path, code), &[":2: `unsafe` outside of"]);
        }
        assert_found(&check_code("crates/injector/src/block.rs", code), &[]);
    }

    #[test]
    fn the_lint_may_be_forbidden_and_not_allowed() {
        for loosened in [
            "#![allow(unsafe_code)]",
            "#[expect(dead_code, unsafe_code)]",
            "#![warn(unsafe_code)]",
        ] {
            assert_found(&check_code("crates/a/src/lib.rs", loosened), &["is loosened"]);
        }
        assert_found(&check_code("crates/a/src/lib.rs", "#![forbid(unsafe_code)]"), &[]);
        assert_found(
            &check_code("crates/injector/src/lib.rs", "#![allow(unsafe_code)]"),
            &[],
        );
    }

    #[test]
    fn a_word_in_a_comment_or_a_string_is_no_code() {
        assert_found(
            &check_code(
                "crates/a/src/lib.rs",
                "//! No `unsafe` here.\nconst A: &str = \"unsafe\";",
            ),
            &[],
        );
    }
}
