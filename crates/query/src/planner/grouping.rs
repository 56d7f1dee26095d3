//! Plans a SELECT with groups: one grouping, or several sets and an order over all of them.

use std::sync::Arc;

use columnar::{Aggregate, Expr, GroupingSet, LevelPlan, MemoryTable, Output, SelectPlan, SortKey};
use sqlparser::ast;

use super::columns::Columns;
use super::group::GroupColumns;
use super::grouping_sets::GroupingSets;
use super::items::{OutputItem, plan_condition, plan_keys, plan_order};
use crate::error::QueryError;

struct PlannedSet {
    aggregates: Vec<Aggregate>,
    having: Option<Expr>,
    columns: Vec<(String, Expr)>,
    order: Vec<SortKey>,
}

/// `read` has the table, filter, offset and limit.
pub(super) fn plan_groups(
    read: SelectPlan,
    select: &ast::Select,
    group_by: &[ast::Expr],
    items: &[OutputItem<'_>],
    order: &[&ast::OrderByExpr],
    columns: &Columns,
) -> Result<Vec<LevelPlan>, QueryError> {
    let GroupingSets { keys, sets } = GroupingSets::of(group_by)?;
    let keys = plan_keys(&keys, items, columns)?;
    let mut planned = Vec::with_capacity(sets.len());
    for set in &sets {
        let groups = GroupColumns::new(columns, &keys, set)?;
        planned.push(plan_set(groups, select, items, order, columns)?);
    }
    if sets.len() > 1 {
        return Ok(levels(read, keys, sets, planned));
    }
    let PlannedSet {
        aggregates,
        having,
        columns,
        order,
    } = planned.remove(0);
    let output = Output::Groups {
        keys,
        aggregates,
        having,
        columns,
    };
    Ok(vec![
        SelectPlan {
            output,
            order,
            ..read
        }
        .into(),
    ])
}

fn plan_set(
    mut groups: GroupColumns<'_>,
    select: &ast::Select,
    items: &[OutputItem<'_>],
    order: &[&ast::OrderByExpr],
    columns: &Columns,
) -> Result<PlannedSet, QueryError> {
    let mut outputs = Vec::with_capacity(items.len());
    for item in items {
        outputs.push((item.name.clone(), item.plan(columns, &mut groups)?));
    }
    let having = match &select.having {
        Some(condition) => Some(plan_condition(condition, &mut groups)?),
        None => None,
    };
    let order = plan_order(order, &outputs, &mut groups)?;
    Ok(PlannedSet {
        aggregates: groups.into_aggregates(),
        having,
        columns: outputs,
        order,
    })
}

/// The groups of all sets, and if they have an order or a limit, a level above that sees to it.
fn levels(
    read: SelectPlan,
    keys: Vec<Expr>,
    sets: Vec<Vec<usize>>,
    planned: Vec<PlannedSet>,
) -> Vec<LevelPlan> {
    let first = &planned[0];
    // All sets were planned from the same text.
    let aggregates = first.aggregates.clone();
    let (width, order) = (first.columns.len(), first.order.clone());
    let fields = SelectPlan::group_fields(&keys, &aggregates).expect("keys were checked");
    let fields = fields.iter().enumerate();
    let columns = fields.map(|(at, field)| (field.name().clone(), Expr::column(at, field)));
    let output = Output::Groups {
        columns: columns.collect(),
        keys,
        aggregates,
        having: None,
    };
    let set = |(keys, planned): (Vec<usize>, PlannedSet)| {
        let hidden = planned.order.iter().enumerate();
        let hidden = hidden.map(|(at, key)| (format!("order {at}"), key.expr().clone()));
        GroupingSet {
            keys,
            having: planned.having,
            columns: planned.columns.into_iter().chain(hidden).collect(),
        }
    };
    let (offset, limit) = (read.offset, read.limit);
    let groups = LevelPlan {
        sets: sets.into_iter().zip(planned).map(set).collect(),
        select: SelectPlan {
            output,
            offset: 0,
            limit: None,
            ..read
        },
    };
    if order.is_empty() && offset == 0 && limit.is_none() {
        return vec![groups];
    }
    let schema = groups.schema();
    let column = |at: usize| Expr::column(at, schema.field(at));
    let columns = (0..width).map(|at| (schema.field(at).name().clone(), column(at)));
    let output = Output::Rows {
        columns: columns.collect(),
    };
    let key = |(at, key): (usize, SortKey)| {
        let key = key.with_expr(column(width + at));
        key.expect("a value of the same type was sorted")
    };
    let order = order.into_iter().enumerate().map(key).collect();
    let result = MemoryTable::try_new("sets", Arc::clone(&schema), []).expect("no batch has other types");
    let rows = SelectPlan {
        order,
        offset,
        limit,
        ..SelectPlan::new(Arc::new(result), output)
    };
    vec![groups, rows.into()]
}
