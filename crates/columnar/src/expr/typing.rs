//! Constructors that check operand types, insert conversions and fold constants.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, StringArray, new_null_array};
use arrow::datatypes::{DataType, Field, IntervalMonthDayNanoType, TimeUnit};

use super::bounds::{fits_int64, integer_bounds};
use super::decimal::{DecimalResult, DecimalShape};
use super::node::{Arithmetic, Comparison, Expr, Node};
use super::operand::{exact_literal, implicit_cast};
use super::types::{Family, common_type, value_type};
use super::value_list::ValueList;
use crate::error::TypeError;

impl Expr {
    /// The column at `index` of the table.
    pub fn column(index: usize, field: &Field) -> Self {
        let node = Node::Column {
            index,
            name: field.name().clone(),
        };
        Self::new(node, field.data_type().clone(), false)
    }

    /// The constant `value`.
    ///
    /// # Panics
    ///
    /// When `value` has not length 1.
    pub fn literal(value: ArrayRef) -> Self {
        assert_eq!(value.len(), 1, "a literal is one value");
        let data_type = value.data_type().clone();
        Self::new(Node::Literal(value), data_type, false)
    }

    /// An integer constant.
    pub fn int64(value: i64) -> Self {
        Self::literal(Arc::new(Int64Array::from(vec![value])))
    }

    /// A text constant.
    pub fn text(value: &str) -> Self {
        Self::literal(Arc::new(StringArray::from(vec![value])))
    }

    /// `true` or `false`.
    pub fn boolean(value: bool) -> Self {
        Self::literal(Arc::new(BooleanArray::from(vec![value])))
    }

    /// An untyped NULL. It takes the type of the other operand.
    pub fn null() -> Self {
        Self::literal(new_null_array(&DataType::Null, 1))
    }

    /// `left op right`.
    ///
    /// Integers compute as `Int64`. Decimals are exact, also beside an integer. A float operand or
    /// a division of decimals gives `Float64`. A date takes an interval of months and days, or a
    /// number of days. The difference of two dates is in days.
    ///
    /// # Errors
    ///
    /// When the types do not go together.
    pub fn arithmetic(op: Arithmetic, left: Expr, right: Expr) -> Result<Expr, TypeError> {
        let mismatch = |left: &Expr, right: &Expr| TypeError {
            expression: format!("{left} {op} {right}"),
            message: format!("{} {op} {} is not defined", left.data_type(), right.data_type()),
        };
        let (left, right) = match (Family::of(left.data_type()), Family::of(right.data_type())) {
            (Family::Null, Family::Null) => (
                implicit_cast(left, &DataType::Int64)?,
                implicit_cast(right, &DataType::Int64)?,
            ),
            (Family::Null, other) if other.is_numeric() => {
                let to = right.data_type().clone();
                (implicit_cast(left, &to)?, right)
            }
            (other, Family::Null) if other.is_numeric() => {
                let to = left.data_type().clone();
                (left, implicit_cast(right, &to)?)
            }
            _ => (left, right),
        };
        match (Family::of(left.data_type()), Family::of(right.data_type())) {
            (Family::Integer, Family::Integer) => integer_arithmetic(op, left, right),
            (Family::Integer | Family::Decimal, Family::Integer | Family::Decimal) => match op {
                Arithmetic::Divide => float_arithmetic(op, left, right),
                _ => decimal_arithmetic(op, left, right),
            },
            (l, r) if l.is_numeric() && r.is_numeric() => float_arithmetic(op, left, right),
            (Family::Date, Family::Date) if op == Arithmetic::Subtract => {
                let (left, right) = (days(left)?, days(right)?);
                integer_arithmetic(op, left, right)
            }
            (Family::Date, Family::Integer) if matches!(op, Arithmetic::Add | Arithmetic::Subtract) => {
                let sum = integer_arithmetic(op, days(left)?, right)?;
                implicit_cast(implicit_cast(sum, &DataType::Int32)?, &DataType::Date32)
            }
            (Family::Integer, Family::Date) if op == Arithmetic::Add => {
                let sum = integer_arithmetic(op, left, days(right)?)?;
                implicit_cast(implicit_cast(sum, &DataType::Int32)?, &DataType::Date32)
            }
            (Family::Interval, Family::Date | Family::Timestamp) if op == Arithmetic::Add => {
                Self::arithmetic(op, right, left)
            }
            (Family::Date | Family::Timestamp, Family::Interval)
                if matches!(op, Arithmetic::Add | Arithmetic::Subtract) =>
            {
                let has_time = |value: &ArrayRef| {
                    value.is_valid(0)
                        && value
                            .as_primitive::<IntervalMonthDayNanoType>()
                            .value(0)
                            .nanoseconds
                            != 0
                };
                let is_date = Family::of(left.data_type()) == Family::Date;
                if is_date && right.literal_value().is_none_or(has_time) {
                    return Err(TypeError {
                        expression: format!("{left} {op} {right}"),
                        message: "a date takes an interval of years, months and days".to_owned(),
                    });
                }
                let left = match left.data_type() {
                    DataType::Date64 => {
                        implicit_cast(left, &DataType::Timestamp(TimeUnit::Millisecond, None))?
                    }
                    _ => left,
                };
                let data_type = left.data_type().clone();
                Ok(Self::new(Node::Arithmetic { op, left, right }, data_type, true).folded())
            }
            _ => Err(mismatch(&left, &right)),
        }
    }

