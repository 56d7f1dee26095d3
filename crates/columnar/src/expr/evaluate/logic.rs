//! AND and OR in three-valued logic, with the left side first where the right can fail.

use arrow::array::{Array, BooleanArray, BooleanBufferBuilder};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::{and_kleene, or_kleene};

use super::{ColumnSource, Expr, Filtered};
use crate::error::ExecError;

pub(super) fn and(left: &Expr, right: &Expr, source: &dyn ColumnSource) -> Result<BooleanArray, ExecError> {
    let decided = left.evaluate_condition(source)?;
    let right_values = if right.can_fail() {
        where_open(&decided, right, false, source)?
    } else {
        right.evaluate_condition(source)?
    };
    and_kleene(&decided, &right_values).map_err(|error| ExecError::of(right, error))
}

pub(super) fn or(left: &Expr, right: &Expr, source: &dyn ColumnSource) -> Result<BooleanArray, ExecError> {
    let decided = left.evaluate_condition(source)?;
    let right_values = if right.can_fail() {
        where_open(&decided, right, true, source)?
    } else {
        right.evaluate_condition(source)?
    };
    or_kleene(&decided, &right_values).map_err(|error| ExecError::of(right, error))
}

/// `right` for the rows that `left` leaves open, and `deciding` for those where `left` has that value already.
fn where_open(
    left: &BooleanArray,
    right: &Expr,
    deciding: bool,
    source: &dyn ColumnSource,
) -> Result<BooleanArray, ExecError> {
    let same = if deciding {
        left.values().clone()
    } else {
        !left.values()
    };
    let decided = match left.nulls() {
        Some(nulls) => &same & nulls.inner(),
        None => same,
    };
    let open = !&decided;
    let open_rows = open.count_set_bits();
    if open_rows == left.len() {
        return right.evaluate_condition(source);
    }
    if open_rows == 0 {
        let values = if deciding {
            BooleanBuffer::new_set(left.len())
        } else {
            BooleanBuffer::new_unset(left.len())
        };
        return Ok(BooleanArray::new(values, None));
    }
    let rows = Filtered::new(source, &BooleanArray::new(open.clone(), None));
    let values = right.evaluate_condition(&rows)?;
    Ok(spread(&values, &open, deciding))
}

/// Puts `values`, one per set bit of `rows`, back into their rows; the other rows get `elsewhere`.
fn spread(values: &BooleanArray, rows: &BooleanBuffer, elsewhere: bool) -> BooleanArray {
    let fill = |initial: bool, bit: &dyn Fn(usize) -> bool| {
        let mut bits = BooleanBufferBuilder::new(rows.len());
        bits.append_n(rows.len(), initial);
        for (at, row) in rows.set_indices().enumerate() {
            bits.set_bit(row, bit(at));
        }
        bits.finish()
    };
    let nulls = values
        .nulls()
        .map(|nulls| NullBuffer::new(fill(true, &|at| nulls.is_valid(at))));
    BooleanArray::new(fill(elsewhere, &|at| values.value(at)), nulls)
}
