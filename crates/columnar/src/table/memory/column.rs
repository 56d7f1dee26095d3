//! A column of a morsel in memory: as it came, or in less memory.

use std::hash::Hash;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, ArrowNumericType, ArrowPrimitiveType, AsArray as _};
use arrow::array::{PrimitiveArray, StringViewArray, UInt32Array};
use arrow::compute::{cast, max, min, sort_to_indices, take};
use arrow::datatypes::{DECIMAL64_MAX_PRECISION, DataType, Date32Type, Decimal64Type, Decimal128Type};
use arrow::datatypes::{Int8Type, Int16Type, Int32Type, Int64Type};
use arrow::error::ArrowError;
use hashbrown::HashMap;

use crate::memory::with_own_strings;
use crate::narrow::{narrowed, widened};
use crate::table::codes::Codes;
use crate::table::statistics::ColumnStatistics;

#[derive(Clone, Debug)]
pub(super) enum Column {
    Values(ArrayRef),
    Codes(Codes),
}

/// Rows of a column for each value that is worth its codes.
const ROWS_PER_VALUE: usize = 16;

impl Column {
    /// The column's values in less memory, if there is a way.
    pub(super) fn encoded(values: &ArrayRef) -> Result<Self, ArrowError> {
        let values = with_narrow_decimals(values);
        Ok(match codes_of(&values)? {
            Some(codes) => Self::Codes(codes),
            None => Self::Values(values),
        })
    }
}

impl Column {
    /// The bounds of numbers and days of `data_type`, and the NULLs.
    pub(super) fn statistics(&self, data_type: &DataType) -> ColumnStatistics {
        fn of<T: ArrowNumericType>(values: &ArrayRef) -> [Option<ArrayRef>; 2] {
            let values = values.as_primitive::<T>();
            let like = |bound: T::Native| -> ArrayRef {
                let bound = PrimitiveArray::<T>::from_value(bound, 1);
                Arc::new(bound.with_data_type(values.data_type().clone()))
            };
            [min(values).map(like), max(values).map(like)]
        }
        let (values, nulls) = match self {
            Self::Values(values) => (values, values.logical_null_count()),
            Self::Codes(codes) => (codes.values(), codes.rows().null_count()),
        };
        let bounds = match values.data_type() {
            DataType::Int8 => of::<Int8Type>(values),
            DataType::Int16 => of::<Int16Type>(values),
            DataType::Int32 => of::<Int32Type>(values),
            DataType::Int64 => of::<Int64Type>(values),
            DataType::Date32 => of::<Date32Type>(values),
            DataType::Decimal64(..) => of::<Decimal64Type>(values),
            DataType::Decimal128(..) => of::<Decimal128Type>(values),
            _ => [None, None],
        };
        let [min, max] = bounds.map(|bound| bound.map(|bound| widened(bound, data_type)));
        ColumnStatistics::unknown()
            .with_extremes(min, max)
            .with_nulls(nulls)
    }
}

/// Decimals in 64 bits, if all fit.
fn with_narrow_decimals(values: &ArrayRef) -> ArrayRef {
    let DataType::Decimal128(precision, _) = *values.data_type() else {
        return values.clone();
    };
    let narrow = (precision <= DECIMAL64_MAX_PRECISION).then(|| narrowed(values.as_primitive()));
    match narrow.flatten() {
        Some(narrow) => Arc::new(narrow),
        None => values.clone(),
    }
}

fn codes_of(values: &ArrayRef) -> Result<Option<Codes>, ArrowError> {
    fn of_numbers<T: ArrowPrimitiveType<Native: Hash + Eq>>(values: &ArrayRef) -> Option<Coded> {
        Coded::of(values.as_primitive::<T>().iter())
    }
    let coded = match values.data_type() {
        DataType::Int32 => of_numbers::<Int32Type>(values),
        DataType::Int64 => of_numbers::<Int64Type>(values),
        DataType::Date32 => of_numbers::<Date32Type>(values),
        DataType::Decimal64(..) => of_numbers::<Decimal64Type>(values),
        DataType::Utf8View => Coded::of(values.as_string_view().iter()),
        DataType::Utf8 | DataType::LargeUtf8 => {
            let views = cast(values, &DataType::Utf8View)?;
            let views: &StringViewArray = views.as_string_view();
            Coded::of(views.iter())
        }
        _ => None,
    };
    let Some(Coded { codes, firsts }) = coded else {
        return Ok(None);
    };
    let distinct = take(values, &UInt32Array::from(firsts), None)?;
    let (codes, distinct) = in_order(&codes, &distinct)?;
    // Views would keep the texts of all rows.
    Codes::try_narrow(codes, with_own_strings(distinct)).map(Some)
}

