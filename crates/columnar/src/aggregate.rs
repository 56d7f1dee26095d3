//! Aggregate functions and their state per group.
//!
//! Each slot fills its own states in row order, and states of slots are merged in slot order. Exact
//! sums (integers, decimals) are wider than their result, so only the final value can overflow.
//! Sums of floats depend on the order of additions, which only rows and slots decide. If no state
//! depends on the order, rows may also be added to the merged state directly.
//!
//! Each function has a file, with its [`Definition`](definition::Definition) and its state, and a
//! row in `function`.

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
