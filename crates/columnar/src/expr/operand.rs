//! Conversions of operands to a common type.
//!
//! A literal is converted once, to the column's type if that is exact. A conversion that is exact
//! for every value cannot fail.

use arrow::array::{Array, ArrayRef, Scalar, new_null_array};
use arrow::compute::kernels::cmp;
use arrow::datatypes::DataType;

use super::node::{Expr, Node};
use super::types::{cast_checked, conversion_can_fail, value_type};
use crate::error::TypeError;

pub(super) fn implicit_cast(expr: Expr, to: &DataType) -> Result<Expr, TypeError> {
    if expr.data_type() == to {
        return Ok(expr);
    }
    if let Some(value) = expr.literal_value() {
        let converted = cast_checked(value, to).map_err(|error| TypeError {
            expression: expr.to_string(),
            message: format!("is not a value of type {to}: {error}"),
        })?;
        return Ok(Expr::literal(converted));
    }
    if !arrow::compute::can_cast_types(expr.data_type(), to) {
        return Err(TypeError {
            message: format!("{} cannot be converted to {to}", expr.data_type()),
            expression: expr.to_string(),
        });
    }
    let fails = conversion_can_fail(expr.data_type(), to);
    Ok(Expr::new(Node::Cast(expr), to.clone(), fails))
}

pub(super) fn exact_literal(value: &ArrayRef, to: &DataType) -> Option<Expr> {
    let to = value_type(to);
    if matches!(to, DataType::Float16 | DataType::Float32) {
        return None;
    }
    if value.is_null(0) {
        return Some(Expr::literal(new_null_array(to, 1)));
    }
    if value.data_type() == to {
        return Some(Expr::literal(value.clone()));
    }
    let converted = cast_checked(value, to).ok()?;
    let back = cast_checked(&converted, value.data_type()).ok()?;
    let same = cmp::eq(&Scalar::new(back), &Scalar::new(value.clone())).ok()?;
    (same.is_valid(0) && same.value(0)).then(|| Expr::literal(converted))
}
