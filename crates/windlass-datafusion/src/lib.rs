//! DataFusion's tasks as jobs of the CPU pool: a short query stays short beside heavy ones.
//!
//! DataFusion cuts a query into tasks, which tokio schedules without knowing queries: a query with
//! many tasks gets most of the cores, and a short one waits. Here a query is one
//! [job](pools::AsyncJob) on the pipeline executor's board, and its tasks are the job's.
//!
//! ```text
//!   session ──► planner, wrapped ──► plan, with WindlassExec on its root
//!                                          │ execute: opens a job
//!                                          ▼
//!           consumer ◄── batches ── first task of the job ── polls the plan
//!                                          │ SpawnedTask::spawn, JoinSet::spawn
//!                                          ▼ hook of the process
//!                                    further tasks of the same job
//! ```
//!
//! # Depths
//!
//! | feature | has | of DataFusion | packages in all |
//! |---|---|---|---|
//! | `hook` | the hook, [`Windlass::spawn`] | `datafusion-common-runtime` | 48 |
//! | `plan` | also the plan's root, its planner, a query's memory | plans, sessions | 202 |
//! | `session` | also a line on a session's builder, `SET windlass.…` | all | 218 |
//! | `operators`, the default | also `SET windlass.operators = true` | all, Parquet | 243 |
//!
//! Each includes the one before.
#![forbid(unsafe_code)]
#![warn(clippy::disallowed_methods)]

pub mod amount;
mod hook;
mod snapshot;
mod windlass;

#[cfg(feature = "operators")]
mod operators;
#[cfg(feature = "plan")]
mod plan;
#[cfg(feature = "session")]
mod session;

pub use hook::HookTaken;
#[cfg(feature = "operators")]
pub use operators::{WindlassAggregateExec, WindlassScanExec};
#[cfg(feature = "plan")]
pub use plan::{
    InPlace, InPlaceExec, QueryEnded, QueryMemory, WindlassExec, WindlassOptions, WindlassPlanner,
    with_pauses,
};
#[cfg(feature = "session")]
pub use session::WindlassExt;
pub use snapshot::{RunningJob, WindlassSnapshot};
pub use windlass::Windlass;

pub use pipeline_exec::Class;
pub use pools;

#[cfg(all(doctest, feature = "session"))]
#[doc = include_str!("../README.md")]
struct Readme;
