//! The paths that code names: `use` trees expanded, and paths in expressions and types.

use super::Token;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedPath {
    /// A glob import ends in `*`.
    pub(crate) path: String,
    pub(crate) line: usize,
    /// Index of its first token, or of an import's last.
    pub(crate) token: usize,
    pub(crate) import: bool,
    pub(crate) test: bool,
}

impl NamedPath {
    pub(crate) fn is_in(&self, prefix: &str) -> bool {
        self.path
            .strip_prefix(prefix)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    }
}

pub(crate) fn named(tokens: &[Token]) -> Vec<NamedPath> {
    let mut paths = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        // `use<'a>` is a capture list, not an import.
        if tokens[at].text == "use" && tokens.get(at + 1).is_some_and(|next| next.text != "<") {
            at = import(tokens, at + 1, "", &mut paths);
        } else if tokens[at].ident {
            let (line, test) = (tokens[at].line, tokens[at].test);
            let (path, end) = plain(tokens, at);
            paths.push(NamedPath {
                path,
                line,
                token: at,
                import: false,
                test,
            });
            at = end;
        } else {
            at += 1;
        }
    }
    paths
}

/// Returns the path and the index after it.
fn plain(tokens: &[Token], mut at: usize) -> (String, usize) {
    let mut path = tokens[at].text.clone();
    while colons(tokens, at + 1) && tokens.get(at + 3).is_some_and(|token| token.ident) {
        path.push_str("::");
        path.push_str(&tokens[at + 3].text);
        at += 3;
    }
    (path, at + 1)
}

/// Returns the index after the branch.
fn import(tokens: &[Token], mut at: usize, prefix: &str, paths: &mut Vec<NamedPath>) -> usize {
    let mut path = prefix.to_owned();
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token.text != "}") {
                    at = import(tokens, at, &path, paths);
                    if tokens.get(at).is_some_and(|token| token.text == ",") {
                        at += 1;
                    }
                }
                return at + 1;
            }
            ":" => at += 1,
            "as" => at += 2,
            _ if token.ident || token.text == "*" => {
                if token.text != "self" || path.is_empty() {
                    if !path.is_empty() {
                        path.push_str("::");
                    }
                    path.push_str(&token.text);
                }
                let (line, test) = (token.line, token.test);
                at += 1;
                if !colons(tokens, at) {
                    paths.push(NamedPath {
                        path: path.clone(),
                        line,
                        token: at - 1,
                        import: true,
                        test,
                    });
                }
            }
            _ => return at,
        }
    }
    at
}

fn colons(tokens: &[Token], at: usize) -> bool {
    tokens.len() > at + 1 && tokens[at].text == ":" && tokens[at + 1].text == ":"
}

#[cfg(test)]
mod tests {
    use super::super::RustSource;

    fn paths(text: &str) -> Vec<String> {
        RustSource::parse("a.rs", text)
            .paths()
            .into_iter()
            .map(|named| named.path)
            .collect()
    }

    #[test]
    fn use_trees_are_spelled_out() {
        assert_eq!(
            paths("use std::{sync::{Arc, atomic::{self, Ordering::*}}, thread as t}; use ::loom;"),
            [
                "std::sync::Arc",
                "std::sync::atomic",
                "std::sync::atomic::Ordering::*",
                "std::thread",
                "loom"
            ]
        );
    }

    #[test]
    fn paths_in_types_and_expressions_are_named() {
        let found = paths("fn f() -> Vec<std::time::Instant> { ::std::thread::park(); Vec::<u8>::new() }");
        assert!(found.contains(&"std::time::Instant".to_owned()), "{found:?}");
        assert!(found.contains(&"std::thread::park".to_owned()), "{found:?}");
    }
}
