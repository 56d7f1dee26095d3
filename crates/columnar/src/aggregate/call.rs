//! An aggregate function with its argument.

use std::fmt;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

use super::function::AggregateFunction;
use super::state::{AggregateState, StateError};
use crate::error::{ExecError, TypeError};
use crate::expr::Expr;
use crate::memory::MemoryPool;

/// An aggregate function of an expression.
///
/// ```
/// use arrow::datatypes::{DataType, Field};
/// use columnar::{Aggregate, AggregateFunction, Expr};
///
/// let price = Expr::column(0, &Field::new("price", DataType::Decimal128(15, 2), true));
/// let total = Aggregate::new(AggregateFunction::Sum, Some(price))?;
/// assert_eq!(total.data_type(), &DataType::Decimal128(38, 2));
/// assert_eq!(total.to_string(), "sum(price)");
/// # Ok::<(), columnar::TypeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Aggregate {
    function: AggregateFunction,
    /// `None` counts rows.
    argument: Option<Expr>,
    data_type: DataType,
}

impl Aggregate {
    /// `function(argument)`; `count(*)` has no argument.
    ///
    /// Sums of integers are `Int64`, of decimals 38 digits (76 if the argument is wider), of floats
    /// doubles.
    ///
    /// # Errors
    ///
    /// When the function rejects the argument's type, or needs an argument and has none.
    pub fn new(function: AggregateFunction, argument: Option<Expr>) -> Result<Self, TypeError> {
        let Some(argument) = argument else {
            if function == AggregateFunction::Count {
                return Ok(Self {
                    function,
                    argument: None,
                    data_type: DataType::Int64,
                });
            }
            return Err(TypeError {
                expression: format!("{function}(*)"),
                message: "only count takes a star".to_owned(),
            });
        };
        let refuse = TypeError {
            expression: call_text(function, &argument),
            message: format!("{function} does not take {}", argument.data_type()),
        };
        let (argument, data_type) = function.definition().bind(argument).ok_or(refuse)?;
        Ok(Self {
            function,
            argument: Some(argument),
            data_type,
        })
    }

    /// The result type.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    pub(crate) fn function(&self) -> AggregateFunction {
        self.function
    }

    pub(crate) fn argument(&self) -> Option<&Expr> {
        self.argument.as_ref()
    }

    /// Aggregates of equal [`state_key`](Self::state_key) can share it.
    pub(super) fn new_state(&self, pool: Option<&Arc<MemoryPool>>) -> Box<dyn AggregateState> {
        self.function.definition().new_state(self.argument_type(), pool)
    }

    /// `Debug` of an expression ends with its type, so arguments of equal keys have equal types.
    pub(crate) fn state_key(&self) -> (&'static str, Option<String>) {
        (
            self.function.definition().state_kind(),
            self.argument.as_ref().map(|argument| format!("{argument:?}")),
        )
    }

    pub(super) fn finish(&self, state: &dyn AggregateState) -> Result<ArrayRef, ExecError> {
        let definition = self.function.definition();
        definition
            .finish(state, self.argument_type(), &self.data_type)
            .map_err(|error| self.failed(error))
    }

    pub(super) fn failed(&self, error: StateError) -> ExecError {
        match error {
            StateError::Overflow => ExecError::Overflow {
                expression: self.to_string(),
            },
            StateError::Memory(error) => ExecError::from(error),
            StateError::Arrow(error) => ExecError::of(self, error),
        }
    }

    fn argument_type(&self) -> Option<&DataType> {
        self.argument.as_ref().map(Expr::data_type)
    }
}

impl fmt::Display for Aggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.argument {
            Some(argument) => f.write_str(&call_text(self.function, argument)),
            None => write!(f, "{}(*)", self.function),
        }
    }
}

fn call_text(function: AggregateFunction, argument: &Expr) -> String {
    let distinct = if function.is_distinct() { "distinct " } else { "" };
    format!("{function}({distinct}{argument})")
}
