//! One SQL statement, and what the server does with it.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    CloseCursor, ContextModifier, Declare, DeclareType, DiscardObject, Expr, FetchDirection, Query, Reset,
    Set, SetExpr, Statement, Value, ValueWithSpan,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion_pg_catalog::sql::PostgresCompatibilityParser;

use crate::complexity;
use crate::relations;
use crate::settings::Scope;
use crate::wire::SqlError;

/// Bytes of a statement that is parsed on the thread's own stack.
const BYTES_ON_OWN_STACK: usize = 1_000;

/// Number of INTERVALs and angle brackets in such a statement. The parser bounds the levels of
/// expressions, but not those of types and of INTERVAL behind INTERVAL.
const LEVELS_ON_OWN_STACK: usize = 10;

/// Bytes of the parser's stack for the deepest statement that is not refused. Memory is taken only
/// as far as it is used.
const STACK: usize = 64 << 20;

/// What a statement asks for. What is not here is refused.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Rows that DataFusion computes.
    Rows(Arc<Statement>),
    Set {
        name: String,
        value: String,
        scope: Scope,
    },
    /// Sets one parameter to its default, or all.
    Reset(Option<String>),
    Show(String),
    Begin,
    Commit,
    Rollback,
    Savepoint(String),
    RollbackTo(String),
    Release(String),
    Declare {
        cursor: String,
        query: Arc<Statement>,
    },
    Fetch {
        cursor: String,
        /// Number of rows; `None` for all.
        rows: Option<u64>,
    },
    /// Closes one cursor, or all.
    CloseCursor(Option<String>),
    /// Forgets one prepared statement, or all.
    Deallocate(Option<String>),
    /// DISCARD PLANS, SEQUENCES or TEMP: the server keeps none.
    DiscardCaches,
    /// UNLISTEN: the server has no channels.
    Unlisten,
    /// Forgets everything that the session has set.
    DiscardAll,
}

/// Reads the statements of `sql`.
///
/// # Errors
///
/// A syntax error, or a statement that is too long or too deep.
pub(crate) fn parse(sql: &str, parser: &PostgresCompatibilityParser) -> Result<Vec<Statement>, SqlError> {
    // A new stack takes 13 µs, and 3 µs for each page that is used.
    if sql.len() <= BYTES_ON_OWN_STACK && unbounded_levels(sql) <= LEVELS_ON_OWN_STACK {
        return parse_here(sql, parser);
    }
    stacker::grow(STACK, || parse_here(sql, parser))
}

/// An upper bound of the levels of types, and of INTERVALs behind each other.
fn unbounded_levels(sql: &str) -> usize {
    let intervals = sql.to_ascii_lowercase().matches("interval").count();
    intervals + sql.matches('<').count()
}

fn parse_here(sql: &str, parser: &PostgresCompatibilityParser) -> Result<Vec<Statement>, SqlError> {
    complexity::check(sql)?;
    let statements = parser.parse(sql);
    statements.map_err(|error| {
        // The compatible parser has lost the places; the plain one knows them.
        let plain = Parser::parse_sql(&PostgreSqlDialect {}, sql).err();
        let text = plain.unwrap_or(error).to_string();
        let text = text.strip_prefix("sql parser error: ").unwrap_or(&text);
        SqlError::new("42601", format!("syntax error: {text}"))
    })
}

/// Says what `statement` asks for.
///
/// # Errors
///
/// If it would write, is nothing that this server has, or reads too many tables.
pub(crate) fn action(statement: Statement) -> Result<Action, SqlError> {
    relations::check(&statement)?;
    let action = match statement {
        Statement::Query(query) => {
            only_reads(&query)?;
            Action::Rows(Arc::new(Statement::Query(query)))
        }
        Statement::Explain {
            statement: explained, ..
        } if !matches!(*explained, Statement::Query(_)) => return Err(writes(&explained)),
        statement @ (Statement::Explain { .. }
        | Statement::ExplainTable { .. }
        | Statement::ShowTables { .. }
        | Statement::ShowColumns { .. }
        | Statement::ShowFunctions { .. }) => Action::Rows(Arc::new(statement)),
        Statement::Set(set) => set_of(set)?,
        Statement::Reset(reset) => Action::Reset(match reset.reset {
            Reset::ALL => None,
            Reset::ConfigurationParameter(name) => Some(name.to_string().to_lowercase()),
        }),
        Statement::ShowVariable { variable } => {
            let words = variable.iter().map(|word| word.value.to_lowercase());
            Action::Show(words.collect::<Vec<_>>().join("."))
        }
        Statement::StartTransaction { .. } => Action::Begin,
        Statement::Commit { .. } => Action::Commit,
        Statement::Rollback { savepoint: None, .. } => Action::Rollback,
        Statement::Rollback {
            savepoint: Some(name),
            ..
        } => Action::RollbackTo(name.value),
        Statement::Savepoint { name } => Action::Savepoint(name.value),
        Statement::ReleaseSavepoint { name } => Action::Release(name.value),
        Statement::Declare { stmts } => declare(stmts)?,
        Statement::Fetch {
            name,
            direction,
            into: None,
            ..
        } => Action::Fetch {
            cursor: name.value,
            rows: rows_of(direction)?,
        },
        Statement::Close { cursor } => Action::CloseCursor(match cursor {
            CloseCursor::All => None,
            CloseCursor::Specific { name } => Some(name.value),
        }),
        Statement::Deallocate { name, .. } => {
            let all = name.quote_style.is_none() && name.value.eq_ignore_ascii_case("all");
            Action::Deallocate((!all).then_some(name.value))
        }
        Statement::UNLISTEN { .. } => Action::Unlisten,
        Statement::Discard { object_type } => match object_type {
            DiscardObject::ALL => Action::DiscardAll,
            DiscardObject::PLANS | DiscardObject::SEQUENCES | DiscardObject::TEMP => Action::DiscardCaches,
        },
        other => return Err(writes(&other)),
    };
    Ok(action)
}

