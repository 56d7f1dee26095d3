//! How long and how deep a statement may be, checked before it is parsed.
//!
//! A chain of operators, joins or unions is a tree as deep as the chain is long, and parsing,
//! planning and dropping a tree take stack for each level. A thread that is out of stack ends the
//! process, and with it everybody's statements.

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::dialect;
use crate::wire::SqlError;

/// Bytes of a statement. A longer one would keep a worker busy for seconds with its planning.
pub(crate) const BYTES_MAX: usize = 1 << 20;

/// Number of operators, joins and set operations on top of each other.
const DEPTH_MAX: usize = 2_000;

/// Each operator has an operand: two bytes.
const BYTES_OF_LEVEL: usize = 2;

/// Checks `sql`, which may have several statements.
///
/// # Errors
///
/// If it is too long or too deep.
pub(crate) fn check(sql: &str) -> Result<(), SqlError> {
    if sql.len() > BYTES_MAX {
        let what = format!(
            "a statement has at most {BYTES_MAX} bytes, this one has {}",
            sql.len()
        );
        return Err(SqlError::new("54000", what));
    }
    // The parser says what is wrong with a text that has no tokens.
    let Ok(tokens) = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize() else {
        return Ok(());
    };
    if sql.len() > DEPTH_MAX * BYTES_OF_LEVEL && depth(&tokens) > DEPTH_MAX {
        let what = format!(
            "statement too complex: more than {DEPTH_MAX} operators, joins and unions in a chain; \
             a list of values goes into IN"
        );
        return Err(SqlError::new("54001", what));
    }
    dialect::check(tokens).map_err(|_| {
        let what = "statement too complex: it has a mistake inside of many nested expressions";
        SqlError::new("54001", what)
    })
}

/// What stands between two parentheses.
#[derive(Clone, Copy, Default)]
struct Level {
    /// Operators since the last comma.
    operators: usize,
    /// Joins, set operations and common tables: a comma does not end their chain.
    inputs: usize,
    /// Whether a comma here stands between two tables.
    has_tables: bool,
}

/// An upper bound of the tree's depth.
fn depth(tokens: &[Token]) -> usize {
    let mut levels = vec![Level::default()];
    // Of the levels below the last one.
    let mut below = 0;
    let mut deepest = 0;
    for token in tokens {
        let is_inside = levels.len() > 1;
        let Some(level) = levels.last_mut() else {
            break;
        };
        match token {
            Token::LParen | Token::LBracket => {
                // A subscript is an operator as well.
                level.operators += 1;
                below += level.operators + level.inputs;
                levels.push(Level::default());
            }
            Token::RParen | Token::RBracket if is_inside => {
                levels.pop();
                below -= levels.last().map_or(0, |level| level.operators + level.inputs);
            }
            Token::SemiColon => *level = Level::default(),
            Token::Comma => {
                level.operators = 0;
                level.inputs += usize::from(level.has_tables);
            }
            Token::Word(word) => match word.keyword {
                Keyword::FROM | Keyword::WITH | Keyword::USING => level.has_tables = true,
                Keyword::SELECT | Keyword::WHERE | Keyword::GROUP | Keyword::ORDER | Keyword::HAVING => {
                    level.has_tables = false;
                    level.operators = 0;
                }
                Keyword::JOIN
                | Keyword::UNION
                | Keyword::EXCEPT
                | Keyword::INTERSECT
                | Keyword::MINUS
                | Keyword::PIVOT
                | Keyword::UNPIVOT
                | Keyword::MATCH_RECOGNIZE
                | Keyword::TABLESAMPLE => level.inputs += 1,
                Keyword::NoKeyword
                | Keyword::NULL
                | Keyword::TRUE
                | Keyword::FALSE
                | Keyword::AS
                | Keyword::DATE
                | Keyword::TIMESTAMP => {}
                _ => level.operators += 1,
            },
            Token::Whitespace(_)
            | Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::Placeholder(_)
            | Token::Period
            | Token::RParen
            | Token::RBracket => {}
            _ => level.operators += 1,
        }
        if let Some(level) = levels.last() {
            deepest = deepest.max(below + level.operators + level.inputs);
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth_of(sql: &str) -> usize {
        depth(&Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize().unwrap())
    }

    #[test]
    fn every_chain_is_as_deep_as_it_is_long() {
        for (begin, link, end) in [
            ("select 1", "+1", ""),
            ("select 1", "||'a'", ""),
            ("select true", " and true", ""),
            ("select x", "::int", ""),
            ("select x", "[1]", ""),
            ("select x", " is null", ""),
            ("select 1", " union select 1", ""),
            ("select a, b from t", " union all select a, b from t", ""),
            ("select 1 from t", ", t", ""),
            ("select 1 from t", " join t on a = b", ""),
            ("with a as (select 1)", ", a as (select 1)", " select 1"),
            ("select x in (1, 2)", " or x in (1, 2)", ""),
            ("select f(1, 2, ", "(1 + ", ""),
            ("select ", "interval ", "'1'"),
            ("select x::", "array<", "int"),
        ] {
            let sql = format!("{begin}{}{end}", link.repeat(500));
            let depth = depth_of(&sql);
            assert!((500..=2_500).contains(&depth), "{begin}{link}…: {depth}");
        }
    }

    #[test]
    fn lists_are_not_deep() {
        for (begin, link, end) in [
            ("select x in (-1", ", -1", ")"),
            ("select a + b", ", a + b as c", ""),
            ("values (1, 2)", ", (1, 2)", ""),
            ("select 1 + 1", "; select 1 + 1", ""),
            ("select a from t order by a desc", ", a + 1 desc", ""),
        ] {
            let sql = format!("{begin}{}{end}", link.repeat(500));
            assert!(depth_of(&sql) < 20, "{begin}{link}…: {}", depth_of(&sql));
        }
    }

    #[test]
    fn what_is_too_long_or_too_deep_is_refused() {
        assert!(check(&format!("select 1{}", "+1".repeat(1_900))).is_ok());
        let deep = check(&format!("select 1{}", "+1".repeat(2_100))).unwrap_err();
        assert_eq!(deep.code, "54001", "{deep}");
        let long = check(&" ".repeat(BYTES_MAX + 1)).unwrap_err();
        assert_eq!(long.code, "54000", "{long}");
        assert!(check(&format!("select x in (1{})", ", 1".repeat(100_000))).is_ok());
        assert!(check(&format!("select '{}", "x".repeat(100_000))).is_ok());
    }
}
