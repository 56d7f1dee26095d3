//! Why a query could not be planned or run: what is wrong, and where it stands.

use std::error::Error;
use std::fmt;

use columnar::{ExecError, QuotaExceeded, ReadError};
use pipeline_exec::{JobError, JobErrorKind};
use unicode_width::UnicodeWidthChar;

/// A place in the text of a query, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: u64,
    /// The column, in characters.
    pub column: u64,
}

impl Position {
    /// The line of `sql` that this place is on, and under it a mark; nothing if `sql` has no such place. Of a long line only
    /// what is near the place.
    ///
    /// ```
    /// use query::Position;
    ///
    /// let place = Position { line: 2, column: 6 };
    /// let marked = place.mark("select town\nfrom citys").expect("there is a second line");
    /// assert_eq!(marked, "from citys\n     ^");
    /// assert_eq!(Position { line: 3, column: 1 }.mark("select 1"), None);
    /// ```
    pub fn mark(&self, sql: &str) -> Option<String> {
        /// Characters of the line that are shown on either side of the place, at least.
        const NEAR: usize = 80;
        let line: Vec<char> = sql
            .lines()
            .nth(usize::try_from(self.line).ok()?.checked_sub(1)?)?
            .chars()
            .collect();
        let at = usize::try_from(self.column).ok()?.checked_sub(1)?.min(line.len());
        // What would save less than the dots take is shown.
        let start = at.checked_sub(NEAR).filter(|&cut| cut > 3).unwrap_or(0);
        let end = (at + NEAR < line.len())
            .then_some(at + NEAR)
            .filter(|end| end + 3 < line.len());
        let (before, after) = (&line[start..at], &line[at..end.unwrap_or(line.len())]);
        let dots = |cut: bool| if cut { "..." } else { "" };
        let mut text = String::from(dots(start > 0));
        text.extend(before.iter().chain(after));
        text.push_str(dots(end.is_some()));
        text.push('\n');
        text.extend(dots(start > 0).chars().map(|_| ' '));
        for &character in before {
            // A tab stays one, so that both lines stop at the same place.
            let width = if character == '\t' {
                0
            } else {
                character.width().unwrap_or(0)
            };
            text.push_str(if character == '\t' { "\t" } else { &"  "[..width] });
        }
        text.push('^');
        Some(text)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A query failed. Nothing of its result is given out.
#[derive(Debug)]
#[non_exhaustive]
pub enum QueryError {
    /// The text is not SQL.
    Parse {
        /// What the parser expected.
        message: String,
        /// Where it stopped.
        position: Option<Position>,
    },
    /// The text is SQL, but outside the subset.
    Unsupported {
        /// The construct, as the language calls it.
        construct: String,
        /// Where it stands.
        position: Option<Position>,
    },
    /// No table has this name.
    UnknownTable {
        /// The name as written.
        name: String,
        /// The tables there are.
        candidates: Vec<String>,
        /// Where it stands.
        position: Option<Position>,
    },
    /// The table has no such column.
    UnknownColumn {
        /// The name as written.
        name: String,
        /// The columns there are, the most alike first.
        candidates: Vec<String>,
        /// Where it stands.
        position: Option<Position>,
    },
    /// There is no such function.
    UnknownFunction {
        /// The name as written.
        name: String,
        /// The functions there are.
        candidates: Vec<String>,
        /// Where it stands.
        position: Option<Position>,
    },
    /// Two tables were given one name.
    DuplicateTable {
        /// The name.
        name: String,
    },
    /// An operator or function does not take values of these types.
    TypeMismatch {
        /// The expression.
        expression: String,
        /// Which types met, and where.
        message: String,
        /// Where it stands.
        position: Option<Position>,
    },
    /// The query contradicts itself: an aggregate in WHERE, a column that is neither grouped nor aggregated.
    Invalid {
        /// What is wrong.
        message: String,
        /// Where it stands.
        position: Option<Position>,
    },
    /// A value left the range of its type.
    Overflow {
        /// The expression that was evaluated.
        expression: String,
    },
    /// A row was divided by zero.
    DivisionByZero {
        /// The expression that was evaluated.
        expression: String,
    },
    /// A value has no place in the type it was converted to, or an operation failed on it.
    Evaluation {
        /// The expression that was evaluated.
        expression: String,
        /// What was wrong with the value.
        message: String,
    },
    /// A table could not be read.
    Read(ReadError),
    /// The query needs more memory than it may have: see [`QueryPlan::with_quota`](crate::QueryPlan::with_quota).
    Quota(QuotaExceeded),
    /// The job was cancelled.
    Cancelled,
    /// The job's deadline passed.
    DeadlineExceeded,
    /// A fault of this program, not of the query.
    Internal {
        /// What happened.
        message: String,
    },
}

impl QueryError {
    /// Where in the text of the query it stands, where that is known.
    pub fn position(&self) -> Option<Position> {
        match self {
            Self::Parse { position, .. }
            | Self::Unsupported { position, .. }
            | Self::UnknownTable { position, .. }
            | Self::UnknownColumn { position, .. }
            | Self::UnknownFunction { position, .. }
            | Self::TypeMismatch { position, .. }
            | Self::Invalid { position, .. } => *position,
            Self::DuplicateTable { .. }
            | Self::Overflow { .. }
            | Self::DivisionByZero { .. }
            | Self::Evaluation { .. }
            | Self::Read(_)
            | Self::Quota(_)
            | Self::Cancelled
            | Self::DeadlineExceeded
            | Self::Internal { .. } => None,
        }
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at =
            |position: &Option<Position>| position.map(|place| format!(" at {place}")).unwrap_or_default();
        match self {
            Self::Parse { message, position } => {
                write!(f, "cannot parse the query{}: {message}", at(position))
            }
            Self::Unsupported { construct, position } => {
                write!(f, "{construct} is not supported{}", at(position))
            }
            Self::UnknownTable {
                name,
                candidates,
                position,
            } => {
                write!(f, "unknown table {name}{}", at(position))?;
                list(f, "the tables are", candidates)
            }
            Self::UnknownColumn {
                name,
                candidates,
                position,
            } => {
                write!(f, "unknown column {name}{}", at(position))?;
                list(f, "the columns are", candidates)
            }
            Self::UnknownFunction {
                name,
                candidates,
                position,
            } => {
                write!(f, "unknown function {name}{}", at(position))?;
                list(f, "the functions are", candidates)
            }
            Self::DuplicateTable { name } => write!(f, "two tables are named {name}"),
            Self::TypeMismatch {
                expression,
                message,
                position,
            } => {
                write!(f, "type mismatch in {expression}{}: {message}", at(position))
            }
            Self::Invalid { message, position } => write!(f, "{message}{}", at(position)),
            Self::Overflow { expression } => write!(f, "overflow in {expression}"),
            Self::DivisionByZero { expression } => write!(f, "division by zero in {expression}"),
            Self::Evaluation { expression, message } => write!(f, "cannot evaluate {expression}: {message}"),
            Self::Read(error) => error.fmt(f),
            Self::Quota(error) => error.fmt(f),
            Self::Cancelled => f.write_str("the query was cancelled"),
            Self::DeadlineExceeded => f.write_str("the query did not finish before its deadline"),
            Self::Internal { message } => write!(f, "internal error: {message}"),
        }
    }
}

impl Error for QueryError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Read(error) => error.source(),
            _ => None,
        }
    }
}

