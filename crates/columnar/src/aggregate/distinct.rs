//! `count(distinct x)`: tables of pairs of group and value.
//!
//! A value is kept in 64 or 128 bits if it fits, like a key of GROUP BY, and otherwise as bytes: a
//! long text. Each state has its own encoder, so states merge by these bits and bytes.
//!
//! ```text
//!   rows ─► seen lately? ─► list ─┐  a list may hold a pair twice
//!   rows ─► seen lately? ─► list ─┼─► merge of few groups: a table, each pair once
//! ```
//!
//! A table of all pairs of a slot would not fit a core's cache, and the merge would look up each of
//! its pairs again.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array};
use arrow::datatypes::DataType;

use super::definition::Definition;
use super::group_ids::GroupIds;
use super::members::Members;
use super::state::{AggregateState, StateError, same_kind, shared};
use crate::chunked::{ChunkedVec, Growth};
use crate::encoding::{EncodedRows, FixedWidthLayout, RowEncoder};
use crate::expr::{Expr, canonical_floats};
use crate::memory::{MemoryExceeded, MemoryPool, Reservation, ReservedTable, ReservedVec};
use crate::partition::{hash_bytes, hash_fixed_key};

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
    narrow: Pairs<ChunkedVec<u64>>,
    short: Pairs<ChunkedVec<u128>>,
    long: Pairs<LongValues>,
    pool: Option<Arc<MemoryPool>>,
}

struct Pairs<V> {
    members: Members,
    values: V,
    lately: Lately,
    /// All pairs, each once; empty while a pair may be twice in the list.
    table: ReservedTable,
    pool: Option<Arc<MemoryPool>>,
}

/// A pair for each place of a hash: the one that was last added there.
struct Lately(ReservedVec<(u32, u32)>);

/// Places of [`Lately`] at first, and at most: with their pairs a part of a core's second level of
/// cache.
const PLACES_MIN: usize = 1 << 10;
const PLACES_MAX: usize = 1 << 14;

/// The values of pairs.
trait Values: Sized {
    type Value<'a>: Copy
    where
        Self: 'a;

    fn new(pool: Option<&Arc<MemoryPool>>) -> Self;

