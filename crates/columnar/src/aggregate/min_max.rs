//! `min` and `max`: numbers and times by native value, text and binary by bytes.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowNativeTypeOp, AsArray, BinaryArray, BooleanArray, PrimitiveArray,
    downcast_primitive,
};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Decimal64Type};
use arrow::error::ArrowError;

use super::definition::Definition;
use super::group_ids::GroupIds;
use super::state::{AggregateState, Extreme, StateError, same_kind, shared};
use crate::expr::{Expr, canonical_floats};
use crate::memory::{MemoryExceeded, MemoryPool, Reservation, ReservedVec};
use crate::narrow::widened;

pub(super) struct MinMax {
    pub(super) smallest: bool,
}

impl Definition for MinMax {
    fn bind(&self, argument: Expr) -> Option<(Expr, DataType)> {
        if !argument.is_comparable() {
            return None;
        }
        let argument = argument.plain().ok()?;
        let data_type = argument.data_type().clone();
        Some((argument, data_type))
    }

    fn state_kind(&self) -> &'static str {
        if self.smallest { "min" } else { "max" }
    }

    fn new_state(
        &self,
        argument: Option<&DataType>,
        pool: Option<&Arc<MemoryPool>>,
    ) -> Box<dyn AggregateState> {
        new_state(
            argument.expect("min and max have an argument"),
            self.smallest,
            pool,
        )
    }
}

fn new_state(argument: &DataType, smallest: bool, pool: Option<&Arc<MemoryPool>>) -> Box<dyn AggregateState> {
    macro_rules! primitive {
        ($t:ty) => {
            Box::new(PrimitiveMinMax::<$t> {
                argument: argument.clone(),
                values: ReservedVec::new(pool),
                seen: ReservedVec::new(pool),
                smallest,
            })
        };
    }
    downcast_primitive! {
        argument => (primitive),
        DataType::Boolean => Box::new(BooleanMinMax { values: ReservedVec::new(pool), smallest }),
        _ => Box::new(BytesMinMax {
            values: ReservedVec::new(pool),
            smallest,
            bytes: Reservation::of(pool.cloned()),
            ahead: 0,
        }),
    }
}

#[derive(Debug)]
struct PrimitiveMinMax<T: ArrowPrimitiveType> {
    argument: DataType,
    values: ReservedVec<T::Native>,
    seen: ReservedVec<bool>,
    smallest: bool,
}

impl<T: ArrowPrimitiveType> PrimitiveMinMax<T> {
    #[inline]
    fn offer(&mut self, group: usize, value: T::Native) {
        let known = self.values[group];
        let better = if self.smallest {
            value.is_lt(known)
        } else {
            value.is_gt(known)
        };
        if better || !self.seen[group] {
            self.values[group] = value;
            self.seen[group] = true;
        }
    }
}

/// Values that are compared side by side: a comparison that waits for the last one is slower.
const LANES: usize = 8;

/// The best value, as a column of one row, or of none if all are NULL.
fn best<T: ArrowPrimitiveType>(values: &PrimitiveArray<T>, smallest: bool) -> PrimitiveArray<T> {
    // Two loops: the compiler does not take the question out of one.
    let best = match smallest {
        true => reduced(values, |a, b| if b.is_lt(a) { b } else { a }),
        false => reduced(values, |a, b| if b.is_gt(a) { b } else { a }),
    };
    PrimitiveArray::from_iter_values(best).with_data_type(values.data_type().clone())
}

fn reduced<T: ArrowPrimitiveType>(
    values: &PrimitiveArray<T>,
    better: impl Fn(T::Native, T::Native) -> T::Native,
) -> Option<T::Native> {
    if let Some(nulls) = values.nulls().filter(|nulls| nulls.null_count() > 0) {
        return nulls.valid_indices().map(|row| values.value(row)).reduce(better);
    }
    let (chunks, rest) = values.values().as_chunks::<LANES>();
    let lanes = chunks.iter().copied().reduce(|mut lanes, chunk| {
        lanes
            .iter_mut()
            .zip(chunk)
            .for_each(|(lane, value)| *lane = better(*lane, value));
        lanes
    });
    lanes
        .into_iter()
        .flatten()
        .chain(rest.iter().copied())
        .reduce(better)
}

