//! Places in the text of a query.
//!
//! The parser does not keep the place of every keyword, so the tokens give it.

use sqlparser::ast::{Expr, Spanned};
use sqlparser::dialect::GenericDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::ParserError;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Tokenizer};

use crate::error::QueryError;
use crate::position::Position;

pub(super) const TOO_DEEP: &str = "expressions are nested too deeply";

pub(super) struct Places {
    tokens: Vec<TokenWithSpan>,
}

impl Places {
    pub(super) fn new(sql: &str) -> Self {
        // The parser reports a tokenizer error with its place.
        let mut tokens = Tokenizer::new(&GenericDialect {}, sql)
            .tokenize_with_location()
            .unwrap_or_default();
        tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
        Self { tokens }
    }

    pub(super) fn operators(&self) -> usize {
        self.operator_tokens().count()
    }

    pub(super) fn operator_past(&self, count: usize) -> Option<Option<Position>> {
        self.operator_tokens()
            .skip(count)
            .map(|token| place(token.span))
            .next()
    }

    /// The place with more than `levels` levels of brackets, types in angle brackets, and INTERVALs
    /// behind INTERVALs.
    pub(super) fn nested_past(&self, levels: usize) -> Option<Option<Position>> {
        let (mut brackets, mut others) = (0_usize, 0);
        let mut before = Keyword::NoKeyword;
        for token in &self.tokens {
            let keyword = keyword(&token.token);
            match &token.token {
                Token::LParen | Token::LBracket | Token::LBrace => brackets += 1,
                Token::RParen | Token::RBracket | Token::RBrace => brackets = brackets.saturating_sub(1),
                // Their ends are not looked for: a sign may also compare or shift.
                Token::Lt if matches!(before, Keyword::ARRAY | Keyword::MAP | Keyword::STRUCT) => others += 1,
                _ if keyword == Keyword::INTERVAL && before == keyword => others += 1,
                _ => {}
            }
            if brackets + others > levels {
                return Some(place(token.span));
            }
            before = keyword;
        }
        None
    }

    pub(super) fn of_word(&self, word: &str) -> Option<Position> {
        self.tokens
            .iter()
            .find(|token| is_word(&token.token, word))
            .and_then(|token| place(token.span))
    }

    pub(super) fn after_word(&self, word: &str) -> Option<Position> {
        let at = self.tokens.iter().position(|token| is_word(&token.token, word))?;
        self.tokens.get(at + 1).and_then(|token| place(token.span))
    }

    pub(super) fn unsupported(&self, construct: &str) -> QueryError {
        let first = construct.split_whitespace().next().unwrap_or_default();
        self.unsupported_as(construct, first)
    }

    pub(super) fn unsupported_as(&self, construct: &str, word: &str) -> QueryError {
        QueryError::Unsupported {
            construct: construct.to_owned(),
            position: self.of_word(word),
        }
    }

    fn operator_tokens(&self) -> impl Iterator<Item = &TokenWithSpan> {
        self.tokens.iter().filter(|token| is_operator(&token.token))
    }
}

/// `None` if the parser did not keep the place.
pub(super) fn place(span: Span) -> Option<Position> {
    let known = span.start.line > 0;
    known.then_some(Position {
        line: span.start.line,
        column: span.start.column,
    })
}

/// Uses no recursion, since a chain of operators is as deep as long.
pub(super) fn start(ast: &Expr) -> Option<Position> {
    let mut first = ast;
    while let Expr::BinaryOp { left, .. } = first {
        first = left;
    }
    place(first.span())
}

/// The parser writes the place into its message.
pub(super) fn parse_error(error: &ParserError) -> QueryError {
    let text = match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text.as_str(),
        ParserError::RecursionLimitExceeded => TOO_DEEP,
    };
    let (message, position) = match text.rsplit_once(" at Line: ") {
        Some((message, place)) => (message, read_place(place)),
        None => (text, None),
    };
    QueryError::Parse {
        message: message.to_owned(),
        position,
    }
}

/// Parses `3, Column: 14`.
fn read_place(place: &str) -> Option<Position> {
    let (line, column) = place.split_once(", Column: ")?;
    Some(Position {
        line: line.trim().parse().ok()?,
        column: column.trim().parse().ok()?,
    })
}

fn is_operator(token: &Token) -> bool {
    match token {
        Token::Word(_) => keyword(token) != Keyword::NoKeyword,
        Token::Number(..) | Token::SingleQuotedString(_) | Token::Comma | Token::EOF => false,
        _ => true,
    }
}

/// `NoKeyword` for other tokens as well.
fn keyword(token: &Token) -> Keyword {
    match token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

fn is_word(token: &Token, word: &str) -> bool {
    match token {
        Token::Word(found) => keyword(token) != Keyword::NoKeyword && found.value.eq_ignore_ascii_case(word),
        symbol => symbol.to_string() == word,
    }
}
