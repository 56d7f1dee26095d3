//! Work split by a key: one worker at a time has a partition, so workers share nothing while it
//! runs.
//!
//! ```text
//!   morsel 0 ─► slot 0 ─► lists  0 1 2 3          partition 0: lists 0 of slots 0, 1, 2 … in that order ─► slot 0
//!   morsel 1 ─► slot 1 ─► lists  0 1 2 3    ──►   partition 1: lists 1 …                                ─► slot 1
//!   morsel 2 ─► slot 2 ─► lists  0 1 2 3          …
//!               sharding_for_each                            sharded_for_each
//! ```
//!
//! Every slot writes its own lists, so producers never contend. Both operations are stages of a
//! pipeline job. They leave [`Shards`] for the next stage, in the order of partitions, and inside a
//! partition in the order of the slots that wrote it: no result depends on threads.
//!
//! Fine to coarse: sums by (flag, supplier), and from those sums by flag.
//!
//! ```
//! use std::collections::BTreeMap;
//! use columnar::sharding::{Shards, sharded_for_each, sharding_for_each};
//! use pipeline_exec::{Job, PipelineExecutor};
//!
//! let morsels = vec![vec![('A', 1, 10), ('N', 2, 20)], vec![('A', 1, 5), ('A', 3, 7)]];
//! let rows = Shards::new(morsels);
//! let (by_supplier, fine) = sharding_for_each(&rows, 4, |rows: Vec<(char, u32, u64)>, targets, _cx| {
//!     Ok(rows.into_iter().try_for_each(|row| targets.push(&(row.0, row.1), row))?)
//! });
//! // Two passes in one: the sums of a partition are written to where their flag belongs.
//! let (by_flag, coarse) = sharding_for_each(&fine, 2, |rows, targets, _cx| {
//!     let mut sums = BTreeMap::new();
//!     rows.into_iter().for_each(|(flag, supplier, n)| *sums.entry((flag, supplier)).or_insert(0) += n);
//!     Ok(sums.into_iter().try_for_each(|((flag, _), sum)| targets.push(&flag, (flag, sum)))?)
//! });
//! let (totals, result) = sharded_for_each(&coarse, |_partition, sums, _cx| {
//!     let mut totals = BTreeMap::new();
//!     sums.into_iter().for_each(|(flag, sum)| *totals.entry(flag).or_insert(0) += sum);
//!     Ok(totals)
//! });
//! let job = Job::builder("sums").stage(by_supplier).stage(by_flag).stage(totals);
//! let job = job.output(move |_cx| result.take_all()).build();
//! let totals = PipelineExecutor::new(2)?.submit(job)?.wait()?.output;
//! let totals: BTreeMap<char, u64> = totals.into_iter().flatten().collect();
//! assert_eq!(totals, [('A', 22), ('N', 20)].into());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod for_each;
mod key;
mod shards;

pub use for_each::{Targets, sharded_for_each, sharding_for_each};
pub use key::ShardKey;
pub use shards::{Lists, Records, Shards};

pub use crate::partition::{StableHasher, partition_index};
