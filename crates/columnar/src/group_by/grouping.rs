//! How a slot groups its rows: in a table, or at the merge if almost every key is new.
//!
//! ```text
//!   first rows ─► table ──► most keys met before? ── yes ─► table, to the end of the slot
//!                              │ no
//!                              ▼
//!        heavy hitters, keys without a fixed-width form ─► table
//!        all other rows ─► passed through by partition, grouped when slots are merged
//! ```
//!
//! A table with mostly new keys does not pay, because merging looks up its groups again. A frequent
//! key stays in the table: otherwise one worker would merge all its rows.
//!
//! Rows pass through only where the order of additions does not matter, so the result never depends
//! on it. Slots may thus learn from other slots and take over their tables ([`super::hand_over`]).

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, UInt32Array};
use arrow::compute::{take, take_arrays};
use arrow::datatypes::{UInt32Type, UInt64Type};

use super::hand_over::OpenTable;
use super::heavy_hitters::Mode;
use super::keys::RowKeys;
use super::known_codes::KnownCodes;
use super::run::GroupBy;
use super::slot_groups::{PassThroughRows, SlotGroups};
use super::table::GroupTable;
use crate::aggregate::{GroupIds, States};
use crate::error::ExecError;
use crate::expr::{ColumnSource, Expr, canonical_floats};
use crate::memory::{Reservation, ReservedVec, compacts_bytes, with_own_strings};
use crate::narrow::widened;
use crate::partition::partition_rows;
use crate::table::Codes;

const SAMPLE_ROWS: usize = 4_096;
/// Slots per sample, because data changes along a table.
const LOOKS_EVERY: usize = 8;

pub(crate) struct Grouping<'p> {
    plan: &'p GroupBy,
    slot: usize,
    begun_by: usize,
    keys: Option<GroupTable>,
    states: States,
    passing: Vec<PassThroughRows>,
    /// `None` until the sample is complete.
    mode: Option<Arc<Mode>>,
    rows: usize,
    /// New groups of the last chunk, and its rows.
    new: usize,
    of_rows: usize,
    row_keys: RowKeys,
    known_codes: KnownCodes,
    chunk: Reservation,
}

