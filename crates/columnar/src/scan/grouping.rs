//! How a slot groups its rows: in a table of its own, or, where almost every key is new, not at all.
//!
//! ```text
//!   first rows ─► table ──► most keys met before? ── yes ─► table, to the end of the slot
//!                              │ no
//!                              ▼
//!        hot keys, keys without a word ─► table
//!        all other rows ────────────────► loose: by partitions, grouped when slots are merged
//! ```
//!
//! A table that finds almost nothing costs more than it saves: its groups would be looked up once more when slots are merged. But a key that many rows have stays
//! in it, for otherwise all of them would meet in one partition, and one worker would have them all.
//!
//! Which way a row goes cannot be seen in the result: rows are left loose only where the order of additions cannot be seen either, and groups know where
//! their first row was. So slots may learn from other slots, whichever ran first, and go on with a table that another one has left ([`super::tables`]).

use std::sync::{Arc, Mutex};

use arrow::array::{Array as _, ArrayRef, UInt32Array};

use super::collect::{LooseRows, SlotGroups};
use super::groups::{GroupPlan, States};
use super::tables::Table;
use crate::aggregate::{GroupIds, GroupKeys, RowKeys, partition_rows};
use crate::charged::ChargedVec;
use crate::error::ExecError;
use crate::expr::{ColumnSource, Expr, canonical_floats};
use crate::footprint::{compacts_bytes, without_strings_of_others};
use crate::lock::lock;
use crate::quota::Charge;
use crate::sort::take_rows;

/// So many rows tell how many keys are new.
const SAMPLE_ROWS: usize = 4_096;
/// From this part of the rows on that bring a new key, rows are left loose: a lookup in the slot's table that finds the key in fewer than
/// every fourth case does not pay.
const MOSTLY_NEW: f64 = 0.75;
/// A key is hot if one of so many rows has it.
const HOT_ONE_IN: usize = 64;
/// Where fewer than one row in so many has a key that is not hot, there is not much to leave loose.
const OTHERS_ONE_IN: usize = 8;
/// Each row is compared with every hot key.
const HOT_MAX: usize = 8;
/// Every so many slots one looks by itself, for data changes along a table.
const LOOKS_EVERY: usize = 8;

/// What slots know of the keys, from the last that looked.
#[derive(Debug, Default)]
pub(super) struct Sampled(Mutex<Option<Arc<Mode>>>);

/// What becomes of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mode {
    /// All are grouped.
    Grouped,
    /// Those with a word that is not among these are left loose.
    Loose { hot: Vec<u128> },
}

/// A slot's groups in the making.
pub(super) struct Grouping<'p> {
    plan: &'p GroupPlan,
    slot: usize,
    /// The first slot that had the table.
    begun_by: usize,
    /// Absent without keys.
    keys: Option<GroupKeys>,
    states: States,
    loose: Vec<LooseRows>,
    /// Not known before enough rows were seen.
    mode: Option<Arc<Mode>>,
    /// Rows of the slot so far.
    rows: usize,
    /// Groups that the last chunk's rows brought, and how many rows these were.
    new: usize,
    of_rows: usize,
    /// Memory that is kept from chunk to chunk.
    row_keys: RowKeys,
    /// For the keys of a chunk's rows, and for what says where they go.
    chunk: Charge,
}

impl<'p> Grouping<'p> {
    /// No rows yet of the slot number `slot`.
    pub(super) fn new(plan: &'p GroupPlan, slot: usize) -> Result<Self, ExecError> {
        let left = plan.tables().take_before(slot);
        let mode = if left.is_some() || !plan.may_be_loose() {
            Some(Arc::new(Mode::Grouped))
        } else {
            plan.sampled()
                .known()
                .filter(|_| !slot.is_multiple_of(LOOKS_EVERY))
        };
        let (begun_by, keys, states) = match left {
            Some(table) => (table.begun_by, Some(table.keys), table.states),
            None => {
                let (keys, states) = plan.no_groups()?;
                (slot, keys, states)
            }
        };
        Ok(Self {
            slot,
            begun_by,
            new: 0,
            of_rows: 0,
            keys,
            states,
            loose: Vec::new(),
            mode,
            rows: 0,
            row_keys: RowKeys::default(),
            chunk: Charge::of(plan.quota().cloned()),
            plan,
        })
    }

    /// Adds the rows that are left of a chunk.
    pub(super) fn add(&mut self, rows: &dyn ColumnSource) -> Result<(), ExecError> {
        let before = self.keys.as_ref().map_or(0, GroupKeys::len);
        self.add_rows(rows)?;
        self.new = self.keys.as_ref().map_or(0, GroupKeys::len) - before;
        self.of_rows = rows.rows();
        Ok(())
    }

