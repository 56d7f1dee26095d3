//! A morsel whose columns are arrays already when it is opened: a parsed piece of CSV, generated rows.

use arrow::array::ArrayRef;
use columnar::{MorselReader, ReadError};

/// Gives out the columns of a projection.
pub(super) struct ReadyColumns {
    /// By column, ascending.
    columns: Vec<(usize, ArrayRef)>,
}

impl ReadyColumns {
    /// The columns of `projection`, which is ascending, and their values in the same order.
    pub(super) fn new(projection: &[usize], values: impl IntoIterator<Item = ArrayRef>) -> Self {
        Self {
            columns: projection.iter().copied().zip(values).collect(),
        }
    }
}

impl MorselReader for ReadyColumns {
    fn column(&mut self, column: usize) -> Result<ArrayRef, ReadError> {
        let found = self.columns.binary_search_by_key(&column, |(index, _)| *index);
        let at = found.expect("only columns of the projection are asked for");
        Ok(self.columns[at].1.clone())
    }
}
