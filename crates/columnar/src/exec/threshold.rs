//! The worst row that an ORDER BY with a LIMIT still needs, as far as slots have found it.
//!
//! ```text
//!   slot 3: first keys of rows that passed ─┐   the best, as many       the last of them: a filter
//!   slot 7: first keys of rows that passed ─┴─► as rows are needed ──►  before the query's own,
//!                                                                       and over statistics
//! ```
//!
//! Rows that are worse by the first key than as many rows as the limit are not in the result,
//! whichever slots those rows are of. Rows with the same first key stay: later keys and the order
//! of the input decide among them. So the result does not depend on which slots ran first, and slots
//! may run in the order of their bounds.

use std::sync::{Arc, Mutex};

use arrow::array::{Array, ArrayRef, UInt32Array, new_empty_array, new_null_array};
use arrow::compute::{SortOptions, concat, sort_to_indices, take};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use pipeline_exec::lock;

use super::slots::SlotRange;
use crate::error::ExecError;
use crate::expr::{Expr, canonical_floats};
use crate::memory::with_own_strings;
use crate::plan::{Output, SelectPlan, SortKey};
use crate::table::TableSource;

/// Rows that a query needs at most for a threshold: merging their keys takes time with each chunk.
const NEEDED_MAX: usize = 4_096;

pub(super) struct Threshold {
    key: SortKey,
    needed: usize,
    table: Arc<dyn TableSource>,
    known: Mutex<Known>,
}

struct Known {
    /// The best first keys, in order, at most as many as rows are needed.
    best: ArrayRef,
    /// Once they are as many: a row is no worse than the last of them.
    condition: Option<Expr>,
}

impl Threshold {
    /// `None` if rows that are left out unseen would be missed: without a limit, with a large one, or
    /// where an expression can fail.
    pub(super) fn of(scan: &SelectPlan) -> Option<Self> {
        let Output::Rows { columns } = &scan.output else {
            return None;
        };
        let key = scan.order.first()?.clone();
        let mut expressions = columns
            .iter()
            .map(|(_, expr)| expr)
            .chain(scan.order.iter().map(SortKey::expr))
            .chain(&scan.filter);
        let needed = scan.rows_needed();
        // No value of no type is worse than another.
        let has_worse = *key.expr().data_type() != DataType::Null;
        let is_usable = (1..=NEEDED_MAX).contains(&needed) && !expressions.any(Expr::can_fail) && has_worse;
        is_usable.then(|| Self {
            needed,
            table: Arc::clone(&scan.table),
            known: Mutex::new(Known {
                best: new_empty_array(key.expr().data_type()),
                condition: None,
            }),
            key,
        })
    }

    /// The slots, those first whose statistics promise the best rows: the sooner the threshold is
    /// good, the more morsels are skipped.
    pub(super) fn best_first(&self, slots: Vec<SlotRange>) -> Vec<SlotRange> {
        let order = self.order_of_bounds(&slots);
        match order {
            Some(order) => order
                .values()
                .iter()
                .map(|&slot| slots[slot as usize].clone())
                .collect(),
            None => slots,
        }
    }

    /// `None` if statistics say nothing, or do not compare.
    fn order_of_bounds(&self, slots: &[SlotRange]) -> Option<UInt32Array> {
        let column = self.key.expr().as_column()?;
        let options = self.key.options();
        let bound = |slot: &SlotRange| {
            let known = self.table.statistics(slot.morsel, column);
            let bound = if options.descending {
                known.max()
            } else {
                known.min()
            };
            bound.cloned()
        };
        let bounds: Vec<Option<ArrayRef>> = slots.iter().map(bound).collect();
        bounds.iter().flatten().next()?;
        let unknown = new_null_array(self.key.expr().data_type(), 1);
        let bounds: Vec<&dyn Array> = bounds
            .iter()
            .map(|bound| bound.as_ref().unwrap_or(&unknown).as_ref())
            .collect();
        // Where nothing is known, anything may be.
        let options = SortOptions {
            nulls_first: true,
            ..options
        };
        sort_to_indices(&concat(&bounds).ok()?, Some(options), None).ok()
    }

