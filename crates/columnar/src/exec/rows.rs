//! The output of rows that pass the filter, in input order or sorted.
//!
//! With an order, a slot sorts its rows and keeps what the limit needs, and
//! [`ScanStage::merge`](crate::ScanStage::merge) merges the sorted runs. What the slots have kept
//! shows which rows need no further look ([`super::threshold`]).

use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::{concat, take_arrays};
use arrow::error::ArrowError;

use super::collected::SlotRows;
use super::morsel::Chunk;
use super::slot_filter::SlotFilter;
use super::slots::SlotRange;
use super::sort::sorted_rows;
use super::threshold::Threshold;
use crate::error::ExecError;
use crate::expr::{ColumnSource, Expr, Filtered};
use crate::filter::{Hint, cost_per_row};
use crate::memory::{MemoryExceeded, MemoryPool, Reservation, RetainedSize, copies_bytes, width};
use crate::plan::{SelectPlan, SortKey};

/// Rows of a slot for each row that the limit needs, at which the slot sorts what it has.
const SORTED_AT: usize = 2;

pub(super) struct RowPlan {
    columns: Vec<Expr>,
    order: Vec<SortKey>,
    needed: usize,
    threshold: Option<Threshold>,
    hint: Hint,
    pool: Option<Arc<MemoryPool>>,
}

impl RowPlan {
    pub(super) fn new(scan: &SelectPlan) -> Self {
        Self {
            columns: scan
                .output
                .columns()
                .iter()
                .map(|(_, expr)| expr.clone())
                .collect(),
            order: scan.order.clone(),
            needed: scan.rows_needed(),
            threshold: Threshold::of(scan),
            hint: Hint::default(),
            pool: scan.memory_pool.clone(),
        }
    }

    /// The slots in the order in which they are best run.
    pub(super) fn in_turn(&self, slots: Vec<SlotRange>) -> Vec<SlotRange> {
        match &self.threshold {
            Some(threshold) => threshold.best_first(slots),
            None => slots,
        }
    }

    pub(super) fn threshold(&self) -> Option<&Threshold> {
        self.threshold.as_ref()
    }

    /// The columns that are read for rows which the filter may drop.
    pub(super) fn read_whole(&self) -> BTreeSet<usize> {
        let mut columns = BTreeSet::new();
        if self.threshold.is_some()
            && let Some(key) = self.order.first()
        {
            key.expr().collect_columns(&mut columns);
        }
        columns
    }

    pub(super) fn cost_per_row(&self) -> f64 {
        self.exprs().map(cost_per_row).sum()
    }

