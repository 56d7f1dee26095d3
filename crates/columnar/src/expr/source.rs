//! Rows that expressions read, column by column.

use std::cell::RefCell;
use std::collections::BTreeMap;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::compute::{FilterBuilder, FilterPredicate};

use crate::error::ExecError;

/// Rows with columns on request.
pub(crate) trait ColumnSource {
    /// The number of rows.
    fn rows(&self) -> usize;

    /// All rows of the column at `index`. A repeated call is cheap.
    fn column(&self, index: usize) -> Result<ArrayRef, ExecError>;
}

/// The rows of a source that pass a filter.
pub(crate) struct Filtered<'a> {
    source: &'a dyn ColumnSource,
    predicate: FilterPredicate,
    columns: RefCell<BTreeMap<usize, ArrayRef>>,
}

impl<'a> Filtered<'a> {
    /// The rows of `source` where `keep` is true.
    pub(crate) fn new(source: &'a dyn ColumnSource, keep: &BooleanArray) -> Self {
        let predicate = FilterBuilder::new(keep).optimize().build();
        Self {
            source,
            predicate,
            columns: RefCell::default(),
        }
    }
}

impl ColumnSource for Filtered<'_> {
    fn rows(&self) -> usize {
        self.predicate.count()
    }

    fn column(&self, index: usize) -> Result<ArrayRef, ExecError> {
        if let Some(column) = self.columns.borrow().get(&index) {
            return Ok(column.clone());
        }
        let whole = self.source.column(index)?;
        let kept = self
            .predicate
            .filter(&whole)
            .map_err(|error| ExecError::of(format!("column {index}"), error))?;
        self.columns.borrow_mut().insert(index, kept.clone());
        Ok(kept)
    }
}
