//! The filter of a slot, before or while its chunks are collected.
//!
//! A chunk is filtered when it is collected. The chunks of a stored morsel are all filtered before, a
//! step after the other, since rows that pass often lie together, as in a file in the order of time:
//! later steps and outputs then read their columns where rows are left.
//!
//! ```text
//!   chunks               │ 0 │ 1 │ 2 │ 3 │ 4 │ 5 │ 6 │
//!   counter = 62         │   │   │ x │ x │ x │   │   │     columns read from here on: chunks 2 .. 5
//!   url <> ''            │   │   │   │ x │ x │   │   │                                        3 .. 5
//! ```

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;

use super::morsel::{Chunk, Morsel};
use crate::error::ExecError;
use crate::expr::ColumnSource as _;
use crate::filter::{FilterPlan, Selection};

/// Rows for each one left, above which those left are few.
const FEW: usize = 16;

/// The same where a further step reads them: it would compare codes of all rows, several at once.
const FEW_FOR_A_STEP: usize = 64;

pub(super) struct SlotFilter<'a> {
    plan: &'a FilterPlan,
    order: Vec<usize>,
    /// Of the chunks to come, if they were filtered ahead.
    ahead: RefCell<VecDeque<Selection>>,
}

impl<'a> SlotFilter<'a> {
    pub(super) fn new(plan: &'a FilterPlan) -> Self {
        Self {
            order: plan.next_order(),
            plan,
            ahead: RefCell::default(),
        }
    }

    /// Filters all chunks of `rows`, which have to be collected in this order. After a cancellation it
    /// leaves them as they are.
    pub(super) fn look_ahead(
        &self,
        morsel: &Morsel<'_>,
        rows: Range<usize>,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<(), ExecError> {
        if self.order.is_empty() {
            return Ok(());
        }
        let chunks: Vec<Chunk<'_, '_>> = morsel.chunks(rows.clone()).collect();
        let mut ahead: VecDeque<Selection> =
            chunks.iter().map(|chunk| Selection::all(chunk.rows())).collect();
        for (place, &step) in self.order.iter().enumerate() {
            for (chunk, selection) in chunks.iter().zip(&mut ahead) {
                if is_cancelled() {
                    return Ok(());
                }
                self.plan.narrow(step, chunk, selection)?;
            }
            let is_left = |selection: &Selection| selection.count() > 0;
            let (Some(first), Some(last)) = (ahead.iter().position(is_left), ahead.iter().rposition(is_left))
            else {
                break;
            };
            morsel.need(chunks[first].range().start..chunks[last].range().end);
            let few = match place + 1 < self.order.len() {
                true => FEW_FOR_A_STEP,
                false => FEW,
            };
            let left: usize = ahead.iter().map(Selection::count).sum();
            if left * few < rows.len() {
                let mut rows = Vec::with_capacity(left);
                for (chunk, selection) in chunks.iter().zip(&ahead) {
                    let start = chunk.range().start;
                    rows.extend(selection.mask().values().set_indices().map(|row| start + row));
                }
                morsel.need_few(rows);
            }
        }
        self.ahead.replace(ahead);
        Ok(())
    }

    /// Those of the selected rows that pass.
    pub(super) fn select(&self, chunk: &Chunk<'_, '_>, selection: Selection) -> Result<Selection, ExecError> {
        match self.ahead.borrow_mut().pop_front() {
            Some(mut ahead) => {
                if !selection.is_all() {
                    ahead.and(&selection.mask());
                }
                Ok(ahead)
            }
            None => self.plan.select(chunk, &self.order, selection),
        }
    }
}
