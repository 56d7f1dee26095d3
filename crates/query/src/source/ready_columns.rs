//! A morsel that opens with ready arrays: parsed CSV, generated rows.

use arrow::array::{Array as _, ArrayRef};
use columnar::{MorselReader, ReadError};

pub(super) struct ReadyColumns {
    /// By column, ascending.
    columns: Vec<(usize, ArrayRef)>,
    bytes: usize,
}

impl ReadyColumns {
    /// The table keeps the arrays.
    pub(super) fn new(projection: &[usize], values: impl IntoIterator<Item = ArrayRef>) -> Self {
        Self {
            columns: projection.iter().copied().zip(values).collect(),
            bytes: 0,
        }
    }

    /// Only this reader has the arrays.
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