    /// `left op right`, NULL when either is.
    ///
    /// A text literal takes the type of the other operand. NaN is the greatest float and equals
    /// NaN, and -0 equals 0.
    ///
    /// # Errors
    ///
    /// When the types do not compare, or a literal is no value of the other type.
    pub fn compare(op: Comparison, left: Expr, right: Expr) -> Result<Expr, TypeError> {
        let mismatch = TypeError {
            expression: format!("{left} {op} {right}"),
            message: format!(
                "{} and {} cannot be compared",
                left.data_type(),
                right.data_type()
            ),
        };
        let (left, right) = comparable(left, right)?.ok_or(mismatch)?;
        Ok(Self::new(Node::Compare { op, left, right }, DataType::Boolean, false).folded())
    }

    /// `low <= value and value <= high`.
    ///
    /// # Errors
    ///
    /// As [`compare`](Self::compare).
    pub fn between(value: Expr, low: Expr, high: Expr) -> Result<Expr, TypeError> {
        let from = Self::compare(Comparison::GreaterEqual, value.clone(), low)?;
        let to = Self::compare(Comparison::LessEqual, value, high)?;
        Self::and(from, to)
    }

    /// `left and right`. A `right` that can fail is evaluated only where `left` is not false.
    ///
    /// # Errors
    ///
    /// When an operand is not boolean.
    pub fn and(left: Expr, right: Expr) -> Result<Expr, TypeError> {
        let (left, right) = (condition(left)?, condition(right)?);
        Ok(Self::new(Node::And(left, right), DataType::Boolean, false).folded())
    }

    /// `parts[0] and parts[1] and ...`, true without parts. A long chain does not exhaust the
    /// stack.
    ///
    /// # Errors
    ///
    /// When an operand is not boolean.
    pub fn all(parts: Vec<Expr>) -> Result<Expr, TypeError> {
        Ok(balanced(parts, Self::and)?.unwrap_or_else(|| Self::boolean(true)))
    }

    /// `parts[0] or parts[1] or ...`, false without parts.
    ///
    /// # Errors
    ///
    /// When an operand is not boolean.
    pub fn any(parts: Vec<Expr>) -> Result<Expr, TypeError> {
        Ok(balanced(parts, Self::or)?.unwrap_or_else(|| Self::boolean(false)))
    }

    /// `left or right`. A `right` that can fail is evaluated only where `left` is not true.
    ///
    /// # Errors
    ///
    /// When an operand is not boolean.
    pub fn or(left: Expr, right: Expr) -> Result<Expr, TypeError> {
        let (left, right) = (condition(left)?, condition(right)?);
        Ok(Self::new(Node::Or(left, right), DataType::Boolean, false).folded())
    }