    fn add_rows(&mut self, rows: &dyn ColumnSource) -> Result<(), ExecError> {
        let evaluate = |exprs: &[Expr]| -> Result<Vec<ArrayRef>, ExecError> {
            exprs.iter().map(|expr| expr.evaluate(rows)).collect()
        };
        let columns = evaluate(self.plan.keys())?;
        let arguments = evaluate(self.plan.aggregates().arguments())?;
        let count = rows.rows();
        assert!(
            u32::try_from(self.rows + count).is_ok(),
            "fewer than 2^32 rows in a slot"
        );
        let Some(encoding) = self.plan.encoding() else {
            let all = GroupIds::Single { rows: count };
            self.plan.aggregates().update(&mut self.states, &arguments, all)?;
            return Ok(());
        };
        let columns: Vec<ArrayRef> = columns.iter().map(canonical_floats).collect();
        let base = self.position_of(self.rows as u32);
        let position = |row: usize| base + row as u64;
        let is_loose = matches!(self.mode.as_deref(), Some(Mode::Loose { .. }));
        if !is_loose && self.groups().assign_numbers(&columns, position)? {
            self.update(&arguments)?;
            self.note(count);
            return Ok(());
        }
        self.charge_chunk(count * size_of::<(u128, u32)>())?;
        let mut keys = std::mem::take(&mut self.row_keys);
        encoding.read(&columns, count, &mut keys);
        match self.mode.clone().as_deref() {
            Some(Mode::Loose { hot }) => self.add_loose(&columns, &arguments, &keys, hot)?,
            _ => self.add_grouped(&columns, &arguments, &keys, position)?,
        }
        self.row_keys = keys;
        self.note(count);
        Ok(())
    }

    /// Notes that so many rows were added, and what they say of those to come.
    fn note(&mut self, count: usize) {
        self.rows += count;
        if self.mode.is_none() && self.rows >= SAMPLE_ROWS {
            self.mode = Some(self.plan.sampled().learn(self.look(count)));
        }
    }

    fn groups(&mut self) -> &mut GroupKeys {
        self.keys.as_mut().expect("a grouping by keys")
    }

    /// Adds the arguments of the rows that were looked up last.
    fn update(&mut self, arguments: &[ArrayRef]) -> Result<(), ExecError> {
        let len = self.groups().len();
        self.states.iter_mut().try_for_each(|state| state.resize(len))?;
        let groups = self.keys.as_mut().expect("a grouping by keys");
        let ids = groups.ids()?;
        Ok(self.plan.aggregates().update(&mut self.states, arguments, ids)?)
    }

    /// Groups all rows from now on.
    #[cfg(test)]
    pub(super) fn group_all(&mut self) {
        self.mode = Some(Arc::new(Mode::Grouped));
    }

    /// Leaves rows loose from now on, but for those of a hot key; a table of several slots has none.
    #[cfg(test)]
    pub(super) fn leave_loose(&mut self, hot: Option<u128>) {
        if self.begun_by < self.slot {
            return;
        }
        let hot = hot.into_iter().collect();
        self.mode = Some(Arc::new(Mode::Loose { hot }));
    }

    /// What the slot leaves in its cell: nothing, if a later slot goes on with its table.
    pub(super) fn finish(self) -> Result<Option<SlotGroups>, ExecError> {
        let Self {
            plan,
            slot,
            begun_by,
            keys,
            states,
            loose,
            mode,
            new,
            of_rows,
            ..
        } = self;
        let Some(keys) = keys else {
            return Ok(Some(SlotGroups {
                keys: None,
                states,
                loose,
            }));
        };
        let table = Table {
            keys,
            states,
            begun_by,
        };
        let is_grouped = mode.is_some_and(|mode| *mode == Mode::Grouped);
        if plan.may_share_tables() && is_grouped && table.goes_on(new, of_rows) {
            plan.tables().leave(slot, table);
            return Ok(None);
        }
        let groups = table.laid_out()?;
        if begun_by < slot {
            assert!(loose.is_empty(), "a table that went on had all rows of its slots");
            plan.tables().keep(groups);
            return Ok(None);
        }
        Ok(Some(SlotGroups { loose, ..groups }))
    }

    /// Where a row of this slot is in the table.
    fn position_of(&self, row: u32) -> u64 {
        (self.slot as u64) << 32 | u64::from(row)
    }

    /// Charges so many bytes for a chunk, unless those of an earlier chunk are enough.
    fn charge_chunk(&mut self, bytes: usize) -> Result<(), ExecError> {
        Ok(self.chunk.resize(bytes.max(self.chunk.bytes()))?)
    }