    fn hash_of(value: Self::Value<'_>) -> u64;

    fn hash(&self, pair: usize) -> u64;

    fn value(&self, pair: usize) -> Self::Value<'_>;

    fn is(&self, pair: usize, value: Self::Value<'_>) -> bool;

    fn push(&mut self, value: Self::Value<'_>) -> Result<(), MemoryExceeded>;

    /// `order[i]`, each once, becomes pair `i`.
    fn arrange(&mut self, order: &[u32], pool: Option<&Arc<MemoryPool>>) -> Result<(), MemoryExceeded>;
}

impl<V: Values> Pairs<V> {
    fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            members: Members::new(pool),
            values: V::new(pool),
            lately: Lately(ReservedVec::new(pool)),
            table: ReservedTable::new(pool),
            pool: pool.cloned(),
        }
    }

    /// Adds a pair of a row.
    #[inline]
    fn note(&mut self, group: u32, value: V::Value<'_>) -> Result<(), StateError> {
        let hash = pair_hash(group, V::hash_of(value));
        if !self.table.is_empty() {
            return self.add(group, value, hash);
        }
        if self
            .lately
            .find(hash)
            .is_some_and(|pair| self.is(pair, group, value))
        {
            return Ok(());
        }
        let pairs = self.members.len();
        if pairs >= self.lately.0.len() && pairs < PLACES_MAX {
            self.lately.grow()?;
            for pair in 0..pairs as u32 {
                let hash = hash_of_pair(&self.members, &self.values, pair);
                self.lately.put(hash, pair);
            }
        }
        self.lately.put(hash, pairs as u32);
        self.push(group, value)
    }

    /// Adds a pair to the table.
    #[inline]
    fn add(&mut self, group: u32, value: V::Value<'_>, hash: u64) -> Result<(), StateError> {
        if self
            .table
            .find(hash, |pair| self.is(pair, group, value))
            .is_some()
        {
            return Ok(());
        }
        let pair = self.members.len() as u32;
        self.push(group, value)?;
        let (members, values) = (&self.members, &self.values);
        let hash_of = |pair| hash_of_pair(members, values, pair);
        Ok(self.table.insert(hash, pair, hash_of)?)
    }

    fn push(&mut self, group: u32, value: V::Value<'_>) -> Result<(), StateError> {
        self.members.push(group as usize)?;
        Ok(self.values.push(value)?)
    }

    fn is(&self, pair: u32, group: u32, value: V::Value<'_>) -> bool {
        self.members.group_of()[pair as usize] == group && self.values.is(pair as usize, value)
    }

    fn arrange(&mut self, order: &[u32]) -> Result<(), MemoryExceeded> {
        let pool = self.pool.as_ref();
        self.lately = Lately(ReservedVec::new(pool));
        self.table = ReservedTable::new(pool);
        let pairs = self.members.arrange(order)?;
        self.values.arrange(&pairs, pool)
    }

    fn merge(&mut self, from: &Self, first: usize, map: &[u32]) -> Result<(), StateError> {
        if self.may_repeat() {
            *self = self.each_once()?;
        }
        let pairs = self.members.len() + from.members.len_of(first, map.len());
        let (members, values) = (&self.members, &self.values);
        self.table
            .reserve(pairs, |pair| hash_of_pair(members, values, pair))?;
        from.members.of_groups(first, map.len(), |pair, group| {
            let value = from.values.value(pair);
            self.add(map[group], value, pair_hash(map[group], V::hash_of(value)))
        })
    }

    fn may_repeat(&self) -> bool {
        self.table.is_empty() && self.members.len() > 0
    }

    fn each_once(&self) -> Result<Self, StateError> {
        let mut once = Self::new(self.pool.as_ref());
        once.members.resize(self.members.groups());
        for pair in 0..self.members.len() {
            let (group, value) = (self.members.group_of()[pair], self.values.value(pair));
            once.add(group, value, pair_hash(group, V::hash_of(value)))?;
        }
        Ok(once)
    }

    fn count(&self, counts: &mut [i64]) -> Result<(), StateError> {
        if self.may_repeat() {
            return self.each_once()?.count(counts);
        }
        for &group in self.members.group_of() {
            counts[group as usize] += 1;
        }
        Ok(())
    }
}

impl Lately {
    #[inline]
    fn find(&self, hash: u64) -> Option<u32> {
        let &(tag, pair) = self.0.get(hash as usize & self.0.len().wrapping_sub(1))?;
        (tag == tag_of(hash) && pair != u32::MAX).then_some(pair)
    }

    #[inline]
    fn put(&mut self, hash: u64, pair: u32) {
        let place = hash as usize & self.0.len().wrapping_sub(1);
        if let Some(place) = self.0.get_mut(place) {
            *place = (tag_of(hash), pair);
        }
    }

    fn grow(&mut self) -> Result<(), MemoryExceeded> {
        let places = (4 * self.0.len()).clamp(PLACES_MIN, PLACES_MAX);
        self.0.clear();
        self.0.resize(places, (0, u32::MAX))
    }
}

/// A value without its first bit, which tells NULL, if the others fit.
fn narrowed(fixed_key: u128) -> Option<u64> {
    u64::try_from(fixed_key >> 1).ok().filter(|_| fixed_key & 1 == 0)
}

fn tag_of(hash: u64) -> u32 {
    (hash >> 32) as u32
}

#[inline]
fn hash_of_pair<V: Values>(members: &Members, values: &V, pair: u32) -> u64 {
    pair_hash(members.group_of()[pair as usize], values.hash(pair as usize))
}

fn pair_hash(group: u32, hash: u64) -> u64 {
    hash_fixed_key(u128::from(hash) << 64 | u128::from(group))
}

impl<N: Copy + Into<u128> + Eq> Values for ChunkedVec<N> {
    type Value<'a>
        = N
    where
        N: 'a;

    fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        ChunkedVec::with_growth(Growth::Doubling, pool.cloned())
    }

    #[inline]
    fn hash_of(value: N) -> u64 {
        hash_fixed_key(value.into())
    }

    #[inline]
    fn hash(&self, pair: usize) -> u64 {
        hash_fixed_key(self[pair].into())
    }

    fn value(&self, pair: usize) -> N {
        self[pair]
    }

    #[inline]
    fn is(&self, pair: usize, value: N) -> bool {
        self[pair] == value
    }

    #[inline]
    fn push(&mut self, value: N) -> Result<(), MemoryExceeded> {
        ChunkedVec::push(self, value)
    }