impl<T: ArrowPrimitiveType> AggregateState for PrimitiveMinMax<T> {
    fn is_exact(&self) -> bool {
        true
    }

    fn resize(&mut self, groups: usize) -> Result<(), MemoryExceeded> {
        self.values.resize(groups, T::Native::default())?;
        self.seen.resize(groups, false)
    }

    fn takes_narrow(&self) -> bool {
        matches!(self.argument, DataType::Decimal128(..))
    }

    fn extreme(&self) -> Option<Extreme> {
        // The bounds of floats may leave out NaN, which is the greatest.
        let is_float = self.argument.is_floating();
        (!is_float).then_some(match self.smallest {
            true => Extreme::Least,
            false => Extreme::Greatest,
        })
    }

    fn update(&mut self, values: Option<&ArrayRef>, groups: GroupIds<'_>) -> Result<(), StateError> {
        let values = canonical_floats(values.expect("min and max have an argument"));
        let (values, groups) = match groups {
            GroupIds::Single { .. } => {
                let best = match values.as_primitive_opt::<Decimal64Type>() {
                    Some(narrow) => shared(best(narrow, self.smallest)),
                    None => shared(best(values.as_primitive::<T>(), self.smallest)),
                };
                let rows = best.len();
                (best, GroupIds::Single { rows })
            }
            per_row => (values, per_row),
        };
        let values = widened(values, &self.argument);
        let values = values.as_primitive::<T>();
        groups.for_each(values.nulls(), |group, row| self.offer(group, values.value(row)));
        Ok(())
    }

    fn arrange(&mut self, order: &[u32]) -> Result<(), MemoryExceeded> {
        self.values.arrange(order)?;
        self.seen.arrange(order)
    }

    fn merge(&mut self, from: &dyn AggregateState, first: usize, map: &[u32]) -> Result<(), StateError> {
        let from: &Self = same_kind(from);
        let groups = from.values[first..].iter().zip(&from.seen[first..]);
        for ((&value, &seen), &group) in groups.zip(map) {
            if seen {
                self.offer(group as usize, value);
            }
        }
        Ok(())
    }

    fn finish(&self, data_type: &DataType) -> Result<ArrayRef, StateError> {
        let nulls = NullBuffer::from_iter(self.seen.iter().copied());
        let array = PrimitiveArray::<T>::new(self.values.to_vec().into(), Some(nulls));
        Ok(shared(array.with_data_type(data_type.clone())))
    }
}

#[derive(Debug)]
struct BooleanMinMax {
    values: ReservedVec<Option<bool>>,
    smallest: bool,
}

impl BooleanMinMax {
    fn offer(&mut self, group: usize, value: bool) {
        let known = &mut self.values[group];
        *known = Some(match *known {
            None => value,
            Some(known) if self.smallest => known & value,
            Some(known) => known | value,
        });
    }
}

impl AggregateState for BooleanMinMax {
    fn is_exact(&self) -> bool {
        true
    }

    fn resize(&mut self, groups: usize) -> Result<(), MemoryExceeded> {
        self.values.resize(groups, None)
    }

    fn update(&mut self, values: Option<&ArrayRef>, groups: GroupIds<'_>) -> Result<(), StateError> {
        let values = values.expect("min and max have an argument").as_boolean();
        groups.for_each(values.nulls(), |group, row| self.offer(group, values.value(row)));
        Ok(())
    }

    fn arrange(&mut self, order: &[u32]) -> Result<(), MemoryExceeded> {
        self.values.arrange(order)
    }

    fn merge(&mut self, from: &dyn AggregateState, first: usize, map: &[u32]) -> Result<(), StateError> {
        for (value, &group) in same_kind::<Self>(from).values[first..].iter().zip(map) {
            if let Some(value) = value {
                self.offer(group as usize, *value);
            }
        }
        Ok(())
    }

    fn finish(&self, _data_type: &DataType) -> Result<ArrayRef, StateError> {
        Ok(shared(BooleanArray::from(self.values.to_vec())))
    }
}

