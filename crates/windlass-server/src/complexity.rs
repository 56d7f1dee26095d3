//! How long and how deep a statement may be, checked before it is parsed.
//!
//! A chain of operators, joins or unions is a tree as deep as the chain is long, and parsing,
//! planning and dropping a tree take stack for each level. A thread that is out of stack ends the
//! process, and with it everybody's statements.
//!
//! Parsing and planning are one poll, which neither a cancel request nor a timeout ends. So a
//! statement is refused if they would take longer than about a second. What counts is its shape:
//! twice the columns take four times as long. The prices were measured with long lists and chains,
//! in a release build. A table's own columns are not known here.

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::dialect;
use crate::wire::SqlError;

/// Bytes of a statement.
pub(crate) const BYTES_MAX: usize = 1 << 20;

/// Number of operators, joins and set operations on top of each other.
const DEPTH_MAX: usize = 2_000;

/// Longest time of parsing and planning.
const PLANNING_US_MAX: usize = 1_000_000;

/// Of a word, number or sign.
const TOKEN_US: usize = 4;

/// Of an operator, for each level of the tree below it. Comparisons, AND and OR cost nothing, since
/// their type is known without a look at the tree.
const OPERATOR_US: usize = 2;

/// Of a join or set operation, for each one before it.
const INPUT_US: usize = 4;

/// Of a column or sort key, for each one before it in its list.
const ITEM_US: f64 = 1.4;

/// Of a column of a table in parentheses or a common table, for each two tables that are joined.
const JOINED_US: f64 = 2.5;

/// Items that take as long as a window.
const ITEMS_OF_WINDOW: usize = 5;

/// A shorter statement is neither deep nor long.
const BYTES_UNCHECKED: usize = 1_000;

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
    if sql.len() > BYTES_UNCHECKED {
        let shape = Shape::of(&tokens);
        if shape.depth > DEPTH_MAX {
            let what = format!(
                "statement too complex: more than {DEPTH_MAX} operators, joins and unions in a chain; \
                 a list of values goes into IN"
            );
            return Err(SqlError::new("54001", what));
        }
        if shape.planning_us > PLANNING_US_MAX {
            let what = "statement too complex: its planning would take longer than a second; \
                        it has too many columns, sort keys, values, or operators in a chain";
            return Err(SqlError::new("54001", what));
        }
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
    /// Whether these are common tables, which are not joined.
    has_commons: bool,
    /// Number of columns or sort keys so far, in a list of these.
    items: Option<usize>,
    /// Number of tables beside the first that are joined.
    joined: usize,
}

/// Upper bounds of what the largest of some statements takes.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    /// Levels of its tree.
    depth: usize,
    planning_us: usize,
}

/// What one statement takes.
#[derive(Clone, Copy, Default)]
struct Planning {
    us: usize,
    /// The largest number of columns inside of parentheses.
    width: usize,
    /// The largest number of tables beside the first that are joined.
    joined: usize,
}

impl Planning {
    /// Ends a list of columns or sort keys.
    fn end_list(&mut self, level: &mut Level, is_inside: bool) {
        let items = level.items.take().unwrap_or_default();
        if is_inside {
            self.width = self.width.max(items);
        }
        let items = items as f64;
        self.us += (items * items / 2.0 * ITEM_US) as usize;
    }

    fn join(&mut self, level: &mut Level) {
        level.joined += 1;
        self.joined = self.joined.max(level.joined);
    }

    fn us(&self) -> usize {
        let joined = self.joined as f64;
        self.us + (joined * joined * self.width as f64 * JOINED_US) as usize
    }
}

