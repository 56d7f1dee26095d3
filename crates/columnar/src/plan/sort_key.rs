//! A key of ORDER BY.

use std::fmt;

use arrow::array::{Array as _, ArrayRef};
use arrow::compute::SortOptions;

use crate::error::TypeError;
use crate::expr::{Comparison, Expr};

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

    /// What holds for the rows of `key` that come before `worst`, one value, or with it. `None` if
    /// that are all rows, or if values of the type are not compared.
    pub(crate) fn no_worse_than(&self, key: Expr, worst: &ArrayRef) -> Option<Expr> {
        if worst.is_null(0) {
            return self.nulls_first.then(|| Expr::is_null(key));
        }
        let op = match self.descending {
            true => Comparison::GreaterEqual,
            false => Comparison::LessEqual,
        };
        let compared = Expr::compare(op, key.clone(), Expr::literal(worst.clone())).ok()?;
        match self.nulls_first {
            true => Expr::or(compared, Expr::is_null(key)).ok(),
            false => Some(compared),
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
