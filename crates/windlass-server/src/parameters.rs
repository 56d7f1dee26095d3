//! The values that a client binds to a statement's parameters.

use arrow_pg::datatypes::df::deserialize_parameters_with_server_types;
use bytes::Bytes;
use datafusion::arrow::datatypes::{DataType, IntervalUnit, TimeUnit};
use datafusion::common::ParamValues;
use datafusion::scalar::ScalarValue;
use pgwire::api::portal::Portal;
use pgwire::api::stmt::StoredStatement;
use pgwire::messages::extendedquery::Bind as BindMessage;
use postgres_types::Type;

use crate::wire::{Bind, Format, SqlError};

/// Digits of the longest decimal number.
const DIGITS_MAX: u8 = 38;

/// The values of a portal, with the types in which the client has written them.
#[derive(Debug)]
pub(crate) struct Parameters {
    pub(crate) types: Vec<Type>,
    formats: Vec<i16>,
    pub(crate) values: Vec<Option<Bytes>>,
}

impl Parameters {
    pub(crate) fn new(types: Vec<Type>, bind: &Bind) -> Self {
        let format = |at: usize| match bind.parameter_formats.as_slice() {
            [] => Format::Text.code(),
            [one] => *one,
            many => many.get(at).copied().unwrap_or(Format::Text.code()),
        };
        Self {
            types,
            formats: (0..bind.parameters.len()).map(format).collect(),
            values: bind.parameters.clone(),
        }
    }

    /// The values. A number or a time keeps the type in which it was written: the engine compares
    /// it with a column of another type without a loss, as PostgreSQL does. `inferred` are the
    /// types that the plan uses.
    ///
    /// # Errors
    ///
    /// If a value is none of its type.
    pub(crate) fn read(&self, inferred: &[Option<&DataType>]) -> Result<ParamValues, SqlError> {
        let mut types = self.types.clone();
        let mut formats = self.formats.clone();
        let mut values = self.values.clone();
        let mut targets = Vec::with_capacity(values.len());
        for (at, kind) in types.iter_mut().enumerate() {
            let (Some(value), Some(format)) = (values.get_mut(at), formats.get_mut(at)) else {
                break;
            };
            let is_binary = *format == Format::Binary.code();
            if *kind == Type::UUID {
                *kind = Type::TEXT;
                *format = Format::Text.code();
                *value = match value.take() {
                    Some(bytes) if is_binary => Some(uuid_text(&bytes)?),
                    other => other,
                };
            }
            targets.push(match *kind {
                Type::NUMERIC => Some(decimal_of(value.as_ref(), is_binary)?),
                Type::INT2
                | Type::INT4
                | Type::INT8
                | Type::FLOAT4
                | Type::FLOAT8
                | Type::TIMESTAMP
                | Type::TIMESTAMPTZ
                | Type::INTERVAL => None,
                _ => inferred.get(at).copied().flatten().cloned(),
            });
        }
        let named = types.iter().cloned().map(Some).collect();
        let statement = StoredStatement::new(String::new(), (), named);
        let bind = BindMessage::new(None, None, formats, values, Vec::new());
        let portal = Portal::try_new(&bind, std::sync::Arc::new(statement))?;
        let targets: Vec<_> = targets.iter().map(Option::as_ref).collect();
        let read = deserialize_parameters_with_server_types(&portal, &targets, &[])?;
        Ok(match read {
            ParamValues::List(mut values) => {
                for (value, kind) in values.iter_mut().zip(&types) {
                    if let (&Type::TIMESTAMPTZ, ScalarValue::TimestampMicrosecond(_, zone)) =
                        (kind, &mut value.value)
                    {
                        *zone = Some("UTC".into());
                    }
                }
                ParamValues::List(values)
            }
            other => other,
        })
    }
}

/// The type of a decimal number with just the digits that `value` has.
fn decimal_of(value: Option<&Bytes>, is_binary: bool) -> Result<DataType, SqlError> {
    let Some(value) = value else {
        return Ok(DataType::Decimal128(1, 0));
    };
    let wrong = || SqlError::new("22P02", "a parameter is no decimal number");
    let (digits, scale) = if is_binary {
        // Number of groups of four digits, the first one's weight, the sign, digits behind the
        // point.
        let [_, _, weight_high, weight_low, _, _, scale_high, scale_low, ..] = value[..] else {
            return Err(wrong());
        };
        let weight = i16::from_be_bytes([weight_high, weight_low]);
        let scale = u16::from_be_bytes([scale_high, scale_low]);
        let before = (i64::from(weight) + 1).max(0) * 4;
        (before + i64::from(scale), i64::from(scale))
    } else {
        let text = std::str::from_utf8(value).map_err(|_| wrong())?.trim();
        let (before, behind) = text.split_once('.').unwrap_or((text, ""));
        let scale = behind.len() as i64;
        (before.len() as i64 + scale, scale)
    };
    let within = |number: i64| u8::try_from(number).ok().filter(|number| *number <= DIGITS_MAX);
    let scale = within(scale).ok_or_else(|| {
        let what = format!("a decimal number has at most {DIGITS_MAX} digits behind its point");
        SqlError::new("22003", what)
    })?;
    let digits = within(digits).unwrap_or(DIGITS_MAX).max(scale).max(1);
    Ok(DataType::Decimal128(digits, scale as i8))
}

