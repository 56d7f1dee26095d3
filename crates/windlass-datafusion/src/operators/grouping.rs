//! An aggregate that the stages can compute: its filters, keys and functions.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::{CastOptions, cast_with_options, is_null, nullif};
use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;
use columnar::{Aggregate, AggregateFunction, Expr, MemoryTable, Output, SelectPlan, TableSource};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions_aggregate::average::Avg;
use datafusion::functions_aggregate::count::Count;
use datafusion::functions_aggregate::min_max::{Max, Min};
use datafusion::functions_aggregate::sum::Sum;
use datafusion::logical_expr::EmitTo;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_plan::ExecutionPlan as _;
use datafusion::physical_plan::InputOrderMode;
use datafusion::physical_plan::aggregates::AggregateExec;

use super::expression::{Columns, is_lossless, texts};
use super::input::Input;
use super::source::Source;

/// All expressions read the columns of the source.
#[derive(Debug)]
pub(super) struct Grouping {
    pub(super) source: Source,
    filters: Vec<Arc<dyn PhysicalExpr>>,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    calls: Vec<Call>,
    /// Keys, then the states of each call.
    states: SchemaRef,
}

#[derive(Debug)]
struct Call {
    function: Function,
    /// `None` counts rows.
    argument: Option<Arc<dyn PhysicalExpr>>,
    expr: Arc<AggregateFunctionExpr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Count,
    Sum,
    Avg,
    Min,
    Max,
}

impl Function {
    fn of(call: &AggregateFunctionExpr) -> Option<Self> {
        let function = call.fun().inner().as_ref() as &dyn Any;
        if function.is::<Count>() {
            Some(Self::Count)
        } else if function.is::<Sum>() {
            Some(Self::Sum)
        } else if function.is::<Avg>() {
            Some(Self::Avg)
        } else if function.is::<Min>() {
            Some(Self::Min)
        } else if function.is::<Max>() {
            Some(Self::Max)
        } else {
            None
        }
    }

    /// What its state consists of, in DataFusion's order.
    fn states(self) -> &'static [AggregateFunction] {
        match self {
            Self::Count => &[AggregateFunction::Count],
            Self::Sum => &[AggregateFunction::Sum],
            Self::Avg => &[AggregateFunction::Count, AggregateFunction::Sum],
            Self::Min => &[AggregateFunction::Min],
            Self::Max => &[AggregateFunction::Max],
        }
    }
}

impl Grouping {
    /// Of an aggregate over rows. `None` if the stages cannot compute it, or could give other values.
    pub(super) fn of(aggregate: &AggregateExec) -> Option<Self> {
        if !is_plain(aggregate) {
            return None;
        }
        let groups = aggregate.group_expr();
        let input = Input::of(aggregate.input().as_ref())?;
        let keys = groups.expr().iter().map(|(key, _name)| input.of_source(key));
        let calls = aggregate.aggr_expr().iter().map(|call| Call::of(call, &input));
        let mut fields: Vec<FieldRef> = aggregate.schema().fields()[..groups.expr().len()].to_vec();
        for call in aggregate.aggr_expr() {
            fields.extend(call.state_fields().ok()?);
        }
        let grouping = Self {
            keys: keys.collect::<Option<_>>()?,
            calls: calls.collect::<Option<_>>()?,
            states: Arc::new(Schema::new(fields)),
            filters: input.filters,
            source: input.source,
        };
        let like_it = MemoryTable::try_new("", grouping.source.schema(), []).ok()?;
        grouping.select(Arc::new(like_it))?;
        Some(grouping)
    }

    /// The query that gives keys and states. `None` if `table` has not the columns, or a type does
    /// not fit.
    pub(super) fn select(&self, table: Arc<dyn TableSource>) -> Option<SelectPlan> {
        let (known, read) = (self.source.schema(), table.schema());
        let columns = Columns::new(&known, &read);
        let filter = columns.all(&self.filters)?;
        let keys = self.keys.iter().map(|key| columns.expr(key).filter(is_key));
        let keys: Vec<Expr> = keys.collect::<Option<_>>()?;
        let mut aggregates = Vec::new();
        for call in &self.calls {
            let argument = match &call.argument {
                Some(argument) => Some(columns.argument(argument)?),
                None => None,
            };
            let is_float = argument
                .as_ref()
                .is_some_and(|argument| argument.data_type().is_floating());
            if is_float && matches!(call.function, Function::Min | Function::Max) {
                return None;
            }
            for &state in call.function.states() {
                aggregates.push(Aggregate::new(state, argument.clone()).ok()?);
            }
        }
        let fields = SelectPlan::group_fields(&keys, &aggregates).ok()?;
        let fit = fields.len() == self.states.fields().len()
            && fields
                .iter()
                .zip(self.states.fields())
                .all(|(ours, theirs)| can_become(ours.data_type(), theirs.data_type()));
        let column = |(index, field): (usize, _)| (String::new(), Expr::column(index, field));
        let output = Output::Groups {
            keys,
            aggregates,
            having: None,
            columns: fields.iter().enumerate().map(column).collect(),
        };
        fit.then(|| SelectPlan {
            filter,
            ..SelectPlan::new(table, output)
        })
    }

