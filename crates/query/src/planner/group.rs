//! Expressions over groups: outside of keys, columns must be inside an aggregate.
//!
//! In a grouping set, keys of other sets are NULL.

use arrow::array::new_null_array;
use columnar::{Aggregate, AggregateFunction, Expr, SelectPlan};
use sqlparser::ast::{Expr as Sql, Ident};

use super::columns::Columns;
use super::expression::{Leaf, has_aggregate, plan_expression};
use super::position::start;
use super::refusal::type_mismatch;
use crate::error::QueryError;

/// The keys of a set, then aggregates in the order in which they are met.
pub(super) struct GroupColumns<'a> {
    columns: &'a Columns,
    /// Of all sets.
    keys: &'a [Expr],
    /// Places in `keys`.
    set: &'a [usize],
    aggregates: Vec<Aggregate>,
}

impl<'a> GroupColumns<'a> {
    pub(super) fn new(columns: &'a Columns, keys: &'a [Expr], set: &'a [usize]) -> Result<Self, QueryError> {
        SelectPlan::group_fields(keys, &[]).map_err(|error| QueryError::TypeMismatch {
            expression: error.expression,
            message: error.message,
            position: None,
        })?;
        Ok(Self {
            columns,
            keys,
            set,
            aggregates: Vec::new(),
        })
    }

    pub(super) fn into_aggregates(self) -> Vec<Aggregate> {
        self.aggregates
    }

    fn group_column(&self, index: usize) -> Expr {
        let keys: Vec<Expr> = self.set.iter().map(|&key| self.keys[key].clone()).collect();
        let fields = SelectPlan::group_fields(&keys, &self.aggregates).expect("keys were checked");
        Expr::column(index, &fields[index])
    }

    /// Equal text and types over one table mean the same expression.
    fn place(&self, expr: &Expr) -> Option<usize> {
        let same = |key: &Expr| format!("{key:?}") == format!("{expr:?}");
        self.keys.iter().position(same)
    }

    fn key(&self, expr: &Expr) -> Option<Expr> {
        let place = self.place(expr)?;
        Some(match self.set.iter().position(|&key| key == place) {
            Some(index) => self.group_column(index),
            None => {
                let keys = std::slice::from_ref(&self.keys[place]);
                let fields = SelectPlan::group_fields(keys, &[]).expect("keys were checked");
                Expr::literal(new_null_array(fields[0].data_type(), 1))
            }
        })
    }
}

impl Leaf for GroupColumns<'_> {
    fn known(&mut self, ast: &Sql) -> Option<Expr> {
        if self.keys.is_empty() || has_aggregate(ast) {
            return None;
        }
        let over_rows = plan_expression(ast, &mut self.columns.rows("GROUP BY")).ok()?;
        self.key(&over_rows)
    }

    fn resolve(&self, qualifier: Option<&Ident>, name: &Ident) -> Result<Expr, QueryError> {
        self.columns.rows("SELECT").resolve(qualifier, name)
    }

    fn column(&mut self, column: Expr, ast: Option<&Sql>) -> Result<Expr, QueryError> {
        self.key(&column).ok_or_else(|| QueryError::Invalid {
            message: format!("column {column} is neither in GROUP BY nor inside an aggregate function"),
            position: ast.and_then(start),
        })
    }

    fn aggregate(
        &mut self,
        function: AggregateFunction,
        argument: Option<&Sql>,
        ast: &Sql,
    ) -> Result<Expr, QueryError> {
        let argument = match argument {
            Some(argument) => Some(plan_expression(
                argument,
                &mut self.columns.rows("the argument of another aggregate function"),
            )?),
            None => None,
        };
        let aggregate = Aggregate::new(function, argument).map_err(|error| type_mismatch(error, ast))?;
        let same = |known: &Aggregate| format!("{known:?}") == format!("{aggregate:?}");
        let at = self.aggregates.iter().position(same).unwrap_or_else(|| {
            self.aggregates.push(aggregate.clone());
            self.aggregates.len() - 1
        });
        Ok(self.group_column(self.set.len() + at))
    }

    /// A bit for each argument, the last one the least: 1 if the set has not this key.
    fn grouping(&mut self, arguments: &[&Sql], ast: &Sql) -> Result<Expr, QueryError> {
        let mut bits = 0;
        for argument in arguments {
            let over_rows = plan_expression(argument, &mut self.columns.rows("GROUPING"))?;
            let place = self.place(&over_rows).ok_or_else(|| QueryError::Invalid {
                message: format!("{argument} in GROUPING is not in GROUP BY"),
                position: start(ast),
            })?;
            bits = bits << 1 | i64::from(!self.set.contains(&place));
        }
        Ok(Expr::int64(bits))
    }
}
