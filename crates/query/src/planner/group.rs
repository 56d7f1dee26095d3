//! Expressions over groups: outside of keys, columns must be inside an aggregate.

use columnar::{Aggregate, AggregateFunction, Expr, SelectPlan};
use sqlparser::ast::{Expr as Sql, Ident};

use super::columns::Columns;
use super::expression::{Leaf, has_aggregate, plan_expression};
use super::position::start;
use super::refusal::type_mismatch;
use crate::error::QueryError;

/// Keys, then aggregates in the order in which they are met.
pub(super) struct GroupColumns<'a> {
    columns: &'a Columns,
    keys: Vec<Expr>,
    aggregates: Vec<Aggregate>,
}

impl<'a> GroupColumns<'a> {
    pub(super) fn new(columns: &'a Columns, keys: Vec<Expr>) -> Result<Self, QueryError> {
        SelectPlan::group_fields(&keys, &[]).map_err(|error| QueryError::TypeMismatch {
            expression: error.expression,
            message: error.message,
            position: None,
        })?;
        Ok(Self {
            columns,
            keys,
            aggregates: Vec::new(),
        })
    }

    pub(super) fn into_parts(self) -> (Vec<Expr>, Vec<Aggregate>) {
        (self.keys, self.aggregates)
    }

    fn group_column(&self, index: usize) -> Expr {
        let fields = SelectPlan::group_fields(&self.keys, &self.aggregates).expect("keys were checked");
        Expr::column(index, &fields[index])
    }

    /// Equal text and types over one table mean the same expression.
    fn key(&self, expr: &Expr) -> Option<Expr> {
        let same = |key: &Expr| format!("{key:?}") == format!("{expr:?}");
        self.keys.iter().position(same).map(|key| self.group_column(key))
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
        Ok(self.group_column(self.keys.len() + at))
    }
}