    /// The first key.
    pub(super) fn key(&self) -> &Expr {
        self.key.expr()
    }

    /// What holds for rows that are still needed. `None` if that are all rows.
    pub(super) fn condition(&self) -> Option<Expr> {
        lock(&self.known).condition.clone()
    }

    /// Takes the first keys of rows that passed. Each row is offered once.
    pub(super) fn offer(&self, keys: &ArrayRef) -> Result<(), ExecError> {
        self.merge(keys).map_err(|error| ExecError::of("order by", error))
    }

    fn merge(&self, keys: &ArrayRef) -> Result<(), ArrowError> {
        let mut known = lock(&self.known);
        let keys = canonical_floats(keys);
        let all = concat(&[known.best.as_ref(), keys.as_ref()])?;
        let order = sort_to_indices(&all, Some(self.key.options()), Some(self.needed))?;
        let best = with_own_strings(take(&all, &order, None)?);
        let worst = |best: &ArrayRef| (best.len() == self.needed).then(|| best.slice(self.needed - 1, 1));
        let (before, now) = (worst(&known.best), worst(&best));
        known.best = best;
        if now != before {
            known.condition = now.and_then(|worst| self.key.no_worse_than(self.key.expr().clone(), &worst));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, RecordBatch};
    use proptest::prelude::*;

    use super::super::morsel::Columns;
    use super::*;
    use crate::filter::Selection;
    use crate::table::MemoryTable;

    fn threshold(descending: bool, nulls_first: bool) -> Threshold {
        let batch = RecordBatch::try_from_iter_with_nullable([(
            "n",
            Arc::new(Int64Array::from(Vec::<i64>::new())) as ArrayRef,
            true,
        )]);
        let batch = batch.unwrap();
        let table = Arc::new(MemoryTable::try_new("t", batch.schema(), [batch]).unwrap());
        let n = Expr::column(0, table.schema().field(0));
        let columns = vec![("n".to_owned(), n.clone())];
        let scan = SelectPlan {
            limit: Some(1),
            order: vec![SortKey::new(n, descending, nulls_first).unwrap()],
            ..SelectPlan::new(table, Output::Rows { columns })
        };
        Threshold::of(&scan).unwrap()
    }

    fn one(value: Option<i64>) -> ArrayRef {
        Arc::new(Int64Array::from(vec![value]))
    }

    proptest! {
        #[test]
        fn rows_are_kept_unless_they_are_worse_than_some_offer(
            offers in proptest::collection::vec(proptest::option::weighted(0.8, -9i64..9), 1..6),
            rows in proptest::collection::vec(proptest::option::weighted(0.8, -12i64..12), 1..40),
            descending: bool,
            nulls_first: bool,
        ) {
            let threshold = threshold(descending, nulls_first);
            offers.iter().for_each(|&offer| threshold.offer(&one(offer)).unwrap());
            // Less is better.
            let place = |row: Option<i64>| match row {
                None if nulls_first => (0, 0),
                None => (2, 0),
                Some(number) => (1, if descending { -number } else { number }),
            };
            let best = offers.iter().map(|&offer| place(offer)).min().unwrap();
            let expected: Vec<bool> = rows.iter().map(|&row| place(row) <= best).collect();
            let columns: [ArrayRef; 1] = [Arc::new(Int64Array::from(rows.clone()))];
            let mut selection = Selection::all(rows.len());
            if let Some(condition) = threshold.condition() {
                let rows = Columns { rows: rows.len(), columns: &columns };
                selection.and(&condition.evaluate_condition(&rows).unwrap());
            }
            let kept: Vec<bool> = selection.mask().values().iter().collect();
            prop_assert_eq!(kept, expected);
        }
    }
}
