//! `min` and `max`: numbers and times by their native values, text and binary by their bytes.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowNativeTypeOp, AsArray, BinaryArray, BooleanArray, PrimitiveArray,
    downcast_primitive,
};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{ArrowPrimitiveType, DataType};
use arrow::error::ArrowError;

use super::groups::GroupIds;
use super::{AggregateState, StateError, same_kind, shared};
use crate::charged::ChargedVec;
use crate::expr::canonical_floats;
use crate::quota::{Charge, Quota, QuotaExceeded};

pub(super) fn new_state(
    argument: &DataType,
    smallest: bool,
    quota: Option<&Arc<Quota>>,
) -> Box<dyn AggregateState> {
    macro_rules! primitive {
        ($t:ty) => {
            Box::new(PrimitiveExtreme::<$t> {
                values: ChargedVec::new(quota),
                seen: ChargedVec::new(quota),
                smallest,
            })
        };
    }
    downcast_primitive! {
        argument => (primitive),
        DataType::Boolean => Box::new(BooleanExtreme { values: ChargedVec::new(quota), smallest }),
        _ => Box::new(BytesExtreme {
            values: ChargedVec::new(quota),
            smallest,
            bytes: Charge::of(quota.cloned()),
            ahead: 0,
        }),
    }
}

#[derive(Debug)]
struct PrimitiveExtreme<T: ArrowPrimitiveType> {
    values: ChargedVec<T::Native>,
    seen: ChargedVec<bool>,
    smallest: bool,
}

impl<T: ArrowPrimitiveType> PrimitiveExtreme<T> {
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

impl<T: ArrowPrimitiveType> AggregateState for PrimitiveExtreme<T> {
    fn is_exact(&self) -> bool {
        true
    }

    fn resize(&mut self, groups: usize) -> Result<(), QuotaExceeded> {
        self.values.resize(groups, T::Native::default())?;
        self.seen.resize(groups, false)
    }

    fn update(&mut self, values: Option<&ArrayRef>, groups: GroupIds<'_>) -> Result<(), QuotaExceeded> {
        let values = canonical_floats(values.expect("an extreme has an argument"));
        let values = values.as_primitive::<T>();
        groups.for_each(values.nulls(), |group, row| self.offer(group, values.value(row)));
        Ok(())
    }

    fn arrange(&mut self, order: &[u32]) -> Result<(), QuotaExceeded> {
        self.values.arrange(order)?;
        self.seen.arrange(order)
    }

    fn merge(&mut self, from: &dyn AggregateState, first: usize, map: &[u32]) -> Result<(), QuotaExceeded> {
        let from: &Self = same_kind(from);
        let groups = from.values[first..].iter().zip(&from.seen[first..]);
        for ((&value, &seen), &group) in groups.zip(map) {
            if seen {
                self.offer(group as usize, value);
            }
        }
        Ok(())
    }

    fn finish(&self, data_type: &DataType, _average: bool) -> Result<ArrayRef, StateError> {
        let nulls = NullBuffer::from_iter(self.seen.iter().copied());
        let array = PrimitiveArray::<T>::new(self.values.to_vec().into(), Some(nulls));
        Ok(shared(array.with_data_type(data_type.clone())))
    }
}

#[derive(Debug)]
struct BooleanExtreme {
    values: ChargedVec<Option<bool>>,
    smallest: bool,
}

impl BooleanExtreme {
    fn offer(&mut self, group: usize, value: bool) {
        let known = &mut self.values[group];
        *known = Some(match *known {
            None => value,
            Some(known) if self.smallest => known & value,
            Some(known) => known | value,
        });
    }
}

impl AggregateState for BooleanExtreme {
    fn is_exact(&self) -> bool {
        true
    }

    fn resize(&mut self, groups: usize) -> Result<(), QuotaExceeded> {
        self.values.resize(groups, None)
    }

    fn update(&mut self, values: Option<&ArrayRef>, groups: GroupIds<'_>) -> Result<(), QuotaExceeded> {
        let values = values.expect("an extreme has an argument").as_boolean();
        groups.for_each(values.nulls(), |group, row| self.offer(group, values.value(row)));
        Ok(())
    }

    fn arrange(&mut self, order: &[u32]) -> Result<(), QuotaExceeded> {
        self.values.arrange(order)
    }

