//! A key of ORDER BY.

use std::fmt;

use arrow::compute::SortOptions;

use crate::error::TypeError;
use crate::expr::Expr;

/// One key of an ORDER BY.
///
/// ```
/// use arrow::datatypes::{DataType, Field};
/// use columnar::{Expr, SortKey};
///
/// let price = Expr::column(0, &Field::new("price", DataType::Int32, true));
/// let dearest_first = SortKey::new(price, true, false)?;
/// assert_eq!(dearest_first.to_string(), "price desc nulls last");
/// # Ok::<(), columnar::TypeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SortKey {
    expr: Expr,
    descending: bool,
    nulls_first: bool,
}

impl SortKey {
    /// Orders by the values of `expr`.
    ///
    /// # Errors
    ///
    /// When values of the expression's type have no order.
    pub fn new(expr: Expr, descending: bool, nulls_first: bool) -> Result<Self, TypeError> {
        if !expr.is_comparable() {
            return Err(TypeError {
                message: format!("values of type {} have no order", expr.data_type()),
                expression: expr.to_string(),
            });
        }
        Ok(Self {
            expr: expr.plain()?,
            descending,
            nulls_first,
        })
    }

    /// The same order, of other values.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_expr(&self, expr: Expr) -> Result<Self, TypeError> {
        Self::new(expr, self.descending, self.nulls_first)
    }

    /// The values that are sorted.
    pub fn expr(&self) -> &Expr {
        &self.expr
    }

    pub(crate) fn options(&self) -> SortOptions {
        SortOptions {
            descending: self.descending,
            nulls_first: self.nulls_first,
        }
    }
}

impl fmt::Display for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = if self.descending { " desc" } else { "" };
        // Shown only where it differs from PostgreSQL's default.
        let nulls = match (self.nulls_first, self.descending) {
            (true, false) => " nulls first",
            (false, true) => " nulls last",
            _ => "",
        };
        write!(f, "{}{direction}{nulls}", self.expr)
    }
}