impl Shape {
    fn of(tokens: &[Token]) -> Self {
        let mut levels = vec![Level::default()];
        // Of the levels below the last one.
        let mut below = 0;
        let mut planning = Planning::default();
        let mut shape = Self::default();
        for token in tokens {
            let is_inside = levels.len() > 1;
            let Some(level) = levels.last_mut() else {
                break;
            };
            let mut us = TOKEN_US;
            match token {
                Token::Whitespace(_) => us = 0,
                Token::LParen | Token::LBracket => {
                    // A subscript is an operator as well.
                    level.operators += 1;
                    below += level.operators + level.inputs;
                    levels.push(Level::default());
                }
                Token::RParen | Token::RBracket if is_inside => {
                    planning.end_list(level, is_inside);
                    levels.pop();
                    below -= levels.last().map_or(0, |level| level.operators + level.inputs);
                }
                // Each statement is planned for itself.
                Token::SemiColon => {
                    planning.end_list(level, is_inside);
                    *level = Level::default();
                    shape.planning_us = shape.planning_us.max(planning.us());
                    planning = Planning::default();
                }
                Token::Comma => {
                    level.operators = 0;
                    level.items = level.items.map(|items| items + 1);
                    if level.has_tables {
                        level.inputs += 1;
                        us += INPUT_US * level.inputs;
                        if !level.has_commons {
                            planning.join(level);
                        }
                    }
                }
                Token::Word(word) => match word.keyword {
                    Keyword::FROM | Keyword::WITH | Keyword::USING => {
                        planning.end_list(level, is_inside);
                        level.has_tables = true;
                        level.has_commons = word.keyword == Keyword::WITH;
                    }
                    Keyword::SELECT | Keyword::WHERE | Keyword::GROUP | Keyword::ORDER | Keyword::HAVING => {
                        planning.end_list(level, is_inside);
                        let has_items = matches!(word.keyword, Keyword::SELECT | Keyword::ORDER);
                        level.items = has_items.then_some(1);
                        level.has_tables = false;
                        level.operators = 0;
                        if word.keyword == Keyword::SELECT {
                            level.joined = 0;
                        }
                    }
                    Keyword::JOIN => {
                        level.inputs += 1;
                        us += INPUT_US * level.inputs;
                        planning.join(level);
                    }
                    Keyword::UNION
                    | Keyword::EXCEPT
                    | Keyword::INTERSECT
                    | Keyword::MINUS
                    | Keyword::PIVOT
                    | Keyword::UNPIVOT
                    | Keyword::MATCH_RECOGNIZE
                    | Keyword::TABLESAMPLE => {
                        level.inputs += 1;
                        us += INPUT_US * level.inputs;
                    }
                    Keyword::OVER => {
                        level.operators += 1;
                        level.items = level.items.map(|items| items + ITEMS_OF_WINDOW - 1);
                    }
                    // INTERVAL behind INTERVAL takes the parser twice the stack of other levels.
                    Keyword::INTERVAL => level.operators += 2,
                    Keyword::NoKeyword
                    | Keyword::NULL
                    | Keyword::TRUE
                    | Keyword::FALSE
                    | Keyword::AS
                    | Keyword::DATE
                    | Keyword::TIMESTAMP => {}
                    _ => level.operators += 1,
                },
                Token::Number(..)
                | Token::SingleQuotedString(_)
                | Token::Placeholder(_)
                | Token::Period
                | Token::RParen
                | Token::RBracket => {}
                Token::Eq | Token::Neq | Token::Lt | Token::Gt | Token::LtEq | Token::GtEq => {
                    level.operators += 1;
                }
                _ => {
                    level.operators += 1;
                    us += OPERATOR_US * (below + level.operators + level.inputs);
                }
            }
            planning.us += us;
            if let Some(level) = levels.last() {
                shape.depth = shape.depth.max(below + level.operators + level.inputs);
            }
        }
        for (depth, level) in levels.iter_mut().enumerate() {
            planning.end_list(level, depth > 0);
        }
        shape.planning_us = shape.planning_us.max(planning.us());
        shape
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth_of(sql: &str) -> usize {
        shape_of(sql).depth
    }

    fn shape_of(sql: &str) -> Shape {
        Shape::of(&Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize().unwrap())
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

    /// What was measured, in a release build, to take about a second.
    #[test]
    fn what_is_planned_for_a_second_costs_as_much() {
        let list =
            |number: usize, of: &dyn Fn(usize) -> String| (0..number).map(of).collect::<Vec<_>>().join(", ");
        for sql in [
            format!(
                "select {} from t",
                list(1_200, &|number| format!("sum(a + {number})"))
            ),
            format!(
                "select * from t order by {}",
                list(1_200, &|number| format!("a + {number}"))
            ),
            format!(
                "select {}",
                list(250, &|number| format!("sum(a) over (order by a + {number})"))
            ),
            format!("select a{} from t", " + a".repeat(1_000)),
            format!("select 1{}", " union all select 1".repeat(700)),
            format!("select * from t where a in (1{})", ", 1".repeat(120_000)),
            format!("values (1){}", ", (1)".repeat(60_000)),
        ] {
            let us = shape_of(&sql).planning_us;
            let begin: String = sql.chars().take(60).collect();
            assert!((800_000..1_400_000).contains(&us), "{begin}…: {us}");
        }
    }

    #[test]
    fn what_takes_long_to_plan_is_refused() {
        let columns = |number: usize| {
            let columns: Vec<_> = (0..number).map(|number| format!("a + {number}")).collect();
            columns.join(", ")
        };
        let code = |sql: &str| check(sql).map_err(|error| error.code);
        assert_eq!(code(&format!("select {} from t", columns(1_100))), Ok(()));
        assert_eq!(code(&format!("select {} from t", columns(1_300))), Err("54001"));
        // Lists one after another and in parentheses count as well, those of other statements do
        // not.
        let half = format!("select {} from t", columns(700));
        let joined = |link| [half.as_str(); 4].join(link);
        assert_eq!(code(&joined(" union all ")), Err("54001"));
        assert_eq!(code(&joined("; ")), Ok(()));
        let inside = format!("select * from (select {} from t) s", columns(1_300));
        assert_eq!(code(&inside), Err("54001"));
        let joined = |width, tables| {
            let names = (0..width).map(|number| format!("a as a{number}"));
            let names = names.collect::<Vec<_>>().join(", ");
            let tables = (1..tables).map(|number| format!(", w w{number}"));
            let tables = tables.collect::<String>();
            code(&format!(
                "with w as (select {names} from t) select count(*) from w{tables}"
            ))
        };
        assert_eq!(joined(1_000, 10), Ok(()));
        assert_eq!(joined(10, 150), Ok(()));
        assert_eq!(joined(1_000, 40), Err("54001"));
        // Where the list is no list of columns, it takes no longer than its words.
        assert_eq!(code(&format!("select a in ({}) from t", columns(1_300))), Ok(()));
        assert_eq!(
            code(&format!("select 1 from t where a = 1{}", " or a = 2".repeat(900))),
            Ok(())
        );
    }

    #[test]
    fn what_is_too_long_or_too_deep_is_refused() {
        assert!(check(&format!("select true{}", " and true".repeat(1_900))).is_ok());
        let deep = check(&format!("select true{}", " and true".repeat(2_100))).unwrap_err();
        assert_eq!(deep.code, "54001", "{deep}");
        let long = check(&" ".repeat(BYTES_MAX + 1)).unwrap_err();
        assert_eq!(long.code, "54000", "{long}");
        assert!(check(&format!("select x in (1{})", ", 1".repeat(100_000))).is_ok());
        assert!(check(&format!("select '{}", "x".repeat(100_000))).is_ok());
    }
}
