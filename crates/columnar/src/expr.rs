//! Expressions over the columns of a table: checked when they are built, evaluated morsel by
//! morsel.
//!
//! An [`Expr`] has a type from the moment it exists; a constructor that is given types that do not
//! fit returns a [`TypeError`](crate::TypeError). Conversions between types are nodes of their own,
//! inserted by the constructors, so that evaluation never decides anything. Logic is three-valued:
//! NULL is neither true nor false, and only `IS NULL` looks at it.
//!
//! An expression knows whether it can fail (a division, a sum that may leave its type's range).
//! What cannot fail may be evaluated for any rows and in any order; what can fail sees exactly the
//! rows that the query's text gives it.

mod bounds;
mod canonical;
mod decimal;
mod display;
mod evaluate;
mod node;
mod operand;
mod source;
mod types;
mod typing;
mod value_list;

pub(crate) use canonical::canonical_floats;
pub(crate) use node::Node;
pub use node::{Arithmetic, Comparison, Expr};
pub(crate) use source::{ColumnSource, Filtered};
pub(crate) use types::value_type;
