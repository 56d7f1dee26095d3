//! Estimates before measurements: the rows that a condition keeps, and the cost of a row.
//!
//! They are the usual ones (Selinger et al., *Access Path Selection*, 1979). A range keeps the part
//! of the column's span that it covers.

use arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use arrow::compute::{cast, concat, max, min};
use arrow::datatypes::{DataType, Float64Type};

use crate::expr::{Comparison, Expr, Node, value_type};
use crate::table::{ColumnStatistics, TableSource};

const EQUAL: f64 = 0.05;
const RANGE: f64 = 1.0 / 3.0;
const LIKE: f64 = 0.1;
const NULL: f64 = 0.02;

pub(super) fn selectivity(condition: &Expr, table: &dyn TableSource) -> f64 {
    match condition.node() {
        Node::Literal(value) => f64::from(u8::from(value.is_valid(0) && value.as_boolean().value(0))),
        Node::And(left, right) => selectivity_of_both(selectivity(left, table), selectivity(right, table)),
        Node::Or(left, right) => {
            let (left, right) = (selectivity(left, table), selectivity(right, table));
            left + right - left * right
        }
        Node::Not(value) => 1.0 - selectivity(value, table),
        Node::IsNull { value, negated } => {
            let nulls = null_part(value, table).unwrap_or(NULL);
            if *negated { 1.0 - nulls } else { nulls }
        }
        Node::InList { list, .. } => (EQUAL * list.len() as f64).min(0.5),
        Node::Like { .. } => LIKE,
        Node::Compare { op, left, right } => match (left.literal_value(), right.literal_value()) {
            (None, Some(bound)) => comparison(*op, left, bound, table),
            (Some(bound), None) => comparison(op.swapped(), right, bound, table),
            _ if *op == Comparison::Equal => EQUAL,
            _ => RANGE,
        },
        Node::Column { .. } | Node::Cast(_) | Node::Arithmetic { .. } => 0.5,
    }
}

/// The halves of a range are not independent: `a > 2 and a < 4` keeps the overlap.
pub(super) fn selectivity_of_both(left: f64, right: f64) -> f64 {
    let overlap = left + right - 1.0;
    if overlap > 0.0 { overlap } else { left * right }
}

/// The cost of a row, in comparisons of two integers.
pub(crate) fn cost(expr: &Expr) -> f64 {
    let own = match expr.node() {
        Node::Column { .. } => match value_type(expr.data_type()) {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => 4.0,
            DataType::Decimal128(..) => 1.5,
            DataType::Decimal256(..) => 3.0,
            _ => 0.75,
        },
        Node::Literal(_) => 0.0,
        Node::Compare { .. } | Node::IsNull { .. } | Node::Not(_) => 0.25,
        Node::And(..) | Node::Or(..) => 0.1,
        Node::Cast(_) => 1.0,
        Node::Arithmetic { .. } if matches!(expr.data_type(), DataType::Decimal128(..)) => 4.0,
        Node::Arithmetic { .. } if matches!(expr.data_type(), DataType::Decimal256(..)) => 20.0,
        Node::Arithmetic { .. } => 1.0,
        Node::InList { list, value } => (cost(value) * list.len() as f64).min(20.0),
        Node::Like { .. } => 10.0,
    };
    let mut total = own;
    expr.node().for_each_child(|child| total += cost(child));
    total
}

fn comparison(op: Comparison, value: &Expr, bound: &ArrayRef, table: &dyn TableSource) -> f64 {
    match op {
        Comparison::Equal => return EQUAL,
        Comparison::NotEqual => return 1.0 - EQUAL,
        _ => {}
    }
    let below = value
        .as_column()
        .and_then(|column| part_below(column, bound, table))
        .unwrap_or(match op {
            Comparison::Less | Comparison::LessEqual => RANGE,
            _ => 1.0 - RANGE,
        });
    match op {
        Comparison::Less | Comparison::LessEqual => below,
        _ => 1.0 - below,
    }
}

/// The least and the greatest number of `column`. `None` unless every morsel knows its own.
pub(crate) fn span(column: usize, table: &dyn TableSource) -> Option<(f64, f64)> {
    let morsels = 0..table.morsels();
    let known: Vec<ColumnStatistics> = morsels.map(|morsel| table.statistics(morsel, column)).collect();
    let of = |bound: fn(&ColumnStatistics) -> Option<&ArrayRef>| {
        let bounds: Option<Vec<&dyn Array>> =
            known.iter().map(|known| Some(bound(known)?.as_ref())).collect();
        let bounds = numbers(&concat(&bounds?).ok()?)?;
        (bounds.null_count() == 0).then_some(bounds)
    };
    let (least, greatest) = (
        min(&of(ColumnStatistics::min)?)?,
        max(&of(ColumnStatistics::max)?)?,
    );
    // NaN spans nothing.
    (least <= greatest).then_some((least, greatest))
}

fn part_below(column: usize, bound: &ArrayRef, table: &dyn TableSource) -> Option<f64> {
    let bound = number(bound)?;
    let (low, high) = span(column, table)?;
    Some(if high > low {
        ((bound - low) / (high - low)).clamp(0.0, 1.0)
    } else {
        0.5
    })
}

fn null_part(value: &Expr, table: &dyn TableSource) -> Option<f64> {
    let column = value.as_column()?;
    let (mut nulls, mut rows) = (0, 0);
    for morsel in 0..table.morsels() {
        nulls += table.statistics(morsel, column).nulls()?;
        rows += table.rows(morsel);
    }
    (rows > 0).then(|| nulls as f64 / rows as f64)
}

fn number(value: &ArrayRef) -> Option<f64> {
    let number = numbers(value)?;
    number.is_valid(0).then(|| number.value(0))
}

fn numbers(values: &ArrayRef) -> Option<Float64Array> {
    let integers = match values.data_type() {
        DataType::Date32 => cast(values, &DataType::Int32).ok()?,
        DataType::Date64 | DataType::Timestamp(..) => cast(values, &DataType::Int64).ok()?,
        numeric if numeric.is_numeric() => values.clone(),
        _ => return None,
    };
    let floats = cast(&integers, &DataType::Float64).ok()?;
    Some(floats.as_primitive::<Float64Type>().clone())
}
