//! Aggregate functions and the state they keep per group.
//!
//! A slot fills states of its own from its rows, in row order; states of slots are merged in slot order. Exact sums
//! (integers, decimals) are kept wider than their result, so that only the final value can overflow, not a partial one
//! on the way; sums of floats depend on the order of additions, which is therefore fixed by rows and slots alone. Where no state
//! depends on it, rows may as well be added to the merged state directly.

mod count;
mod encoding;
mod exact;
mod extreme;
mod groups;
mod lanes;
mod packed;
mod partitions;
mod sum;
mod window;

pub(crate) use encoding::{KeyEncoding, RowKeys};
pub(crate) use groups::{GroupIds, GroupKeys};
pub(crate) use partitions::{KeyPartitions, PARTITIONS, Starts, partition_rows};

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array};
use arrow::datatypes::DataType;

use crate::error::{ExecError, TypeError};
use crate::expr::Expr;
use crate::quota::{Quota, QuotaExceeded};

/// Which aggregate function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateFunction {
    /// The number of rows, or of values that are not NULL.
    Count,
    /// The sum of the values that are not NULL; NULL if there is none.
    Sum,
    /// The smallest value; NULL if there is none.
    Min,
    /// The largest value; NULL if there is none.
    Max,
    /// The exact sum divided by the count, as a double; NULL if there is no value.
    Avg,
}

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
    /// As it is summed or compared; `None` counts rows.
    argument: Option<Expr>,
    data_type: DataType,
}

impl Aggregate {
    /// `function(argument)`; `count(*)` is a count without argument.
    ///
    /// Sums of integers are `Int64`, of decimals have 38 digits (76 if the argument is wider), of floats are doubles.
    ///
    /// # Errors
    ///
    /// When the function does not take the argument's type, or has no argument and is not a count.
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
            expression: format!("{function}({argument})"),
            message: format!("{function} does not take {}", argument.data_type()),
        };
        let (argument, data_type) = match function {
            AggregateFunction::Count => (argument, DataType::Int64),
            AggregateFunction::Sum | AggregateFunction::Avg => {
                let argument = argument.summable().ok_or(refuse)?;
                let sum = sum::sum_type(argument.data_type());
                (
                    argument,
                    if function == AggregateFunction::Avg {
                        DataType::Float64
                    } else {
                        sum
                    },
                )
            }
            AggregateFunction::Min | AggregateFunction::Max => {
                if !argument.is_comparable() {
                    return Err(refuse);
                }
                let argument = argument.plain()?;
                let data_type = argument.data_type().clone();
                (argument, data_type)
            }
        };
        Ok(Self {
            function,
            argument: Some(argument),
            data_type,
        })
    }

    /// The type of the results.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    pub(crate) fn argument(&self) -> Option<&Expr> {
        self.argument.as_ref()
    }

    /// An empty state for this function; functions of equal [`state_key`](Self::state_key) can share one.
    pub(crate) fn new_state(&self, quota: Option<&Arc<Quota>>) -> Box<dyn AggregateState> {
        match (&self.argument, self.function) {
            (None, _) | (_, AggregateFunction::Count) => Box::new(count::CountState::new(quota)),
            (Some(argument), AggregateFunction::Sum | AggregateFunction::Avg) => {
                sum::new_state(argument.data_type(), quota)
            }
            (Some(argument), AggregateFunction::Min) => extreme::new_state(argument.data_type(), true, quota),
            (Some(argument), AggregateFunction::Max) => {
                extreme::new_state(argument.data_type(), false, quota)
            }
        }
    }

    /// What the state depends on: a sum and an average of one argument keep the same one.
    pub(crate) fn state_key(&self) -> (&'static str, Option<String>) {
        let kind = match self.function {
            AggregateFunction::Count => "count",
            AggregateFunction::Sum | AggregateFunction::Avg => "sum",
            AggregateFunction::Min => "min",
            AggregateFunction::Max => "max",
        };
        (
            kind,
            self.argument.as_ref().map(|argument| format!("{argument:?}")),
        )
    }

    /// The results of all groups.
    pub(crate) fn finish(&self, state: &dyn AggregateState) -> Result<ArrayRef, ExecError> {
        let average = self.function == AggregateFunction::Avg;
        state
            .finish(&self.data_type, average)
            .map_err(|overflow| match overflow {
                StateError::Overflow => ExecError::Overflow {
                    expression: self.to_string(),
                },
                StateError::Arrow(error) => ExecError::of(self, error),
            })
    }
}

impl fmt::Display for AggregateFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Count => "count",
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Max => "max",
            Self::Avg => "avg",
        })
    }
}

impl fmt::Display for Aggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.argument {
            Some(argument) => write!(f, "{}({argument})", self.function),
            None => write!(f, "{}(*)", self.function),
        }
    }
}

/// Why a state has no result.
#[derive(Debug)]
pub(crate) enum StateError {
    /// A group's value is outside its type.
    Overflow,
    /// An array could not be made.
    Arrow(arrow::error::ArrowError),
}

impl From<arrow::error::ArrowError> for StateError {
    fn from(error: arrow::error::ArrowError) -> Self {
        Self::Arrow(error)
    }
}