/// What a client is told when all rows of a statement were sent.
pub(crate) fn tag_of(statement: &Statement) -> &'static str {
    match statement {
        Statement::Query(_) => "SELECT",
        Statement::Explain { .. } | Statement::ExplainTable { .. } => "EXPLAIN",
        _ => "SHOW",
    }
}

/// Refuses a query with a statement inside that writes, such as `WITH x AS (INSERT …)`.
fn only_reads(query: &Query) -> Result<(), SqlError> {
    if let Some(with) = &query.with {
        with.cte_tables
            .iter()
            .try_for_each(|table| only_reads(&table.query))?;
    }
    let mut parts = vec![query.body.as_ref()];
    while let Some(part) = parts.pop() {
        match part {
            SetExpr::Select(select) if select.into.is_some() => {
                return Err(SqlError::new(
                    "25006",
                    "cannot execute SELECT INTO: this server only reads",
                ));
            }
            SetExpr::Query(query) => only_reads(query)?,
            SetExpr::SetOperation { left, right, .. } => parts.extend([left.as_ref(), right.as_ref()]),
            SetExpr::Insert(statement)
            | SetExpr::Update(statement)
            | SetExpr::Delete(statement)
            | SetExpr::Merge(statement) => return Err(writes(statement)),
            SetExpr::Select(_) | SetExpr::Values(_) | SetExpr::Table(_) => {}
        }
    }
    Ok(())
}

fn writes(statement: &Statement) -> SqlError {
    let text = statement.to_string();
    let words = text.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    let words = words.split('(').next().unwrap_or_default().to_uppercase();
    let what = format!("cannot execute {words}: this server only reads");
    SqlError::new("25006", what)
}

fn set_of(set: Set) -> Result<Action, SqlError> {
    match set {
        Set::SingleAssignment {
            scope,
            variable,
            values,
            ..
        } => Ok(Action::Set {
            name: variable.to_string().to_lowercase().replace('"', ""),
            value: values.iter().map(value_of).collect::<Vec<_>>().join(", "),
            scope: scope_of(scope == Some(ContextModifier::Local)),
        }),
        Set::SetTimeZone { value, local } => Ok(Action::Set {
            name: "timezone".to_owned(),
            value: value_of(&value),
            scope: scope_of(local),
        }),
        // One isolation is there for every transaction, since nothing is written.
        Set::SetTransaction { .. } => Ok(Action::Set {
            name: "transaction".to_owned(),
            value: String::new(),
            scope: Scope::Transaction,
        }),
        Set::SetNames { charset_name, .. } => Ok(Action::Set {
            name: "client_encoding".to_owned(),
            value: charset_name.value,
            scope: Scope::Session,
        }),
        other => Err(SqlError::not_supported(format!("{other} is not supported"))),
    }
}

fn scope_of(is_local: bool) -> Scope {
    if is_local {
        Scope::Transaction
    } else {
        Scope::Session
    }
}

/// A value without its quotes.
fn value_of(value: &Expr) -> String {
    match value {
        Expr::Value(ValueWithSpan {
            value: Value::SingleQuotedString(text) | Value::DoubleQuotedString(text),
            ..
        }) => text.clone(),
        Expr::Identifier(name) => name.value.clone(),
        other => other.to_string(),
    }
}

fn declare(statements: Vec<Declare>) -> Result<Action, SqlError> {
    let [declared] = <[Declare; 1]>::try_from(statements)
        .map_err(|_| SqlError::not_supported("DECLARE of several cursors is not supported"))?;
    let cursor = declared.names.into_iter().next();
    match (cursor, declared.declare_type, declared.for_query) {
        (Some(cursor), Some(DeclareType::Cursor), Some(query)) => {
            if declared.binary == Some(true) {
                return Err(SqlError::not_supported("BINARY cursors are not supported"));
            }
            if declared.scroll == Some(true) {
                return Err(SqlError::not_supported(
                    "a cursor only goes forward: without SCROLL",
                ));
            }
            only_reads(&query)?;
            Ok(Action::Declare {
                cursor: cursor.value,
                query: Arc::new(Statement::Query(query)),
            })
        }
        _ => Err(SqlError::not_supported("DECLARE is supported for cursors only")),
    }
}

