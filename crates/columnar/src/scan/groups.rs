//! The output of groups: aggregates of the rows that the filter lets through.
//!
//! Each slot groups its own rows; [`ScanStage::merge`](super::ScanStage::merge) merges the slots' groups in slot order, so that groups come in the order of
//! their first row and sums of floats are added in an order that no thread decides. Then HAVING, the output
//! expressions and the order run over the groups as they would over rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::DataType;

use super::collect::SlotGroups;
use super::{Output, Scan};
use crate::aggregate::{AggregatePlan, GroupIds, GroupKeys, KeyEncoding};
use crate::error::ExecError;
use crate::expr::{ColumnSource, Expr, Filtered};
use crate::filter::{FilterPlan, cost_per_row};
use crate::morsel::{Chunk, Columns};
use crate::quota::{Charge, Quota};

/// How rows become groups.
pub(super) struct GroupPlan {
    keys: Vec<Expr>,
    /// What the slots' keys share; absent without keys.
    encoding: Option<Arc<KeyEncoding>>,
    aggregates: AggregatePlan,
    quota: Option<Arc<Quota>>,
}

impl GroupPlan {
    pub(super) fn new(scan: &Scan) -> Self {
        let Output::Groups { keys, aggregates, .. } = &scan.output else {
            unreachable!("a plan of groups is made for an output of groups")
        };
        let plain = |key: &Expr| key.clone().plain().expect("a dictionary has values");
        let keys: Vec<Expr> = keys.iter().map(plain).collect();
        let encoding = (!keys.is_empty()).then(|| {
            let types: Vec<DataType> = keys.iter().map(|key| key.data_type().clone()).collect();
            // `Scan::group_fields` refused what cannot be encoded.
            Arc::new(KeyEncoding::new(&types).expect("keys of comparable types"))
        });
        Self {
            keys,
            encoding,
            aggregates: AggregatePlan::new(aggregates.clone()),
            quota: scan.quota.clone(),
        }
    }

    /// What it costs to add a row, by the estimate that orders filters.
    pub(super) fn cost_per_row(&self) -> f64 {
        let expressions = self.keys.iter().chain(self.aggregates.arguments());
        expressions.map(cost_per_row).sum::<f64>() + self.aggregates.states() as f64
    }

    /// The groups of a morsel's chunks.
    pub(super) fn collect<'m, 't: 'm>(
        &self,
        filter: &FilterPlan,
        order: &[usize],
        chunks: &mut dyn Iterator<Item = Chunk<'m, 't>>,
    ) -> Result<SlotGroups, ExecError> {
        let mut slot = self.empty()?;
        for chunk in chunks {
            let selection = filter.select(&chunk, order)?;
            if selection.count() == 0 {
                continue;
            }
            if selection.is_all() {
                self.add(&mut slot, &chunk)?;
            } else {
                self.add(&mut slot, &Filtered::new(&chunk, &selection.mask()))?;
            }
        }
        if let Some(keys) = &mut slot.keys {
            keys.forget_rows();
        }
        Ok(slot)
    }

    /// The result from the slots' groups, given in slot order.
    pub(super) fn finish(
        &self,
        scan: &Scan,
        mut slots: impl Iterator<Item = SlotGroups>,
    ) -> Result<Vec<RecordBatch>, ExecError> {
        let mut whole = slots.next().map_or_else(|| self.empty(), Ok)?;
        for slot in slots {
            let (map, groups) = match (&mut whole.keys, &slot.keys) {
                (Some(keys), Some(more)) => (keys.merge(more)?, keys.len()),
                _ => (vec![0], 1),
            };
            for (state, more) in whole.states.iter_mut().zip(&slot.states) {
                state.resize(groups)?;
                state.merge(more.as_ref(), &map)?;
            }
        }
        let rows = whole.keys.as_ref().map_or(1, GroupKeys::len);
        let mut result = Charge::of(self.quota.clone());
        result.grow(self.result_bytes(scan, &whole, rows))?;
        let mut columns = match &whole.keys {
            Some(keys) => keys.columns().map_err(|error| ExecError::of("group by", error))?,
            None => Vec::new(),
        };
        columns.extend(self.aggregates.finish(&whole.states)?);
        // What the slots left is not needed any more.
        drop(whole);
        let Output::Groups { having, .. } = &scan.output else {
            unreachable!("a plan of groups is made for an output of groups")
        };
        scan.output.finish_columns(
            scan,
            having.as_ref(),
            &Columns {
                rows,
                columns: &columns,
            },
        )
    }

    /// An estimate of what the groups' columns will take: keys about what their encoding does, aggregates about what their states do.
    fn result_bytes(&self, scan: &Scan, whole: &SlotGroups, rows: usize) -> usize {
        let keys = whole.keys.as_ref().map_or(0, GroupKeys::bytes);
        let texts = whole.states.iter().map(|state| state.text_bytes());
        let row: usize = self.aggregates.result_types().map(width).sum();
        let columns = texts
            .fold(keys, usize::saturating_add)
            .saturating_add(row.saturating_mul(rows));
        // Sorted, they are there twice.
        if scan.order.is_empty() {
            columns
        } else {
            columns.saturating_mul(2)
        }
    }

    fn empty(&self) -> Result<SlotGroups, ExecError> {
        let quota = self.quota.as_ref();
        let keys = self
            .encoding
            .clone()
            .map(|encoding| GroupKeys::new(encoding, quota));
        let mut states = self.aggregates.new_states(quota);
        if keys.is_none() {
            for state in &mut states {
                state.resize(1)?;
            }
        }
        Ok(SlotGroups { keys, states })
    }

    fn add(&self, slot: &mut SlotGroups, rows: &dyn ColumnSource) -> Result<(), ExecError> {
        let evaluate = |exprs: &[Expr]| -> Result<Vec<ArrayRef>, ExecError> {
            exprs.iter().map(|expr| expr.evaluate(rows)).collect()
        };
        let columns = evaluate(&self.keys)?;
        let arguments = evaluate(self.aggregates.arguments())?;
        let ids = match &mut slot.keys {
            Some(keys) => {
                let ids = keys
                    .assign(&columns, rows.rows())
                    .map_err(|error| ExecError::of("group by", error))?;
                let GroupIds::PerRow { counts, .. } = ids else {
                    unreachable!("there are keys")
                };
                for state in &mut slot.states {
                    state.resize(counts.len())?;
                }
                ids
            }
            None => GroupIds::Single { rows: rows.rows() },
        };
        Ok(self.aggregates.update(&mut slot.states, &arguments, ids)?)
    }
}

/// Bytes of a value in a column of results; of a text those of a short one.
fn width(data_type: &DataType) -> usize {
    data_type.primitive_width().unwrap_or(16)
}
