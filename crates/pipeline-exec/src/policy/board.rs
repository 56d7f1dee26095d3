//! The second floor: all jobs of an executor, in their orders.

pub mod allowance;
pub mod ending;
pub(crate) mod growing;
pub mod looks;
pub mod need;
pub mod orders;
pub mod publish;
pub mod reconcile;
pub mod select;
pub mod shared;
pub mod stand_ins;
