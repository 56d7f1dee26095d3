//! Plans SQL as a [`QueryPlan`]: SELECT over one table, or over another SELECT.
//!
//! ```text
//!   select a, sum(b * 2) from t where c > 1 group by a order by 2
//!          │  │      │               │          │           └─ a position names a column of the result
//!          │  │      └─ over rows ───┘          └─ key 0
//!          └──┴─ over groups: columns are key 0, aggregate 0
//! ```
//!
//! The planner refuses each construct outside its subset by name and place.

mod clause;
mod columns;
mod expression;
mod from;
mod group;
mod grouping;
mod grouping_sets;
mod items;
mod literal;
mod name;
mod position;
mod refusal;

use std::sync::Arc;

use columnar::{Expr, LevelPlan, Output, SelectPlan};
use sqlparser::ast::{self, GroupByExpr, SetExpr, Statement};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;

use crate::catalog::Catalog;
use crate::error::QueryError;
use crate::plan::QueryPlan;

use columns::Columns;
use from::{From, Scope, Source, find_source};
use grouping::plan_groups;
use items::{OutputItem, output_items, plan_condition, plan_order};
use position::{Places, parse_error};

/// Longer queries would overflow the stack below.
const OPERATORS: usize = 10_000;

/// Levels of brackets, of types in types, and of INTERVALs behind each other. The parser has a bound
/// for expressions alone.
const NESTED: usize = 60;

/// Levels of a query that is not refused: the parser stops behind 50 levels of expressions.
const LEVELS: usize = 50 + NESTED;

/// Bytes of stack for planning: a fixed part, one for each level of nesting, and one for each operator
/// of a chain. The parser takes up to 37 KB for a level, where it is not optimised.
const STACK: usize = 256 * 1024;
const STACK_PER_LEVEL: usize = 45 * 1024;
const STACK_PER_OPERATOR: usize = 6 * 1024;

/// Plans queries.
#[derive(Debug)]
pub struct QueryPlanner;

impl QueryPlanner {
    /// Checks `sql` against `tables`.
    ///
    /// # Errors
    ///
    /// The fault in the query, and its place.
    pub fn plan(sql: &str, tables: &Catalog) -> Result<QueryPlan, QueryError> {
        let places = Places::new(sql);
        if let Some(position) = places.operator_past(OPERATORS) {
            let construct = format!("a query of more than {OPERATORS} operators");
            return Err(QueryError::Unsupported { construct, position });
        }
        if let Some(position) = places.nested_past(NESTED) {
            let message = position::TOO_DEEP.to_owned();
            return Err(QueryError::Parse { message, position });
        }
        // The parser's tree is as deep as a chain of operators is long, and printing or dropping it
        // recurses. Each level needs an operator. A new stack takes 13 µs, and 3 µs for each page.
        let operators = places.operators();
        let stack = STACK + operators.min(LEVELS) * STACK_PER_LEVEL + operators * STACK_PER_OPERATOR;
        stacker::maybe_grow(stack, stack, || Self::plan_text(sql, tables, &places))
    }

    fn plan_text(sql: &str, tables: &Catalog, places: &Places) -> Result<QueryPlan, QueryError> {
        let mut statements =
            Parser::parse_sql(&GenericDialect {}, sql).map_err(|error| parse_error(&error))?;
        let statement = match (statements.pop(), statements.is_empty()) {
            (Some(statement), true) => statement,
            (Some(_), false) => {
                let position = places.after_word(";");
                return Err(QueryError::Unsupported {
                    construct: "more than one statement".to_owned(),
                    position,
                });
            }
            (None, _) => {
                return Err(QueryError::Parse {
                    message: "the query is empty".to_owned(),
                    position: None,
                });
            }
        };
        let Statement::Query(query) = statement else {
            let text = statement.to_string();
            let keyword = text.split_whitespace().next().unwrap_or_default().to_uppercase();
            let position = places.of_word(&keyword);
            return Err(QueryError::Unsupported {
                construct: format!("the statement {keyword}"),
                position,
            });
        };
        plan_query(&query, &Scope::new(tables), places).map(QueryPlan::new)
    }
}