    /// `not value`; NULL stays NULL.
    ///
    /// # Errors
    ///
    /// When the operand is not boolean.
    #[expect(
        clippy::should_implement_trait,
        reason = "a checked constructor beside and/or, not an operator"
    )]
    pub fn not(value: Expr) -> Result<Expr, TypeError> {
        let value = condition(value)?;
        Ok(Self::new(Node::Not(value), DataType::Boolean, false).folded())
    }

    /// `value is null`; never NULL.
    pub fn is_null(value: Expr) -> Expr {
        Self::new(
            Node::IsNull {
                value,
                negated: false,
            },
            DataType::Boolean,
            false,
        )
        .folded()
    }

    /// `value is not null`; never NULL.
    pub fn is_not_null(value: Expr) -> Expr {
        Self::new(Node::IsNull { value, negated: true }, DataType::Boolean, false).folded()
    }

    /// `value in (list)`: true if an item is equal, else NULL if the value or an item is NULL.
    ///
    /// # Errors
    ///
    /// As [`compare`](Self::compare), for each item.
    pub fn in_list(value: Expr, list: Vec<Expr>) -> Result<Expr, TypeError> {
        let mut comparisons = Vec::with_capacity(list.len());
        for item in list {
            comparisons.push(Self::compare(Comparison::Equal, value.clone(), item)?);
        }
        if let Some(set) = as_set(&value, &comparisons) {
            return Ok(set);
        }
        Self::any(comparisons)
    }

    /// `value like pattern`: `%` matches any text, `_` any character, `\` escapes the next
    /// character.
    ///
    /// # Errors
    ///
    /// When an operand is not text.
    pub fn like(value: Expr, pattern: Expr, ignore_case: bool) -> Result<Expr, TypeError> {
        for operand in [&value, &pattern] {
            if !matches!(Family::of(operand.data_type()), Family::Text | Family::Null) {
                return Err(TypeError {
                    expression: format!("{value} like {pattern}"),
                    message: format!("{operand} is {}, not text", operand.data_type()),
                });
            }
        }
        let value = match value.data_type() {
            DataType::Null => implicit_cast(value, &DataType::Utf8)?,
            DataType::Dictionary(..) if pattern.literal_value().is_none() => {
                let to = value_type(value.data_type()).clone();
                implicit_cast(value, &to)?
            }
            _ => value,
        };
        let to = value_type(value.data_type()).clone();
        let pattern = implicit_cast(pattern, &to)?;
        let node = Node::Like {
            value,
            pattern,
            ignore_case,
        };
        Ok(Self::new(node, DataType::Boolean, false).folded())
    }

    /// `value` as a boolean; an untyped NULL becomes one.
    ///
    /// # Errors
    ///
    /// When the type is another.
    pub fn condition(value: Expr) -> Result<Expr, TypeError> {
        condition(value)
    }

    /// Reads `text` as a constant of type `to`.
    ///
    /// # Errors
    ///
    /// When the text is not a value of the type.
    pub fn read_literal(text: &str, to: &DataType) -> Result<Expr, TypeError> {
        read_text(Self::text(text), to)
    }

    /// In the type for group keys and order: a dictionary becomes its values.
    pub(crate) fn plain(self) -> Result<Expr, TypeError> {
        let to = value_type(self.data_type()).clone();
        implicit_cast(self, &to)
    }

    /// As `Int64`, decimal or `Float64`; `None` if not a number.
    pub(crate) fn summable(self) -> Option<Expr> {
        let to = match Family::of(self.data_type()) {
            Family::Integer | Family::Null => DataType::Int64,
            Family::Float => DataType::Float64,
            Family::Decimal => match self.data_type() {
                DataType::Decimal256(..) => return Some(self),
                narrow => DecimalShape::of(narrow)?.data_type(),
            },
            _ => return None,
        };
        implicit_cast(self, &to).ok()
    }

    pub(crate) fn is_comparable(&self) -> bool {
        !matches!(Family::of(self.data_type()), Family::Opaque | Family::Interval)
    }

    fn folded(self) -> Expr {
        let mut constant = true;
        self.node()
            .for_each_child(|child| constant &= child.literal_value().is_some());
        if !constant {
            return self;
        }
        // A failing constant (1 / 0) must fail only if a row evaluates it.
        match self.evaluate_constant() {
            Ok(value) => Self::literal(value),
            Err(_) => self,
        }
    }
}

