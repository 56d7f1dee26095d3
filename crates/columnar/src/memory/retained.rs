//! The memory that arrays retain, and copies that retain no more than their rows need.
//!
//! A slice retains whole buffers, and so does a kernel's result that has views: ten rows may keep a
//! page of strings of 1 MiB. The retained size counts each buffer once. Rows that need little of it
//! are copied.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayData, ArrayRef, AsArray, GenericByteViewArray, MutableArrayData, downcast_primitive_array,
    make_array,
};
use arrow::buffer::Buffer;
use arrow::datatypes::{ByteViewType, DataType};
use arrow::error::ArrowError;
use bytes::Bytes;

/// Bytes below which no array is copied to save memory.
const COPY_FROM_BYTES: usize = 4 << 10;

/// Memory that arrays may reference but this query must not reserve: another owner reserved it, or
/// the table owns it.
#[derive(Debug)]
pub(crate) struct BorrowedBuffer {
    addresses: Range<usize>,
    /// Freed only when no array points into the buffer.
    bytes: usize,
    /// Keeps other buffers from these addresses.
    _fetched: Bytes,
}

impl BorrowedBuffer {
    pub(crate) fn fetched(bytes: &Bytes) -> Self {
        let addresses = bytes.as_ptr_range();
        Self {
            addresses: addresses.start as usize..addresses.end as usize,
            bytes: bytes.len(),
            _fetched: bytes.clone(),
        }
    }

    /// The table must hold `array` for longer than the query runs.
    pub(crate) fn of_table(array: &dyn Array) -> Vec<Self> {
        let mut borrowed = Vec::new();
        for_each_buffer(array, &mut |buffer| {
            let start = address(buffer);
            borrowed.push(Self {
                addresses: start..start + buffer.capacity().max(1),
                bytes: 0,
                _fetched: Bytes::new(),
            });
        });
        borrowed
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RetainedSize {
    /// The arrays' own buffers, also those that they share.
    pub(crate) own: usize,
    pub(crate) borrowed: usize,
}

impl RetainedSize {
    pub(crate) fn by<'a>(
        arrays: impl IntoIterator<Item = &'a ArrayRef>,
        borrowed: &[BorrowedBuffer],
    ) -> Self {
        let mut own = BTreeMap::new();
        let mut used = vec![false; borrowed.len()];
        for array in arrays {
            for_each_buffer(array, &mut |buffer| {
                let start = address(buffer);
                match borrowed
                    .iter()
                    .position(|borrowed| borrowed.addresses.contains(&start))
                {
                    Some(at) => used[at] = true,
                    None => {
                        own.insert(start, buffer.capacity());
                    }
                }
            });
        }
        Self {
            own: own.values().sum(),
            borrowed: borrowed
                .iter()
                .zip(used)
                .filter(|(_, used)| *used)
                .map(|(borrowed, _)| borrowed.bytes)
                .sum(),
        }
    }

    pub(crate) fn is_mostly_unused(self, needed: usize) -> bool {
        self.own.saturating_add(self.borrowed) >= needed.saturating_mul(2).saturating_add(COPY_FROM_BYTES)
    }
}

/// Copies only the array's rows. It allocates [`compact_bytes`].
pub(crate) fn compact(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Utf8View => compact_view(array.as_string_view()),
        DataType::BinaryView => compact_view(array.as_binary_view()),
        _ => copied(array),
    }
}

/// Copies strings too, where views share them.
pub(crate) fn with_own_strings(array: ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Utf8View => Arc::new(array.as_string_view().gc()),
        DataType::BinaryView => Arc::new(array.as_binary_view().gc()),
        _ => array,
    }
}

pub(crate) fn compact_bytes(array: &dyn Array) -> Result<usize, ArrowError> {
    let strings = match array.data_type() {
        DataType::Utf8View => array.as_string_view().total_buffer_bytes_used(),
        DataType::BinaryView => array.as_binary_view().total_buffer_bytes_used(),
        _ => 0,
    };
    Ok(copy_bytes(array)? + strings)
}

/// The bytes that a kernel allocates to copy all rows once. Views are copied, and share the
/// strings.
pub(crate) fn copy_bytes(array: &dyn Array) -> Result<usize, ArrowError> {
    match array.data_type().primitive_width() {
        Some(width) if array.nulls().is_none() => Ok(array.len() * width),
        _ => array.to_data().get_slice_memory_size(),
    }
}