/// The values in their order, so that a condition on a range of values is one on a range of codes.
fn in_order(codes: &UInt32Array, values: &ArrayRef) -> Result<(UInt32Array, ArrayRef), ArrowError> {
    let order = sort_to_indices(values, None, None)?;
    let mut ranks = vec![0; values.len()];
    for (rank, code) in (0..).zip(order.values()) {
        ranks[*code as usize] = rank;
    }
    // The code beneath a NULL may have no rank.
    let codes = codes.unary(|code| ranks.get(code as usize).copied().unwrap_or(0));
    Ok((codes, take(values, &order, None)?))
}

struct Coded {
    codes: UInt32Array,
    /// The row in which each value is met first.
    firsts: Vec<u32>,
}

impl Coded {
    /// `None` as soon as there are too many values.
    fn of<V: Hash + Eq>(values: impl ExactSizeIterator<Item = Option<V>>) -> Option<Self> {
        let values_max = values.len() / ROWS_PER_VALUE;
        let mut known: HashMap<V, u32> = HashMap::new();
        let mut firsts = Vec::new();
        let mut codes = UInt32Array::builder(values.len());
        for (row, value) in values.enumerate() {
            let Some(value) = value else {
                codes.append_null();
                continue;
            };
            let code = *known.entry(value).or_insert_with(|| {
                firsts.push(row as u32);
                firsts.len() as u32 - 1
            });
            if firsts.len() > values_max {
                return None;
            }
            codes.append_value(code);
        }
        let codes = codes.finish();
        Some(Self { codes, firsts })
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Date32Array, Decimal128Array, Int32Array, Int64Array, StringArray};
    use proptest::prelude::*;

    use super::*;

    fn decoded(column: Column, data_type: &DataType) -> ArrayRef {
        let values = match column {
            Column::Values(values) => values,
            Column::Codes(codes) => codes.decoded().unwrap(),
        };
        cast(&values, data_type).unwrap()
    }

    proptest! {
        #[test]
        fn an_encoded_column_has_the_same_values(
            rows in proptest::collection::vec(proptest::option::weighted(0.9, any::<u8>()), 0..200),
            values in 1u8..40,
        ) {
            let numbers = || rows.iter().map(|row| row.map(|row| i64::from(row % values) - 9));
            let decimals = Decimal128Array::from_iter(numbers().map(|number| number.map(i128::from)));
            let texts = || numbers().map(|number| number.map(|number| format!("a text of some length, {number}")));
            let columns: [ArrayRef; 6] = [
                Arc::new(Int64Array::from_iter(numbers())),
                Arc::new(numbers().map(|number| number.map(|number| number as i32)).collect::<Int32Array>()),
                Arc::new(numbers().map(|number| number.map(|number| number as i32)).collect::<Date32Array>()),
                Arc::new(decimals.with_precision_and_scale(12, 2).unwrap()),
                Arc::new(StringArray::from_iter(texts())),
                Arc::new(StringViewArray::from_iter(texts())),
            ];
            let present: std::collections::BTreeSet<u8> = rows.iter().flatten().map(|row| row % values).collect();
            for column in columns {
                let encoded = Column::encoded(&column).unwrap();
                let is_coded = matches!(encoded, Column::Codes(_));
                prop_assert_eq!(is_coded, present.len() <= rows.len() / ROWS_PER_VALUE);
                let known = encoded.statistics(column.data_type());
                prop_assert_eq!(known.nulls(), Some(column.null_count()));
                let bounds = [present.first(), present.last()].map(|bound| {
                    let bound = bound.filter(|_| column.data_type().is_primitive())?;
                    let row = rows.iter().position(|row| row.is_some_and(|row| row % values == *bound));
                    Some(column.slice(row.expect("it is there"), 1))
                });
                prop_assert_eq!([known.min(), known.max()], [bounds[0].as_ref(), bounds[1].as_ref()]);
                prop_assert_eq!(&decoded(encoded, column.data_type()), &column);
            }
        }
    }

    #[test]
    fn decimals_of_more_than_64_bits_stay_as_they_are() {
        for (value, precision) in [(i128::from(i64::MAX) + 1, 18), (1, 19)] {
            let wide = Decimal128Array::from(vec![value]).with_data_type(DataType::Decimal128(precision, 0));
            let wide: ArrayRef = Arc::new(wide);
            let Column::Values(kept) = Column::encoded(&wide).unwrap() else {
                panic!("a single row is not worth codes");
            };
            assert_eq!(&kept, &wide);
        }
    }
}