    fn arrange(&mut self, order: &[u32], pool: Option<&Arc<MemoryPool>>) -> Result<(), MemoryExceeded> {
        let mut arranged = <Self as Values>::new(pool);
        arranged.extend(order.iter().map(|&pair| self[pair as usize]))?;
        *self = arranged;
        Ok(())
    }
}

/// Encoded values and their hashes.
struct LongValues {
    rows: EncodedRows,
    hashes: ReservedVec<u64>,
}

impl Values for LongValues {
    type Value<'a> = (&'a [u8], u64);

    fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            rows: EncodedRows::new(pool),
            hashes: ReservedVec::new(pool),
        }
    }

    fn hash_of((_, hash): (&[u8], u64)) -> u64 {
        hash
    }

    fn hash(&self, pair: usize) -> u64 {
        self.hashes[pair]
    }

    fn value(&self, pair: usize) -> (&[u8], u64) {
        (self.rows.row(pair), self.hashes[pair])
    }

    fn is(&self, pair: usize, (bytes, hash): (&[u8], u64)) -> bool {
        self.hashes[pair] == hash && self.rows.row(pair) == bytes
    }

    fn push(&mut self, (bytes, hash): (&[u8], u64)) -> Result<(), MemoryExceeded> {
        self.rows.push(bytes)?;
        self.hashes.push(hash)
    }

    fn arrange(&mut self, order: &[u32], _pool: Option<&Arc<MemoryPool>>) -> Result<(), MemoryExceeded> {
        self.rows.arrange(order)?;
        self.hashes.arrange(order)
    }
}

impl AggregateState for DistinctState {
    fn is_exact(&self) -> bool {
        true
    }

    fn resize(&mut self, groups: usize) -> Result<(), MemoryExceeded> {
        self.narrow.members.resize(groups);
        self.short.members.resize(groups);
        self.long.members.resize(groups);
        Ok(())
    }

    fn update(&mut self, values: Option<&ArrayRef>, groups: GroupIds<'_>) -> Result<(), StateError> {
        let values = canonical_floats(values.expect("distinct values have an argument"));
        let nulls = values.logical_nulls();
        let mut reservation = Reservation::of(self.pool.clone());
        let (mut fixed_keys, mut long) = (Vec::new(), Vec::new());
        match &self.layout {
            Some(layout) => {
                reservation.grow(values.len() * size_of::<(u128, u32)>())?;
                let values = std::slice::from_ref(&values);
                layout.pack(values, values[0].len(), &mut fixed_keys, &mut long);
            }
            None => long.extend(0..values.len() as u32),
        }
        let mut rows = EncodedRows::new(self.pool.as_ref());
        let (columns, pool) = (std::slice::from_ref(&values), self.pool.as_ref());
        self.encoder
            .for_each(columns, Some(&long), pool, |_, row| Ok(rows.push(row)?))?;
        let mut long = long.into_iter().zip(rows.iter()).peekable();
        let mut result = Ok(());
        groups.for_each(nulls.as_ref(), |group, row| {
            if result.is_err() {
                return;
            }
            // NULL is no value, but long if all values are.
            while long.next_if(|(at, _)| (*at as usize) < row).is_some() {}
            result = match long.next_if(|(at, _)| *at as usize == row) {
                Some((_, value)) => self.long.note(group as u32, (value, hash_bytes(value))),
                None => match narrowed(fixed_keys[row]) {
                    Some(value) => self.narrow.note(group as u32, value),
                    None => self.short.note(group as u32, fixed_keys[row]),
                },
            };
        });
        result
    }

    fn arrange(&mut self, order: &[u32]) -> Result<(), MemoryExceeded> {
        self.narrow.arrange(order)?;
        self.short.arrange(order)?;
        self.long.arrange(order)
    }

    fn merge(&mut self, from: &dyn AggregateState, first: usize, map: &[u32]) -> Result<(), StateError> {
        let from: &Self = same_kind(from);
        self.narrow.merge(&from.narrow, first, map)?;
        self.short.merge(&from.short, first, map)?;
        self.long.merge(&from.long, first, map)
    }

    fn finish(&self, _data_type: &DataType) -> Result<ArrayRef, StateError> {
        let mut counts = vec![0i64; self.short.members.groups()];
        self.narrow.count(&mut counts)?;
        self.short.count(&mut counts)?;
        self.long.count(&mut counts)?;
        Ok(shared(Int64Array::from(counts)))
    }
}