impl From<ReadError> for QueryError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<ExecError> for QueryError {
    fn from(error: ExecError) -> Self {
        match error {
            ExecError::Overflow { expression } => Self::Overflow { expression },
            ExecError::DivisionByZero { expression } => Self::DivisionByZero { expression },
            ExecError::Kernel { expression, source } => Self::Evaluation {
                expression,
                message: source.to_string(),
            },
            ExecError::Read(error) => Self::Read(error),
            ExecError::Quota(error) => Self::Quota(error),
        }
    }
}

impl From<JobError> for QueryError {
    fn from(error: JobError) -> Self {
        match error.kind {
            JobErrorKind::Cancelled => return Self::Cancelled,
            JobErrorKind::DeadlineExceeded => return Self::DeadlineExceeded,
            _ => {}
        }
        let message = error.to_string();
        match error.source.map(|source| source.downcast::<ExecError>()) {
            Some(Ok(exec)) => Self::from(*exec),
            Some(Err(source)) => Self::Internal {
                message: format!("{message}: {source}"),
            },
            None => Self::Internal { message },
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, intro: &str, names: &[String]) -> fmt::Result {
    const SHOWN: usize = 20;
    if names.is_empty() {
        return Ok(());
    }
    write!(
        f,
        "; {intro} {}",
        names
            .iter()
            .take(SHOWN)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", ")
    )?;
    if names.len() > SHOWN {
        write!(f, " and {} more", names.len() - SHOWN)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(sql: &str, column: u64) -> String {
        let place = Position { line: 1, column };
        place.mark(sql).expect("there is a first line")
    }

    #[test]
    fn of_a_long_line_only_what_is_near_is_shown() {
        let line = format!("{}!{}", "a".repeat(500), "b".repeat(500));
        let (a, b) = ("a".repeat(80), "b".repeat(79));
        let spaces = " ".repeat(83);
        assert_eq!(mark(&line, 501), format!("...{a}!{b}...\n{spaces}^"));
        assert!(mark(&line, 1).starts_with("aaa") && mark(&line, 1).ends_with("a...\n^"));
        assert!(mark(&line, 1_001).starts_with("...b") && !mark(&line, 1_001).contains("b..."));
    }

    #[test]
    fn a_line_that_the_dots_would_not_shorten_is_shown_whole() {
        let line = "c".repeat(166);
        assert_eq!(mark(&line, 84), format!("{line}\n{}^", " ".repeat(83)));
    }

    #[test]
    fn wide_and_tabbed_characters_keep_the_mark_below_its_place() {
        assert_eq!(mark("\t\u{4e2d}x", 3), "\t\u{4e2d}x\n\t  ^");
    }
}
