//! Unfinished code: `todo!`, tests skipped and lints switched off without a reason, examples that
//! are not compiled.

use super::rust_source::{CommentKind, Token};
use super::tree::Tree;
use super::violation::Violation;

const MACROS: &[&str] = &["todo", "dbg", "unimplemented"];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (file, source) in tree.rust("") {
        let mut report = |line: usize, what: String| found.push(Violation::new(&file.path, line, what));
        for (at, pair) in source.tokens.windows(2).enumerate() {
            let [token, next] = pair else { continue };
            if MACROS.contains(&token.text.as_str()) && next.text == "!" {
                report(token.line, format!("`{}!` is left over, finish it", token.text));
            }
            if token.text == "#"
                && (next.text == "[" || next.text == "!")
                && let Some(problem) = attribute(&source.tokens[at..])
            {
                report(token.line, problem);
            }
        }
        for comment in source
            .comments
            .iter()
            .filter(|comment| comment.kind != CommentKind::Plain)
        {
            for (offset, line) in comment
                .text
                .lines()
                .enumerate()
                .filter(|(_, line)| is_ignored_fence(line))
            {
                report(
                    comment.line + offset,
                    format!("`{}` is never compiled, make the example run", line.trim()),
                );
            }
        }
    }
    for file in tree.with_extension("md") {
        for (index, line) in file
            .text
            .lines()
            .enumerate()
            .filter(|(_, line)| is_ignored_fence(line))
        {
            let what = format!("`{}` is never compiled, make the example run", line.trim());
            found.push(Violation::new(&file.path, index + 1, what));
        }
    }
    found
}

fn attribute(tokens: &[Token]) -> Option<String> {
    let inner = tokens.iter().skip_while(|token| token.text != "[").skip(1);
    let mut depth = 1_usize;
    let words: Vec<&str> = inner
        .map(|token| token.text.as_str())
        .take_while(|text| {
            match *text {
                "[" => depth += 1,
                "]" => depth -= 1,
                _ => {}
            }
            depth > 0
        })
        .collect();
    let calls = |name: &str| words.windows(2).any(|pair| pair[0] == name && pair[1] == "(");
    if words == ["ignore"] {
        return Some("a test is skipped without a reason, write `#[ignore = \"...\"]`".to_owned());
    }
    let silenced = ["allow", "expect"]
        .into_iter()
        .find(|name| calls(name) && !words.contains(&"reason"))?;
    Some(format!(
        "`{silenced}` without a reason, write `#[expect(.., reason = \"...\")]`"
    ))
}

fn is_ignored_fence(line: &str) -> bool {
    let info = line.trim_start().strip_prefix("```");
    info.is_some_and(|info| info.split([',', ' ']).any(|word| word.trim() == "ignore"))
}

#[cfg(test)]
mod tests {
    use super::super::violation::assert_found;
    use super::*;

    fn check_code(code: &str) -> Vec<Violation> {
        check(&Tree::planted(&[("crates/a/src/lib.rs", code)]))
    }

    #[test]
    fn unfinished_code_is_found() {
        assert_found(&check_code("fn f() {\n todo!() }"), &["lib.rs:2: `todo!`"]);
        assert_found(
            &check_code("fn f() { dbg!(1); unimplemented!(); }"),
            &["`dbg!`", "`unimplemented!`"],
        );
        assert_found(
            &check_code("// todo! is what we avoid\nlet todo = \"todo!\";"),
            &[],
        );
    }

    #[test]
    fn skipping_and_silencing_need_a_reason() {
        assert_found(&check_code("#[ignore]\nfn f() {}"), &["skipped without a reason"]);
        assert_found(&check_code("#[ignore = \"needs 65 cores\"] fn f() {}"), &[]);
        assert_found(&check_code("#![allow(dead_code)]"), &["`allow` without a reason"]);
        assert_found(
            &check_code("#[cfg_attr(test, expect(dead_code))] fn f() {}"),
            &["`expect` without a reason"],
        );
        assert_found(
            &check_code("#[expect(dead_code, reason = \"shown in docs\")] fn f() {}"),
            &[],
        );
        assert_found(
            &check_code("#[derive(Debug)] struct A([u8; 2]); fn f() { a.expect(\"b\") }"),
            &[],
        );
    }

    #[test]
    fn examples_that_are_not_compiled_are_found() {
        assert_found(
            &check_code("/// Do:\n/// ```ignore\n/// a\n/// ```\nfn f() {}"),
            &["lib.rs:2: `"],
        );
        assert_found(&check_code("//! ```rust,ignore\n//! ```"), &["lib.rs:1"]);
        assert_found(&check_code("/// ```no_run\n/// ```\nfn f() {}"), &[]);
        assert_found(
            &check(&Tree::planted(&[("README.md", "a\n```rust,ignore\n```")])),
            &["README.md:2"],
        );
    }
}
