//! Families of types, common types of two operands, and lossless conversions.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, IntervalUnit, TimeUnit};

use super::decimal::DecimalShape;
use crate::narrow::{is_narrow, widened};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Null,
    Boolean,
    /// Fits a signed 64-bit integer.
    Integer,
    /// A decimal, or an integer too wide for 64 bits.
    Decimal,
    Float,
    Text,
    Binary,
    Date,
    Timestamp,
    Interval,
    /// Can be selected, and nothing else.
    Opaque,
}

impl Family {
    pub(super) fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Boolean,
            DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32 => Self::Integer,
            DataType::UInt64
            | DataType::Decimal32(..)
            | DataType::Decimal64(..)
            | DataType::Decimal128(..)
            | DataType::Decimal256(..) => Self::Decimal,
            DataType::Float16 | DataType::Float32 | DataType::Float64 => Self::Float,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Text,
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_) => Self::Binary,
            DataType::Date32 => Self::Date,
            DataType::Date64 | DataType::Timestamp(..) => Self::Timestamp,
            DataType::Interval(IntervalUnit::MonthDayNano) => Self::Interval,
            DataType::Dictionary(_, values) if Self::of(values) == Self::Text => Self::Text,
            _ => Self::Opaque,
        }
    }

    pub(super) fn is_numeric(self) -> bool {
        matches!(self, Self::Integer | Self::Decimal | Self::Float)
    }
}

pub(crate) fn value_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        plain => plain,
    }
}

pub(super) fn common_type(left: &DataType, right: &DataType) -> Option<DataType> {
    let (left, right) = (value_type(left), value_type(right));
    if left == right {
        return Some(match left {
            DataType::Float16 | DataType::Float32 => DataType::Float64,
            same => same.clone(),
        });
    }
    match (Family::of(left), Family::of(right)) {
        (Family::Null, _) => Some(right.clone()),
        (_, Family::Null) => Some(left.clone()),
        (Family::Integer, Family::Integer) => Some(DataType::Int64),
        (Family::Float, other) | (other, Family::Float) if other.is_numeric() => Some(DataType::Float64),
        (l, r) if l.is_numeric() && r.is_numeric() => Some(
            DecimalShape::of(left)?
                .common(DecimalShape::of(right)?)
                .data_type(),
        ),
        (Family::Text, Family::Text) => Some(match (left, right) {
            (DataType::LargeUtf8, _) | (_, DataType::LargeUtf8) => DataType::LargeUtf8,
            _ => DataType::Utf8View,
        }),
        (Family::Binary, Family::Binary) => Some(DataType::LargeBinary),
        (Family::Date, Family::Timestamp) => timestamp_of(right),
        (Family::Timestamp, Family::Date) => timestamp_of(left),
        (Family::Timestamp, Family::Timestamp) => common_timestamp(left, right),
        _ => None,
    }
}

/// A value that does not fit is an error.
pub(super) fn cast_checked(values: &ArrayRef, to: &DataType) -> Result<ArrayRef, arrow::error::ArrowError> {
    if let (DataType::Date32, DataType::Timestamp(unit, zone)) = (values.data_type(), to) {
        return date_to_timestamp(values, *unit, zone.clone());
    }
    cast_with_options(
        values,
        to,
        &CastOptions {
            safe: false,
            ..CastOptions::default()
        },
    )
}

/// Arrow multiplies days unchecked; a date past 2262 has no nanoseconds.
fn date_to_timestamp(
    values: &ArrayRef,
    unit: TimeUnit,
    zone: Option<Arc<str>>,
) -> Result<ArrayRef, arrow::error::ArrowError> {
    use arrow::array::{AsArray, TimestampSecondArray};
    use arrow::datatypes::{Date32Type, TimestampSecondType};
    const SECONDS_PER_DAY: i64 = 86_400;
    let seconds: TimestampSecondArray = values
        .as_primitive::<Date32Type>()
        .unary::<_, TimestampSecondType>(|days| i64::from(days) * SECONDS_PER_DAY);
    let seconds: ArrayRef = Arc::new(seconds.with_timezone_opt(zone.clone()));
    cast_checked(&seconds, &DataType::Timestamp(unit, zone))
}

/// As [`cast_checked`], but a decimal in [64 bits](crate::narrow) keeps them where it can.
pub(super) fn converted(
    values: &ArrayRef,
    from: &DataType,
    to: &DataType,
) -> Result<ArrayRef, arrow::error::ArrowError> {
    if is_narrow(values.data_type(), to) && !conversion_can_fail(from, to) {
        return Ok(values.clone());
    }
    cast_checked(&widened(values.clone(), from), to)
}

pub(super) fn conversion_can_fail(from: &DataType, to: &DataType) -> bool {
    let from = value_type(from);
    match (Family::of(from), Family::of(to)) {
        (Family::Text, Family::Text) | (Family::Null, _) => false,
        (Family::Binary, Family::Binary) => false,
        (Family::Integer | Family::Decimal | Family::Float, Family::Float) => *to != DataType::Float64,
        (Family::Integer, Family::Integer) => *to != DataType::Int64,
        (Family::Date, Family::Integer) => !matches!(to, DataType::Int32 | DataType::Int64),
        (Family::Integer | Family::Decimal, Family::Decimal) => {
            match (DecimalShape::of(from), DecimalShape::of(to)) {
                (Some(from), Some(to)) => to.scale < from.scale || from.common(to).precision > to.precision,
                _ => true,
            }
        }
        _ => true,
    }
}

fn timestamp_of(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Timestamp(..) => Some(data_type.clone()),
        DataType::Date64 => Some(DataType::Timestamp(TimeUnit::Millisecond, None)),
        _ => None,
    }
}

fn common_timestamp(left: &DataType, right: &DataType) -> Option<DataType> {
    let (left, right) = (timestamp_of(left)?, timestamp_of(right)?);
    match (left, right) {
        // A moment and a wall-clock time do not compare.
        (DataType::Timestamp(_, a), DataType::Timestamp(_, b)) if a.is_some() != b.is_some() => None,
        (DataType::Timestamp(a, zone), DataType::Timestamp(b, _)) => {
            Some(DataType::Timestamp(a.max(b), zone))
        }
        _ => None,
    }
}
