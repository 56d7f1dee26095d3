//! The range of an integer expression. One that fits 64 bits needs no care about order.

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Int64Type};

use super::node::{Arithmetic, Expr, Node};

pub(super) fn integer_bounds(expr: &Expr) -> Option<(i128, i128)> {
    let by_type = type_bounds(expr.data_type())?;
    let by_shape = match expr.node() {
        Node::Literal(value) if value.is_valid(0) && *value.data_type() == DataType::Int64 => {
            let value = i128::from(value.as_primitive::<Int64Type>().value(0));
            Some((value, value))
        }
        Node::Cast(value) => integer_bounds(value),
        Node::Arithmetic { op, left, right } => arithmetic_bounds(*op, left, right),
        _ => None,
    };
    let (low, high) = by_shape.unwrap_or(by_type);
    Some((low.max(by_type.0), high.min(by_type.1)))
}

pub(super) fn fits_int64(op: Arithmetic, left: &Expr, right: &Expr) -> bool {
    arithmetic_bounds(op, left, right)
        .is_some_and(|(low, high)| low >= i128::from(i64::MIN) && high <= i128::from(i64::MAX))
}

fn arithmetic_bounds(op: Arithmetic, left: &Expr, right: &Expr) -> Option<(i128, i128)> {
    let ((a, b), (c, d)) = (integer_bounds(left)?, integer_bounds(right)?);
    // Bounds have 64 bits, so these fit 128.
    match op {
        Arithmetic::Add => Some((a + c, b + d)),
        Arithmetic::Subtract => Some((a - d, b - c)),
        Arithmetic::Multiply => {
            let corners = [a * c, a * d, b * c, b * d];
            Some((*corners.iter().min()?, *corners.iter().max()?))
        }
        // A zero divisor is a separate error; only division by -1 enlarges the quotient.
        Arithmetic::Divide => Some((a.min(-b), b.max(-a))),
        Arithmetic::Remainder => Some((a.min(0), b.max(0))),
    }
}

fn type_bounds(data_type: &DataType) -> Option<(i128, i128)> {
    Some(match data_type {
        DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 => (i64::MIN.into(), i64::MAX.into()),
        DataType::UInt8 => (0, u8::MAX.into()),
        DataType::UInt16 => (0, u16::MAX.into()),
        DataType::UInt32 => (0, u32::MAX.into()),
        _ => return None,
    })
}
