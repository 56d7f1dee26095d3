//! `count(distinct x)`: pairs of group and value.
//!
//! A value is kept in 64 or 128 bits if it fits, like a key of GROUP BY, and otherwise as bytes: a
//! long text. Each state has its own encoder, so states merge by these bits and bytes.

mod distinct_values;
mod lately;
mod pairs;
mod values;
mod word;

use std::iter;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array};
use arrow::datatypes::DataType;

use self::pairs::Pairs;
use self::values::LongValues;
use super::definition::Definition;
use super::group_ids::GroupIds;
use super::item_values::ItemValues;
use super::state::{AggregateState, StateError, same_kind, shared};
use crate::encoding::{EncodedRows, FixedWidthLayout, Numbers, RowEncoder};
use crate::expr::{Expr, canonical_floats};
use crate::memory::{MemoryExceeded, MemoryPool, Reservation};
use crate::partition::hash_bytes;

pub(super) struct CountDistinct;

impl Definition for CountDistinct {
    fn bind(&self, argument: Expr) -> Option<(Expr, DataType)> {
        if !argument.is_comparable() {
            return None;
        }
        Some((argument.plain().ok()?, DataType::Int64))
    }

    fn state_kind(&self) -> &'static str {
        "count distinct"
    }

    fn new_state(
        &self,
        argument: Option<&DataType>,
        pool: Option<&Arc<MemoryPool>>,
    ) -> Box<dyn AggregateState> {
        let argument = argument.expect("distinct values have an argument");
        let encoder = RowEncoder::new([argument].into_iter()).expect("a comparable type");
        Box::new(DistinctState {
            layout: FixedWidthLayout::new(std::slice::from_ref(argument)),
            encoder,
            narrow: Pairs::new(pool),
            short: Pairs::new(pool),
            long: Pairs::new(pool),
            pool: pool.cloned(),
        })
    }
}

struct DistinctState {
    /// `None` if no value fits.
    layout: Option<FixedWidthLayout>,
    encoder: RowEncoder,
    narrow: Pairs<ItemValues<u64>>,
    short: Pairs<ItemValues<u128>>,
    long: Pairs<LongValues>,
    pool: Option<Arc<MemoryPool>>,
}

impl AggregateState for DistinctState {
    fn is_exact(&self) -> bool {
        true
    }

    fn resize(&mut self, groups: usize) -> Result<(), MemoryExceeded> {
        self.narrow.resize(groups);
        self.short.resize(groups);
        self.long.resize(groups);
        Ok(())
    }

    fn update(&mut self, values: Option<&ArrayRef>, groups: GroupIds<'_>) -> Result<(), StateError> {
        let values = canonical_floats(values.expect("distinct values have an argument"));
        let columns = std::slice::from_ref(&values);
        let numbers = self.layout.as_ref().and_then(|layout| layout.numbers(columns));
        if let Some(Numbers::Of64(numbers)) = numbers {
            let mut of_narrow = self.narrow.new_pairs();
            let numbers = numbers.iter().copied();
            match groups {
                GroupIds::Single { rows } => of_narrow.note_all(iter::repeat_n(0, rows).zip(numbers))?,
                GroupIds::PerRow { groups, .. } => of_narrow.note_all(groups.iter().copied().zip(numbers))?,
            }
            return of_narrow.finish();
        }
        let nulls = values.logical_nulls();
        let mut reservation = Reservation::of(self.pool.clone());
        let (mut fixed_keys, mut long) = (Vec::new(), Vec::new());
        match &self.layout {
            Some(layout) => {
                reservation.grow(values.len() * size_of::<(u128, u32)>())?;
                layout.pack(columns, values.len(), &mut fixed_keys, &mut long);
            }
            None => long.extend(0..values.len() as u32),
        }
        let (mut of_narrow, mut of_short) = (self.narrow.new_pairs(), self.short.new_pairs());
        let mut of_fixed_key = |group: usize, fixed_key: u128| match u64::try_from(fixed_key) {
            Ok(value) => of_narrow.note(group as u32, value),
            Err(_) => of_short.note(group as u32, fixed_key),
        };
        if long.is_empty() {
            groups.try_for_each(nulls.as_ref(), |group, row| of_fixed_key(group, fixed_keys[row]))?;
            of_narrow.finish()?;
            return of_short.finish();
        }
        let mut rows = EncodedRows::new(self.pool.as_ref());
        self.encoder
            .for_batches(columns, Some(&long), self.pool.as_ref(), |_first, batch| {
                Ok(batch.iter().try_for_each(|row| rows.push(row))?)
            })?;
        let mut of_long = self.long.open();
        let mut long = long.into_iter().zip(rows.iter()).peekable();
        groups.try_for_each(nulls.as_ref(), |group, row| {
            // NULL is no value, but long if all values are.
            while long.next_if(|(at, _)| (*at as usize) < row).is_some() {}
            match long.next_if(|(at, _)| *at as usize == row) {
                Some((_, value)) => of_long.note(group as u32, (value, hash_bytes(value))),
                None => of_fixed_key(group, fixed_keys[row]),
            }
        })?;
        of_narrow.finish()?;
        of_short.finish()
    }

    fn arrange(&mut self, order: &[u32]) -> Result<(), MemoryExceeded> {
        self.narrow.arrange(order)?;
        self.short.arrange(order)?;
        self.long.arrange(order)
    }

    fn kept(&self, first: usize, groups: usize) -> usize {
        self.narrow.kept(first, groups) + self.short.kept(first, groups) + self.long.kept(first, groups)
    }

    fn merge(&mut self, from: &dyn AggregateState, first: usize, map: &[u32]) -> Result<(), StateError> {
        let from: &Self = same_kind(from);
        self.narrow.merge(&from.narrow, first, map)?;
        self.short.merge(&from.short, first, map)?;
        Ok(self.long.merge(&from.long, first, map)?)
    }

    fn finish(&self, _data_type: &DataType) -> Result<ArrayRef, StateError> {
        let mut counts = vec![0i64; self.short.groups()];
        self.narrow.count(&mut counts)?;
        self.short.count(&mut counts)?;
        self.long.count(&mut counts)?;
        Ok(shared(Int64Array::from(counts)))
    }
}