impl<'p> Grouping<'p> {
    pub(crate) fn new(plan: &'p GroupBy, slot: usize) -> Result<Self, ExecError> {
        let left = plan.hand_over().take_before(slot);
        let mode = if left.is_some() || !plan.may_pass_through() {
            Some(Arc::new(Mode::Grouped))
        } else {
            plan.key_sample()
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
            passing: Vec::new(),
            mode,
            rows: 0,
            row_keys: RowKeys::default(),
            known_codes: KnownCodes::default(),
            chunk: Reservation::of(plan.pool().cloned()),
            plan,
        })
    }

    pub(crate) fn add(&mut self, rows: &dyn ColumnSource) -> Result<(), ExecError> {
        let before = self.keys.as_ref().map_or(0, GroupTable::len);
        self.add_rows(rows)?;
        self.new = self.keys.as_ref().map_or(0, GroupTable::len) - before;
        self.of_rows = rows.rows();
        Ok(())
    }

    fn add_rows(&mut self, rows: &dyn ColumnSource) -> Result<(), ExecError> {
        let arguments = self.plan.aggregates().arguments().iter();
        let count = rows.rows();
        assert!(
            u32::try_from(self.rows + count).is_ok(),
            "fewer than 2^32 rows in a slot"
        );
        let passes_through = matches!(self.mode.as_deref(), Some(Mode::PassThrough { .. }));
        let is_assigned = !passes_through && self.assign_codes(rows)?;
        // Rows that pass through are joined with those of other chunks, so all have one type.
        let arguments = arguments.map(|argument| match passes_through {
            true => argument.evaluate(rows),
            false => argument.evaluate_narrow(rows),
        });
        let arguments: Vec<ArrayRef> = arguments.collect::<Result<_, _>>()?;
        if is_assigned {
            self.update(&arguments)?;
            self.note(count);
            return Ok(());
        }
        let columns = self.plan.keys().iter().map(|key| key.evaluate(rows));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let Some(encoding) = self.plan.encoding() else {
            let all = GroupIds::Single { rows: count };
            self.plan.aggregates().update(&mut self.states, &arguments, all)?;
            return Ok(());
        };
        let columns: Vec<ArrayRef> = columns.iter().map(canonical_floats).collect();
        let places = match self.plan.places() {
            Some(column) => Some(rows.column(column)?),
            None => None,
        };
        let places = places.as_ref().map(|places| places.as_primitive::<UInt64Type>());
        let base = self.position_of(self.rows as u32);
        let position = |row: usize| places.map_or_else(|| base + row as u64, |places| places.value(row));
        if !passes_through && self.groups().assign_numbers(&columns, position)? {
            self.update(&arguments)?;
            self.note(count);
            return Ok(());
        }
        self.reserve_chunk(count * size_of::<(u128, u32)>())?;
        let mut keys = std::mem::take(&mut self.row_keys);
        encoding.read(&columns, count, &mut keys);
        match self.mode.clone().as_deref() {
            Some(Mode::PassThrough { heavy, .. }) => {
                self.add_passing_through(&columns, &arguments, &keys, heavy)?
            }
            _ => self.add_grouped(&columns, &arguments, &keys, position)?,
        }
        self.row_keys = keys;
        self.note(count);
        Ok(())
    }

    /// Finds the rows' groups if all keys are held as codes with few combinations.
    fn assign_codes(&mut self, rows: &dyn ColumnSource) -> Result<bool, ExecError> {
        let Some(encoding) = self.plan.encoding() else {
            return Ok(false);
        };
        let Some(keys) = KnownCodes::of(self.plan.keys(), rows)? else {
            return Ok(false);
        };
        let Some(bytes) = KnownCodes::bytes(&keys) else {
            return Ok(false);
        };
        self.reserve_chunk(bytes)?;
        let firsts = self.known_codes.take(&keys);
        if !firsts.is_empty() {
            let fail = |error| ExecError::of("group by", error);
            let picked = UInt32Array::from(firsts);
            let value = |(key, expr): (&Codes, &Expr)| -> Result<ArrayRef, ExecError> {
                let codes = take(key.rows(), &picked, None).map_err(fail)?;
                let values = take(key.values(), codes.as_primitive::<UInt32Type>(), None).map_err(fail)?;
                Ok(canonical_floats(&widened(values, expr.data_type())))
            };
            let columns = keys.iter().zip(self.plan.keys()).map(value);
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let mut row_keys = std::mem::take(&mut self.row_keys);
            encoding.read(&columns, picked.len(), &mut row_keys);
            let base = self.position_of(self.rows as u32);
            let position = |at: usize| base + u64::from(picked.value(at));
            self.groups()
                .assign(&columns, &row_keys, position)
                .map_err(fail)?;
            self.row_keys = row_keys;
            let groups = self.keys.as_ref().map_or(&[][..], GroupTable::groups);
            self.known_codes.learn(picked.values(), groups);
        }
        let groups = self.keys.as_mut().expect("a grouping by keys");
        groups.assign_known(rows.rows(), self.known_codes.groups())?;
        Ok(true)
    }

    fn note(&mut self, count: usize) {
        self.rows += count;
        if self.mode.is_none() && self.rows >= SAMPLE_ROWS {
            let mode = match &self.keys {
                Some(keys) => Mode::of(keys, self.rows, count),
                None => Mode::Grouped,
            };
            self.mode = Some(self.plan.key_sample().learn(mode));
        }
    }

    fn groups(&mut self) -> &mut GroupTable {
        self.keys.as_mut().expect("a grouping by keys")
    }

    fn update(&mut self, arguments: &[ArrayRef]) -> Result<(), ExecError> {
        let len = self.groups().len();
        self.states.iter_mut().try_for_each(|state| state.resize(len))?;
        let groups = self.keys.as_mut().expect("a grouping by keys");
        let ids = groups.ids()?;
        self.plan.aggregates().update(&mut self.states, arguments, ids)
    }

    #[cfg(test)]
    pub(crate) fn group_all(&mut self) {
        self.mode = Some(Arc::new(Mode::Grouped));
    }

    /// Groups only the heavy hitter's later rows; a shared table has none.
    #[cfg(test)]
    pub(crate) fn pass_through_but(&mut self, heavy: Option<u128>) {
        if self.begun_by < self.slot {
            return;
        }
        let heavy = heavy.into_iter().collect();
        self.mode = Some(Arc::new(Mode::PassThrough {
            heavy,
            groups: usize::MAX,
        }));
    }

    /// `None` if a later slot takes over the table.
    pub(crate) fn finish(self) -> Result<Option<SlotGroups>, ExecError> {
        let Self {
            plan,
            slot,
            begun_by,
            keys,
            states,
            passing,
            mode,
            new,
            of_rows,
            ..
        } = self;
        let Some(keys) = keys else {
            return Ok(Some(SlotGroups {
                keys: None,
                states,
                passing,
            }));
        };
        let table = OpenTable {
            keys,
            states,
            begun_by,
        };
        // A slot whose filter keeps fewer rows than a sample has no mode yet.
        let is_grouped = mode.is_none_or(|mode| *mode == Mode::Grouped);
        if plan.may_hand_over() && is_grouped && table.goes_on(new, of_rows) {
            plan.hand_over().leave(slot, table);
            return Ok(None);
        }
        let groups = table.partitioned()?;
        if begun_by < slot {
            assert!(
                passing.is_empty(),
                "a table that went on had all rows of its slots"
            );
            plan.hand_over().keep(groups);
            return Ok(None);
        }
        Ok(Some(SlotGroups { passing, ..groups }))
    }

    fn position_of(&self, row: u32) -> u64 {
        (self.slot as u64) << 32 | u64::from(row)
    }

    fn reserve_chunk(&mut self, bytes: usize) -> Result<(), ExecError> {
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

    fn add_passing_through(
        &mut self,
        columns: &[ArrayRef],
        arguments: &[ArrayRef],
        keys: &RowKeys,
        heavy: &[u128],
    ) -> Result<(), ExecError> {
        let fail = |error| ExecError::of("group by", error);
        // Each row has two numbers, a hash, and a copy of a grouped key.
        self.reserve_chunk(
            keys.fixed_keys.len() * (size_of::<(u128, u32)>() + size_of::<(u32, u32, u64, u128)>()),
        )?;
        let mut long = keys.long.iter().copied().peekable();
        let mut grouped: Vec<u32> = Vec::new();
        let mut grouped_keys = RowKeys::default();
        let mut passing: Vec<u32> = Vec::with_capacity(keys.fixed_keys.len());
        for (row, fixed_key) in (0..).zip(&keys.fixed_keys) {
            let is_long = long.next_if_eq(&row).is_some();
            if is_long || heavy.contains(fixed_key) {
                if is_long {
                    grouped_keys.long.push(grouped.len() as u32);
                }
                grouped.push(row);
                grouped_keys.fixed_keys.push(*fixed_key);
            } else {
                passing.push(row);
            }
        }
        let base = self.position_of(self.rows as u32);
        if !grouped.is_empty() {
            let rows = UInt32Array::from(grouped);
            let columns = take_arrays(columns, &rows, None).map_err(fail)?;
            let arguments = take_arrays(arguments, &rows, None).map_err(fail)?;
            self.add_grouped(&columns, &arguments, &grouped_keys, |at| {
                base + u64::from(rows.value(at))
            })?;
        }
        if passing.is_empty() {
            return Ok(());
        }
        let fixed_key = |row: u32| keys.fixed_keys[row as usize];
        let Some(encoding) = self.plan.encoding() else {
            unreachable!("there are keys")
        };
        let hash = |&row: &u32| encoding.partition_hash(fixed_key(row));
        let hashes: Vec<u64> = passing.iter().map(hash).collect();
        let pool = self.plan.pool();
        let (order, starts) = partition_rows(&hashes, pool)?;
        let order: Vec<u32> = order.iter().map(|&at| passing[at as usize]).collect();
        let mut reservation = Reservation::of(pool.cloned());
        // An upper bound.
        reservation.grow(compacts_bytes(arguments).map_err(fail)?)?;
        let fixed_keys = ReservedVec::collect(pool, order.iter().map(|&row| fixed_key(row)))?;
        let rows = ReservedVec::collect(pool, order.iter().copied())?;
        let arguments = take_arrays(arguments, &UInt32Array::from(order), None).map_err(fail)?;
        // These arguments outlive their source arrays.
        let arguments: Vec<ArrayRef> = arguments.into_iter().map(with_own_strings).collect();
        reservation.resize(
            arguments
                .iter()
                .map(|values| values.get_buffer_memory_size())
                .sum(),
        )?;
        self.passing.push(PassThroughRows {
            base,
            fixed_keys,
            rows,
            arguments,
            _reservation: reservation,
            starts,
        });
        Ok(())
    }
}
