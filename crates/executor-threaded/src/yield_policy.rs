//! When should a long task stop, put its cursor back, and let others have the worker?
//!
//! A task that runs for a second keeps its worker for a second: what lies in the injector waits, and what is left of the task
//! cannot be stolen. So a long task runs in *turns*. Between two of its steps it asks a policy; if that says so, it spawns
//! the rest of itself with `spawn_local` and returns. Thieves and the injector then get their chance.
//!
//! ```text
//!   turn:  begin ─► step ─► should_yield? ─► step ─► should_yield? ── yes ─► spawn_local(cursor), return
//! ```
//!
//! A policy belongs to one worker and best lies in its scratch value. What is a step, and how the rest is split if somebody
//! is hungry, is the application's affair; so are policies that know what its steps weigh. The example `long_task` has one.
//!
//! ```
//! use executor_threaded::{EveryN, Executor, ExecutorConfig, YieldPolicy};
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
//!         let hungry = cx.has_idle_workers();
//!         let (policy, sum) = &mut cx.scratch;
//!         policy.begin_turn();
//!         while cursor.next < 100_000 {
//!             *sum += cursor.next;
//!             cursor.next += 1;
//!             if policy.should_yield(hungry) {
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

pub use adaptive::AdaptiveYield;
pub use always::AlwaysYield;
pub use every_n::EveryN;
pub use never::NeverYield;

/// Decides when a long task puts its cursor back.
pub trait YieldPolicy {
    /// A turn begins.
    fn begin_turn(&mut self) {}

    /// The task has made a step and has more to do. Whether its turn is over; `has_idle_workers` is what
    /// [`TaskCtx::has_idle_workers`](executor_core::TaskCtx::has_idle_workers) says.
    #[must_use]
    fn should_yield(&mut self, has_idle_workers: bool) -> bool;
}