fn integer_arithmetic(op: Arithmetic, left: Expr, right: Expr) -> Result<Expr, TypeError> {
    let zero_divisor = matches!(op, Arithmetic::Divide | Arithmetic::Remainder)
        && integer_bounds(&right).is_none_or(|(low, high)| low <= 0 && high >= 0);
    let fails = zero_divisor || !fits_int64(op, &left, &right);
    let left = implicit_cast(left, &DataType::Int64)?;
    let right = implicit_cast(right, &DataType::Int64)?;
    Ok(Expr::new(Node::Arithmetic { op, left, right }, DataType::Int64, fails).folded())
}

fn float_arithmetic(op: Arithmetic, left: Expr, right: Expr) -> Result<Expr, TypeError> {
    let left = implicit_cast(left, &DataType::Float64)?;
    let right = implicit_cast(right, &DataType::Float64)?;
    let fails = matches!(op, Arithmetic::Divide | Arithmetic::Remainder);
    Ok(Expr::new(Node::Arithmetic { op, left, right }, DataType::Float64, fails).folded())
}

fn decimal_arithmetic(op: Arithmetic, left: Expr, right: Expr) -> Result<Expr, TypeError> {
    let too_fine = TypeError {
        expression: format!("{left} {op} {right}"),
        message: "the exact result has more than 76 digits after the point".to_owned(),
    };
    let (Some(a), Some(b)) = (decimal_shape(&left), decimal_shape(&right)) else {
        return Err(too_fine);
    };
    let result = match op {
        Arithmetic::Add | Arithmetic::Subtract => a.sum(b),
        Arithmetic::Multiply => a.product(b).ok_or(too_fine)?,
        // The remainder does not exceed either operand.
        Arithmetic::Divide | Arithmetic::Remainder => DecimalResult {
            data_type: a.common(b).data_type(),
            checked: true,
        },
    };
    let wide = matches!(result.data_type, DataType::Decimal256(..));
    let operand = |shape: DecimalShape| match shape.data_type() {
        DataType::Decimal128(p, s) if wide => DataType::Decimal256(p, s),
        data_type => data_type,
    };
    // A wide operand needs wide computation even for a result of 38 digits.
    let wide_operand = [a, b]
        .iter()
        .any(|shape| matches!(shape.data_type(), DataType::Decimal256(..)));
    let (left_type, right_type, data_type) = match (wide_operand, &result.data_type) {
        (true, DataType::Decimal128(_, scale)) => {
            let widened = |shape: DecimalShape| DataType::Decimal256(shape.precision, shape.scale);
            (widened(a), widened(b), DataType::Decimal256(76, *scale))
        }
        _ => (operand(a), operand(b), result.data_type.clone()),
    };
    let left = implicit_cast(left, &left_type)?;
    let right = implicit_cast(right, &right_type)?;
    Ok(Expr::new(Node::Arithmetic { op, left, right }, data_type, result.checked).folded())
}

/// An integer literal has only its written digits.
fn decimal_shape(expr: &Expr) -> Option<DecimalShape> {
    let by_type = DecimalShape::of(expr.data_type())?;
    match (expr.literal_value(), integer_bounds(expr)) {
        (Some(value), Some((low, high))) if value.is_valid(0) => {
            let digits = low
                .unsigned_abs()
                .max(high.unsigned_abs())
                .checked_ilog10()
                .unwrap_or(0)
                + 1;
            Some(DecimalShape {
                precision: digits as u8,
                scale: 0,
            })
        }
        _ => Some(by_type),
    }
}

