//! Evaluation of an expression over the rows of a [`ColumnSource`], with arrow's kernels.
//!
//! A constant stays one value until a kernel takes it as a scalar; only a result is spread over the rows. The kernels
//! skip NULL operands, so a row with a NULL never overflows and never divides by zero.

mod arithmetic;
mod decimal;
mod logic;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Datum, UInt32Array};
use arrow::compute::kernels::cmp;
use arrow::compute::{FilterBuilder, FilterPredicate, ilike, is_not_null, is_null, like, take};
use arrow::datatypes::{ArrowPrimitiveType, DataType, Float16Type, Float32Type, Float64Type};
use arrow::error::ArrowError;

use super::operand::cast_checked;
use super::{Comparison, Expr, Node};
use crate::error::ExecError;

/// Rows whose columns can be asked for, one by one.
pub(crate) trait ColumnSource {
    /// The number of rows.
    fn rows(&self) -> usize;

    /// All rows of the column at `index`. Asking again is cheap.
    fn column(&self, index: usize) -> Result<ArrayRef, ExecError>;
}

/// The rows of another source that a filter lets through.
pub(crate) struct Filtered<'a> {
    source: &'a dyn ColumnSource,
    predicate: FilterPredicate,
    columns: RefCell<BTreeMap<usize, ArrayRef>>,
}

impl<'a> Filtered<'a> {
    /// The rows of `source` where `keep` is true.
    pub(crate) fn new(source: &'a dyn ColumnSource, keep: &BooleanArray) -> Self {
        let predicate = FilterBuilder::new(keep).optimize().build();
        Self {
            source,
            predicate,
            columns: RefCell::default(),
        }
    }
}

impl ColumnSource for Filtered<'_> {
    fn rows(&self) -> usize {
        self.predicate.count()
    }

    fn column(&self, index: usize) -> Result<ArrayRef, ExecError> {
        if let Some(column) = self.columns.borrow().get(&index) {
            return Ok(column.clone());
        }
        let whole = self.source.column(index)?;
        let kept = self
            .predicate
            .filter(&whole)
            .map_err(|error| ExecError::of(format!("column {index}"), error))?;
        self.columns.borrow_mut().insert(index, kept.clone());
        Ok(kept)
    }
}

/// What an expression evaluates to. To a kernel, a constant is a scalar.
enum Value {
    Rows(ArrayRef),
    /// An array of one value that stands for every row.
    Constant(ArrayRef),
}

impl Datum for Value {
    fn get(&self) -> (&dyn Array, bool) {
        match self {
            Self::Rows(array) => (array, false),
            Self::Constant(array) => (array, true),
        }
    }
}

impl Value {
    /// The rows, or the one value of a constant.
    fn array(&self) -> &ArrayRef {
        match self {
            Self::Rows(array) | Self::Constant(array) => array,
        }
    }

    fn is_constant(&self) -> bool {
        matches!(self, Self::Constant(_))
    }

    fn map(&self, apply: impl FnOnce(&ArrayRef) -> Result<ArrayRef, ArrowError>) -> Result<Self, ArrowError> {
        Ok(match self {
            Self::Rows(array) => Self::Rows(apply(array)?),
            Self::Constant(array) => Self::Constant(apply(array)?),
        })
    }

    /// The result of a kernel over `self` and `other`: a constant if both are.
    fn combined(&self, other: &Self, array: ArrayRef) -> Self {
        if self.is_constant() && other.is_constant() {
            Self::Constant(array)
        } else {
            Self::Rows(array)
        }
    }

    fn into_rows(self, rows: usize) -> Result<ArrayRef, ArrowError> {
        match self {
            Self::Rows(array) => Ok(array),
            Self::Constant(array) => take(&array, &UInt32Array::from(vec![0; rows]), None),
        }
    }
}

impl Expr {
    /// The values for all rows of `source`.
    pub(crate) fn evaluate(&self, source: &dyn ColumnSource) -> Result<ArrayRef, ExecError> {
        self.value(source)?
            .into_rows(source.rows())
            .map_err(|error| ExecError::of(self, error))
    }

