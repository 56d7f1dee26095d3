//! Aggregate functions and their state per group.
//!
//! Each slot fills its own states in row order, and states of slots are merged in slot order: sums
//! of floats depend on the order of additions. If no state does, rows may also be added to the
//! merged state directly.
//!
//! A function is a file with its [`Definition`](definition::Definition) and its state or another
//! function's, and a row in `function`.

mod average;
mod bool_and;
mod call;
mod coded_sum;
mod count;
mod definition;
mod distinct;
mod exact_real;
mod exact_sum;
mod function;
mod group_ids;
mod item_values;
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
#[cfg(test)]
pub(crate) use state::{AggregateState, StateError};
pub(crate) use vectorised::count_all;
