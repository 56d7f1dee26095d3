//! Builds Arrow arrays from a piece's fields.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanBuilder, Date32Builder, Decimal128Builder, Float64Builder, Int64Builder, StringBuilder,
    TimestampMicrosecondBuilder,
};
use arrow::datatypes::{DataType, TimeUnit};

use super::infer::ColumnRule;
use super::record::Field;
use super::value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueFault {
    /// The file changed after type inference, with equal length and time.
    DoesNotFit,
    /// A text in another encoding, for example Latin-1.
    NotUtf8,
}

#[derive(Debug)]
pub(crate) enum ColumnBuilder {
    Boolean(BooleanBuilder),
    Int64(Int64Builder),
    Decimal(Decimal128Builder, u32),
    Float64(Float64Builder),
    Date(Date32Builder),
    Timestamp(TimestampMicrosecondBuilder),
    /// The flag: bare words for missing values are NULL.
    Text(StringBuilder, bool),
}

const TEXT_BYTES: usize = 8;

/// Bytes that a builder allocates up front, for NULLs too.
pub(crate) fn bytes_ahead(rule: &ColumnRule, rows: usize) -> usize {
    let value = match &rule.data_type {
        DataType::Boolean => 1,
        DataType::Utf8 => size_of::<i32>() + TEXT_BYTES,
        other => other.primitive_width().unwrap_or(0),
    };
    rows.saturating_mul(value + 1)
}

impl ColumnBuilder {
    /// # Panics
    ///
    /// When inference never gives the rule's type.
    pub(crate) fn new(rule: &ColumnRule, rows: usize) -> Self {
        let data_type = &rule.data_type;
        match data_type {
            DataType::Boolean => Self::Boolean(BooleanBuilder::with_capacity(rows)),
            DataType::Int64 => Self::Int64(Int64Builder::with_capacity(rows)),
            DataType::Decimal128(_, scale) => Self::Decimal(
                Decimal128Builder::with_capacity(rows).with_data_type(data_type.clone()),
                u32::try_from(*scale).expect("inferred scales are not negative"),
            ),
            DataType::Float64 => Self::Float64(Float64Builder::with_capacity(rows)),
            DataType::Date32 => Self::Date(Date32Builder::with_capacity(rows)),
            DataType::Timestamp(TimeUnit::Microsecond, None) => {
                Self::Timestamp(TimestampMicrosecondBuilder::with_capacity(rows))
            }
            DataType::Utf8 => Self::Text(
                StringBuilder::with_capacity(rows, rows * TEXT_BYTES),
                rule.words_are_null,
            ),
            other => unreachable!("CSV inference gives no {other}"),
        }
    }

    pub(crate) fn push(&mut self, field: &Field<'_>) -> Result<(), ValueFault> {
        if let Self::Text(builder, words_are_null) = self {
            let word = *words_are_null && value::is_missing(field.raw.trim_ascii());
            if !field.quoted && (field.raw.is_empty() || word) {
                builder.append_null();
                return Ok(());
            }
            let content = field.content();
            builder.append_value(std::str::from_utf8(&content).map_err(|_| ValueFault::NotUtf8)?);
            return Ok(());
        }
        let bytes = field.raw.trim_ascii();
        let missing = bytes.is_empty() || (!field.quoted && value::is_missing(bytes));
        let fits = match self {
            Self::Boolean(builder) => append(missing, value::boolean, bytes, |value| {
                builder.append_option(value)
            }),
            Self::Int64(builder) => append(missing, value::integer, bytes, |value| {
                builder.append_option(value)
            }),
            Self::Decimal(builder, scale) => {
                let parse = |bytes: &[u8]| value::decimal(bytes, *scale);
                append(missing, parse, bytes, |value| builder.append_option(value))
            }
            Self::Float64(builder) => {
                append(missing, value::float, bytes, |value| builder.append_option(value))
            }
            Self::Date(builder) => append(missing, value::date, bytes, |value| builder.append_option(value)),
            Self::Timestamp(builder) => append(missing, value::timestamp, bytes, |value| {
                builder.append_option(value)
            }),
            Self::Text(..) => unreachable!("handled above"),
        };
        if fits { Ok(()) } else { Err(ValueFault::DoesNotFit) }
    }

    pub(crate) fn finish(self) -> ArrayRef {
        match self {
            Self::Boolean(mut builder) => Arc::new(builder.finish()),
            Self::Int64(mut builder) => Arc::new(builder.finish()),
            Self::Decimal(mut builder, _) => Arc::new(builder.finish()),
            Self::Float64(mut builder) => Arc::new(builder.finish()),
            Self::Date(mut builder) => Arc::new(builder.finish()),
            Self::Timestamp(mut builder) => Arc::new(builder.finish()),
            Self::Text(mut builder, _) => Arc::new(builder.finish()),
        }
    }
}

/// Returns false if the value cannot be parsed.
fn append<T>(
    missing: bool,
    parse: impl Fn(&[u8]) -> Option<T>,
    bytes: &[u8],
    mut push: impl FnMut(Option<T>),
) -> bool {
    if missing {
        push(None);
        return true;
    }
    match parse(bytes) {
        Some(value) => {
            push(Some(value));
            true
        }
        None => false,
    }
}
