//! The worst row that an ORDER BY with a LIMIT still needs, as far as slots have found it.
//!
//! ```text
//!   slot 3: its best rows, as many as the limit ─► the last one's first key ─┐ the better one
//!   slot 7: its best rows                       ─► the last one's first key ─┴─► a filter before
//!                                                     the query's own, and over statistics
//! ```
//!
//! Rows that are worse by the first key than as many rows as the limit are not in the result,
//! whichever slots those rows are of. Rows with the same first key stay: later keys and the order
//! of the input decide among them. So the result does not depend on which slots ran first.

use std::sync::{Arc, Mutex};

use arrow::array::{Array as _, ArrayRef, AsArray as _};
use pipeline_exec::lock;

use crate::expr::{Comparison, Expr};
use crate::filter::FilterPlan;
use crate::memory::with_own_strings;
use crate::plan::{Output, SelectPlan, SortKey};
use crate::table::TableSource;

pub(super) struct Threshold {
    key: SortKey,
    table: Arc<dyn TableSource>,
    known: Mutex<Option<Known>>,
}

struct Known {
    value: ArrayRef,
    /// Keeps the rows that are no worse.
    filter: Arc<FilterPlan>,
}

impl Threshold {
    /// `None` if rows that are left out unseen would be missed: without a limit, or where an
    /// expression can fail.
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
        let is_usable = scan.limit.is_some() && scan.rows_needed() > 0 && !expressions.any(Expr::can_fail);
        is_usable.then(|| Self {
            key,
            table: Arc::clone(&scan.table),
            known: Mutex::default(),
        })
    }

    /// The filter of rows that are still needed.
    pub(super) fn filter(&self) -> Option<Arc<FilterPlan>> {
        lock(&self.known).as_ref().map(|known| Arc::clone(&known.filter))
    }

    /// `worst` is the first key of a row, and as many rows as the limit are no worse.
    pub(super) fn offer(&self, worst: ArrayRef) {
        let Some(condition) = self.no_worse_than(&worst) else {
            return;
        };
        let mut known = lock(&self.known);
        let is_better = known
            .as_ref()
            .is_none_or(|known| self.is_better(&worst, &known.value));
        if is_better {
            let filter = FilterPlan::new(Some(&condition), self.table.as_ref());
            *known = Some(Known {
                value: with_own_strings(worst),
                filter: Arc::new(filter),
            });
        }
    }

    /// `None` if that are all rows.
    fn no_worse_than(&self, worst: &ArrayRef) -> Option<Expr> {
        let (key, options) = (self.key.expr().clone(), self.key.options());
        if worst.is_null(0) {
            return options.nulls_first.then(|| Expr::is_null(key));
        }
        let op = match options.descending {
            true => Comparison::GreaterEqual,
            false => Comparison::LessEqual,
        };
        // A type without comparisons has no threshold.
        let compared = Expr::compare(op, key.clone(), Expr::literal(worst.clone())).ok()?;
        match options.nulls_first {
            true => Expr::or(compared, Expr::is_null(key)).ok(),
            false => Some(compared),
        }
    }

    fn is_better(&self, new: &ArrayRef, old: &ArrayRef) -> bool {
        let options = self.key.options();
        match (new.is_null(0), old.is_null(0)) {
            (true, _) => return options.nulls_first && old.is_valid(0),
            (false, true) => return !options.nulls_first,
            (false, false) => {}
        }
        let op = match options.descending {
            true => Comparison::Greater,
            false => Comparison::Less,
        };
        let better = Expr::compare(op, Expr::literal(new.clone()), Expr::literal(old.clone()));
        let better = better.ok().and_then(|better| better.literal_value().cloned());
        better.is_some_and(|better| better.as_boolean().value(0))
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
            offers.iter().for_each(|&offer| threshold.offer(one(offer)));
            // Less is better.
            let place = |row: Option<i64>| match row {
                None if nulls_first => (0, 0),
                None => (2, 0),
                Some(number) => (1, if descending { -number } else { number }),
            };
            let best = offers.iter().map(|&offer| place(offer)).min().unwrap();
            let expected: Vec<bool> = rows.iter().map(|&row| place(row) <= best).collect();
            let columns: [ArrayRef; 1] = [Arc::new(Int64Array::from(rows.clone()))];
            let kept = match threshold.filter() {
                None => vec![true; rows.len()],
                Some(filter) => {
                    let rows = Columns { rows: rows.len(), columns: &columns };
                    let kept = filter.select(&rows, &filter.order(), Selection::all(rows.rows)).unwrap();
                    kept.mask().values().iter().collect()
                }
            };
            prop_assert_eq!(kept, expected);
        }
    }
}
