//! AND and OR in three-valued logic; the left side is first if the right can fail.

use arrow::array::{Array, BooleanArray, BooleanBufferBuilder};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::{and_kleene, or_kleene};
use arrow::error::ArrowError;

use crate::error::ExecError;
use crate::expr::node::Expr;
use crate::expr::source::{ColumnSource, Filtered};

#[derive(Clone, Copy)]
pub(super) enum Connective {
    And,
    Or,
}

impl Connective {
    pub(super) fn of(self, left: &BooleanArray, right: &BooleanArray) -> Result<BooleanArray, ArrowError> {
        match self {
            Self::And => and_kleene(left, right),
            Self::Or => or_kleene(left, right),
        }
    }

    /// The left value that decides the result.
    fn deciding(self) -> bool {
        matches!(self, Self::Or)
    }
}

/// `right` for the undecided rows of `left`; other rows get the deciding value.
pub(super) fn where_open(
    left: &BooleanArray,
    connective: Connective,
    source: &dyn ColumnSource,
    right: &Expr,
) -> Result<BooleanArray, ExecError> {
    let deciding = connective.deciding();
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
    let rows = Filtered::new(source, &BooleanArray::new(open.clone(), None), [right]);
    let values = right.evaluate_condition(&rows)?;
    Ok(spread(&values, &open, deciding))
}

/// `values` has one value per set bit of `rows`; other rows get `elsewhere`.
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