    fn merge(&mut self, from: &dyn AggregateState, first: usize, map: &[u32]) -> Result<(), QuotaExceeded> {
        for (value, &group) in same_kind::<Self>(from).values[first..].iter().zip(map) {
            if let Some(value) = value {
                self.offer(group as usize, *value);
            }
        }
        Ok(())
    }

    fn finish(&self, _data_type: &DataType, _average: bool) -> Result<ArrayRef, StateError> {
        Ok(shared(BooleanArray::from(self.values.to_vec())))
    }
}

/// Text compares as its UTF-8 bytes do, so one state serves text and binary.
#[derive(Debug)]
struct BytesExtreme {
    values: ChargedVec<Option<Vec<u8>>>,
    smallest: bool,
    /// The values' bytes, and those that are charged ahead.
    bytes: Charge,
    /// What is charged and not used: many values are short, and a charge is a word that all threads share.
    ahead: usize,
}

/// What is charged ahead for values to come.
const AHEAD: usize = 16 * 1024;

impl BytesExtreme {
    fn offer(&mut self, group: usize, value: &[u8]) -> Result<(), QuotaExceeded> {
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
                    // Where there is no room for more than this value, there may be for this value.
                    self.ahead += ahead.or_else(|_| self.bytes.grow(more).map(|()| more))?;
                }
                self.ahead -= value.len();
                let replaced = known.replace(value.to_vec());
                self.ahead += replaced.map_or(0, |replaced| replaced.capacity());
            }
        }
        Ok(())
    }

    /// Gives back what no value has used.
    fn settle(&mut self) {
        self.bytes.shrink(self.ahead);
        self.ahead = 0;
    }
}

impl AggregateState for BytesExtreme {
    fn is_exact(&self) -> bool {
        true
    }

    fn resize(&mut self, groups: usize) -> Result<(), QuotaExceeded> {
        self.values.resize(groups, None)
    }

    fn update(&mut self, values: Option<&ArrayRef>, groups: GroupIds<'_>) -> Result<(), QuotaExceeded> {
        let values = values.expect("an extreme has an argument");
        let nulls = values.logical_nulls();
        let nulls = nulls.as_ref();
        let mut result = Ok(());
        macro_rules! offer {
            ($array:expr) => {{
                let array = $array;
                groups.for_each(nulls, |group, row| {
                    if result.is_ok() {
                        result = self.offer(group, array.value(row).as_ref());
                    }
                })
            }};
        }
        match values.data_type() {
            DataType::Utf8 => offer!(values.as_string::<i32>()),
            DataType::LargeUtf8 => offer!(values.as_string::<i64>()),
            DataType::Utf8View => offer!(values.as_string_view()),
            DataType::Binary => offer!(values.as_binary::<i32>()),
            DataType::LargeBinary => offer!(values.as_binary::<i64>()),
            DataType::BinaryView => offer!(values.as_binary_view()),
            DataType::FixedSizeBinary(_) => offer!(values.as_fixed_size_binary()),
            // The type of the constant NULL: nothing to offer.
            DataType::Null => {}
            other => unreachable!("min and max of {other} were refused when the query was planned"),
        }
        self.settle();
        result
    }

    fn arrange(&mut self, order: &[u32]) -> Result<(), QuotaExceeded> {
        self.values.arrange(order)
    }

    fn merge(&mut self, from: &dyn AggregateState, first: usize, map: &[u32]) -> Result<(), QuotaExceeded> {
        for (value, &group) in same_kind::<Self>(from).values[first..].iter().zip(map) {
            if let Some(value) = value {
                self.offer(group as usize, value)?;
            }
        }
        self.settle();
        Ok(())
    }

    /// Arrow's buffer for them doubles as it grows.
    fn text_bytes(&self) -> usize {
        self.bytes.bytes().saturating_mul(2)
    }

    fn finish(&self, data_type: &DataType, _average: bool) -> Result<ArrayRef, StateError> {
        if *data_type == DataType::Null {
            return Ok(arrow::array::new_null_array(data_type, self.values.len()));
        }
        let bytes: usize = self.values.iter().flatten().map(Vec::len).sum();
        // An array of texts says by 32 bits where each ends.
        i32::try_from(bytes).map_err(|_| ArrowError::OffsetOverflowError(bytes))?;
        let values = BinaryArray::from_iter(self.values.iter().map(|value| value.as_deref()));
        Ok(cast(&values, data_type)?)
    }
}
