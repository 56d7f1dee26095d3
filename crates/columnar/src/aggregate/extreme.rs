//! `min` and `max`: numbers and times by their native values, text and binary by their bytes.

use arrow::array::{
    Array, ArrayRef, ArrowNativeTypeOp, AsArray, BinaryArray, BooleanArray, PrimitiveArray,
    downcast_primitive,
};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{ArrowPrimitiveType, DataType};

use super::groups::GroupIds;
use super::{AggregateState, StateError, arranged, same_kind, shared};
use crate::expr::canonical_floats;

pub(super) fn new_state(argument: &DataType, smallest: bool) -> Box<dyn AggregateState> {
    macro_rules! primitive {
        ($t:ty) => {
            Box::new(PrimitiveExtreme::<$t> {
                values: Vec::new(),
                seen: Vec::new(),
                smallest,
            })
        };
    }
    downcast_primitive! {
        argument => (primitive),
        DataType::Boolean => Box::new(BooleanExtreme { values: Vec::new(), smallest }),
        _ => Box::new(BytesExtreme { values: Vec::new(), smallest }),
    }
}

#[derive(Debug)]
struct PrimitiveExtreme<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    seen: Vec<bool>,
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

    fn resize(&mut self, groups: usize) {
        self.values.resize(groups, T::Native::default());
        self.seen.resize(groups, false);
    }

    fn update(&mut self, values: Option<&ArrayRef>, groups: GroupIds<'_>) {
        let values = canonical_floats(values.expect("an extreme has an argument"));
        let values = values.as_primitive::<T>();
        groups.for_each(values.nulls(), |group, row| self.offer(group, values.value(row)));
    }

    fn arrange(&mut self, order: &[u32]) {
        self.values = arranged(&self.values, order);
        self.seen = arranged(&self.seen, order);
    }

    fn merge(&mut self, from: &dyn AggregateState, first: usize, map: &[u32]) {
        let from: &Self = same_kind(from);
        let groups = from.values[first..].iter().zip(&from.seen[first..]);
        for ((&value, &seen), &group) in groups.zip(map) {
            if seen {
                self.offer(group as usize, value);
            }
        }
    }

    fn finish(&self, data_type: &DataType, _average: bool) -> Result<ArrayRef, StateError> {
        let nulls = NullBuffer::from_iter(self.seen.iter().copied());
        let array = PrimitiveArray::<T>::new(self.values.clone().into(), Some(nulls));
        Ok(shared(array.with_data_type(data_type.clone())))
    }
}

#[derive(Debug)]
struct BooleanExtreme {
    values: Vec<Option<bool>>,
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

    fn resize(&mut self, groups: usize) {
        self.values.resize(groups, None);
    }

    fn update(&mut self, values: Option<&ArrayRef>, groups: GroupIds<'_>) {
        let values = values.expect("an extreme has an argument").as_boolean();
        groups.for_each(values.nulls(), |group, row| self.offer(group, values.value(row)));
    }

    fn arrange(&mut self, order: &[u32]) {
        self.values = arranged(&self.values, order);
    }

    fn merge(&mut self, from: &dyn AggregateState, first: usize, map: &[u32]) {
        for (value, &group) in same_kind::<Self>(from).values[first..].iter().zip(map) {
            if let Some(value) = value {
                self.offer(group as usize, *value);
            }
        }
    }

    fn finish(&self, _data_type: &DataType, _average: bool) -> Result<ArrayRef, StateError> {
        Ok(shared(BooleanArray::from(self.values.clone())))
    }
}

/// Text compares as its UTF-8 bytes do, so one state serves text and binary.
#[derive(Debug)]
struct BytesExtreme {
    values: Vec<Option<Vec<u8>>>,
    smallest: bool,
}

impl BytesExtreme {
    fn offer(&mut self, group: usize, value: &[u8]) {
        match &mut self.values[group] {
            Some(known) => {
                let better = if self.smallest {
                    value < known.as_slice()
                } else {
                    value > known.as_slice()
                };
                if better {
                    known.clear();
                    known.extend_from_slice(value);
                }
            }
            empty => *empty = Some(value.to_vec()),
        }
    }
}

impl AggregateState for BytesExtreme {
    fn is_exact(&self) -> bool {
        true
    }

    fn resize(&mut self, groups: usize) {
        self.values.resize(groups, None);
    }

    fn update(&mut self, values: Option<&ArrayRef>, groups: GroupIds<'_>) {
        let values = values.expect("an extreme has an argument");
        let nulls = values.logical_nulls();
        let nulls = nulls.as_ref();
        macro_rules! offer {
            ($array:expr) => {{
                let array = $array;
                groups.for_each(nulls, |group, row| {
                    self.offer(group, array.value(row).as_ref())
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
    }

    fn arrange(&mut self, order: &[u32]) {
        let values = order.iter().map(|&at| self.values[at as usize].take());
        self.values = values.collect();
    }

    fn merge(&mut self, from: &dyn AggregateState, first: usize, map: &[u32]) {
        for (value, &group) in same_kind::<Self>(from).values[first..].iter().zip(map) {
            if let Some(value) = value {
                self.offer(group as usize, value);
            }
        }
    }

    fn finish(&self, data_type: &DataType, _average: bool) -> Result<ArrayRef, StateError> {
        if *data_type == DataType::Null {
            return Ok(arrow::array::new_null_array(data_type, self.values.len()));
        }
        let bytes = BinaryArray::from_iter(self.values.iter().map(|value| value.as_deref()));
        Ok(cast(&bytes, data_type)?)
    }
}
