//! Measures of the pipeline executor: jobs of slots, many small jobs, and short jobs beside heavy
//! ones.
//!
//! | module | question |
//! |---|---|
//! | [`speed_up`] | gain of a second worker, and cost of a slot |
//! | [`empty_jobs`] | cost of an empty job |
//! | [`waiting`] | cost of submitting, serving and cancelling beside many waiting jobs |
//! | [`split`] | cost of two roles where one would do |
//! | [`beside`] | time of short jobs beside heavy ones |
//! | [`cancel`] | time until a cancelled job has stopped |

mod beside;
mod burning;
mod cancel;
mod empty_jobs;
mod speed_up;
mod split;
mod waiting;

use pipeline_exec::{PipelineExecutor, PipelineExecutorBuilder};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::THREADS;
use crate::bench::{About, Bench};
use crate::machine;
use crate::options::Options;
use crate::workload::Workload;

pub(crate) struct Pipeline;

impl Bench for Pipeline {
    fn about(&self) -> &'static About {
        &About {
            name: "pipeline",
            question: "jobs of the pipeline executor beside rayon and a thread for each job",
            page: "benches/pipeline.md",
            plots: "pipeline",
            rounds: 5,
            knobs: &[],
        }
    }

    fn peers(&self, _options: &Options) -> anyhow::Result<Vec<String>> {
        Ok(machine::locked(&["rayon", "tokio"]))
    }

    fn workloads(&self, options: &Options) -> anyhow::Result<Vec<Workload>> {
        let mut all = speed_up::workloads();
        all.extend(empty_jobs::workloads(options));
        all.extend(waiting::workloads(options));
        all.extend(split::workloads());
        all.extend(beside::workloads(options));
        all.push(cancel::workload(options));
        Ok(all)
    }
}

/// Gives our executor as many threads as all contenders get.
fn builder() -> PipelineExecutorBuilder {
    PipelineExecutor::builder().threads(THREADS)
}

fn windlass() -> PipelineExecutor {
    started(builder())
}

fn started(builder: PipelineExecutorBuilder) -> PipelineExecutor {
    builder.build().expect("the executor starts")
}

fn rayon_of(threads: usize) -> ThreadPool {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("rayon starts")
}
