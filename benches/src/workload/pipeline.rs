//! What the pipeline executor is measured at: jobs of slots, many small jobs, and short jobs beside heavy ones.
//!
//! | module | question |
//! |---|---|
//! | [`speed_up`] | what a second worker brings, and what a slot costs |
//! | [`empty_jobs`] | what a job costs that does nothing |
//! | [`waiting`] | what submitting, serving and cancelling cost when many jobs wait |
//! | [`split`] | what two roles cost where one would do |
//! | [`beside`] | how long short jobs take beside heavy ones |
//! | [`cancel`] | how soon a cancelled job has stopped |
//! | [`starvation`] | who gets how much, over a minute |

mod beside;
mod burning;
mod cancel;
mod empty_jobs;
mod speed_up;
mod split;
mod starvation;
mod waiting;

use pipeline_exec::{PipelineBuilder, PipelineExecutor};
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{Effort, Workload};
use crate::THREADS;

/// All of them.
pub(super) fn workloads(effort: Effort) -> Vec<Workload> {
    let mut all = speed_up::workloads();
    all.extend(empty_jobs::workloads(effort));
    all.extend(waiting::workloads(effort));
    all.extend(split::workloads());
    all.extend(beside::workloads(effort));
    all.push(cancel::workload(effort));
    if effort.long {
        all.push(starvation::workload(effort));
    }
    all
}

/// Ours, with as many threads as all contenders get.
fn builder() -> PipelineBuilder {
    PipelineExecutor::builder().threads(THREADS)
}

/// Ours, started.
fn windlass() -> PipelineExecutor {
    started(builder())
}

fn started(builder: PipelineBuilder) -> PipelineExecutor {
    builder.build().expect("the executor starts")
}

/// A pool of rayon's.
fn rayon_of(threads: usize) -> ThreadPool {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("rayon starts")
}
