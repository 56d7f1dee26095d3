//! How a slot groups its rows: in a table, or at the merge if almost every key is new.
//!
//! ```text
//!   first rows ─► table ──► most keys met before? ── yes ─► table, to the end of the slot
//!                              │ no
//!                              ▼
//!        heavy hitters  ─► table
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
use arrow::datatypes::UInt64Type;

use super::fixed_keys::FixedKey;
use super::hand_over::OpenTable;
use super::heavy_hitters::{HeavyHitters, Mode};
use super::keys::RowKeys;
use super::known_codes::KnownCodes;
use super::known_texts::KnownTexts;
use super::numbered_keys::repeating_texts;
use super::partitioned_keys::PartitionedKeys;
use super::run::GroupBy;
use super::slot_groups::{PassThroughRows, SlotGroups};
use super::split_rows::SplitRows;
use super::table::GroupTable;
use super::text_numbers::TextNumbers;
use crate::aggregate::States;
use crate::error::ExecError;
use crate::expr::{ColumnSource, Expr, canonical_floats};
use crate::memory::{Reservation, ReservedVec, compacts_bytes, with_own_strings};
use crate::narrow::widened;
use crate::table::Codes;

const SAMPLE_ROWS: usize = 4_096;
/// Slots per sample, because data changes along a table.
const LOOKS_EVERY: usize = 8;
/// The group of a heavy hitter that no row has had in this slot.
const UNKNOWN: u32 = u32::MAX;

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
    /// By key.
    known_texts: Vec<KnownTexts>,
    split: SplitRows,
    /// The group of each heavy hitter with a fixed-width key.
    heavy_groups: Vec<u32>,
    chunk: Reservation,
}

