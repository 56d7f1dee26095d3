//! Constants: numbers as exact as written, text, dates, timestamps, intervals.

use std::sync::Arc;

use arrow::array::{Decimal128Array, Decimal256Array, Float64Array};
use arrow::compute::kernels::cast_utils::parse_decimal;
use arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Decimal128Type, Decimal256Type,
    IntervalUnit, TimeUnit,
};
use columnar::Expr;
use sqlparser::ast::{self, DataType as SqlType, DateTimeField, Expr as Sql, Value, ValueWithSpan};

use super::position::{place, start};
use super::refusal::{type_mismatch, unsupported};
use crate::error::QueryError;

pub(super) fn plan_value(value: &ValueWithSpan, ast: &Sql) -> Result<Expr, QueryError> {
    match &value.value {
        Value::Number(digits, _) => plan_number(digits).ok_or_else(|| QueryError::Invalid {
            message: format!("the number {digits} has more than {DECIMAL256_MAX_PRECISION} digits"),
            position: place(value.span),
        }),
        Value::Boolean(value) => Ok(Expr::boolean(*value)),
        Value::Null => Ok(Expr::null()),
        other => match text(other) {
            Some(text) => Ok(Expr::text(text)),
            None => Err(unsupported(format!("the constant {other}"), ast)),
        },
    }
}

/// An integer, a decimal, or a double if it has an exponent.
pub(super) fn plan_number(digits: &str) -> Option<Expr> {
    if digits.contains(['e', 'E']) {
        let double: f64 = digits.parse().ok()?;
        return double
            .is_finite()
            .then(|| Expr::literal(Arc::new(Float64Array::from(vec![double]))));
    }
    if let Ok(integer) = digits.parse() {
        return Some(Expr::int64(integer));
    }
    let (whole, fraction) = digits
        .trim_start_matches('-')
        .split_once('.')
        .unwrap_or((digits.trim_start_matches('-'), ""));
    let scale = u8::try_from(fraction.len()).ok()?;
    let precision = u8::try_from(whole.trim_start_matches('0').len() + fraction.len())
        .ok()?
        .max(1);
    if precision <= DECIMAL128_MAX_PRECISION {
        let value = parse_decimal::<Decimal128Type>(digits, precision, scale as i8).ok()?;
        let array = Decimal128Array::from(vec![value])
            .with_precision_and_scale(precision, scale as i8)
            .ok()?;
        Some(Expr::literal(Arc::new(array)))
    } else if precision <= DECIMAL256_MAX_PRECISION {
        let value = parse_decimal::<Decimal256Type>(digits, precision, scale as i8).ok()?;
        let array = Decimal256Array::from(vec![value])
            .with_precision_and_scale(precision, scale as i8)
            .ok()?;
        Some(Expr::literal(Arc::new(array)))
    } else {
        None
    }
}

/// `date '1998-12-01'`, `timestamp '1998-12-01 12:00:00'`.
pub(super) fn plan_typed_string(typed: &ast::TypedString, ast: &Sql) -> Result<Expr, QueryError> {
    let to = match &typed.data_type {
        SqlType::Date => DataType::Date32,
        SqlType::Timestamp(None, ast::TimezoneInfo::None | ast::TimezoneInfo::WithoutTimeZone)
        | SqlType::Datetime(None) => DataType::Timestamp(TimeUnit::Microsecond, None),
        other => return Err(unsupported(format!("a constant of type {other}"), ast)),
    };
    let value = text(&typed.value.value).ok_or_else(|| unsupported(format!("the constant {typed}"), ast))?;
    Expr::read_literal(value, &to).map_err(|error| type_mismatch(error, ast))
}

/// `interval '90' day`, `interval '3 months'`.
pub(super) fn plan_interval(interval: &ast::Interval, ast: &Sql) -> Result<Expr, QueryError> {
    let position = || start(&interval.value);
    if interval.last_field.is_some() || interval.leading_precision.is_some() {
        return Err(unsupported("an interval of several fields", ast));
    }
    let count = match interval.value.as_ref() {
        Sql::Value(value) => match (&value.value, text(&value.value)) {
            (Value::Number(digits, _), _) => digits.clone(),
            (_, Some(text)) => text.to_owned(),
            _ => return Err(unsupported("an interval that is no constant", ast)),
        },
        _ => return Err(unsupported("an interval that is no constant", ast)),
    };
    let words = match &interval.leading_field {
        None => count,
        Some(field) => format!(
            "{count} {}",
            unit(field).ok_or_else(|| unsupported(format!("an interval in {field}"), ast))?
        ),
    };
    Expr::read_literal(&words, &DataType::Interval(IntervalUnit::MonthDayNano)).map_err(|error| {
        QueryError::Invalid {
            message: format!("'{words}' is not an interval: {}", error.message),
            position: position(),
        }
    })
}

pub(super) fn text(value: &Value) -> Option<&str> {
    match value {
        Value::SingleQuotedString(text)
        | Value::EscapedStringLiteral(text)
        | Value::NationalStringLiteral(text)
        | Value::UnicodeStringLiteral(text) => Some(text),
        Value::DollarQuotedString(text) => Some(&text.value),
        _ => None,
    }
}

fn unit(field: &DateTimeField) -> Option<&'static str> {
    Some(match field {
        DateTimeField::Year | DateTimeField::Years => "year",
        DateTimeField::Month | DateTimeField::Months => "month",
        DateTimeField::Week(None) | DateTimeField::Weeks => "week",
        DateTimeField::Day | DateTimeField::Days => "day",
        DateTimeField::Hour | DateTimeField::Hours => "hour",
        DateTimeField::Minute | DateTimeField::Minutes => "minute",
        DateTimeField::Second | DateTimeField::Seconds => "second",
        _ => return None,
    })
}
