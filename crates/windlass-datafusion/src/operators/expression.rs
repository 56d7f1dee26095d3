//! DataFusion's expressions as those of `columnar`, where both give the same values.
//!
//! Conversions that lose nothing are left out: the constructors of [`Expr`] find a common type
//! themselves. An operation on integers or decimals that overflows is an error here, after which
//! DataFusion's operators decide.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Schema};
use columnar::{Arithmetic, Comparison, Expr};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NotExpr,
};

/// The columns that expressions read.
pub(super) struct Columns<'a> {
    /// As DataFusion reads them.
    known: &'a Schema,
    /// Of the table.
    table: &'a Schema,
}

impl<'a> Columns<'a> {
    pub(super) fn new(known: &'a Schema, table: &'a Schema) -> Self {
        Self { known, table }
    }

    /// `None` if there is no such expression, or if its values could differ.
    pub(super) fn expr(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Expr> {
        if let Some(column) = expr.downcast_ref::<Column>() {
            return self.column(column);
        }
        if let Some(literal) = expr.downcast_ref::<Literal>() {
            return literal_of(literal);
        }
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            return self.binary(expr, binary);
        }
        if let Some(cast) = expr.downcast_ref::<CastExpr>() {
            let from = self.type_of(cast.expr())?;
            return is_lossless(&from, cast.cast_type()).then(|| self.expr(cast.expr()))?;
        }
        if let Some(not) = expr.downcast_ref::<NotExpr>() {
            return Expr::not(self.expr(not.arg())?).ok();
        }
        if let Some(is_null) = expr.downcast_ref::<IsNullExpr>() {
            return Some(Expr::is_null(self.expr(is_null.arg())?));
        }
        if let Some(is_not_null) = expr.downcast_ref::<IsNotNullExpr>() {
            return Some(Expr::is_not_null(self.expr(is_not_null.arg())?));
        }
        if let Some(in_list) = expr.downcast_ref::<InListExpr>() {
            return self.in_list(in_list);
        }
        expr.downcast_ref::<LikeExpr>().and_then(|like| self.like(like))
    }

    /// Whether all of `conditions` hold; `Some(None)` if there are none.
    pub(super) fn all(&self, conditions: &[Arc<dyn PhysicalExpr>]) -> Option<Option<Expr>> {
        let conditions: Option<Vec<Expr>> = conditions.iter().map(|one| self.expr(one)).collect();
        match conditions? {
            none if none.is_empty() => Some(None),
            some => Some(Some(Expr::all(some).ok()?)),
        }
    }

