//! The columns that a query reads, by their names in SQL.

use std::sync::Arc;

use columnar::{AggregateFunction, Expr, TableSource};
use sqlparser::ast::{self, Expr as Sql, Ident, SelectItemQualifiedWildcardKind, Spanned};

use super::expression::Leaf;
use super::name::names_match;
use super::position::{place, start};
use crate::error::QueryError;

/// The name that the query gives to what it reads, and the columns as values over a table.
pub(super) struct Columns {
    table: Arc<dyn TableSource>,
    called: String,
    columns: Vec<(String, Expr)>,
}

impl Columns {
    pub(super) fn new(table: Arc<dyn TableSource>, called: &str, columns: Vec<(String, Expr)>) -> Self {
        Self {
            table,
            called: called.to_owned(),
            columns,
        }
    }

    pub(super) fn of_table(table: Arc<dyn TableSource>, called: &str) -> Self {
        let schema = table.schema();
        let fields = schema.fields().iter().enumerate();
        let columns = fields.map(|(at, field)| (field.name().clone(), Expr::column(at, field)));
        Self::new(table, called, columns.collect())
    }

    pub(super) fn table(&self) -> &Arc<dyn TableSource> {
        &self.table
    }

    /// Errors for aggregates name `clause`.
    pub(super) fn rows<'a>(&'a self, clause: &'a str) -> RowLeaf<'a> {
        RowLeaf {
            columns: self,
            clause,
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| name.as_str())
    }

    pub(super) fn value(&self, column: usize) -> Expr {
        self.columns[column].1.clone()
    }

    pub(super) fn find(&self, name: &Ident) -> Option<usize> {
        let exact = self.names().position(|column| column == name.value);
        exact.or_else(|| self.names().position(|column| names_match(name, column)))
    }

    /// `None` if the expression is no column.
    pub(super) fn output_name(&self, expr: &Sql) -> Option<String> {
        let name = match expr {
            Sql::Identifier(name) => name,
            Sql::CompoundIdentifier(names) => names.last()?,
            _ => return None,
        };
        self.find(name).map(|column| self.columns[column].0.clone())
    }

    pub(super) fn check_qualifier(
        &self,
        kind: &SelectItemQualifiedWildcardKind,
        item: &ast::SelectItem,
    ) -> Result<(), QueryError> {
        let position = place(item.span());
        match kind {
            SelectItemQualifiedWildcardKind::ObjectName(name) => match name.0.as_slice() {
                [ast::ObjectNamePart::Identifier(qualifier)] => self.check_called(qualifier),
                _ => Err(QueryError::Unsupported {
                    construct: format!("the qualified star {kind}"),
                    position,
                }),
            },
            SelectItemQualifiedWildcardKind::Expr(_) => Err(QueryError::Unsupported {
                construct: "a star of an expression".to_owned(),
                position,
            }),
        }
    }

    fn check_called(&self, qualifier: &Ident) -> Result<(), QueryError> {
        if names_match(qualifier, &self.called) {
            return Ok(());
        }
        Err(QueryError::UnknownTable {
            name: qualifier.value.clone(),
            candidates: vec![self.called.clone()],
            position: place(qualifier.span),
        })
    }

    fn resolve(&self, qualifier: Option<&Ident>, name: &Ident) -> Result<Expr, QueryError> {
        if let Some(qualifier) = qualifier {
            self.check_called(qualifier)?;
        }
        let Some(column) = self.find(name) else {
            let mut candidates: Vec<String> = self.names().map(str::to_owned).collect();
            let written = name.value.to_lowercase();
            candidates.sort_by_cached_key(|candidate| {
                strsim::damerau_levenshtein(&written, &candidate.to_lowercase())
            });
            return Err(QueryError::UnknownColumn {
                name: name.value.clone(),
                candidates,
                position: place(name.span),
            });
        };
        let exact = self.names().filter(|column| *column == name.value).count();
        let meant = match exact {
            0 => self.names().filter(|column| names_match(name, column)).count(),
            _ => exact,
        };
        if meant > 1 {
            return Err(QueryError::Invalid {
                message: format!("{meant} columns are named {}", name.value),
                position: place(name.span),
            });
        }
        Ok(self.value(column))
    }
}

pub(super) struct RowLeaf<'a> {
    columns: &'a Columns,
    clause: &'a str,
}

impl Leaf for RowLeaf<'_> {
    fn known(&mut self, _ast: &Sql) -> Option<Expr> {
        None
    }

    fn resolve(&self, qualifier: Option<&Ident>, name: &Ident) -> Result<Expr, QueryError> {
        self.columns.resolve(qualifier, name)
    }

    fn column(&mut self, column: Expr, _ast: Option<&Sql>) -> Result<Expr, QueryError> {
        Ok(column)
    }

    fn aggregate(
        &mut self,
        function: AggregateFunction,
        _: Option<&Sql>,
        ast: &Sql,
    ) -> Result<Expr, QueryError> {
        Err(QueryError::Invalid {
            message: format!(
                "the aggregate function {function} cannot stand in {}",
                self.clause
            ),
            position: start(ast),
        })
    }

    fn grouping(&mut self, _: &[&Sql], ast: &Sql) -> Result<Expr, QueryError> {
        Err(QueryError::Invalid {
            message: format!("GROUPING cannot stand in {}", self.clause),
            position: start(ast),
        })
    }
}
