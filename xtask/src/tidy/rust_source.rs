//! A Rust source file for tidy: code tokens and comments, each with its line.
//!
//! Rustc's lexer makes the tokens. Above it only test code and named paths are recognised.

mod paths;
mod test_code;

use ra_ap_rustc_lexer::{DocStyle, FrontmatterAllowed, TokenKind, tokenize};

pub(crate) use self::paths::NamedPath;

#[derive(Debug)]
pub(crate) struct RustSource {
    pub(crate) tokens: Vec<Token>,
    /// Adjacent line comments of the same kind are one.
    pub(crate) comments: Vec<Comment>,
    pub(crate) code_starts: usize,
}

#[derive(Debug)]
pub(crate) struct Token {
    pub(crate) text: String,
    /// First line is 1.
    pub(crate) line: usize,
    /// First byte's offset in the file.
    pub(crate) at: usize,
    pub(crate) ident: bool,
    /// Whether it is `#[cfg(test)]` code, or in a file of tests.
    pub(crate) test: bool,
}

#[derive(Debug)]
pub(crate) struct Comment {
    /// First line is 1.
    pub(crate) line: usize,
    pub(crate) end: usize,
    pub(crate) kind: CommentKind,
    /// Text without the slashes, line by line.
    pub(crate) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommentKind {
    Plain,
    Outer,
    Inner,
}

impl RustSource {
    /// `path` tells whether the file is test code.
    pub(crate) fn parse(path: &str, text: &str) -> RustSource {
        let mut source = RustSource {
            tokens: Vec::new(),
            comments: Vec::new(),
            code_starts: usize::MAX,
        };
        let (mut at, mut line) = (0, 1);
        for token in tokenize(text, FrontmatterAllowed::No) {
            let piece = &text[at..at + token.len as usize];
            match token.kind {
                TokenKind::Whitespace => {}
                TokenKind::LineComment { doc_style } | TokenKind::BlockComment { doc_style, .. } => {
                    source.comment(line, piece, doc_style);
                }
                kind => {
                    let ident = matches!(kind, TokenKind::Ident | TokenKind::RawIdent);
                    source.tokens.push(Token {
                        text: piece.to_owned(),
                        line,
                        at,
                        ident,
                        test: false,
                    });
                }
            }
            at += piece.len();
            line += piece.matches('\n').count();
        }
        source.code_starts = source.tokens.first().map_or(usize::MAX, |token| token.line);
        let all = path.ends_with("/tests.rs") || path.contains("/tests/");
        test_code::mark(&mut source.tokens, all);
        source
    }

    /// All paths that the code names, `use` trees expanded.
    pub(crate) fn paths(&self) -> Vec<NamedPath> {
        paths::named(&self.tokens)
    }

    /// Number of tokens from the opening bracket `at` to its closing one.
    pub(crate) fn balanced(&self, at: usize) -> usize {
        test_code::balanced(&self.tokens[at..])
    }

    fn comment(&mut self, line: usize, piece: &str, doc_style: Option<DocStyle>) {
        let kind = match doc_style {
            None => CommentKind::Plain,
            Some(DocStyle::Outer) => CommentKind::Outer,
            Some(DocStyle::Inner) => CommentKind::Inner,
        };
        let text = if let Some(block) = piece.strip_prefix("/*") {
            let block = block.strip_suffix("*/").unwrap_or(block);
            block.strip_prefix(['*', '!']).unwrap_or(block)
        } else {
            let slashes = if kind == CommentKind::Plain { 2 } else { 3 };
            piece.get(slashes..).unwrap_or_default()
        };
        let end = line + piece.matches('\n').count();
        // A comment after code on its line starts a new run.
        let alone = self.tokens.last().is_none_or(|token| token.line < line);
        match self.comments.last_mut() {
            Some(last) if alone && last.kind == kind && last.end + 1 == line => {
                last.end = end;
                last.text.push('\n');
                last.text.push_str(text);
            }
            _ => self.comments.push(Comment {
                line,
                end,
                kind,
                text: text.to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_comments_are_not_code() {
        let source = RustSource::parse(
            "a.rs",
            "//! Story.\nfn f<'a>() { \"// no\"; } // end\n// next\n/* b */",
        );
        let texts: Vec<_> = source
            .comments
            .iter()
            .map(|c| (c.line, c.end, c.text.trim()))
            .collect();
        assert_eq!(texts, [(1, 1, "Story."), (2, 4, "end\n next\n b")]);
        assert_eq!(source.code_starts, 2);
        assert!(
            source
                .tokens
                .iter()
                .any(|token| token.text == "\"// no\"" && !token.ident)
        );
    }

    #[test]
    fn comments_are_split_where_code_stands_between() {
        let source = RustSource::parse("a.rs", "// one\nlet a; // two\n// three\n\n// four\n/// five");
        let lines: Vec<_> = source.comments.iter().map(|c| (c.line, c.end)).collect();
        assert_eq!(lines, [(1, 1), (2, 3), (5, 5), (6, 6)]);
    }
}
