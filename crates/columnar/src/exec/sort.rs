//! ORDER BY: rows by several keys, ties in input order.

use std::sync::Arc;

use arrow::array::{ArrayRef, UInt32Array};
use arrow::error::ArrowError;
use arrow::row::{RowConverter, SortField};

use crate::expr::canonical_floats;
use crate::memory::{MemoryPool, Reservation, encoded_bytes};
use crate::plan::SortKey;

/// `values` are those of `keys`. Equal rows follow `ties`, one value per row, or else their input
/// order.
pub(super) fn sorted_rows(
    keys: &[SortKey],
    values: &[ArrayRef],
    ties: Option<&[u64]>,
    limit: usize,
    pool: Option<&Arc<MemoryPool>>,
) -> Result<UInt32Array, ArrowError> {
    let mut reservation = Reservation::of(pool.cloned());
    let rows = values.first().map_or(0, |values| values.len());
    // A merge of runs takes half of the order again.
    reservation.grow(encoded_bytes(values) + rows * (size_of::<u32>() + size_of::<u32>() / 2))?;
    let field = |key: &SortKey| SortField::new_with_options(key.expr().data_type().clone(), key.options());
    let converter = RowConverter::new(keys.iter().map(field).collect())?;
    let values: Vec<ArrayRef> = values.iter().map(canonical_floats).collect();
    let rows = converter.convert_columns(&values)?;
    let count = u32::try_from(rows.num_rows())
        .map_err(|_| ArrowError::InvalidArgumentError("more than 2^32 rows to sort".to_owned()))?;
    let mut order: Vec<u32> = (0..count).collect();
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
