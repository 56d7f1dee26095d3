//! Whether a morsel can hold a row for which a condition is true, by its statistics alone.
//!
//! The answer may be a wrong *yes*, never a wrong *no*. A comparison of a column with a constant
//! tests the column's bounds: `x < c` can hold only if `min < c`. Bounds pass through the same
//! conversions as values; those that a comparison inserts keep the order.

use arrow::array::{Array, ArrayRef, AsArray};

use crate::error::ExecError;
use crate::expr::{ColumnSource, Comparison, Expr, Node};
use crate::table::{ColumnStatistics, TableSource};

pub(crate) fn may_hold(condition: &Expr, table: &dyn TableSource, morsel: usize) -> bool {
    let may = |condition: &Expr| may_hold(condition, table, morsel);
    match condition.node() {
        Node::And(left, right) => may(left) && may(right),
        Node::Or(left, right) => may(left) || may(right),
        Node::Literal(value) => value.is_valid(0) && value.as_boolean().value(0),
        Node::Compare { op, left, right } => match (left.literal_value(), right.literal_value()) {
            (None, Some(_)) => comparison_may_hold(*op, left, right, table, morsel),
            (Some(_), None) => comparison_may_hold(op.swapped(), right, left, table, morsel),
            _ => true,
        },
        Node::InList { value, list } => list.items().iter().any(|item| {
            comparison_may_hold(
                Comparison::Equal,
                value,
                &Expr::literal(item.clone()),
                table,
                morsel,
            )
        }),
        Node::IsNull { value, negated } => {
            match value.as_column().map(|column| table.statistics(morsel, column)) {
                Some(known) => match (known.nulls(), negated) {
                    (Some(nulls), false) => nulls > 0,
                    (Some(nulls), true) => nulls < table.rows(morsel),
                    (None, _) => true,
                },
                None => true,
            }
        }
        Node::Column { .. } | Node::Cast(_) | Node::Arithmetic { .. } | Node::Not(_) | Node::Like { .. } => {
            true
        }
    }
}

fn comparison_may_hold(
    op: Comparison,
    value: &Expr,
    constant: &Expr,
    table: &dyn TableSource,
    morsel: usize,
) -> bool {
    let Some(column) = bare_column(value) else {
        return true;
    };
    if constant
        .literal_value()
        .is_some_and(|constant| constant.is_null(0))
    {
        return false;
    }
    let known = table.statistics(morsel, column);
    if known.nulls() == Some(table.rows(morsel)) {
        return false;
    }
    // NaN is above every bound of a file, so an upper bound of floats proves nothing.
    let upper_is_known = !value.data_type().is_floating();
    let holds = |op, bound: Option<&ArrayRef>| bound_holds(op, value, constant, bound);
    let low_holds = |op| holds(op, known.min());
    let high_holds = |op| !upper_is_known || holds(op, known.max());
    match op {
        Comparison::Less | Comparison::LessEqual => low_holds(op),
        Comparison::Greater | Comparison::GreaterEqual => high_holds(op),
        Comparison::Equal => low_holds(Comparison::LessEqual) && high_holds(Comparison::GreaterEqual),
        Comparison::NotEqual => !upper_is_known || !all_equal(&known, value, constant),
    }
}

fn all_equal(known: &ColumnStatistics, value: &Expr, constant: &Expr) -> bool {
    let equals = |bound: Option<&ArrayRef>| {
        bound.is_some() && !bound_holds(Comparison::NotEqual, value, constant, bound)
    };
    equals(known.min()) && equals(known.max())
}

/// True if unknown.
fn bound_holds(op: Comparison, value: &Expr, constant: &Expr, bound: Option<&ArrayRef>) -> bool {
    let Some(bound) = bound else { return true };
    let Ok(comparison) = Expr::compare(op, value.clone(), constant.clone()) else {
        return true;
    };
    match comparison.evaluate_condition(&Bound(bound)) {
        Ok(truth) => truth.is_null(0) || truth.value(0),
        Err(_) => true,
    }
}

/// A row in which the only column has the value of a bound.
struct Bound<'a>(&'a ArrayRef);

impl ColumnSource for Bound<'_> {
    fn rows(&self) -> usize {
        1
    }

    fn column(&self, _index: usize) -> Result<ArrayRef, ExecError> {
        Ok(self.0.clone())
    }
}

fn bare_column(value: &Expr) -> Option<usize> {
    match value.node() {
        Node::Column { index, .. } => Some(*index),
        Node::Cast(inner) => bare_column(inner),
        _ => None,
    }
}
