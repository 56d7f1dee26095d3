//! What a SELECT computes: its items, keys, conditions and order.

use columnar::{Expr, SortKey};
use sqlparser::ast::{self, SelectItem};

use super::clause;
use super::columns::Columns;
use super::expression::{Leaf, plan_expression};
use super::name;
use super::position::Places;
use super::refusal;
use crate::error::QueryError;

pub(super) struct OutputItem<'a> {
    pub(super) name: String,
    /// `None` for a column of a star.
    pub(super) ast: Option<&'a ast::Expr>,
    column: usize,
}

impl OutputItem<'_> {
    pub(super) fn plan(&self, columns: &Columns, leaf: &mut dyn Leaf) -> Result<Expr, QueryError> {
        match self.ast {
            Some(ast) => plan_expression(ast, leaf),
            None => leaf.column(columns.value(self.column), None),
        }
    }
}

pub(super) fn output_items<'a>(
    select: &'a ast::Select,
    columns: &Columns,
    places: &Places,
) -> Result<Vec<OutputItem<'a>>, QueryError> {
    let mut items = Vec::new();
    for item in &select.projection {
        match item {
            SelectItem::UnnamedExpr(expr) => {
                let name = columns.output_name(expr).unwrap_or_else(|| expr.to_string());
                items.push(OutputItem {
                    name,
                    ast: Some(expr),
                    column: 0,
                });
                continue;
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                items.push(OutputItem {
                    name: alias.value.clone(),
                    ast: Some(expr),
                    column: 0,
                });
                continue;
            }
            SelectItem::ExprWithAliases { .. } => {
                return Err(places.unsupported_as("a list of aliases", "AS"));
            }
            SelectItem::Wildcard(options) => clause::refuse_of_wildcard(options, places)?,
            SelectItem::QualifiedWildcard(kind, options) => {
                columns.check_qualifier(kind, item)?;
                clause::refuse_of_wildcard(options, places)?;
            }
        }
        items.extend(columns.names().enumerate().map(|(column, name)| OutputItem {
            name: name.to_owned(),
            ast: None,
            column,
        }));
    }
    Ok(items)
}

pub(super) fn plan_condition(condition: &ast::Expr, leaf: &mut dyn Leaf) -> Result<Expr, QueryError> {
    let planned = plan_expression(condition, leaf)?;
    Expr::condition(planned).map_err(|error| refusal::type_mismatch(error, condition))
}

pub(super) fn plan_keys(
    group_by: &[&ast::Expr],
    items: &[OutputItem<'_>],
    columns: &Columns,
) -> Result<Vec<Expr>, QueryError> {
    let mut keys = Vec::with_capacity(group_by.len());
    for &key in group_by {
        let mut leaf = columns.rows("GROUP BY");
        let item = match clause::position_in_result(key, items.len(), "GROUP BY")? {
            Some(at) => Some(&items[at]),
            None => match key {
                // A column of the table wins over a name of the result, as in PostgreSQL.
                ast::Expr::Identifier(name) if columns.find(name).is_none() => items
                    .iter()
                    .find(|item| item.ast.is_some() && name::names_match(name, &item.name)),
                _ => None,
            },
        };
        keys.push(match item {
            Some(item) => item.plan(columns, &mut leaf)?,
            None => plan_expression(key, &mut leaf)?,
        });
    }
    Ok(keys)
}

pub(super) fn plan_order(
    order: &[&ast::OrderByExpr],
    outputs: &[(String, Expr)],
    leaf: &mut dyn Leaf,
) -> Result<Vec<SortKey>, QueryError> {
    let mut keys = Vec::with_capacity(order.len());
    for item in order {
        let named = match &item.expr {
            ast::Expr::Identifier(name) => outputs.iter().find(|(output, _)| name::names_match(name, output)),
            _ => None,
        };
        let expr = match clause::position_in_result(&item.expr, outputs.len(), "ORDER BY")? {
            Some(at) => outputs[at].1.clone(),
            None => match named {
                Some((_, expr)) => expr.clone(),
                None => plan_expression(&item.expr, leaf)?,
            },
        };
        let descending = item.options.asc == Some(false);
        // NULL is larger than every value, as in PostgreSQL.
        let nulls_first = item.options.nulls_first.unwrap_or(descending);
        let key = SortKey::new(expr, descending, nulls_first);
        keys.push(key.map_err(|error| refusal::type_mismatch(error, &item.expr))?);
    }
    Ok(keys)
}
