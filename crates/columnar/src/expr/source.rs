//! Rows that expressions read, column by column.

use std::cell::RefCell;
use std::collections::BTreeMap;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::compute::{FilterBuilder, FilterPredicate};

use crate::error::ExecError;

pub(crate) trait ColumnSource {
    fn rows(&self) -> usize;

    /// A repeated call is cheap.
    fn column(&self, index: usize) -> Result<ArrayRef, ExecError>;
}

pub(crate) struct Filtered<'a> {
    source: &'a dyn ColumnSource,
    predicate: FilterPredicate,
    columns: RefCell<BTreeMap<usize, ArrayRef>>,
}

impl<'a> Filtered<'a> {
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
