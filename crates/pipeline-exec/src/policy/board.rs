//! The second floor: all jobs of an executor, in their orders.
//!
//! Data, words and sets, which the [ports](super::ports) name:
//!
//! | module | is, or decides |
//! |---|---|
//! | [`orders`] | in which orders jobs stand |
//! | [`allowance`] | how much of its time a worker may give to young jobs |
//! | [`looks`] | how many workers look at the board |
//! | [`stand_ins`] | which spare thread watches, and how long turns have run |
//! | [`need`] | how many workers a job is worth |
//! | [`shared`] | all of these together, with the table and the gate |
//!
//! Steps over the ports:
//!
//! | module | decides |
//! |---|---|
//! | [`select`] | which job comes first in an order, of those that a worker could go into |
//! | [`publish`] | which workers, spare threads and helpers learn of a change |
//! | [`reconcile`] | what follows a change of claims: the one place that moves keys and publishes |
//! | [`ending`] | how a job is closed, and how it ends |
//! | `growing` | how a task of a job that grows becomes ready, and how the last one ends the job |

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
