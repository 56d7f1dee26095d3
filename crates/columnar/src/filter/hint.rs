//! A condition that only saves work: an operator above the scan drops the other rows anyway.
//!
//! It is left out while nearly all rows meet it, and tried again now and then, since the operator may
//! have found a narrower one.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::measure::Measured;
use super::plan::narrow;
use super::selection::Selection;
use crate::error::ExecError;
use crate::expr::{ColumnSource, Expr};

/// The fraction of rows from which a look at each row costs more than it saves.
const NEARLY_ALL: f64 = 0.9;

/// Chunks from one look at rows to the next, while nearly all rows meet the condition.
const TRIED_EVERY: usize = 16;

#[derive(Debug, Default)]
pub(crate) struct Hint {
    measured: Measured,
    chunks: AtomicUsize,
}

impl Hint {
    /// Drops rows for which `condition` is not true, if that pays.
    pub(crate) fn narrow(
        &self,
        condition: &Expr,
        rows: &dyn ColumnSource,
        selection: &mut Selection,
    ) -> Result<(), ExecError> {
        if selection.count() == 0 {
            return Ok(());
        }
        // Ordering: Relaxed. A count; it publishes nothing.
        let chunk = self.chunks.fetch_add(1, Ordering::Relaxed);
        let passes_all = || {
            let known = self.measured.selectivity_and_cost();
            known.is_some_and(|(selectivity, _)| selectivity > NEARLY_ALL)
        };
        if !chunk.is_multiple_of(TRIED_EVERY) && passes_all() {
            return Ok(());
        }
        narrow(condition, None, &self.measured, rows, selection)
    }
}
