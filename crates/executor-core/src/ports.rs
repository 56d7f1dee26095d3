//! The small traits through which the policy reaches memory, queues and parking.
//!
//! Each method is at most one shared operation: the simulator can switch workers before each, and a
//! model checker sees each.

mod access;
pub(crate) mod bundles;
mod collections;
pub(crate) mod entropy;
pub(crate) mod memory;
mod native;
pub(crate) mod parking;
pub(crate) mod queues;
pub(crate) mod time;

pub use access::Access;
pub use bundles::{ProducerPorts, WorkerPorts};
pub use collections::{Exclusive, Fifo, OrderedSet, Table};
pub use entropy::Entropy;
pub use memory::{Fetch, Memory};
pub use native::{Native, NativeWord};
pub use parking::{Faults, Park, Parking, Unpark, Waiting};
pub use queues::{Inject, LocalQueue, RUN_MAX, Run, Steal, Stealing};
pub use time::Clock;