    pub(super) fn collect<'m, 't: 'm>(
        &self,
        filter: &SlotFilter<'_>,
        needed: Option<&Expr>,
        chunks: &mut dyn Iterator<Item = Chunk<'m, 't>>,
    ) -> Result<SlotRows, ExecError> {
        let mut slot = SlotRows::new(self.pool.as_ref());
        for chunk in chunks {
            // A sort can put the last row first.
            if self.order.is_empty() && slot.rows >= self.needed {
                break;
            }
            let mut selection = filter.select(&chunk, self.threshold.as_ref())?;
            if let Some(needed) = needed {
                self.hint.narrow(needed, &chunk, &mut selection)?;
            }
            if self.order.is_empty() {
                selection.keep_first(self.needed - slot.rows);
            }
            if selection.count() == 0 {
                continue;
            }
            slot.reservation
                .grow(selection.count() * self.row_bytes(&chunk, selection.is_all())?)?;
            let piece = if selection.is_all() {
                self.evaluate(&chunk)?
            } else {
                self.evaluate(&Filtered::new(&chunk, &selection.mask(), self.exprs()))?
            };
            slot.rows += selection.count();
            if let Some(threshold) = &self.threshold
                && !filter.has_offered()
            {
                threshold.offer(&piece[self.columns.len()])?;
            }
            slot.pieces.push(piece);
            if self.threshold.is_some() && slot.rows / SORTED_AT >= self.needed {
                self.sort_slot(&mut slot)?;
            }
        }
        if !self.order.is_empty() && !slot.pieces.is_empty() {
            self.sort_slot(&mut slot)?;
        }
        Ok(slot)
    }

    /// Keeps the rows that are needed, in order.
    fn sort_slot(&self, slot: &mut SlotRows) -> Result<(), ExecError> {
        let pieces = mem::take(&mut slot.pieces);
        let columns = self.sort(pieces, &mut slot.reservation)?;
        slot.rows = slot.rows.min(self.needed);
        slot.pieces = vec![columns];
        Ok(())
    }

    /// Columns are slices if `all` rows of a chunk are output, and are not held as codes.
    fn row_bytes(&self, chunk: &Chunk<'_, '_>, all: bool) -> Result<usize, ExecError> {
        let exprs = self.columns.iter().chain(self.order.iter().map(SortKey::expr));
        let mut bytes = 0;
        for expr in exprs {
            let is_slice = match expr.as_column() {
                Some(column) => all && chunk.codes(column)?.is_none(),
                None => false,
            };
            if !is_slice {
                bytes += width(expr.data_type()) + 1;
            }
        }
        Ok(bytes)
    }

    /// `slots` come in slot order.
    pub(super) fn finish(
        &self,
        scan: &SelectPlan,
        slots: impl Iterator<Item = SlotRows>,
    ) -> Result<Vec<RecordBatch>, ExecError> {
        let mut reservation = Reservation::of(self.pool.clone());
        let mut pieces: Vec<Vec<ArrayRef>> = Vec::new();
        for slot in slots {
            pieces.extend(slot.pieces);
            reservation.absorb(slot.reservation);
        }
        if !self.order.is_empty() && !pieces.is_empty() {
            pieces = vec![self.sort(pieces, &mut reservation)?];
        }
        let batches = pieces.into_iter().map(|columns| self.batch(scan, columns));
        let batches: Result<Vec<RecordBatch>, ExecError> = batches.collect();
        Ok(slice(batches?, scan.offset, scan.limit))
    }

    /// `columns` may end with the order's keys.
    pub(super) fn batch(
        &self,
        scan: &SelectPlan,
        mut columns: Vec<ArrayRef>,
    ) -> Result<RecordBatch, ExecError> {
        let rows = columns.first().map_or(0, |column| column.len());
        columns.truncate(self.columns.len());
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(scan.schema(), columns, &options);
        batch.map_err(|error| ExecError::of("select", error))
    }

    pub(super) fn order(&self) -> &[SortKey] {
        &self.order
    }

    pub(super) fn width(&self) -> usize {
        self.columns.len()
    }

    pub(super) fn needed(&self) -> usize {
        self.needed
    }

    pub(super) fn evaluate(&self, rows: &dyn ColumnSource) -> Result<Vec<ArrayRef>, ExecError> {
        self.exprs().map(|expr| expr.evaluate(rows)).collect()
    }

    /// The output columns, then the order's keys.
    pub(super) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.columns.iter().chain(self.order.iter().map(SortKey::expr))
    }

    /// `reservation` covers the pieces, then the sorted rows.
    fn sort(
        &self,
        pieces: Vec<Vec<ArrayRef>>,
        reservation: &mut Reservation,
    ) -> Result<Vec<ArrayRef>, ExecError> {
        let fail = |error| ExecError::of("order by", error);
        if pieces.len() > 1 {
            let copies: Result<usize, ArrowError> = pieces.iter().map(|piece| copies_bytes(piece)).sum();
            reservation.grow(copies.map_err(fail)?)?;
        }
        let columns = joined(&pieces).map_err(fail)?;
        drop(pieces);
        settle(reservation, &columns)?;
        let pool = self.pool.as_ref();
        let order = sorted_rows(
            &self.order,
            &columns[self.columns.len()..],
            None,
            self.needed,
            pool,
        )?;
        let rows = columns.first().map_or(0, |column| column.len()).max(1);
        let copied = copies_bytes(&columns).map_err(fail)? as u128 * order.len() as u128 / rows as u128;
        reservation.grow(copied as usize + order.get_buffer_memory_size())?;
        let sorted = take_arrays(&columns, &order, None).map_err(fail)?;
        drop((columns, order));
        settle(reservation, &sorted)?;
        Ok(sorted)
    }
}

fn settle(reservation: &mut Reservation, columns: &[ArrayRef]) -> Result<(), MemoryExceeded> {
    reservation.resize(reservation.bytes().min(RetainedSize::by(columns, &[]).own))
}

pub(super) fn joined(pieces: &[Vec<ArrayRef>]) -> Result<Vec<ArrayRef>, ArrowError> {
    if let [piece] = pieces {
        return Ok(piece.clone());
    }
    let columns = pieces.first().map_or(0, Vec::len);
    let column = |at: usize| {
        let parts: Vec<&dyn Array> = pieces.iter().map(|piece| piece[at].as_ref()).collect();
        concat(&parts)
    };
    (0..columns).map(column).collect()
}

/// Rows `offset .. offset + limit`, without empty batches.
pub(super) fn slice(batches: Vec<RecordBatch>, offset: usize, limit: Option<usize>) -> Vec<RecordBatch> {
    let mut skip = offset;
    let mut left = limit.unwrap_or(usize::MAX);
    let mut kept = Vec::with_capacity(batches.len());
    for batch in batches {
        let start = skip.min(batch.num_rows());
        skip -= start;
        let rows = left.min(batch.num_rows() - start);
        left -= rows;
        if rows > 0 {
            kept.push(batch.slice(start, rows));
        }
    }
    kept
}
