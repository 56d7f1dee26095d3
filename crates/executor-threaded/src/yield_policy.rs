//! When a long task should stop, put its cursor back, and leave the worker to others.
//!
//! A task of a second keeps its worker for a second: tasks in the injector wait, and the rest of
//! the task cannot be stolen. So a long task runs in *turns*: between two of its steps it asks a
//! policy, and spawns the rest of itself with `spawn_local` when its turn is over.
//!
//! ```text
//!   turn:  begin ─► step ─► should_yield? ─► step ─► should_yield? ── yes ─► spawn_local(cursor), return
//! ```
//!
//! A policy belongs to one worker and best lies in its scratch value. The example `long_task` has
//! one that knows what steps weigh.
//!
//! ```
//! use executor_threaded::yield_policy::{EveryN, YieldPolicy};
//! use executor_threaded::{Executor, ExecutorConfig};
//!
//! /// Adds up the numbers from here on.
//! struct Cursor {
//!     next: u64,
//! }
//!
//! let executor = Executor::<Cursor>::new(
//!     ExecutorConfig::default(),
//!     |_worker| (EveryN::new(1_000), 0),
//!     |mut cursor, cx| {
//!         let idle = cx.has_idle_workers();
//!         let (policy, sum) = &mut cx.scratch;
//!         policy.begin_turn();
//!         while cursor.next < 100_000 {
//!             *sum += cursor.next;
//!             cursor.next += 1;
//!             if policy.should_yield(idle) {
//!                 cx.spawn_local(cursor);
//!                 return;
//!             }
//!         }
//!     },
//! )?;
//! executor.spawn_external(Cursor { next: 0 })?;
//! assert_eq!(executor.join().total.executed(), 100 + 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod adaptive;
mod always;
mod every_n;
mod never;
mod policy;

pub use adaptive::AdaptiveYield;
pub use always::AlwaysYield;
pub use every_n::EveryN;
pub use never::NeverYield;
pub use policy::YieldPolicy;