/// The number of rows that FETCH asks for; `None` for all.
fn rows_of(direction: FetchDirection) -> Result<Option<u64>, SqlError> {
    let number = |limit: ValueWithSpan| {
        let text = limit.to_string();
        text.parse::<u64>().map_err(|_| {
            SqlError::new(
                "22023",
                format!("FETCH takes a number of rows from 0, not {text}"),
            )
        })
    };
    match direction {
        FetchDirection::Next | FetchDirection::Forward { limit: None } => Ok(Some(1)),
        FetchDirection::Count { limit } | FetchDirection::Forward { limit: Some(limit) } => {
            number(limit).map(Some)
        }
        FetchDirection::All | FetchDirection::ForwardAll => Ok(None),
        other => {
            let what = format!("a cursor only goes forward, not {}", other.to_string().trim());
            Err(SqlError::new("55000", what))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(sql: &str) -> Result<Action, SqlError> {
        let mut statements = parse(sql, &PostgresCompatibilityParser::new())?;
        assert_eq!(statements.len(), 1, "{sql}");
        action(statements.remove(0))
    }

    #[test]
    fn statements_that_write_are_refused_by_name() {
        for (sql, words) in [
            ("insert into t values (1)", "INSERT INTO"),
            ("update t set a = 1", "UPDATE T"),
            ("delete from t", "DELETE FROM"),
            ("create table t (a int)", "CREATE TABLE"),
            ("create table t as select 1", "CREATE TABLE"),
            ("create view v as select 1", "CREATE VIEW"),
            ("create schema s", "CREATE SCHEMA"),
            ("drop table t", "DROP TABLE"),
            ("alter table t add column b int", "ALTER TABLE"),
            ("truncate t", "TRUNCATE"),
            ("copy t to stdout", "COPY T"),
            ("copy t from '/etc/passwd'", "COPY T"),
            ("copy (select 1) to 'x.csv'", "COPY"),
            ("select 1 into t", "SELECT INTO"),
            (
                "with x as (insert into t values (1) returning a) select * from x",
                "INSERT INTO",
            ),
            ("explain delete from t", "DELETE FROM"),
            ("explain analyze insert into t values (1)", "INSERT INTO"),
            ("(select 1 into t) union all select 2", "SELECT INTO"),
            ("vacuum", "VACUUM"),
            ("grant select on t to u", "GRANT SELECT"),
        ] {
            let error = one(sql).unwrap_err();
            assert_eq!(error.code, "25006", "{sql}: {error}");
            assert!(error.message.contains(words), "{sql}: {error}");
        }
    }

    #[test]
    fn statements_that_read_or_set_are_known() {
        for sql in [
            "select 1",
            "values (1), (2)",
            "with a as (select 1) select * from a",
            "explain select 1",
            "explain analyze select 1",
            "show tables",
        ] {
            assert!(matches!(one(sql), Ok(Action::Rows(_))), "{sql}");
        }
        let set = |sql| match one(sql) {
            Ok(Action::Set { name, value, scope }) => (name, value, scope),
            other => panic!("{sql}: {other:?}"),
        };
        assert_eq!(
            set("set windlass.class = 'batch'"),
            ("windlass.class".into(), "batch".into(), Scope::Session)
        );
        assert_eq!(
            set("set local statement_timeout to 100"),
            ("statement_timeout".into(), "100".into(), Scope::Transaction)
        );
        assert_eq!(
            set("set time zone 'UTC'"),
            ("timezone".into(), "UTC".into(), Scope::Session)
        );
        assert!(matches!(one("show windlass.class"), Ok(Action::Show(name)) if name == "windlass.class"));
        assert!(matches!(one("begin"), Ok(Action::Begin)));
        assert!(matches!(one("end"), Ok(Action::Commit)));
        assert!(matches!(one("discard all"), Ok(Action::DiscardAll)));
        assert!(matches!(one("deallocate all"), Ok(Action::Deallocate(None))));
    }

    #[test]
    fn cursors_go_forward() {
        assert!(
            matches!(one("declare c cursor for select 1"), Ok(Action::Declare { cursor, .. }) if cursor == "c")
        );
        let rows = |sql| match one(sql) {
            Ok(Action::Fetch { rows, .. }) => Ok(rows),
            Ok(other) => panic!("{sql}: {other:?}"),
            Err(error) => Err(error.code),
        };
        assert_eq!(rows("fetch 5 from c"), Ok(Some(5)));
        assert_eq!(rows("fetch next from c"), Ok(Some(1)));
        assert_eq!(rows("fetch all from c"), Ok(None));
        assert_eq!(rows("fetch forward 3 from c"), Ok(Some(3)));
        assert_eq!(rows("fetch prior from c"), Err("55000"));
        assert_eq!(
            one("declare c cursor for select 1 into t").unwrap_err().code,
            "25006"
        );
    }

    #[test]
    fn a_syntax_error_says_where() {
        let error = one("selec 1").unwrap_err();
        assert_eq!(error.code, "42601");
        assert!(error.message.contains("Line: 1"), "{error}");
    }
}
