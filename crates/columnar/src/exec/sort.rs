//! ORDER BY: rows by several keys, ties in input order.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, UInt32Array};
use arrow::compute::{sort_to_indices, take_arrays};
use arrow::datatypes::{DataType, Field};
use arrow::error::ArrowError;
use arrow::row::{RowConverter, Rows, SortField};

use super::morsel::Columns;
use crate::error::ExecError;
use crate::expr::{Expr, canonical_floats};
use crate::filter::Selection;
use crate::memory::{MemoryPool, Reservation, copies_bytes, encoded_bytes};
use crate::plan::SortKey;

/// Rows for each row of the limit, from which the first key leaves rows out.
const ROWS_PER_NEEDED: usize = 4;

/// `values` are those of `keys`. Equal rows follow `ties`, one value per row, or else their input
/// order.
pub(super) fn sorted_rows(
    keys: &[SortKey],
    values: &[ArrayRef],
    ties: Option<&[u64]>,
    limit: usize,
    pool: Option<&Arc<MemoryPool>>,
) -> Result<UInt32Array, ExecError> {
    let fail = |error| ExecError::of("order by", error);
    let rows = values.first().map_or(0, |values| values.len());
    if limit > 0 && limit < rows / ROWS_PER_NEEDED {
        let kept = kept_by_first_key(&keys[0], &values[0], limit, pool)?;
        if kept.len() < rows {
            let mut reservation = Reservation::of(pool.cloned());
            reservation.grow(copies_bytes(values).map_err(fail)?)?;
            let values = take_arrays(values, &kept, None).map_err(fail)?;
            let tie = |&row: &u32| ties.map_or(u64::from(row), |ties| ties[row as usize]);
            let ties: Vec<u64> = kept.values().iter().map(tie).collect();
            let order = sorted_all(keys, &values, Some(&ties), limit, pool).map_err(fail)?;
            return Ok(order.values().iter().map(|&at| kept.value(at as usize)).collect());
        }
    }
    sorted_all(keys, values, ties, limit, pool).map_err(fail)
}

/// The rows that may be among the first `limit`, in input order. Other keys, perhaps long texts,
/// are looked at only in these.
pub(super) fn kept_by_first_key(
    key: &SortKey,
    values: &ArrayRef,
    limit: usize,
    pool: Option<&Arc<MemoryPool>>,
) -> Result<UInt32Array, ExecError> {
    let fail = |error| ExecError::of("order by", error);
    let rows = values.len();
    // Arrow sorts no values of no type. They are all equal.
    if *values.data_type() == DataType::Null {
        return Ok((0..rows as u32).collect());
    }
    let mut reservation = Reservation::of(pool.cloned());
    // Numbers with values, then the numbers that are kept.
    reservation.grow(rows * (2 * size_of::<u32>() + size_of::<(u32, u128)>()))?;
    let values = canonical_floats(values);
    let best = sort_to_indices(&values, Some(key.options()), Some(limit)).map_err(fail)?;
    let worst = values.slice(best.value(limit - 1) as usize, 1);
    let column = Expr::column(0, &Field::new("key", values.data_type().clone(), true));
    let mut selection = Selection::all(rows);
    if let Some(no_worse) = key.no_worse_than(column, &worst) {
        let columns = std::slice::from_ref(&values);
        selection.and(&no_worse.evaluate_condition(&Columns { rows, columns })?);
    }
    Ok(selection.mask().values().set_indices_u32().collect())
}

fn sorted_all(
    keys: &[SortKey],
    values: &[ArrayRef],
    ties: Option<&[u64]>,
    limit: usize,
    pool: Option<&Arc<MemoryPool>>,
) -> Result<UInt32Array, ArrowError> {
    let mut reservation = Reservation::of(pool.cloned());
    let rows = encoded(keys, values, &mut reservation)?;
    let mut order = numbers(&rows)?;
    let tie = |row: u32| ties.map_or(u64::from(row), |ties| ties[row as usize]);
    let compare = |&a: &u32, &b: &u32| {
        let by_key = rows.row(a as usize).cmp(&rows.row(b as usize));
        by_key.then_with(|| tie(a).cmp(&tie(b)))
    };
    if limit < order.len() {
        if limit > 0 {
            order.select_nth_unstable_by(limit - 1, compare);
        }
        order.truncate(limit);
    }
    // No two rows are equal. This sort merges sorted runs.
    order.sort_by(compare);
    Ok(UInt32Array::from(order))
}

/// Reserves the rows, and their numbers with half as much again for a merge of runs.
fn encoded(keys: &[SortKey], values: &[ArrayRef], reservation: &mut Reservation) -> Result<Rows, ArrowError> {
    let rows = values.first().map_or(0, |values| values.len());
    reservation.grow(encoded_bytes(values) + rows * (size_of::<u32>() + size_of::<u32>() / 2))?;
    let field = |key: &SortKey| SortField::new_with_options(key.expr().data_type().clone(), key.options());
    let converter = RowConverter::new(keys.iter().map(field).collect())?;
    let values: Vec<ArrayRef> = values.iter().map(canonical_floats).collect();
    converter.convert_columns(&values)
}

fn numbers(rows: &Rows) -> Result<Vec<u32>, ArrowError> {
    let count = u32::try_from(rows.num_rows())
        .map_err(|_| ArrowError::InvalidArgumentError("more than 2^32 rows to sort".to_owned()))?;
    Ok((0..count).collect())
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, StringArray};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_rows_are_those_of_the_whole_order(
            rows in proptest::collection::vec((proptest::option::of(0i64..6), "[ab]{0,2}", 0u64..50), 0..80),
            descending in any::<[bool; 2]>(),
            nulls_first in any::<bool>(),
            has_ties in any::<bool>(),
            limit in 0usize..20,
        ) {
            let values: [ArrayRef; 2] = [
                Arc::new(rows.iter().map(|row| row.0).collect::<Int64Array>()),
                Arc::new(rows.iter().map(|row| Some(&row.1)).collect::<StringArray>()),
            ];
            let key = |at: usize, data_type| {
                let expr = Expr::column(at, &Field::new("x", data_type, true));
                SortKey::new(expr, descending[at], nulls_first).unwrap()
            };
            let keys = [key(0, DataType::Int64), key(1, DataType::Utf8)];
            let ties: Vec<u64> = rows.iter().enumerate().map(|(at, row)| row.2 << 32 | at as u64).collect();
            let ties = has_ties.then_some(&*ties);
            let whole = sorted_rows(&keys, &values, ties, usize::MAX, None).unwrap();
            let first = sorted_rows(&keys, &values, ties, limit, None).unwrap();
            prop_assert_eq!(first.values(), &whole.values()[..limit.min(rows.len())]);
        }
    }
}
