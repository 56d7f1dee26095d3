//! ORDER BY: rows by several keys, ties in the order they came.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, UInt32Array};
use arrow::compute::{SortOptions, take};
use arrow::error::ArrowError;
use arrow::row::{RowConverter, SortField};

use crate::error::TypeError;
use crate::expr::{Expr, canonical_floats};
use crate::footprint::encoded_bytes;
use crate::quota::{Charge, Quota};

/// One key of an order.
///
/// ```
/// use arrow::datatypes::{DataType, Field};
/// use columnar::{Expr, SortKey};
///
/// let price = Expr::column(0, &Field::new("price", DataType::Int32, true));
/// let dearest_first = SortKey::new(price, true, false)?;
/// assert_eq!(dearest_first.to_string(), "price desc nulls last");
/// # Ok::<(), columnar::TypeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SortKey {
    expr: Expr,
    descending: bool,
    nulls_first: bool,
}

impl SortKey {
    /// Orders by the values of `expr`, the largest first if `descending`, NULLs at the end that is asked for.
    ///
    /// # Errors
    ///
    /// When values of the expression's type have no order.
    pub fn new(expr: Expr, descending: bool, nulls_first: bool) -> Result<Self, TypeError> {
        if !expr.is_comparable() {
            return Err(TypeError {
                message: format!("values of type {} have no order", expr.data_type()),
                expression: expr.to_string(),
            });
        }
        Ok(Self {
            expr: expr.plain()?,
            descending,
            nulls_first,
        })
    }

    pub(crate) fn expr(&self) -> &Expr {
        &self.expr
    }
}

impl fmt::Display for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = if self.descending { " desc" } else { "" };
        // Said only where it is not what PostgreSQL does unasked.
        let nulls = match (self.nulls_first, self.descending) {
            (true, false) => " nulls first",
            (false, true) => " nulls last",
            _ => "",
        };
        write!(f, "{}{direction}{nulls}", self.expr)
    }
}

/// The first `limit` rows in the order of `keys`, whose values are `values`: row numbers. Among equals the order is that of `ties`, one value
/// per row, or else that of the rows. What it takes meanwhile is charged to `quota`.
pub(crate) fn sorted_rows(
    keys: &[SortKey],
    values: &[ArrayRef],
    ties: Option<&[u64]>,
    limit: usize,
    quota: Option<&Arc<Quota>>,
) -> Result<UInt32Array, ArrowError> {
    let mut charge = Charge::of(quota.cloned());
    let rows = values.first().map_or(0, |values| values.len());
    // Merging sorted runs takes half of the order once more.
    charge.grow(encoded_bytes(values) + rows * (size_of::<u32>() + size_of::<u32>() / 2))?;
    let field = |key: &SortKey| {
        let options = SortOptions {
            descending: key.descending,
            nulls_first: key.nulls_first,
        };
        SortField::new_with_options(key.expr.data_type().clone(), options)
    };
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
    // No two rows are equal; and rows that come in sorted runs are merged, not sorted.
    order.sort_by(compare);
    Ok(UInt32Array::from(order))
}

/// The given rows of each column.
pub(crate) fn take_rows(columns: &[ArrayRef], rows: &UInt32Array) -> Result<Vec<ArrayRef>, ArrowError> {
    columns.iter().map(|column| take(column, rows, None)).collect()
}
