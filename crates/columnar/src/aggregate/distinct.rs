//! `count(distinct x)`: a table of pairs of group and value.
//!
//! A value is kept in arrow's row encoding. Each state has its own encoder, so states merge by
//! these bytes.

use std::hash::Hasher;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array};
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, SortField};

use super::definition::Definition;
use super::group_ids::GroupIds;
use super::members::Members;
use super::state::{AggregateState, StateError, same_kind, shared};
use crate::expr::{Expr, canonical_floats};
use crate::memory::{MemoryExceeded, MemoryPool, Reservation, ReservedTable, ReservedVec, encoded_bytes};
use crate::partition::{StableHasher, hash_fixed_key};

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
        let argument = argument.expect("distinct values have an argument").clone();
        let converter = RowConverter::new(vec![SortField::new(argument)]).expect("a comparable type");
        Box::new(DistinctState {
            pairs: Members::new(pool),
            values: Values {
                bytes: ReservedVec::new(pool),
                ends: ReservedVec::new(pool),
            },
            hashes: ReservedVec::new(pool),
            table: ReservedTable::new(pool),
            converter,
            pool: pool.cloned(),
        })
    }
}

struct DistinctState {
    converter: RowConverter,
    pairs: Members,
    values: Values,
    /// The hash of each value, without its group.
    hashes: ReservedVec<u64>,
    /// Empty after an arrangement of groups.
    table: ReservedTable,
    pool: Option<Arc<MemoryPool>>,
}

impl DistinctState {
    fn add(&mut self, group: usize, value: &[u8], hash: u64) -> Result<(), StateError> {
        let (group_of, hashes, values) = (self.pairs.group_of(), &self.hashes, &self.values);
        let hash_of = |pair: u32| pair_hash(group_of[pair as usize], hashes[pair as usize]);
        if self.table.is_empty() {
            for pair in 0..hashes.len() as u32 {
                self.table.insert(hash_of(pair), pair, hash_of)?;
            }
        }
        let is_it = |pair: u32| group_of[pair as usize] == group as u32 && values.of(pair as usize) == value;
        let pair_hash = pair_hash(group as u32, hash);
        if self.table.find(pair_hash, is_it).is_some() {
            return Ok(());
        }
        let pair = hashes.len() as u32;
        self.pairs.push(group)?;
        self.values.push(value)?;
        self.hashes.push(hash)?;
        let (group_of, hashes) = (self.pairs.group_of(), &self.hashes);
        Ok(self.table.insert(pair_hash, pair, |pair| {
            self::pair_hash(group_of[pair as usize], hashes[pair as usize])
        })?)
    }
}

struct Values {
    bytes: ReservedVec<u8>,
    ends: ReservedVec<usize>,
}

impl Values {
    fn of(&self, pair: usize) -> &[u8] {
        let start = pair.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[pair]]
    }

    fn push(&mut self, value: &[u8]) -> Result<(), MemoryExceeded> {
        self.bytes.extend_from_slice(value)?;
        self.ends.push(self.bytes.len())
    }
}

fn pair_hash(group: u32, hash: u64) -> u64 {
    hash_fixed_key(u128::from(hash) << 64 | u128::from(group))
}

impl AggregateState for DistinctState {
    fn is_exact(&self) -> bool {
        true
    }

    fn resize(&mut self, groups: usize) -> Result<(), MemoryExceeded> {
        self.pairs.resize(groups);
        Ok(())
    }

    fn update(&mut self, values: Option<&ArrayRef>, groups: GroupIds<'_>) -> Result<(), StateError> {
        let values = canonical_floats(values.expect("distinct values have an argument"));
        let nulls = values.logical_nulls();
        let columns = [values];
        let mut reservation = Reservation::of(self.pool.clone());
        reservation.grow(encoded_bytes(&columns))?;
        let rows = self.converter.convert_columns(&columns)?;
        let mut result = Ok(());
        groups.for_each(nulls.as_ref(), |group, row| {
            if result.is_ok() {
                let value = rows.row(row);
                let value = value.data();
                let mut hasher = StableHasher::new();
                hasher.write(value);
                result = self.add(group, value, hasher.finish());
            }
        });
        result
    }

    fn arrange(&mut self, order: &[u32]) -> Result<(), MemoryExceeded> {
        self.table = ReservedTable::new(self.pool.as_ref());
        self.pairs.arrange(order)
    }

    fn merge(&mut self, from: &dyn AggregateState, first: usize, map: &[u32]) -> Result<(), StateError> {
        let from: &Self = same_kind(from);
        from.pairs.of_groups(first, map.len(), |pair, group| {
            self.add(map[group] as usize, from.values.of(pair), from.hashes[pair])
        })
    }

    fn finish(&self, _data_type: &DataType) -> Result<ArrayRef, StateError> {
        let mut counts = vec![0i64; self.pairs.groups()];
        for &group in self.pairs.group_of() {
            counts[group as usize] += 1;
        }
        Ok(shared(Int64Array::from(counts)))
    }
}
