//! Groups of all shards in the order of the result.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use arrow::array::{Array, RecordBatch};
use arrow::compute::interleave;
use pipeline_exec::lock;

use super::groups::{GroupPlan, Shard};
use super::rows::{joined, slice};
use crate::error::ExecError;
use crate::memory::{Reservation, copies_bytes};
use crate::plan::SelectPlan;

/// The rows of a batch, about.
const BATCH_ROWS: usize = 16_384;

pub(super) struct Ordering {
    shards: Vec<Arc<Shard>>,
    /// The slots of each batch.
    ranges: Vec<Range<usize>>,
    batches: Vec<Mutex<Option<Batch>>>,
}

type Batch = (RecordBatch, Reservation);

impl Ordering {
    pub(super) fn new(plan: &GroupPlan, shards: Vec<Arc<Shard>>, slots: usize) -> Self {
        // A query without keys has its one group even without slots.
        let slots = slots.max(1);
        let mut groups = vec![0usize; slots];
        if plan.output().order().is_empty() && !plan.any_order() {
            for first in shards.iter().flat_map(|shard| &shard.firsts) {
                groups[slot_of(*first)] += 1;
            }
        }
        let mut ranges = Vec::new();
        let (mut start, mut rows) = (0, 0);
        for (slot, more) in groups.into_iter().enumerate() {
            rows += more;
            if rows >= BATCH_ROWS {
                ranges.push(start..slot + 1);
                (start, rows) = (slot + 1, 0);
            }
        }
        if rows > 0 {
            ranges.push(start..slots);
        }
        Self {
            batches: ranges.iter().map(|_| Mutex::new(None)).collect(),
            ranges,
            shards,
        }
    }

    /// 0 with ORDER BY, and where any order will do.
    pub(super) fn batches(&self) -> usize {
        self.ranges.len()
    }

    pub(super) fn run(&self, scan: &SelectPlan, plan: &GroupPlan, batch: usize) -> Result<(), ExecError> {
        if lock(&self.batches[batch]).is_none() {
            let made = in_first_order(scan, plan, &self.shards, &self.ranges[batch])?;
            lock(&self.batches[batch]).get_or_insert(made);
        }
        Ok(())
    }

    pub(super) fn free(&self) {
        for batch in &self.batches {
            let batch = lock(batch).take();
            drop(batch);
        }
    }

    /// Makes missing batches.
    pub(super) fn finish(&self, scan: &SelectPlan, plan: &GroupPlan) -> Result<Vec<RecordBatch>, ExecError> {
        if plan.any_order() {
            let made = self.shards.iter().filter(|shard| !shard.firsts.is_empty());
            let made = made.map(|shard| plan.output().batch(scan, shard.columns.clone()));
            return Ok(slice(made.collect::<Result<_, _>>()?, scan.offset, scan.limit));
        }
        if plan.output().order().is_empty() {
            (0..self.batches()).try_for_each(|batch| self.run(scan, plan, batch))?;
            // The result's owner accounts for its bytes.
            let batches = self.batches.iter().filter_map(|batch| lock(batch).take());
            let batches = batches.map(|(batch, _reservation)| batch).collect();
            return Ok(slice(batches, scan.offset, scan.limit));
        }
        let shards: Vec<&Arc<Shard>> = self
            .shards
            .iter()
            .filter(|shard| !shard.firsts.is_empty())
            .collect();
        if shards.is_empty() {
            return Ok(Vec::new());
        }
        let mut reservation = Reservation::of(plan.pool().cloned());
        if shards.len() > 1 {
            reservation.grow(shards.iter().map(|shard| 2 * shard.reservation.bytes()).sum())?;
        }
        let pieces: Vec<_> = shards.iter().map(|shard| shard.columns.clone()).collect();
        let firsts: Vec<u64> = shards.iter().flat_map(|shard| &shard.firsts).copied().collect();
        let mut columns = joined(&pieces).map_err(|error| ExecError::of("order by", error))?;
        if shards.len() > 1 {
            (columns, _) = plan.sorted(columns, firsts)?;
        }
        let batch = plan.output().batch(scan, columns)?;
        Ok(slice(vec![batch], scan.offset, scan.limit))
    }
}

fn in_first_order(
    scan: &SelectPlan,
    plan: &GroupPlan,
    shards: &[Arc<Shard>],
    slots: &Range<usize>,
) -> Result<Batch, ExecError> {
    let fail = |error| ExecError::of("group by", error);
    let of_shard = |shard: &Shard| {
        let before = |slot: usize| shard.firsts.partition_point(|&first| slot_of(first) < slot);
        before(slots.start)..before(slots.end)
    };
    let parts: Vec<(usize, Range<usize>)> = shards
        .iter()
        .map(|shard| of_shard(shard))
        .enumerate()
        .filter(|(_, groups)| !groups.is_empty())
        .collect();
    let rows: usize = parts.iter().map(|(_, groups)| groups.len()).sum();
    let mut bytes = 2 * rows * size_of::<(u64, (usize, usize))>();
    for (shard, groups) in &parts {
        let columns = shards[*shard].columns[..plan.output().width()].iter();
        let columns: Vec<_> = columns
            .map(|column| column.slice(groups.start, groups.len()))
            .collect();
        bytes += copies_bytes(&columns).map_err(fail)?;
    }
    let mut reservation = Reservation::of(plan.pool().cloned());
    reservation.grow(bytes)?;
    let mut order: Vec<(u64, (usize, usize))> = Vec::with_capacity(rows);
    for (part, (shard, groups)) in parts.iter().enumerate() {
        let firsts = &shards[*shard].firsts[groups.clone()];
        order.extend(
            firsts
                .iter()
                .zip(groups.clone())
                .map(|(&first, group)| (first, (part, group))),
        );
    }
    order.sort_unstable_by_key(|(first, _)| *first);
    let places: Vec<(usize, usize)> = order.into_iter().map(|(_, place)| place).collect();
    let column = |at: usize| {
        let columns: Vec<&dyn Array> = parts
            .iter()
            .map(|(shard, _)| shards[*shard].columns[at].as_ref())
            .collect();
        interleave(&columns, &places).map_err(fail)
    };
    let columns: Result<Vec<_>, ExecError> = (0..plan.output().width()).map(column).collect();
    let batch = plan.output().batch(scan, columns?)?;
    // The shards still own the strings of views.
    reservation.resize(copies_bytes(batch.columns()).map_err(fail)?)?;
    Ok((batch, reservation))
}

fn slot_of(first: u64) -> usize {
    (first >> 32) as usize
}