    /// As [`expr`](Self::expr); numbers that are summed as doubles may come exact.
    pub(super) fn argument(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Expr> {
        let exact = expr.downcast_ref::<CastExpr>().filter(|cast| {
            let is_exact = |from: &DataType| from.is_integer() || matches!(from, DataType::Decimal128(..));
            *cast.cast_type() == DataType::Float64
                && self.type_of(cast.expr()).is_some_and(|from| is_exact(&from))
        });
        self.expr(exact.map_or(expr, |cast| cast.expr()))
    }

    fn type_of(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<DataType> {
        expr.data_type(self.known).ok()
    }

    fn column(&self, column: &Column) -> Option<Expr> {
        let known = self.known.fields().get(column.index())?;
        let (index, field) = self.table.column_with_name(known.name())?;
        let is_same = field.data_type() == known.data_type() && is_taken(known.data_type());
        is_same.then(|| Expr::column(index, field))
    }

    fn binary(&self, expr: &Arc<dyn PhysicalExpr>, binary: &BinaryExpr) -> Option<Expr> {
        let (left, right) = (binary.left(), binary.right());
        let operands = || Some((self.expr(left)?, self.expr(right)?));
        if let Some(op) = comparison(*binary.op()) {
            if !self.compare_alike(left, right) {
                return None;
            }
            let (left, right) = operands()?;
            return Expr::compare(op, left, right).ok();
        }
        let (left, right) = operands()?;
        match binary.op() {
            Operator::And => Expr::and(left, right).ok(),
            Operator::Or => Expr::or(left, right).ok(),
            op => {
                let computed = Expr::arithmetic(arithmetic(*op)?, left, right).ok()?;
                let is_same = match (self.type_of(expr)?, computed.data_type()) {
                    // DataFusion's narrower integers wrap.
                    (DataType::Int64, DataType::Int64) | (DataType::Float64, DataType::Float64) => true,
                    (
                        DataType::Decimal128(_, theirs),
                        DataType::Decimal128(_, ours) | DataType::Decimal256(_, ours),
                    ) => theirs == *ours,
                    _ => false,
                };
                is_same.then_some(computed)
            }
        }
    }

    /// Whether both engines order the values alike. DataFusion tells -0 from 0.
    fn compare_alike(&self, left: &Arc<dyn PhysicalExpr>, right: &Arc<dyn PhysicalExpr>) -> bool {
        let is_float = |expr| self.type_of(expr).is_none_or(|found| found.is_floating());
        let is_ordinary = |expr: &Arc<dyn PhysicalExpr>| {
            let literal = expr.downcast_ref::<Literal>();
            let value = literal.map(|literal| literal.value().to_string().parse::<f64>());
            value.is_some_and(|value| value.is_ok_and(|value| value != 0.0 && value.is_finite()))
        };
        !(is_float(left) || is_float(right)) || is_ordinary(left) || is_ordinary(right)
    }

    fn in_list(&self, in_list: &InListExpr) -> Option<Expr> {
        if self.type_of(in_list.expr())?.is_floating() {
            return None;
        }
        let list = in_list.list().iter().map(|item| self.expr(item));
        let found = Expr::in_list(self.expr(in_list.expr())?, list.collect::<Option<_>>()?).ok()?;
        if in_list.negated() {
            Expr::not(found).ok()
        } else {
            Some(found)
        }
    }

    fn like(&self, like: &LikeExpr) -> Option<Expr> {
        let (value, pattern) = (self.expr(like.expr())?, self.expr(like.pattern())?);
        let found = Expr::like(value, pattern, like.case_insensitive()).ok()?;
        if like.negated() {
            Expr::not(found).ok()
        } else {
            Some(found)
        }
    }
}

/// Expressions as a plan shows them.
pub(super) fn texts(exprs: &[Arc<dyn PhysicalExpr>]) -> String {
    let texts: Vec<String> = exprs.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

fn literal_of(literal: &Literal) -> Option<Expr> {
    let value: ArrayRef = literal.value().to_array().ok()?;
    is_taken(value.data_type()).then(|| Expr::literal(value))
}

fn comparison(op: Operator) -> Option<Comparison> {
    Some(match op {
        Operator::Eq => Comparison::Equal,
        Operator::NotEq => Comparison::NotEqual,
        Operator::Lt => Comparison::Less,
        Operator::LtEq => Comparison::LessEqual,
        Operator::Gt => Comparison::Greater,
        Operator::GtEq => Comparison::GreaterEqual,
        _ => return None,
    })
}

/// Division differs: DataFusion's of decimals is a decimal.
fn arithmetic(op: Operator) -> Option<Arithmetic> {
    Some(match op {
        Operator::Plus => Arithmetic::Add,
        Operator::Minus => Arithmetic::Subtract,
        Operator::Multiply => Arithmetic::Multiply,
        _ => return None,
    })
}

fn is_taken(data_type: &DataType) -> bool {
    match data_type {
        DataType::Decimal128(_, scale) => *scale >= 0,
        DataType::Timestamp(..) | DataType::Date32 | DataType::Boolean | DataType::Float64 => true,
        DataType::UInt64 => false,
        other => other.is_integer() || is_text(other),
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

/// Whether each value of `from` is one of `to`.
pub(super) fn is_lossless(from: &DataType, to: &DataType) -> bool {
    if from == to || is_text(from) && is_text(to) {
        return true;
    }
    match (bits(from), from, to) {
        (_, DataType::Decimal128(precision, scale), DataType::Decimal128(wider, finer)) => {
            finer >= scale && whole_digits(*wider, *finer) >= whole_digits(*precision, *scale)
        }
        (Some(bits), _, DataType::Decimal128(precision, scale)) => {
            let digits = (1i128 << (bits - 1)).ilog10() + 1;
            i64::from(whole_digits(*precision, *scale)) >= i64::from(digits)
        }
        (Some(bits), _, DataType::Float64) => bits <= 32,
        (Some(bits_of_from), _, to) if to.is_signed_integer() => {
            bits(to).is_some_and(|bits| bits >= bits_of_from)
        }
        _ => false,
    }
}

fn whole_digits(precision: u8, scale: i8) -> i16 {
    i16::from(precision) - i16::from(scale)
}

/// Bits that an integer needs as a signed one.
fn bits(data_type: &DataType) -> Option<usize> {
    let bits = data_type.is_integer().then(|| data_type.primitive_width())?? * 8;
    Some(if data_type.is_unsigned_integer() {
        bits + 1
    } else {
        bits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversion_is_left_out_where_no_value_changes() {
        use DataType::{Decimal128, Float64, Int8, Int32, Int64, UInt8, UInt32, Utf8, Utf8View};
        for (from, to, is_left_out) in [
            (Int32, Int64, true),
            (Int64, Int32, false),
            (UInt8, Int8, false),
            (UInt32, Int64, true),
            (Int32, UInt32, false),
            (Int32, Float64, true),
            (Int64, Float64, false),
            (Int64, Decimal128(20, 0), true),
            (Int64, Decimal128(20, 2), false),
            (Decimal128(15, 2), Decimal128(17, 4), true),
            (Decimal128(15, 2), Decimal128(16, 4), false),
            (Decimal128(15, 2), Decimal128(38, 1), false),
            (Decimal128(15, 2), Float64, false),
            (Utf8, Utf8View, true),
            (Utf8, Int64, false),
        ] {
            assert_eq!(is_lossless(&from, &to), is_left_out, "{from} to {to}");
        }
    }
}
