//! DataFusion's tasks as jobs of the CPU pool: a short query stays short beside heavy ones.
//!
//! DataFusion cuts a query into tasks and leaves it to tokio who runs when. Tokio knows tasks and
//! no queries: a query with many of them gets most of the cores, and a short one waits behind all.
//! Here every query is one [job](pools::AsyncJob) on the board of the pipeline executor, and its
//! tasks are tasks of that job.
//!
//! ```text
//!   session ──► planner, wrapped ──► plan, with WindlassExec on its root
//!                                          │ execute: opens a job
//!                                          ▼
//!   whoever collects ◄── batches ── first task of the job ── polls the plan
//!                                          │ SpawnedTask::spawn, JoinSet::spawn
//!                                          ▼ hook of the process
//!                                    further tasks of the same job
//! ```
//!
//! Sessions without the line below, and whatever else runs on tokio in the same process, stay as
//! they are.
//!
//! # Depths
//!
//! | feature | has | of DataFusion | packages in all |
//! |---|---|---|---|
//! | `hook` | the hook, [`Windlass::spawn`] | `datafusion-common-runtime` | 48 |
//! | `plan` | also the node on the root, the planner's wrapper, a query's memory | physical plans, sessions | 202 |
//! | `session`, the default | also one line on a session's builder, and `SET windlass.…` | all | 218 |
//!
//! Each includes the one before. What DataFusion itself can do (SQL, Parquet, functions) is up to
//! the features with which the program depends on `datafusion`: this crate asks for none.
#![forbid(unsafe_code)]
#![warn(clippy::disallowed_methods)]

mod hook;
mod snapshot;
mod windlass;

#[cfg(feature = "plan")]
mod plan;
#[cfg(feature = "session")]
mod session;

pub use hook::HookTaken;
#[cfg(feature = "plan")]
pub use plan::{QueryEnded, QueryMemory, WindlassExec, WindlassOptions, WindlassPlanner};
#[cfg(feature = "session")]
pub use session::WindlassExt;
pub use snapshot::{RunningJob, WindlassSnapshot};
pub use windlass::Windlass;

pub use pipeline_exec::Class;
pub use pools;