    fn add_grouped(
        &mut self,
        columns: &[ArrayRef],
        arguments: &[ArrayRef],
        keys: &RowKeys,
        position: impl Fn(usize) -> u64,
    ) -> Result<(), ExecError> {
        self.groups()
            .assign(columns, keys, position)
            .map_err(|error| ExecError::of("group by", error))?;
        self.update(arguments)
    }

    /// Leaves rows loose, but for those whose key is hot or has no word.
    fn add_loose(
        &mut self,
        columns: &[ArrayRef],
        arguments: &[ArrayRef],
        keys: &RowKeys,
        hot: &[u128],
    ) -> Result<(), ExecError> {
        let fail = |error| ExecError::of("group by", error);
        // Beside the keys, the number of each row, as it comes and by partitions, its hash, and a copy of a key that is grouped.
        self.charge_chunk(
            keys.words.len() * (size_of::<(u128, u32)>() + size_of::<(u32, u32, u64, u128)>()),
        )?;
        let mut long = keys.long.iter().copied().peekable();
        let mut grouped: Vec<u32> = Vec::new();
        let mut grouped_keys = RowKeys::default();
        let mut loose: Vec<u32> = Vec::with_capacity(keys.words.len());
        for (row, word) in (0..).zip(&keys.words) {
            let is_long = long.next_if_eq(&row).is_some();
            if is_long || hot.contains(word) {
                if is_long {
                    grouped_keys.long.push(grouped.len() as u32);
                }
                grouped.push(row);
                grouped_keys.words.push(*word);
            } else {
                loose.push(row);
            }
        }
        let base = self.position_of(self.rows as u32);
        if !grouped.is_empty() {
            let rows = UInt32Array::from(grouped);
            let columns = take_rows(columns, &rows).map_err(fail)?;
            let arguments = take_rows(arguments, &rows).map_err(fail)?;
            self.add_grouped(&columns, &arguments, &grouped_keys, |at| {
                base + u64::from(rows.value(at))
            })?;
        }
        if loose.is_empty() {
            return Ok(());
        }
        let word = |row: u32| keys.words[row as usize];
        let Some(encoding) = self.plan.encoding() else {
            unreachable!("there are keys")
        };
        let hash = |&row: &u32| encoding.partition_hash(word(row));
        let hashes: Vec<u64> = loose.iter().map(hash).collect();
        let quota = self.plan.quota();
        let (order, starts) = partition_rows(&hashes, quota)?;
        let order: Vec<u32> = order.iter().map(|&at| loose[at as usize]).collect();
        let mut charge = Charge::of(quota.cloned());
        // At most what all rows of the chunk take.
        charge.grow(compacts_bytes(arguments).map_err(fail)?)?;
        let words = ChargedVec::collect(quota, order.iter().map(|&row| word(row)))?;
        let rows = ChargedVec::collect(quota, order.iter().copied())?;
        let arguments = take_rows(arguments, &UInt32Array::from(order)).map_err(fail)?;
        // They stay, and what they were taken from does not.
        let arguments: Vec<ArrayRef> = arguments.into_iter().map(without_strings_of_others).collect();
        charge.resize(
            arguments
                .iter()
                .map(|values| values.get_buffer_memory_size())
                .sum(),
        )?;
        self.loose.push(LooseRows {
            base,
            words,
            rows,
            arguments,
            _charge: charge,
            starts,
        });
        Ok(())
    }

    /// What the slot's rows so far say, of which `count` were looked up last.
    fn look(&self, count: usize) -> Mode {
        let Some(keys) = &self.keys else {
            return Mode::Grouped;
        };
        let mut rows_of = vec![0usize; keys.len()];
        keys.groups()
            .iter()
            .for_each(|&group| rows_of[group as usize] += 1);
        let is_hot = |rows: usize| rows > 1 && rows * HOT_ONE_IN >= count;
        let mut hot: Vec<u32> = (0..rows_of.len() as u32)
            .filter(|&group| is_hot(rows_of[group as usize]))
            .collect();
        hot.sort_by_key(|&group| std::cmp::Reverse(rows_of[group as usize]));
        hot.truncate(HOT_MAX);
        let hot_rows: usize = hot.iter().map(|&group| rows_of[group as usize]).sum();
        let others = self.rows - hot_rows;
        let new = keys.len() - hot.len();
        if others * OTHERS_ONE_IN < self.rows || (new as f64) < MOSTLY_NEW * others as f64 {
            return Mode::Grouped;
        }
        Mode::Loose {
            hot: hot.into_iter().filter_map(|group| keys.word(group)).collect(),
        }
    }
}

impl Sampled {
    fn known(&self) -> Option<Arc<Mode>> {
        lock(&self.0).clone()
    }

    fn learn(&self, mode: Mode) -> Arc<Mode> {
        let mode = Arc::new(mode);
        *lock(&self.0) = Some(Arc::clone(&mode));
        mode
    }
}