/// The first plan reads a table, each later one the result of the one before.
fn plan_query(query: &ast::Query, scope: &Scope<'_>, places: &Places) -> Result<Vec<LevelPlan>, QueryError> {
    clause::refuse_of_query(query, places)?;
    plan_with(query, clause::names_of(query), scope, places)
}

/// The scope of the query gets one more name with each of `ctes`.
fn plan_with(
    query: &ast::Query,
    ctes: &[ast::Cte],
    scope: &Scope<'_>,
    places: &Places,
) -> Result<Vec<LevelPlan>, QueryError> {
    match ctes {
        [cte, later @ ..] => plan_with(query, later, &scope.with(cte), places),
        [] => plan_body(query, scope, places),
    }
}

fn plan_body(query: &ast::Query, scope: &Scope<'_>, places: &Places) -> Result<Vec<LevelPlan>, QueryError> {
    let select = match query.body.as_ref() {
        SetExpr::Select(select) => select,
        SetExpr::SetOperation { op, .. } => return Err(places.unsupported(&op.to_string())),
        SetExpr::Query(_) => return Err(places.unsupported_as("a query in brackets", "(")),
        SetExpr::Values(_) => return Err(places.unsupported("VALUES")),
        other => {
            let text = other.to_string();
            return Err(places.unsupported(text.split_whitespace().next().unwrap_or_default()));
        }
    };
    clause::refuse_of_select(select, places)?;
    let From {
        columns,
        filter,
        mut below,
    } = match find_source(select, scope, places)? {
        Source::Table(columns) => From::table(columns),
        Source::Query { query, scope, called } => From::result(plan_query(query, &scope, places)?, called),
    };
    let table = Arc::clone(columns.table());

    let filter = match &select.selection {
        Some(condition) => {
            let own = plan_condition(condition, &mut columns.rows("WHERE"))?;
            let both = Expr::all(filter.into_iter().chain([own]).collect());
            Some(both.map_err(|error| refusal::type_mismatch(error, condition))?)
        }
        None => filter,
    };
    let items = output_items(select, &columns, places)?;
    let order = clause::order_items(query, places)?;
    let group_by = match &select.group_by {
        GroupByExpr::Expressions(keys, modifiers) if modifiers.is_empty() => keys.as_slice(),
        GroupByExpr::Expressions(..) => return Err(places.unsupported_as("a modifier of GROUP BY", "GROUP")),
        GroupByExpr::All(_) => return Err(places.unsupported_as("GROUP BY ALL", "GROUP")),
    };
    let aggregates = items
        .iter()
        .any(|item| item.ast.is_some_and(expression::has_aggregate))
        || order.iter().any(|item| expression::has_aggregate(&item.expr));
    let (limit, offset) = clause::limit(query, places)?;

    let read = SelectPlan {
        filter,
        offset,
        limit,
        ..SelectPlan::new(table, Output::Rows { columns: Vec::new() })
    };
    if group_by.is_empty() && !aggregates && select.having.is_none() {
        below.push(plan_rows(read, &items, &order, &columns)?.into());
    } else {
        below.extend(plan_groups(read, select, group_by, &items, &order, &columns)?);
    }
    Ok(below)
}

/// `read` has the table, filter, offset and limit.
fn plan_rows(
    read: SelectPlan,
    items: &[OutputItem<'_>],
    order: &[&ast::OrderByExpr],
    columns: &Columns,
) -> Result<SelectPlan, QueryError> {
    let mut leaf = columns.rows("SELECT");
    let mut outputs = Vec::with_capacity(items.len());
    for item in items {
        outputs.push((item.name.clone(), item.plan(columns, &mut leaf)?));
    }
    let order = plan_order(order, &outputs, &mut columns.rows("ORDER BY"))?;
    Ok(SelectPlan {
        order,
        output: Output::Rows { columns: outputs },
        ..read
    })
}
