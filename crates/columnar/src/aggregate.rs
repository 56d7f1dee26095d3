//! Aggregate functions and the state that they keep per group.
//!
//! A slot fills states of its own from its rows, in row order; states of slots are merged in slot
//! order. Exact sums (integers, decimals) are wider than their result, so that only the final value
//! can overflow. Sums of floats depend on the order of additions, which rows and slots alone
//! decide. Where no state depends on the order, rows may also be added to the merged state
//! directly.
//!
//! A function is a file: its [`Definition`](definition::Definition) and its state. `function` has a
//! row for it.

mod average;
mod call;
mod count;
mod definition;
mod distinct;
mod exact_real;
mod exact_sum;
mod function;
mod group_ids;
mod median;
mod members;
mod min_max;
mod plan;
mod state;
mod sum;
mod variance;
mod vectorised;

pub use call::Aggregate;
pub use function::AggregateFunction;
pub(crate) use group_ids::GroupIds;
pub(crate) use plan::{AggregatePlan, States};
pub(crate) use vectorised::count_all;
