//! The groups that may be output, as far as their aggregates tell.
//!
//! ```text
//!   states ─► aggregates ─► HAVING, ORDER BY with LIMIT ─► groups ─► their keys ─► output
//! ```
//!
//! A group's key is decoded from bytes. If HAVING or the first key of an order with a limit reads
//! aggregates only, it leaves out most groups before that.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, UInt32Array};
use arrow::compute::take;

use super::sort::kept_by_first_key;
use crate::error::ExecError;
use crate::expr::{ColumnSource, Expr};
use crate::filter::Selection;
use crate::memory::MemoryPool;
use crate::plan::{Output, SelectPlan, SortKey};

#[derive(Debug)]
pub(super) struct GroupChoice {
    /// The columns of keys, before those of aggregates.
    keys: usize,
    having: Option<Expr>,
    first_key: Option<SortKey>,
    /// Groups that ORDER BY with LIMIT needs.
    needed: usize,
}

/// Groups without their keys.
struct Aggregates<'a> {
    keys: usize,
    rows: usize,
    columns: &'a [ArrayRef],
}

impl GroupChoice {
    pub(super) fn new(scan: &SelectPlan) -> Self {
        let (keys, having) = match &scan.output {
            Output::Groups { keys, having, .. } => (keys.len(), having.as_ref()),
            Output::Rows { .. } => (0, None),
        };
        let reads_aggregates = |expr: &Expr| {
            let mut columns = BTreeSet::new();
            expr.collect_columns(&mut columns);
            columns.first().is_none_or(|&first| first >= keys)
        };
        let outputs = scan.output.columns().iter().map(|(_, expr)| expr);
        // An error must not depend on the groups that were left out.
        let can_fail = outputs
            .chain(scan.order.iter().map(SortKey::expr))
            .any(Expr::can_fail);
        let chosen_having = having.filter(|having| reads_aggregates(having)).cloned();
        let needed = scan.rows_needed();
        let first_key = scan.order.first().filter(|key| {
            let is_last = having.is_some() == chosen_having.is_some();
            is_last && !can_fail && needed > 0 && reads_aggregates(key.expr())
        });
        Self {
            keys,
            first_key: first_key.cloned(),
            having: chosen_having,
            needed,
        }
    }

    /// Whether HAVING is decided by the choice.
    pub(super) fn decides_having(&self) -> bool {
        self.having.is_some()
    }

    /// Ascending; `None` for all.
    pub(super) fn choose(
        &self,
        groups: usize,
        aggregates: &[ArrayRef],
        pool: Option<&Arc<MemoryPool>>,
    ) -> Result<Option<UInt32Array>, ExecError> {
        let rows = Aggregates {
            keys: self.keys,
            rows: groups,
            columns: aggregates,
        };
        let mut chosen: Option<UInt32Array> = None;
        if let Some(having) = &self.having {
            let mut selection = Selection::all(groups);
            selection.and(&having.evaluate_condition(&rows)?);
            if !selection.is_all() {
                let mask = selection.mask();
                chosen = Some(mask.values().set_indices_u32().collect());
            }
        }
        let count = chosen.as_ref().map_or(groups, |chosen| chosen.len());
        let Some(key) = self.first_key.as_ref().filter(|_| self.needed < count) else {
            return Ok(chosen);
        };
        let fail = |error| ExecError::of("order by", error);
        let mut values = key.expr().evaluate(&rows)?;
        if let Some(chosen) = &chosen {
            values = take(&values, chosen, None).map_err(fail)?;
        }
        let kept = kept_by_first_key(key, &values, self.needed, pool)?;
        let Some(chosen) = chosen else {
            return Ok(Some(kept));
        };
        let of_groups = kept.values().iter().map(|&at| chosen.value(at as usize));
        Ok(Some(of_groups.collect()))
    }
}

impl ColumnSource for Aggregates<'_> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn column(&self, index: usize) -> Result<ArrayRef, ExecError> {
        Ok(self.columns[index - self.keys].clone())
    }
}
