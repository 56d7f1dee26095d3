//! A morsel whose columns are arrays when it is opened: parsed CSV, generated rows.

use arrow::array::{Array as _, ArrayRef};
use columnar::{MorselReader, ReadError};

/// Gives out the columns of a projection.
pub(super) struct ReadyColumns {
    /// By column, ascending.
    columns: Vec<(usize, ArrayRef)>,
    /// Bytes of the columns, if they were made for this reader.
    bytes: usize,
}

impl ReadyColumns {
    /// The columns of `projection`, which ascends. The table keeps the arrays.
    pub(super) fn new(projection: &[usize], values: impl IntoIterator<Item = ArrayRef>) -> Self {
        Self {
            columns: projection.iter().copied().zip(values).collect(),
            bytes: 0,
        }
    }

    /// The same for arrays that only this reader has.
    pub(super) fn made(projection: &[usize], values: impl IntoIterator<Item = ArrayRef>) -> Self {
        let mut ready = Self::new(projection, values);
        ready.bytes = ready
            .columns
            .iter()
            .map(|(_, values)| values.get_buffer_memory_size())
            .sum();
        ready
    }
}

impl MorselReader for ReadyColumns {
    fn column(&mut self, column: usize) -> Result<ArrayRef, ReadError> {
        let found = self.columns.binary_search_by_key(&column, |(index, _)| *index);
        let at = found.expect("only columns of the projection are asked for");
        Ok(self.columns[at].1.clone())
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}