pub(crate) fn copies_bytes(columns: &[ArrayRef]) -> Result<usize, ArrowError> {
    columns.iter().map(|column| copy_bytes(column)).sum()
}

pub(crate) fn compacts_bytes(columns: &[ArrayRef]) -> Result<usize, ArrowError> {
    columns.iter().map(|column| compact_bytes(column)).sum()
}

/// In arrow's row encoding.
pub(crate) fn encoded_bytes(columns: &[ArrayRef]) -> usize {
    let rows = columns.first().map_or(0, |column| column.len());
    let column = |column: &ArrayRef| match column.data_type() {
        DataType::Utf8View => padded(column.as_string_view().lengths()),
        DataType::BinaryView => padded(column.as_binary_view().lengths()),
        DataType::Utf8 => padded(
            column
                .as_string::<i32>()
                .offsets()
                .lengths()
                .map(|len| len as u32),
        ),
        DataType::Binary => padded(
            column
                .as_binary::<i32>()
                .offsets()
                .lengths()
                .map(|len| len as u32),
        ),
        other => column.len() * (other.primitive_width().unwrap_or(16) + 1),
    };
    // One offset per row, and one more.
    columns.iter().map(column).sum::<usize>() + (rows + 1) * size_of::<usize>()
}

/// Bytes of texts: short ones take blocks of 8 bytes, long ones blocks of 32, each with a byte that
/// marks the last.
fn padded(lengths: impl Iterator<Item = u32>) -> usize {
    let one = |len: u32| match len as usize {
        0 => 1,
        len @ 1..=32 => 1 + len.div_ceil(8) * 9,
        len => 4 + len.div_ceil(32) * 33,
    };
    lengths.map(one).sum()
}

/// Bytes of a value in an array; for a text, of its view.
pub(crate) fn width(data_type: &DataType) -> usize {
    data_type.primitive_width().unwrap_or(16)
}

fn compact_view<T: ByteViewType>(array: &GenericByteViewArray<T>) -> Result<ArrayRef, ArrowError> {
    let compact = array.gc();
    // If all strings are short, the result shares the views.
    match compact.data_buffers().is_empty() {
        true => copied(&compact),
        false => Ok(Arc::new(compact)),
    }
}

fn copied(array: &dyn Array) -> Result<ArrayRef, ArrowError> {
    let data = array.to_data();
    let mut copy = MutableArrayData::new(vec![&data], false, data.len());
    copy.try_extend(0, 0, data.len())?;
    Ok(make_array(copy.freeze()))
}

fn address(buffer: &Buffer) -> usize {
    buffer.data_ptr().as_ptr() as usize
}

/// An array's `ArrayData` shares each buffer anew, and changes its count of owners, which lies far
/// away. So the buffers of common arrays are visited without it.
fn for_each_buffer(array: &dyn Array, visit: &mut impl FnMut(&Buffer)) {
    downcast_primitive_array! {
        array => visit(array.values().inner()),
        DataType::Utf8View => {
            let texts = array.as_string_view();
            visit(texts.views().inner());
            texts.data_buffers().iter().for_each(&mut *visit);
        }
        _ => return for_each_buffer_of(&array.to_data(), visit),
    }
    if let Some(nulls) = array.nulls() {
        visit(nulls.buffer());
    }
}

