//! Evaluation of an expression over a [`ColumnSource`].
//!
//! A constant stays one value as long as possible. Arrow's kernels skip NULL operands, so a row
//! with a NULL never overflows or divides by zero.

mod arithmetic;
mod by_value;
mod decimal;
mod logic;
mod span;
mod value;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::kernels::cmp;
use arrow::compute::{ilike, is_not_null, is_null, like};
use arrow::error::ArrowError;

use self::span::Span;
use self::value::Value;
use super::canonical::canonical_floats;
use super::contains::{contains, searched_text};
use super::node::{Comparison, Expr, Node};
use super::source::ColumnSource;
use super::types::converted;
use crate::error::ExecError;
use crate::narrow::widened;
use crate::table::Codes;

impl Expr {
    pub(crate) fn evaluate(&self, source: &dyn ColumnSource) -> Result<ArrayRef, ExecError> {
        Ok(widened(self.evaluate_narrow(source)?, self.data_type()))
    }

    /// Decimals may come in [64 bits](crate::narrow).
    pub(crate) fn evaluate_narrow(&self, source: &dyn ColumnSource) -> Result<ArrayRef, ExecError> {
        self.value(source)?
            .into_rows(source.rows())
            .map_err(|error| ExecError::of(self, error))
    }

    pub(crate) fn evaluate_condition(&self, source: &dyn ColumnSource) -> Result<BooleanArray, ExecError> {
        match self.evaluate_by_value(source)? {
            Some(answers) => Ok(answers),
            None => Ok(self.evaluate(source)?.as_boolean().clone()),
        }
    }

    /// A condition over one column that is held as codes.
    pub(crate) fn evaluate_by_value(
        &self,
        source: &dyn ColumnSource,
    ) -> Result<Option<BooleanArray>, ExecError> {
        by_value::answers(self, source)
    }

    /// A column that is held as codes of at most `values_max` values, and no more than rows, or its
    /// conversion. Decimals may come in [64 bits](crate::narrow).
    pub(crate) fn evaluate_codes(
        &self,
        source: &dyn ColumnSource,
        values_max: usize,
    ) -> Result<Option<Codes>, ExecError> {
        by_value::codes(self, source, values_max)
    }

    pub(super) fn evaluate_constant(&self) -> Result<ArrayRef, ExecError> {
        self.evaluate(&OneRow)
    }

    fn value(&self, source: &dyn ColumnSource) -> Result<Value, ExecError> {
        let failed = |error: ArrowError| ExecError::of(self, error);
        if let Some(span) = Span::of(self)
            && let Some(answers) = span.holds(&source.column(span.column)?)
        {
            return Ok(boolean_rows(answers));
        }
        match self.node() {
            Node::Column { index, .. } => Ok(Value::Rows(source.column(*index)?)),
            Node::Literal(value) => Ok(Value::Constant(value.clone())),
            Node::Cast(value) => {
                if let Some(codes) = by_value::codes(self, source, usize::MAX)? {
                    return codes.decoded().map(Value::Rows).map_err(failed);
                }
                let cast = |array: &ArrayRef| converted(array, value.data_type(), self.data_type());
                value.value(source)?.map(cast).map_err(failed)
            }
            Node::Arithmetic { op, left, right } => {
                let (of_left, of_right) = (left.value(source)?, right.value(source)?);
                let narrow = decimal::narrow(*op, &of_left, &of_right, self.data_type());
                let result = narrow.unwrap_or_else(|| {
                    let of_left = of_left.widened(left.data_type());
                    let of_right = of_right.widened(right.data_type());
                    arithmetic::evaluate(*op, &of_left, &of_right, self.data_type())
                });
                Ok(of_left.combined(&of_right, result.map_err(failed)?))
            }
            Node::Compare { op, left, right } => {
                let (left, right) = decimal::alike(
                    (left.value(source)?, left.data_type()),
                    (right.value(source)?, right.data_type()),
                );
                let result = compare(*op, &left, &right).map_err(failed)?;
                Ok(left.combined(&right, Arc::new(result)))
            }
            Node::And(left, right) => connect(logic::Connective::And, left, right, source).map(boolean_rows),
            Node::Or(left, right) => connect(logic::Connective::Or, left, right, source).map(boolean_rows),
            Node::Not(value) => {
                let not = arrow::compute::not(&value.evaluate_condition(source)?);
                not.map(boolean_rows).map_err(failed)
            }
            Node::IsNull { value, negated } => {
                let test = |array: &ArrayRef| -> Result<ArrayRef, ArrowError> {
                    Ok(Arc::new(if *negated {
                        is_not_null(array)?
                    } else {
                        is_null(array)?
                    }))
                };
                value.value(source)?.map(test).map_err(failed)
            }
            Node::InList { value, list } => {
                let contains = |array: &ArrayRef| -> Result<ArrayRef, ArrowError> {
                    let array = widened(array.clone(), value.data_type());
                    Ok(Arc::new(list.contains(&canonical_floats(&array))?))
                };
                value.value(source)?.map(contains).map_err(failed)
            }
            Node::Like {
                value,
                pattern,
                ignore_case,
            } => {
                let (value, pattern) = (value.value(source)?, pattern.value(source)?);
                if let Some(found) = contains_needle(&value, &pattern).filter(|_| !ignore_case) {
                    return Ok(boolean_rows(found));
                }
                let kernel = if *ignore_case { ilike } else { like };
                let result = kernel(&value, &pattern).map_err(failed)?;
                Ok(value.combined(&pattern, Arc::new(result)))
            }
        }
    }
}

struct OneRow;

impl ColumnSource for OneRow {
    fn rows(&self) -> usize {
        1
    }

    fn column(&self, index: usize) -> Result<ArrayRef, ExecError> {
        unreachable!("a constant expression asked for column {index}")
    }
}

/// `None` if the pattern asks for more than a text anywhere, or texts are not views.
fn contains_needle(value: &Value, pattern: &Value) -> Option<BooleanArray> {
    let (Value::Rows(texts), Value::Constant(pattern)) = (value, pattern) else {
        return None;
    };
    Some(contains(texts.as_string_view_opt()?, searched_text(pattern)?))
}

fn boolean_rows(values: BooleanArray) -> Value {
    Value::Rows(Arc::new(values))
}

fn connect(
    connective: logic::Connective,
    left: &Expr,
    right: &Expr,
    source: &dyn ColumnSource,
) -> Result<BooleanArray, ExecError> {
    let decided = left.evaluate_condition(source)?;
    let values = if right.can_fail() {
        logic::where_open(&decided, connective, source, right)?
    } else {
        right.evaluate_condition(source)?
    };
    let connected = connective.of(&decided, &values);
    connected.map_err(|error| ExecError::of(right, error))
}

fn compare(op: Comparison, left: &Value, right: &Value) -> Result<BooleanArray, ArrowError> {
    let kernel = match op {
        Comparison::Equal => cmp::eq,
        Comparison::NotEqual => cmp::neq,
        Comparison::Less => cmp::lt,
        Comparison::LessEqual => cmp::lt_eq,
        Comparison::Greater => cmp::gt,
        Comparison::GreaterEqual => cmp::gt_eq,
    };
    if left.array().data_type().is_floating() {
        let canonical = |value: &Value| value.map(|array| Ok(canonical_floats(array)));
        return kernel(&canonical(left)?, &canonical(right)?);
    }
    kernel(left, right)
}