    /// A condition's truth for all rows of `source`.
    pub(crate) fn evaluate_condition(&self, source: &dyn ColumnSource) -> Result<BooleanArray, ExecError> {
        Ok(self.evaluate(source)?.as_boolean().clone())
    }

    /// The one value of an expression of literals.
    pub(super) fn evaluate_constant(&self) -> Result<ArrayRef, ExecError> {
        self.evaluate(&OneRow)
    }

    fn value(&self, source: &dyn ColumnSource) -> Result<Value, ExecError> {
        let failed = |error: ArrowError| ExecError::of(self, error);
        match self.node() {
            Node::Column { index, .. } => Ok(Value::Rows(source.column(*index)?)),
            Node::Literal(value) => Ok(Value::Constant(value.clone())),
            Node::Cast(value) => value
                .value(source)?
                .map(|array| cast_checked(array, self.data_type()))
                .map_err(failed),
            Node::Arithmetic { op, left, right } => {
                let (left, right) = (left.value(source)?, right.value(source)?);
                let result = arithmetic::evaluate(*op, &left, &right, self.data_type()).map_err(failed)?;
                Ok(left.combined(&right, result))
            }
            Node::Compare { op, left, right } => {
                let (left, right) = (left.value(source)?, right.value(source)?);
                let result = compare(*op, &left, &right).map_err(failed)?;
                Ok(left.combined(&right, Arc::new(result)))
            }
            Node::And(left, right) => logic::and(left, right, source).map(boolean_rows),
            Node::Or(left, right) => logic::or(left, right, source).map(boolean_rows),
            Node::Not(value) => {
                let not = |array: &ArrayRef| -> Result<ArrayRef, ArrowError> {
                    Ok(Arc::new(arrow::compute::not(array.as_boolean())?))
                };
                value.value(source)?.map(not).map_err(failed)
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
                    Ok(Arc::new(list.contains(&canonical_floats(array))?))
                };
                value.value(source)?.map(contains).map_err(failed)
            }
            Node::Like {
                value,
                pattern,
                ignore_case,
            } => {
                let (value, pattern) = (value.value(source)?, pattern.value(source)?);
                let kernel = if *ignore_case { ilike } else { like };
                let result = kernel(&value, &pattern).map_err(failed)?;
                Ok(value.combined(&pattern, Arc::new(result)))
            }
        }
    }
}

/// A source for expressions that read no column.
struct OneRow;

impl ColumnSource for OneRow {
    fn rows(&self) -> usize {
        1
    }

    fn column(&self, index: usize) -> Result<ArrayRef, ExecError> {
        unreachable!("a constant expression asked for column {index}")
    }
}

fn boolean_rows(values: BooleanArray) -> Value {
    Value::Rows(Arc::new(values))
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

/// Floats with one NaN and one zero. Arrow orders floats by IEEE's total order, in which -0 is below 0 and a NaN with
/// its sign bit set below everything; after this, that order is SQL's. Other types pass unchanged.
pub(crate) fn canonical_floats(values: &ArrayRef) -> ArrayRef {
    fn canonical<T: ArrowPrimitiveType>(
        values: &ArrayRef,
        canonical: impl Fn(T::Native) -> T::Native,
    ) -> ArrayRef {
        Arc::new(values.as_primitive::<T>().unary::<_, T>(canonical))
    }
    match values.data_type() {
        DataType::Float64 => {
            canonical::<Float64Type>(values, |x| if x.is_nan() { f64::NAN } else { x + 0.0 })
        }
        DataType::Float32 => {
            canonical::<Float32Type>(values, |x| if x.is_nan() { f32::NAN } else { x + 0.0 })
        }
        DataType::Float16 => {
            type Half = <Float16Type as ArrowPrimitiveType>::Native;
            canonical::<Float16Type>(values, |x| if x.is_nan() { Half::NAN } else { x + Half::ZERO })
        }
        _ => values.clone(),
    }
}