fn for_each_buffer_of(data: &ArrayData, visit: &mut impl FnMut(&Buffer)) {
    data.buffers().iter().for_each(&mut *visit);
    if let Some(nulls) = data.nulls() {
        visit(nulls.buffer());
    }
    for child in data.child_data() {
        for_each_buffer_of(child, visit);
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{BooleanArray, Decimal128Array, Int64Array, ListArray, StringArray, StringViewArray};
    use arrow::compute::take;
    use arrow::datatypes::Int32Type;
    use arrow::row::{RowConverter, Rows, SortField};
    use proptest::prelude::*;

    use super::*;

    fn shared(array: impl Array + 'static) -> ArrayRef {
        Arc::new(array)
    }

    fn long_texts(rows: usize) -> ArrayRef {
        let text = |row: usize| format!("a text that has no place in a view {row}");
        shared(StringViewArray::from_iter_values((0..rows).map(text)))
    }

    #[test]
    fn slices_keep_what_they_are_of_and_share_it() {
        let numbers = shared(Int64Array::from_iter_values(0..1_000));
        let (a, b) = (numbers.slice(0, 10), numbers.slice(990, 10));
        assert_eq!(
            RetainedSize::by([&a, &b], &[]),
            RetainedSize {
                own: 8_000,
                borrowed: 0
            }
        );
        let borrowed = BorrowedBuffer::of_table(&numbers);
        assert_eq!(RetainedSize::by([&a, &b], &borrowed), RetainedSize::default());
        assert!(!RetainedSize::by([&a], &borrowed).is_mostly_unused(80));
        assert!(RetainedSize::by([&a], &[]).is_mostly_unused(80));
    }

    #[test]
    fn an_array_has_the_buffers_and_the_bytes_of_its_data() {
        let numbers = || Int64Array::from_iter([Some(1), None, Some(3)]);
        let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1), None])]);
        let arrays = [
            shared(Int64Array::from_iter_values(0..3)),
            shared(numbers()),
            shared(numbers().slice(1, 2)),
            shared(Decimal128Array::from_iter_values(0..3)),
            shared(BooleanArray::from_iter([Some(true), None])),
            long_texts(3),
            shared(StringViewArray::from_iter([Some("short"), None])),
            shared(StringArray::from_iter([Some("a"), None])),
            shared(list),
        ];
        for array in &arrays {
            let (mut buffers, mut of_data) = (Vec::new(), Vec::new());
            for_each_buffer(array, &mut |buffer| buffers.push(address(buffer)));
            for_each_buffer_of(&array.to_data(), &mut |buffer| of_data.push(address(buffer)));
            assert_eq!(buffers, of_data, "{array:?}");
            assert!(!buffers.is_empty());
            let bytes = array.to_data().get_slice_memory_size().unwrap();
            assert_eq!(copy_bytes(array).unwrap(), bytes, "{array:?}");
        }
    }

    #[test]
    fn a_view_into_fetched_bytes_keeps_all_of_them() {
        let fetched = Bytes::from("a text that is long enough, and another one".repeat(100));
        let page = fetched.slice(0..43);
        let mut builder = arrow::array::StringViewBuilder::with_capacity(1);
        let block = builder.append_block(Buffer::from(page));
        builder.try_append_view(block, 0, 26).expect("it is there");
        let view = shared(builder.finish());
        let kept = RetainedSize::by([&view], &[BorrowedBuffer::fetched(&fetched)]);
        assert_eq!(kept.borrowed, fetched.len());
        assert!(kept.own < 4_096, "the view alone: {kept:?}");
    }

    #[test]
    fn a_compact_copy_is_equal_and_keeps_what_was_said() {
        for array in [
            long_texts(10_000),
            shared(Int64Array::from_iter_values(0..10_000)),
        ] {
            let few = take(
                &array.slice(50, 5_000),
                &Int64Array::from(vec![3, 1_000, 4_999]),
                None,
            )
            .expect("in range");
            for part in [few, array.slice(7, 3)] {
                let copy = compact(&part).expect("a copy");
                assert_eq!(&copy, &part);
                let kept = RetainedSize::by([&copy], &[]).own;
                let said = compact_bytes(&part).expect("a size");
                assert!(said <= kept && kept <= said + 64, "{kept} for {said}");
            }
        }
        let short = shared(StringViewArray::from_iter_values(["short"; 1_000])).slice(0, 2);
        assert!(RetainedSize::by([&compact(&short).expect("a copy")], &[]).own < 200);
    }

    proptest! {
        #[test]
        fn row_encodings_take_what_was_said(
            texts in proptest::collection::vec(proptest::option::of("[a-z]{0,100}"), 1..50),
            views in any::<bool>(),
        ) {
            let numbers = shared(Int64Array::from_iter_values(0..texts.len() as i64));
            let texts = match views {
                true => shared(StringViewArray::from_iter(texts)),
                false => shared(StringArray::from_iter(texts)),
            };
            let columns = [texts, numbers];
            let fields = columns.iter().map(|column| SortField::new(column.data_type().clone()));
            let converter = RowConverter::new(fields.collect()).expect("types with an order");
            let rows = converter.convert_columns(&columns).expect("rows");
            prop_assert_eq!(rows.size() - size_of::<Rows>(), encoded_bytes(&columns));
        }
    }
}