/// As PostgreSQL writes it.
fn uuid_text(bytes: &Bytes) -> Result<Bytes, SqlError> {
    let bytes: [u8; 16] = bytes[..]
        .try_into()
        .map_err(|_| SqlError::new("22P03", "a UUID has 16 bytes"))?;
    let number = format!("{:032x}", u128::from_be_bytes(bytes));
    let parts = [
        &number[..8],
        &number[8..12],
        &number[12..16],
        &number[16..20],
        &number[20..],
    ];
    Ok(parts.join("-").into())
}

/// A NULL of each type, for the columns that a statement will have with values of these types.
pub(crate) fn nulls(types: &[Type]) -> Result<ParamValues, SqlError> {
    let null = |kind: &Type| {
        let kind = arrow_type(kind);
        Ok::<_, SqlError>(ScalarValue::try_from(&kind)?)
    };
    let nulls = types.iter().map(null).collect::<Result<Vec<_>, _>>()?;
    Ok(ParamValues::from(nulls))
}

/// The type as which a value of a parameter is read.
fn arrow_type(kind: &Type) -> DataType {
    let list = |of| DataType::new_list(of, true);
    match *kind {
        Type::BOOL => DataType::Boolean,
        Type::CHAR => DataType::Int8,
        Type::INT2 => DataType::Int16,
        Type::INT4 => DataType::Int32,
        Type::INT8 => DataType::Int64,
        Type::FLOAT4 => DataType::Float32,
        Type::FLOAT8 => DataType::Float64,
        Type::NUMERIC => DataType::Decimal128(DIGITS_MAX, 10),
        Type::DATE => DataType::Date32,
        Type::TIME => DataType::Time64(TimeUnit::Nanosecond),
        Type::TIMESTAMP => DataType::Timestamp(TimeUnit::Microsecond, None),
        Type::TIMESTAMPTZ => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        Type::INTERVAL => DataType::Interval(IntervalUnit::MonthDayNano),
        Type::BYTEA => DataType::Binary,
        Type::BOOL_ARRAY => list(DataType::Boolean),
        Type::INT2_ARRAY => list(DataType::Int16),
        Type::INT4_ARRAY => list(DataType::Int32),
        Type::INT8_ARRAY => list(DataType::Int64),
        Type::FLOAT4_ARRAY => list(DataType::Float32),
        Type::FLOAT8_ARRAY => list(DataType::Float64),
        Type::TEXT_ARRAY | Type::VARCHAR_ARRAY => list(DataType::Utf8),
        _ => DataType::Utf8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &'static str) -> DataType {
        decimal_of(Some(&Bytes::from_static(value.as_bytes())), false).unwrap()
    }

    #[test]
    fn a_decimal_number_keeps_its_digits() {
        assert_eq!(text("100000.505"), DataType::Decimal128(9, 3));
        assert_eq!(text("0.001"), DataType::Decimal128(4, 3));
        assert_eq!(text("-7"), DataType::Decimal128(2, 0));
        // 100000.505: two groups before the point, one behind it.
        let binary = Bytes::from_static(b"\0\x03\0\x01\0\0\0\x03\0\x0a\0\0\x13\xba");
        assert_eq!(
            decimal_of(Some(&binary), true).unwrap(),
            DataType::Decimal128(11, 3)
        );
        assert_eq!(
            decimal_of(Some(&Bytes::from_static(b"\0")), true)
                .unwrap_err()
                .code,
            "22P02"
        );
        let long = Bytes::from(format!("0.{}", "1".repeat(39)));
        assert_eq!(decimal_of(Some(&long), false).unwrap_err().code, "22003");
    }

    #[test]
    fn a_uuid_is_read_as_postgresql_writes_it() {
        let bytes = Bytes::from_static(&[
            0xa0, 0xee, 0xbc, 0x99, 0x9c, 0x0b, 0x4e, 0xf8, 0xbb, 0x6d, 0x6b, 0xb9, 0xbd, 0x38, 0x0a, 0x11,
        ]);
        assert_eq!(uuid_text(&bytes).unwrap(), "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11");
        assert_eq!(uuid_text(&Bytes::from_static(b"x")).unwrap_err().code, "22P03");
    }
}
