//! The aggregates of a query and their shared states.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

use super::call::Aggregate;
use super::group_ids::GroupIds;
use super::state::{AggregateState, Extreme, StateError};
use crate::error::ExecError;
use crate::expr::{ColumnSource, Expr};
use crate::memory::MemoryPool;
use crate::narrow::widened;

pub(crate) type States = Vec<Box<dyn AggregateState>>;

#[derive(Debug)]
pub(crate) struct AggregatePlan {
    aggregates: Vec<Aggregate>,
    state_of: Vec<usize>,
    made_by: Vec<usize>,
    arguments: Vec<Expr>,
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

    pub(crate) fn result_types(&self) -> impl Iterator<Item = &DataType> {
        self.aggregates.iter().map(Aggregate::data_type)
    }

    pub(crate) fn states(&self) -> usize {
        self.made_by.len()
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.new_states(None).iter().all(|state| state.is_exact())
    }

    pub(crate) fn new_states(&self, pool: Option<&Arc<MemoryPool>>) -> States {
        self.made_by
            .iter()
            .map(|&aggregate| self.aggregates[aggregate].new_state(pool))
            .collect()
    }

    /// `values` follow [`arguments`](Self::arguments). Decimals may be narrow.
    pub(crate) fn update(
        &self,
        states: &mut [Box<dyn AggregateState>],
        values: &[ArrayRef],
        groups: GroupIds<'_>,
    ) -> Result<(), ExecError> {
        for (at, state) in states.iter_mut().enumerate() {
            let values = self.argument_of[at].map(|argument| &values[argument]);
            self.update_state(at, state.as_mut(), values, groups)?;
        }
        Ok(())
    }

    /// Adds all `rows` to group 0.
    pub(crate) fn update_single(
        &self,
        states: &mut [Box<dyn AggregateState>],
        rows: &dyn ColumnSource,
    ) -> Result<(), ExecError> {
        let mut values: Vec<Option<ArrayRef>> = vec![None; self.arguments.len()];
        let all = GroupIds::Single { rows: rows.rows() };
        for (at, state) in states.iter_mut().enumerate() {
            let Some(argument) = self.argument_of[at] else {
                self.update_state(at, state.as_mut(), None, all)?;
                continue;
            };
            let expr = &self.arguments[argument];
            if let Some(extreme) = state.extreme().and_then(|of| extreme(of, expr, rows)) {
                self.update_state(at, state.as_mut(), Some(&extreme), GroupIds::Single { rows: 1 })?;
                continue;
            }
            if let Some(codes) = expr.evaluate_codes(rows, state.codes_max())? {
                let updated = state.update_by_codes(&codes);
                if updated.map_err(|error| self.failed(at, error))? {
                    continue;
                }
            }
            let values = match &mut values[argument] {
                Some(values) => values,
                none => none.insert(expr.evaluate_narrow(rows)?),
            };
            self.update_state(at, state.as_mut(), Some(values), all)?;
        }
        Ok(())
    }

    fn update_state(
        &self,
        at: usize,
        state: &mut dyn AggregateState,
        values: Option<&ArrayRef>,
        groups: GroupIds<'_>,
    ) -> Result<(), ExecError> {
        let data_type = self.argument_of[at].map(|argument| self.arguments[argument].data_type());
        let values = values
            .zip(data_type)
            .map(|(values, data_type)| match state.takes_narrow() {
                true => values.clone(),
                false => widened(values.clone(), data_type),
            });
        let updated = state.update(values.as_ref(), groups);
        updated.map_err(|error| self.failed(at, error))
    }

    fn failed(&self, state: usize, error: StateError) -> ExecError {
        self.aggregates[self.made_by[state]].failed(error)
    }

    /// Adds groups `first..` of `from` to the groups `map`.
    pub(crate) fn merge(
        &self,
        states: &mut [Box<dyn AggregateState>],
        from: &[Box<dyn AggregateState>],
        first: usize,
        map: &[u32],
    ) -> Result<(), ExecError> {
        for (at, (state, from)) in states.iter_mut().zip(from).enumerate() {
            let merged = state.merge(from.as_ref(), first, map);
            merged.map_err(|error| self.failed(at, error))?;
        }
        Ok(())
    }

    pub(crate) fn finish(&self, states: &[Box<dyn AggregateState>]) -> Result<Vec<ArrayRef>, ExecError> {
        let result = |(aggregate, &state): (&Aggregate, &usize)| aggregate.finish(states[state].as_ref());
        self.aggregates.iter().zip(&self.state_of).map(result).collect()
    }
}

/// The extreme of a column, if it is known without reading it. A value of other rows of the scan does
/// no harm: all of them are added to the one group.
fn extreme(of: Extreme, expr: &Expr, rows: &dyn ColumnSource) -> Option<ArrayRef> {
    let [least, greatest] = rows.extremes(expr.as_column()?)?;
    Some(match of {
        Extreme::Least => least,
        Extreme::Greatest => greatest,
    })
}
