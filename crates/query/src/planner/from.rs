//! FROM: a table, a sub-query, or a name of WITH.
//!
//! ```text
//!   from t                                              the columns of t
//!   from (select a, b + 1 as c from t where a > 0)      expressions over t, and a filter
//!   from (select a, count(*) as c from t group by a)    the columns of a result: one more level
//! ```

use std::sync::Arc;

use columnar::{Expr, LevelPlan, MemoryTable, Output};
use sqlparser::ast::{self, Spanned, TableFactor};

use super::clause;
use super::columns::Columns;
use super::name::names_match;
use super::position::{Places, place};
use crate::catalog::Catalog;
use crate::error::QueryError;

/// Nested queries at most.
const DEPTH: usize = 32;
/// Parts of an expression that another query may repeat for each use of the column.
const PARTS: usize = 16;

/// The names that FROM may use: those of WITH hide tables, and later ones hide earlier ones.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    tables: &'a Catalog,
    with: Option<(&'a ast::Cte, &'a Scope<'a>)>,
    depth: usize,
}

pub(super) enum Source<'a> {
    Table(Columns),
    /// A query in FROM or of WITH, and the names that it may use.
    Query {
        query: &'a ast::Query,
        scope: Scope<'a>,
        called: &'a str,
    },
}

/// What a query reads.
pub(super) struct From {
    pub(super) columns: Columns,
    /// Of a sub-query that gave only expressions of its own table's rows.
    pub(super) filter: Option<Expr>,
    /// The plans whose result `columns` stand for, the first one over a table. None for a table.
    pub(super) below: Vec<LevelPlan>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(tables: &'a Catalog) -> Self {
        Self {
            tables,
            with: None,
            depth: 0,
        }
    }

    pub(super) fn with(&'a self, cte: &'a ast::Cte) -> Self {
        Self {
            with: Some((cte, self)),
            ..*self
        }
    }

    fn deeper(self, places: &Places) -> Result<Self, QueryError> {
        if self.depth == DEPTH {
            let construct = format!("a query nested more than {DEPTH} times");
            return Err(places.unsupported_as(&construct, "SELECT"));
        }
        Ok(Self {
            depth: self.depth + 1,
            ..self
        })
    }

    /// The query of a name of WITH, and the names that this query may use.
    fn query(&self, name: &ast::Ident) -> Option<(&'a ast::Query, Self)> {
        let mut with = self.with;
        while let Some((cte, before)) = with {
            if names_match(name, &cte.alias.name.value) {
                let names = Self {
                    with: before.with,
                    ..*self
                };
                return Some((&cte.query, names));
            }
            with = before.with;
        }
        None
    }
}

pub(super) fn find_source<'a>(
    select: &'a ast::Select,
    scope: &Scope<'a>,
    places: &Places,
) -> Result<Source<'a>, QueryError> {
    let source = match select.from.as_slice() {
        [] => return Err(places.unsupported_as("SELECT without FROM", "SELECT")),
        [source] => source,
        [_, second, ..] => {
            let position = place(second.relation.span());
            return Err(QueryError::Unsupported {
                construct: "more than one table in FROM".to_owned(),
                position,
            });
        }
    };
    if let Some(join) = source.joins.first() {
        let position = places.of_word("JOIN").or_else(|| place(join.relation.span()));
        return Err(QueryError::Unsupported {
            construct: "JOIN".to_owned(),
            position,
        });
    }
    clause::refuse_of_source(&source.relation, places)?;
    match &source.relation {
        TableFactor::Table { name, alias, .. } => named(name, alias.as_ref(), scope, places),
        TableFactor::Derived { subquery, alias, .. } => {
            let called = alias.as_ref().map_or("sub-query", |alias| &alias.name.value);
            Ok(Source::Query {
                query: subquery,
                scope: scope.deeper(places)?,
                called,
            })
        }
        other => {
            let construct = match other {
                TableFactor::NestedJoin { .. } => "a join in brackets",
                _ => "a table function",
            };
            let position = place(other.span()).or_else(|| places.after_word("FROM"));
            Err(QueryError::Unsupported {
                construct: construct.to_owned(),
                position,
            })
        }
    }
}

fn named<'a>(
    name: &'a ast::ObjectName,
    alias: Option<&'a ast::TableAlias>,
    scope: &Scope<'a>,
    places: &Places,
) -> Result<Source<'a>, QueryError> {
    let position = place(name.span());
    let [ast::ObjectNamePart::Identifier(ident)] = name.0.as_slice() else {
        return Err(QueryError::Unsupported {
            construct: format!("the qualified table name {name}"),
            position,
        });
    };
    let called = &alias.map_or(ident, |alias| &alias.name).value;
    if let Some((query, names)) = scope.query(ident) {
        return Ok(Source::Query {
            query,
            scope: names.deeper(places)?,
            called,
        });
    }
    let table = scope
        .tables
        .get(&ident.value)
        .ok_or_else(|| QueryError::UnknownTable {
            name: ident.value.clone(),
            candidates: scope.tables.names().map(str::to_owned).collect(),
            position,
        })?;
    Ok(Source::Table(Columns::of_table(Arc::clone(table), called)))
}

impl From {
    pub(super) fn table(columns: Columns) -> Self {
        Self {
            columns,
            filter: None,
            below: Vec::new(),
        }
    }

    /// `below` are the plans of a query.
    pub(super) fn result(mut below: Vec<LevelPlan>, called: &str) -> Self {
        let last = below.pop().expect("a query has a plan");
        if let (true, Output::Rows { columns }) = (is_repeated(&last), &last.select.output) {
            return Self {
                columns: Columns::new(Arc::clone(&last.select.table), called, columns.clone()),
                filter: last.select.filter,
                below,
            };
        }
        let schema = last.schema();
        below.push(last);
        let result = MemoryTable::try_new(called, schema, []).expect("no batch has other types");
        Self {
            columns: Columns::of_table(Arc::new(result), called),
            filter: None,
            below,
        }
    }
}

/// Whether the query above may compute the columns from the rows that this one reads.
fn is_repeated(LevelPlan { select: plan, .. }: &LevelPlan) -> bool {
    let Output::Rows { columns } = &plan.output else {
        return false;
    };
    let is_cut = plan.limit.is_some() || plan.offset > 0 || !plan.order.is_empty();
    !is_cut && columns.iter().all(|(_, value)| value.has_at_most(PARTS))
}
