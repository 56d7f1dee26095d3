//! PostgreSQL's dialect with a bound on the parser's work.
//!
//! The parser tries a word such as CASE or CAST in one way, and where that fails in another. With a
//! mistake inside of nested ones it reads the innermost twice for each level around it, so a text
//! of some hundred bytes would keep a thread busy for ever.

use std::any::TypeId;
use std::cell::Cell;

use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

/// Number of times that a statement may be read, on average over its tokens.
const READS_OF_TOKEN: usize = 20;

/// Checks that a parser is done with `tokens` in time.
///
/// # Errors
///
/// If it is not. A syntax error is none: the parser that comes after this one says what is wrong.
pub(crate) fn check(tokens: Vec<Token>) -> Result<(), ParserError> {
    let bounded = Bounded {
        left: Cell::new(tokens.len() * READS_OF_TOKEN),
    };
    let parsed = Parser::new(&bounded).with_tokens(tokens).parse_statements();
    match parsed {
        Err(error) if bounded.left.get() == 0 => Err(error),
        _ => Ok(()),
    }
}

/// The dialect. An error of its hook makes each level fail at once.
#[derive(Debug)]
struct Bounded {
    /// Number of expressions that may still be begun.
    left: Cell<usize>,
}

macro_rules! as_postgresql {
    ($($name:ident)*) => {
        $(fn $name(&self) -> bool {
            PostgreSqlDialect {}.$name()
        })*
    };
}

impl Dialect for Bounded {
    fn parse_prefix(&self, _: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        match self.left.get() {
            0 => Some(Err(ParserError::RecursionLimitExceeded)),
            left => {
                self.left.set(left - 1);
                None
            }
        }
    }

    fn dialect(&self) -> TypeId {
        PostgreSqlDialect {}.dialect()
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        PostgreSqlDialect {}.identifier_quote_style(identifier)
    }

    fn is_delimited_identifier_start(&self, letter: char) -> bool {
        PostgreSqlDialect {}.is_delimited_identifier_start(letter)
    }

    fn is_identifier_start(&self, letter: char) -> bool {
        PostgreSqlDialect {}.is_identifier_start(letter)
    }

    fn is_identifier_part(&self, letter: char) -> bool {
        PostgreSqlDialect {}.is_identifier_part(letter)
    }

    fn is_custom_operator_part(&self, letter: char) -> bool {
        PostgreSqlDialect {}.is_custom_operator_part(letter)
    }

    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        PostgreSqlDialect {}.is_reserved_for_identifier(keyword)
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        PostgreSqlDialect {}.get_next_precedence(parser)
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        PostgreSqlDialect {}.prec_value(precedence)
    }

    as_postgresql! {
        supports_unicode_string_literal
        supports_filter_during_aggregation
        supports_group_by_expr
        allow_extract_custom
        allow_extract_single_quotes
        supports_create_index_with_clause
        supports_explain_with_utility_options
        supports_listen_notify
        supports_factorial_operator
        supports_bitwise_shift_operators
        supports_comment_on
        supports_load_extension
        supports_named_fn_args_with_colon_operator
        supports_named_fn_args_with_expr_name
        supports_empty_projections
        supports_nested_comments
        supports_string_escape_constant
        supports_numeric_literal_underscores
        supports_array_typedef_with_brackets
        supports_geometric_types
        supports_set_names
        supports_alter_column_type_using
        supports_notnull_operator
        supports_interval_options
        supports_insert_table_alias
        supports_create_table_like_parenthesized
        supports_select_wildcard_with_alias
        supports_comma_separated_trim
        supports_xml_expressions
        supports_comment_optimizer_hint
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    use super::*;

    fn is_in_time(sql: &str) -> bool {
        check(Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize().unwrap()).is_ok()
    }

    #[test]
    fn a_mistake_inside_of_nested_words_ends_the_reading() {
        for begin in [
            "case when true then ",
            "cast(",
            "interval ",
            "extract(year from ",
            "trim(",
        ] {
            let nested = format!("select {}1 +", begin.repeat(24));
            // Done, however it ends.
            is_in_time(&nested);
        }
        assert!(!is_in_time(&format!(
            "select {}1 +",
            "case when true then ".repeat(24)
        )));
    }

    #[test]
    fn nested_words_without_a_mistake_are_read() {
        let (begin, end) = ("case when true then ", " else 1 end");
        assert!(is_in_time(&format!(
            "select {}2{}",
            begin.repeat(20),
            end.repeat(20)
        )));
        assert!(is_in_time(&format!(
            "select {}2{}",
            "cast(".repeat(15),
            " as int)".repeat(15)
        )));
        assert!(is_in_time(
            "select e'x', $1::int[], a->>'b', trim(both 'x' from y) from t where a is not null"
        ));
    }
}
