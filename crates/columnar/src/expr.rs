//! Expressions over the columns of a table: checked when they are built, evaluated morsel by
//! morsel.
//!
//! An [`Expr`] always has a type: a constructor returns a [`TypeError`](crate::TypeError) for types
//! that do not fit. Constructors insert conversions as nodes, so evaluation decides nothing about
//! types. Logic is three-valued.
//!
//! An expression knows whether it can fail (a division, a sum that may overflow). One that cannot
//! may be evaluated for any rows in any order. One that can sees exactly the rows that the query's
//! text gives it.

mod answers;
mod bits;
mod bounds;
mod canonical;
mod contains;
mod decimal;
mod display;
mod evaluate;
mod node;
mod operand;
mod source;
mod text_search;
mod types;
mod typing;
mod value_list;

pub(crate) use answers::Answered;
pub(crate) use canonical::canonical_floats;
pub(crate) use node::Node;
pub use node::{Arithmetic, Comparison, Expr};
pub(crate) use source::{ColumnSource, Filtered, values_of};
pub(crate) use text_search::TextSearch;
pub(crate) use types::value_type;