/// What an aggregate function knows of each group. Whatever needs memory charges it first, and fails if the query's quota refuses.
pub(crate) trait AggregateState: Any + Send + Sync {
    /// Whether the order in which rows and states are added can never be seen.
    fn is_exact(&self) -> bool;

    /// Makes room for groups `0..groups`; new ones are empty.
    fn resize(&mut self, groups: usize) -> Result<(), QuotaExceeded>;

    /// Adds rows: `values` is the argument, one value per row, absent for `count(*)`.
    fn update(&mut self, values: Option<&ArrayRef>, groups: GroupIds<'_>) -> Result<(), QuotaExceeded>;

    /// Puts the groups into this order: `order[i]`, each once, becomes group `i`.
    fn arrange(&mut self, order: &[u32]) -> Result<(), QuotaExceeded>;

    /// Adds group `first + i` of `from`, a state of the same kind, to group `map[i]`.
    fn merge(&mut self, from: &dyn AggregateState, first: usize, map: &[u32]) -> Result<(), QuotaExceeded>;

    /// About what making the results takes beside values of a fixed width: the bytes of texts.
    fn text_bytes(&self) -> usize {
        0
    }

    /// The results of all groups.
    fn finish(&self, data_type: &DataType, average: bool) -> Result<ArrayRef, StateError>;
}

/// The state of the same kind that `from` is.
fn same_kind<S: AggregateState>(from: &dyn AggregateState) -> &S {
    let from: &dyn Any = from;
    from.downcast_ref()
        .expect("states of one aggregate are of one kind")
}

/// The states of a list of aggregates, each distinct one kept once.
#[derive(Debug)]
pub(crate) struct AggregatePlan {
    aggregates: Vec<Aggregate>,
    /// For each aggregate its state.
    state_of: Vec<usize>,
    /// For each state an aggregate that makes it.
    made_by: Vec<usize>,
    /// Distinct arguments.
    arguments: Vec<Expr>,
    /// For each state its argument.
    argument_of: Vec<Option<usize>>,
}

impl AggregatePlan {
    pub(crate) fn new(aggregates: Vec<Aggregate>) -> Self {
        let mut plan = Self {
            aggregates: Vec::new(),
            state_of: Vec::new(),
            made_by: Vec::new(),
            arguments: Vec::new(),
            argument_of: Vec::new(),
        };
        let mut keys = Vec::new();
        let mut argument_texts: Vec<String> = Vec::new();
        for (at, aggregate) in aggregates.iter().enumerate() {
            let key = aggregate.state_key();
            let state = keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                keys.push(key);
                plan.made_by.push(at);
                plan.argument_of.push(aggregate.argument().map(|argument| {
                    let text = format!("{argument:?}");
                    argument_texts
                        .iter()
                        .position(|known| *known == text)
                        .unwrap_or_else(|| {
                            argument_texts.push(text);
                            plan.arguments.push(argument.clone());
                            plan.arguments.len() - 1
                        })
                }));
                keys.len() - 1
            });
            plan.state_of.push(state);
        }
        plan.aggregates = aggregates;
        plan
    }

    pub(crate) fn arguments(&self) -> &[Expr] {
        &self.arguments
    }

    /// The types of the results.
    pub(crate) fn result_types(&self) -> impl Iterator<Item = &DataType> {
        self.aggregates.iter().map(Aggregate::data_type)
    }

    /// The number of states.
    pub(crate) fn states(&self) -> usize {
        self.made_by.len()
    }

    /// Whether the order in which rows are added can be seen in no state.
    pub(crate) fn is_exact(&self) -> bool {
        self.new_states(None).iter().all(|state| state.is_exact())
    }

    /// Empty states that charge `quota`.
    pub(crate) fn new_states(&self, quota: Option<&Arc<Quota>>) -> Vec<Box<dyn AggregateState>> {
        self.made_by
            .iter()
            .map(|&aggregate| self.aggregates[aggregate].new_state(quota))
            .collect()
    }

    /// Adds rows whose arguments are `values`, in the order of [`arguments`](Self::arguments).
    pub(crate) fn update(
        &self,
        states: &mut [Box<dyn AggregateState>],
        values: &[ArrayRef],
        groups: GroupIds<'_>,
    ) -> Result<(), QuotaExceeded> {
        for (state, argument) in states.iter_mut().zip(&self.argument_of) {
            state.update(argument.map(|argument| &values[argument]), groups)?;
        }
        Ok(())
    }

    /// The result columns, in the order of the aggregates.
    pub(crate) fn finish(&self, states: &[Box<dyn AggregateState>]) -> Result<Vec<ArrayRef>, ExecError> {
        let result = |(aggregate, &state): (&Aggregate, &usize)| aggregate.finish(states[state].as_ref());
        self.aggregates.iter().zip(&self.state_of).map(result).collect()
    }
}

/// The averages of sums in units of `10^-scale`; NULL for a group without a value.
fn averages(sums: impl Iterator<Item = f64>, counts: &[u64], scale: i8) -> ArrayRef {
    let unit = 10f64.powi(i32::from(scale));
    let average = |(sum, &count): (f64, &u64)| (count > 0).then(|| sum / (count as f64 * unit));
    shared(Float64Array::from_iter(sums.zip(counts).map(average)))
}

/// A shared array of one type, for the states' results.
fn shared(array: impl arrow::array::Array + 'static) -> ArrayRef {
    Arc::new(array)
}
