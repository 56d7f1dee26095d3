//! Errors that name an expression and its place.

use columnar::TypeError;
use sqlparser::ast::Expr as Sql;

use super::position::start;
use crate::error::QueryError;

pub(super) fn type_mismatch(error: TypeError, ast: &Sql) -> QueryError {
    QueryError::TypeMismatch {
        expression: error.expression,
        message: error.message,
        position: start(ast),
    }
}

pub(super) fn unsupported(construct: impl Into<String>, ast: &Sql) -> QueryError {
    QueryError::Unsupported {
        construct: construct.into(),
        position: start(ast),
    }
}