impl<'p> Grouping<'p> {
    /// The plan has [looked at](GroupBy::look_at) the first rows.
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
                let (mut keys, states) = plan.no_groups()?;
                if let Some(keys) = &mut keys {
                    // Otherwise the table grows step by step.
                    keys.reserve(plan.key_sample().groups()).ok();
                }
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
            known_texts: plan.keys().iter().map(|_| KnownTexts::new(plan.pool())).collect(),
            split: SplitRows::default(),
            heavy_groups: Vec::new(),
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
        if self.plan.encoding().is_none() {
            return self.plan.aggregates().update_single(&mut self.states, rows);
        }
        let count = rows.rows();
        assert!(
            u32::try_from(self.rows + count).is_ok(),
            "fewer than 2^32 rows in a slot"
        );
        match self.mode.clone().as_deref() {
            Some(Mode::PassThrough(heavy)) => self.add_passing_through(rows, heavy)?,
            Some(Mode::Grouped) | None => {
                self.assign(rows)?;
                let arguments = self.arguments(rows)?;
                self.update(&arguments)?;
            }
        }
        self.note(count);
        Ok(())
    }

    fn arguments(&self, rows: &dyn ColumnSource) -> Result<Vec<ArrayRef>, ExecError> {
        let arguments = self.plan.aggregates().arguments().iter();
        arguments.map(|argument| argument.evaluate_narrow(rows)).collect()
    }

    fn key_columns(&mut self, rows: &dyn ColumnSource) -> Result<Vec<ArrayRef>, ExecError> {
        let (keys, numbered) = (self.plan.keys(), self.plan.numbered());
        let is_alone = keys.len() == 1;
        let known = self.known_texts.iter_mut().enumerate();
        let columns = keys.iter().zip(known).map(|(key, (place, known))| {
            match numbered.and_then(|keys| keys.texts(place)) {
                Some(texts) => numbers(key, rows, known, texts),
                None => key_column(key, is_alone, rows),
            }
        });
        columns.collect()
    }

    /// The caller gives the memory back as `row_keys`.
    fn encode(&mut self, columns: &[ArrayRef], rows: usize) -> Result<RowKeys, ExecError> {
        self.reserve_chunk(rows * size_of::<(u128, u32)>())?;
        let encoding = self.plan.encoding().expect("a grouping by keys");
        let mut keys = std::mem::take(&mut self.row_keys);
        encoding.read(columns, rows, &mut keys);
        Ok(keys)
    }

    /// Finds the rows' groups.
    fn assign(&mut self, rows: &dyn ColumnSource) -> Result<(), ExecError> {
        if self.assign_codes(rows)? {
            return Ok(());
        }
        let columns = self.key_columns(rows)?;
        let places = self.plan.places().map(|column| rows.column(column)).transpose()?;
        let places = places.as_ref().map(|places| places.as_primitive::<UInt64Type>());
        let base = self.position_of(self.rows as u32);
        let position = |row: usize| places.map_or_else(|| base + row as u64, |places| places.value(row));
        if self.groups().assign_numbers(&columns, position)? {
            return Ok(());
        }
        let keys = self.encode(&columns, rows.rows())?;
        self.groups()
            .assign(&columns, &keys, position)
            .map_err(|error| ExecError::of("group by", error))?;
        self.row_keys = keys;
        Ok(())
    }

    /// Finds the rows' groups if all keys are held as codes with few combinations.
    fn assign_codes(&mut self, rows: &dyn ColumnSource) -> Result<bool, ExecError> {
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
            let numbered = self.plan.numbered();
            let value = |(place, key): (usize, &Codes)| -> Result<ArrayRef, ExecError> {
                let codes = take(key.rows(), &picked, None).map_err(fail)?;
                let values = take(key.values(), &codes, None).map_err(fail)?;
                match numbered.and_then(|keys| keys.texts(place)) {
                    Some(texts) => Ok(Arc::new(texts.of_rows(&values).map_err(fail)?)),
                    None => Ok(canonical_floats(&widened(
                        values,
                        self.plan.keys()[place].data_type(),
                    ))),
                }
            };
            let columns = keys.iter().enumerate().map(value);
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let row_keys = self.encode(&columns, picked.len())?;
            let base = self.position_of(self.rows as u32);
            let position = |at: usize| base + u64::from(picked.value(at));
            self.groups()
                .assign(&columns, &row_keys, position)
                .map_err(fail)?;
            self.row_keys = row_keys;
            let groups = self.keys.as_ref().map_or(&[][..], GroupTable::groups);
            self.known_codes.learn(groups);
        }
        let groups = self.keys.as_mut().expect("a grouping by keys");
        groups.assign_known(self.known_codes.of_rows().iter().copied())?;
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
        if self.states.is_empty() {
            return Ok(());
        }
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

    /// Groups only the heavy hitters' later rows; a shared table has none.
    #[cfg(test)]
    pub(crate) fn pass_through_but(&mut self, heavy: HeavyHitters) {
        if self.begun_by < self.slot {
            return;
        }
        self.heavy_groups.clear();
        self.mode = Some(Arc::new(Mode::PassThrough(heavy)));
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
        plan.key_sample().learn_groups(keys.count());
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

    fn add_passing_through(
        &mut self,
        rows: &dyn ColumnSource,
        heavy: &HeavyHitters,
    ) -> Result<(), ExecError> {
        let arguments = self.arguments(rows)?;
        let columns = self.key_columns(rows)?;
        let encoding = self.plan.encoding().expect("a grouping by keys");
        if let Some(numbers) = encoding.numbers(&columns) {
            return self.split_rows(&columns, &arguments, &numbers, &[], heavy);
        }
        let keys = self.encode(&columns, rows.rows())?;
        self.split_rows(&columns, &arguments, &keys.fixed_keys, &keys.long, heavy)?;
        self.row_keys = keys;
        Ok(())
    }

    /// Groups the heavy hitters' rows, and leaves all others for the merge.
    fn split_rows<K: FixedKey>(
        &mut self,
        columns: &[ArrayRef],
        arguments: &[ArrayRef],
        fixed_keys: &[K],
        long: &[u32],
        heavy: &HeavyHitters,
    ) -> Result<(), ExecError> {
        let fail = |error| ExecError::of("group by", error);
        let rows = fixed_keys.len().max(long.len());
        // Each row has its number twice, a partition, a heavy hitter, and a copy of its key.
        self.reserve_chunk(rows * size_of::<(u128, u32, u32, u8, u8, u128)>())?;
        let fixed_keys = if long.len() == rows { &[] } else { fixed_keys };
        let plan = self.plan;
        let (encoding, pool) = (plan.encoding().expect("a grouping by keys"), plan.pool());
        let mut split = std::mem::take(&mut self.split);
        let passing_long = split
            .split(columns, fixed_keys, long, heavy, encoding, pool)
            .map_err(fail)?;
        let base = self.position_of(self.rows as u32);
        if split.heavy().len() > 0 {
            self.assign_heavy(heavy, &split, base)?;
            let rows = UInt32Array::from_iter_values(split.heavy().map(|(row, _number)| row));
            let arguments = take_arrays(arguments, &rows, None).map_err(fail)?;
            self.update(&arguments)?;
        }
        if !split.heavy_long().is_empty() {
            let keys = RowKeys {
                fixed_keys: Vec::new(),
                long: (0..split.heavy_long().len() as u32).collect(),
            };
            let rows = UInt32Array::from(split.heavy_long().to_vec());
            let columns = take_arrays(columns, &rows, None).map_err(fail)?;
            let arguments = take_arrays(arguments, &rows, None).map_err(fail)?;
            let position = |at: usize| base + u64::from(rows.value(at));
            self.groups().assign(&columns, &keys, position).map_err(fail)?;
            self.update(&arguments)?;
        }
        let (rows, partitions) = split.passing();
        if !rows.is_empty() {
            let rows = rows.iter().copied();
            let keys = PartitionedKeys::new(encoding, fixed_keys, rows, partitions, passing_long, pool);
            self.pass(arguments, keys?)?;
        }
        self.split = split;
        Ok(())
    }

    /// Finds the groups of heavy hitters' rows. `base` is the position of the chunk's first row.
    fn assign_heavy(&mut self, heavy: &HeavyHitters, split: &SplitRows, base: u64) -> Result<(), ExecError> {
        let keys = self.keys.as_mut().expect("a grouping by keys");
        let groups = &mut self.heavy_groups;
        groups.resize(heavy.len(), UNKNOWN);
        for (row, number) in split.heavy() {
            let group = &mut groups[usize::from(number)];
            if *group == UNKNOWN {
                *group = keys.group_of_fixed_key(heavy.fixed_key(number), || base + u64::from(row))?;
            }
        }
        let found = split.heavy().map(|(_row, number)| groups[usize::from(number)]);
        Ok(keys.assign_known(found)?)
    }

    /// Leaves rows of a chunk for the merge. `rows` are those of the keys.
    fn pass(
        &mut self,
        arguments: &[ArrayRef],
        (keys, rows): (PartitionedKeys, ReservedVec<u32>),
    ) -> Result<(), ExecError> {
        let fail = |error| ExecError::of("group by", error);
        let mut reservation = Reservation::of(self.plan.pool().cloned());
        // An upper bound.
        reservation.grow(compacts_bytes(arguments).map_err(fail)?)?;
        let arguments: Vec<ArrayRef> = match arguments {
            [] => Vec::new(),
            _ => {
                let taken = UInt32Array::from(rows.to_vec());
                let arguments = take_arrays(arguments, &taken, None).map_err(fail)?;
                // These arguments outlive their source arrays.
                arguments.into_iter().map(with_own_strings).collect()
            }
        };
        reservation.resize(
            arguments
                .iter()
                .map(|values| values.get_buffer_memory_size())
                .sum(),
        )?;
        self.passing.push(PassThroughRows {
            base: self.position_of(self.rows as u32),
            keys,
            rows,
            arguments,
            _reservation: reservation,
        });
        Ok(())
    }
}

/// The numbers of a key's texts.
fn numbers(
    key: &Expr,
    rows: &dyn ColumnSource,
    known: &mut KnownTexts,
    texts: &TextNumbers,
) -> Result<ArrayRef, ExecError> {
    let codes = key.as_column().map(|column| rows.codes(column)).transpose()?;
    let numbers = match codes.flatten() {
        Some(codes) => known.of_rows(&codes, texts),
        None => texts.of_rows(&key.evaluate(rows)?),
    };
    Ok(Arc::new(numbers.map_err(|error| ExecError::of(key, error))?))
}

/// The values of a key. Texts that are held as codes stay so among other keys, if they are few; a text
/// alone is found by its bytes, which need no packing.
fn key_column(key: &Expr, is_alone: bool, rows: &dyn ColumnSource) -> Result<ArrayRef, ExecError> {
    if !is_alone && let Some(codes) = repeating_texts(key, rows)? {
        return Ok(codes.dictionary());
    }
    Ok(canonical_floats(&key.evaluate(rows)?))
}