fn days(date: Expr) -> Result<Expr, TypeError> {
    implicit_cast(implicit_cast(date, &DataType::Int32)?, &DataType::Int64)
}

fn condition(expr: Expr) -> Result<Expr, TypeError> {
    match expr.data_type() {
        DataType::Boolean => Ok(expr),
        DataType::Null => implicit_cast(expr, &DataType::Boolean),
        other => Err(TypeError {
            message: format!("is {other}, where a condition (Boolean) is needed"),
            expression: expr.to_string(),
        }),
    }
}

fn comparable(left: Expr, right: Expr) -> Result<Option<(Expr, Expr)>, TypeError> {
    let is_text_literal =
        |expr: &Expr| expr.literal_value().is_some() && Family::of(expr.data_type()) == Family::Text;
    let takes_text = |expr: &Expr| {
        !matches!(
            Family::of(expr.data_type()),
            Family::Text | Family::Null | Family::Opaque | Family::Interval
        )
    };
    let (left, right) = if is_text_literal(&right) && takes_text(&left) {
        let right = read_text(right, left.data_type())?;
        (left, right)
    } else if is_text_literal(&left) && takes_text(&right) {
        (read_text(left, right.data_type())?, right)
    } else {
        (left, right)
    };
    if !left.is_comparable() || !right.is_comparable() {
        return Ok(None);
    }
    let Some(common) = common_type(left.data_type(), right.data_type()) else {
        return Ok(None);
    };
    match (left.literal_value(), right.literal_value()) {
        (None, Some(value)) => {
            if let Some(literal) = exact_literal(value, left.data_type()) {
                return Ok(Some((left, literal)));
            }
        }
        (Some(value), None) => {
            if let Some(literal) = exact_literal(value, right.data_type()) {
                return Ok(Some((literal, right)));
            }
        }
        _ => {}
    }
    Ok(Some((
        implicit_cast(left, &common)?,
        implicit_cast(right, &common)?,
    )))
}

/// A number keeps its written digits.
fn read_text(literal: Expr, meets: &DataType) -> Result<Expr, TypeError> {
    let to = match Family::of(meets) {
        Family::Integer => DataType::Int64,
        _ => meets.clone(),
    };
    let read = implicit_cast(literal.clone(), &to)?;
    let is_null = |expr: &Expr| expr.literal_value().is_some_and(|value| value.is_null(0));
    // Arrow reads an empty text as NULL for some types.
    if is_null(&read) && !is_null(&literal) {
        return Err(TypeError {
            expression: literal.to_string(),
            message: format!("is not a value of type {to}"),
        });
    }
    Ok(read)
}

fn balanced(
    mut parts: Vec<Expr>,
    join: fn(Expr, Expr) -> Result<Expr, TypeError>,
) -> Result<Option<Expr>, TypeError> {
    while parts.len() > 1 {
        let mut joined = Vec::with_capacity(parts.len().div_ceil(2));
        let mut rest = parts.into_iter();
        while let Some(left) = rest.next() {
            joined.push(match rest.next() {
                Some(right) => join(left, right)?,
                None => left,
            });
        }
        parts = joined;
    }
    Ok(parts.pop())
}

fn as_set(value: &Expr, comparisons: &[Expr]) -> Option<Expr> {
    let mut list = Vec::new();
    let mut has_null = false;
    let mut operand: Option<&Expr> = None;
    for comparison in comparisons {
        let Node::Compare { left, right, .. } = comparison.node() else {
            return None;
        };
        if operand.is_some_and(|known| known.data_type() != left.data_type()) {
            return None;
        }
        operand = Some(left);
        let item = right.literal_value()?;
        if item.is_null(0) {
            has_null = true;
        } else {
            list.push(item.clone());
        }
    }
    let value = operand.filter(|_| value.literal_value().is_none())?.clone();
    let list = ValueList::new(list, has_null);
    Some(Expr::new(Node::InList { value, list }, DataType::Boolean, false))
}