    /// Columns of [`select`](Self::select) as DataFusion's keys and states.
    pub(super) fn states(&self, groups: &RecordBatch) -> Result<Vec<ArrayRef>, ArrowError> {
        let checked = CastOptions {
            safe: false,
            ..CastOptions::default()
        };
        let columns = groups.columns().iter().zip(self.states.fields());
        let columns = columns.map(|(values, field)| cast_with_options(values, field.data_type(), &checked));
        let mut columns: Vec<ArrayRef> = columns.collect::<Result<_, _>>()?;
        let mut at = self.keys.len();
        for Call { function, .. } in &self.calls {
            if *function == Function::Avg {
                // DataFusion divides by each count that is not NULL.
                columns[at] = nullif(&columns[at], &is_null(&columns[at + 1])?)?;
            }
            at += function.states().len();
        }
        Ok(columns)
    }

    /// Keys and values of `groups`, in which each group comes once. DataFusion's accumulators compute
    /// the values from the states, so no group is looked up.
    pub(super) fn values(&self, groups: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let columns = self.states(groups)?;
        let (keys, mut states) = columns.split_at(self.keys.len());
        let mut values = keys.to_vec();
        let numbers: Vec<usize> = (0..groups.num_rows()).collect();
        for Call { function, expr, .. } in &self.calls {
            let (of_call, others) = states.split_at(function.states().len());
            let mut accumulator = expr.create_groups_accumulator()?;
            accumulator.merge_batch(of_call, &numbers, numbers.len())?;
            values.push(accumulator.evaluate(EmitTo::All)?);
            states = others;
        }
        Ok(values)
    }

    /// Whether [`values`](Self::values) can be made.
    pub(super) fn has_values(&self) -> bool {
        self.calls
            .iter()
            .all(|call| call.expr.groups_accumulator_supported())
    }
}

/// Whether nothing is asked beyond groups and their functions.
pub(super) fn is_plain(aggregate: &AggregateExec) -> bool {
    aggregate.group_expr().is_single()
        && aggregate.limit_options().is_none()
        && *aggregate.input_order_mode() == InputOrderMode::Linear
        && aggregate.properties().output_ordering().is_none()
        && aggregate.filter_expr().iter().all(Option::is_none)
}

impl Call {
    fn of(call: &Arc<AggregateFunctionExpr>, input: &Input) -> Option<Self> {
        let function = Function::of(call)?;
        if call.is_distinct() || !call.order_bys().is_empty() {
            return None;
        }
        let argument = match &call.expressions()[..] {
            [argument] if function == Function::Count && is_constant(argument) => None,
            [argument] => Some(input.of_source(argument)?),
            _ => return None,
        };
        Some(Self {
            function,
            argument,
            expr: Arc::clone(call),
        })
    }
}

/// A value that is never NULL, as in `count(*)`.
fn is_constant(argument: &Arc<dyn PhysicalExpr>) -> bool {
    let literal = argument.downcast_ref::<Literal>();
    literal.is_some_and(|literal| !ScalarValue::is_null(literal.value()))
}

/// DataFusion tells -0 from 0. A key that reads no column would be a constant.
fn is_key(key: &Expr) -> bool {
    key.literal_value().is_none() && !key.data_type().is_floating()
}

/// Whether the values fit, or a value that does not is an error.
fn can_become(ours: &DataType, theirs: &DataType) -> bool {
    match (ours, theirs) {
        (DataType::Decimal128(_, ours) | DataType::Decimal256(_, ours), DataType::Decimal128(_, theirs)) => {
            ours <= theirs
        }
        (DataType::Int64, DataType::UInt64 | DataType::Float64) => true,
        (DataType::Decimal128(..), DataType::Float64) => true,
        _ => is_lossless(ours, theirs),
    }
}

impl fmt::Display for Grouping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls: Vec<&str> = self.calls.iter().map(|call| call.expr.name()).collect();
        write!(
            f,
            "scan=[{}], filter=[{}], gby=[{}], aggr=[{}]",
            self.source,
            texts(&self.filters),
            texts(&self.keys),
            calls.join(", ")
        )
    }
}