/// Text compares by UTF-8 bytes, so one state serves text and binary.
#[derive(Debug)]
struct BytesMinMax {
    values: ReservedVec<Option<Vec<u8>>>,
    smallest: bool,
    bytes: Reservation,
    /// Bytes reserved and unused: values are often short, and all threads share the pool's counter.
    ahead: usize,
}

const AHEAD: usize = 16 * 1024;

impl BytesMinMax {
    fn offer(&mut self, group: usize, value: &[u8]) -> Result<(), MemoryExceeded> {
        if let Some(known) = &self.values[group] {
            let better = if self.smallest {
                value < known.as_slice()
            } else {
                value > known.as_slice()
            };
            if !better {
                return Ok(());
            }
        }
        match &mut self.values[group] {
            Some(known) if value.len() <= known.capacity() => {
                known.clear();
                known.extend_from_slice(value);
            }
            known => {
                if self.ahead < value.len() {
                    let more = value.len() - self.ahead;
                    let ahead = self.bytes.grow(more.max(AHEAD)).map(|()| more.max(AHEAD));
                    // The pool may have room for this value only.
                    self.ahead += ahead.or_else(|_| self.bytes.grow(more).map(|()| more))?;
                }
                self.ahead -= value.len();
                let replaced = known.replace(value.to_vec());
                self.ahead += replaced.map_or(0, |replaced| replaced.capacity());
            }
        }
        Ok(())
    }

    fn settle(&mut self) {
        self.bytes.shrink(self.ahead);
        self.ahead = 0;
    }
}

impl AggregateState for BytesMinMax {
    fn is_exact(&self) -> bool {
        true
    }

    fn resize(&mut self, groups: usize) -> Result<(), MemoryExceeded> {
        self.values.resize(groups, None)
    }

    fn update(&mut self, values: Option<&ArrayRef>, groups: GroupIds<'_>) -> Result<(), StateError> {
        let values = values.expect("min and max have an argument");
        let nulls = values.logical_nulls();
        let nulls = nulls.as_ref();
        macro_rules! offer {
            ($array:expr) => {{
                let array = $array;
                groups.try_for_each(nulls, |group, row| {
                    self.offer(group, array.value(row).as_ref())
                })
            }};
        }
        let offered = match values.data_type() {
            DataType::Utf8 => offer!(values.as_string::<i32>()),
            DataType::LargeUtf8 => offer!(values.as_string::<i64>()),
            DataType::Utf8View => offer!(values.as_string_view()),
            DataType::Binary => offer!(values.as_binary::<i32>()),
            DataType::LargeBinary => offer!(values.as_binary::<i64>()),
            DataType::BinaryView => offer!(values.as_binary_view()),
            DataType::FixedSizeBinary(_) => offer!(values.as_fixed_size_binary()),
            // The type of the constant NULL.
            DataType::Null => Ok(()),
            other => unreachable!("min and max of {other} were refused when the query was planned"),
        };
        self.settle();
        Ok(offered?)
    }

    fn arrange(&mut self, order: &[u32]) -> Result<(), MemoryExceeded> {
        self.values.arrange_owned(order)
    }

    fn merge(&mut self, from: &dyn AggregateState, first: usize, map: &[u32]) -> Result<(), StateError> {
        for (value, &group) in same_kind::<Self>(from).values[first..].iter().zip(map) {
            if let Some(value) = value {
                self.offer(group as usize, value)?;
            }
        }
        self.settle();
        Ok(())
    }

    /// Arrow's buffer doubles as it grows.
    fn finish_bytes(&self) -> usize {
        self.bytes.bytes().saturating_mul(2)
    }

    fn finish(&self, data_type: &DataType) -> Result<ArrayRef, StateError> {
        if *data_type == DataType::Null {
            return Ok(arrow::array::new_null_array(data_type, self.values.len()));
        }
        let bytes: usize = self.values.iter().flatten().map(Vec::len).sum();
        // A text array has 32-bit offsets.
        i32::try_from(bytes).map_err(|_| ArrowError::OffsetOverflowError(bytes))?;
        let values = BinaryArray::from_iter(self.values.iter().map(|value| value.as_deref()));
        Ok(cast(&values, data_type)?)
    }
}
