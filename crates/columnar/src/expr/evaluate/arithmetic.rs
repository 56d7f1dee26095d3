//! Arithmetic on rows: exact decimals, checked integers, doubles without zero divisors, dates and
//! intervals.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Decimal256Array, Float64Array};
use arrow::compute::kernels::numeric;
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Float64Type};
use arrow::error::ArrowError;

use super::value::Value;
use crate::expr::node::Arithmetic;

pub(super) fn evaluate(
    op: Arithmetic,
    left: &Value,
    right: &Value,
    data_type: &DataType,
) -> Result<ArrayRef, ArrowError> {
    let kernel = match op {
        Arithmetic::Add => numeric::add,
        Arithmetic::Subtract => numeric::sub,
        Arithmetic::Multiply => numeric::mul,
        Arithmetic::Divide => numeric::div,
        Arithmetic::Remainder => numeric::rem,
    };
    if *data_type == DataType::Float64 && matches!(op, Arithmetic::Divide | Arithmetic::Remainder) {
        refuse_zero_divisor(left, right)?;
    }
    // A kernel would read a NULL constant as the value beneath it.
    if let Some(nulls) = null_result(left, right, data_type) {
        return Ok(nulls);
    }
    let result = kernel(left, right)?;
    match data_type {
        DataType::Decimal128(precision, scale) => decimal128(result, *precision, *scale),
        DataType::Decimal256(precision, scale) => decimal256(result, *precision, *scale),
        _ => Ok(result),
    }
}

fn null_result(left: &Value, right: &Value, data_type: &DataType) -> Option<ArrayRef> {
    let is_null = |value: &Value| value.is_constant() && value.array().is_null(0);
    let rows = match (left, right) {
        (Value::Rows(rows), _) | (_, Value::Rows(rows)) => rows.len(),
        _ => 1,
    };
    (is_null(left) || is_null(right)).then(|| arrow::array::new_null_array(data_type, rows))
}

/// IEEE division gives infinity or NaN; a query fails, as for integers.
fn refuse_zero_divisor(left: &Value, right: &Value) -> Result<(), ArrowError> {
    let divisors: &Float64Array = right.array().as_primitive::<Float64Type>();
    let dividends = left.array();
    if !divisors.values().contains(&0.0) {
        return Ok(());
    }
    let constant_dividend = left.is_constant();
    let dividend_is_there = |row: usize| dividends.is_valid(if constant_dividend { 0 } else { row });
    let constant_divisor = right.is_constant();
    let divides_by_zero = if constant_divisor {
        divisors.is_valid(0) && (0..dividends.len()).any(dividend_is_there)
    } else {
        (0..divisors.len())
            .any(|row| divisors.value(row) == 0.0 && divisors.is_valid(row) && dividend_is_there(row))
    };
    if divides_by_zero {
        Err(ArrowError::DivideByZero)
    } else {
        Ok(())
    }
}

/// The kernel checks 128 bits, not 38 digits, and its precision is too wide.
fn decimal128(result: ArrayRef, precision: u8, scale: i8) -> Result<ArrayRef, ArrowError> {
    let array: Decimal128Array = result.as_primitive().clone();
    if precision == DECIMAL128_MAX_PRECISION {
        array.validate_decimal_precision(precision).map_err(overflow)?;
    }
    Ok(Arc::new(
        array.with_data_type(DataType::Decimal128(precision, scale)),
    ))
}

fn decimal256(result: ArrayRef, precision: u8, scale: i8) -> Result<ArrayRef, ArrowError> {
    let array: Decimal256Array = result.as_primitive().clone();
    if precision == DECIMAL256_MAX_PRECISION {
        array.validate_decimal_precision(precision).map_err(overflow)?;
    }
    Ok(Arc::new(
        array.with_data_type(DataType::Decimal256(precision, scale)),
    ))
}

fn overflow(error: ArrowError) -> ArrowError {
    ArrowError::ArithmeticOverflow(error.to_string())
}
