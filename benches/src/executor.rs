//! The work-stealing executor beside other executors: trees, fan-outs, producers, latencies, long
//! tasks, memory, life cycles.

mod fairness;
mod fan_out;
mod idle;
mod latency;
mod life_cycle;
mod long;
pub(crate) mod memory;
mod pace;
mod producer;
mod push;
mod queens;
mod recursion;
mod skynet;
mod tree;
mod unbalanced;

use crate::bench::{About, Bench};
use crate::machine;
use crate::options::Options;
use crate::workload::Workload;

pub(crate) struct Executor;

impl Bench for Executor {
    fn about(&self) -> &'static About {
        &About {
            name: "executor",
            question: "the executor beside rayon, chili, tokio and a channel with threads",
            page: "benches/README.md",
            plots: "plots",
            rounds: 11,
            knobs: &[],
        }
    }

    fn peers(&self, _options: &Options) -> anyhow::Result<Vec<String>> {
        Ok(machine::locked(&["rayon", "chili", "tokio", "crossbeam-channel"]))
    }

    fn workloads(&self, options: &Options) -> anyhow::Result<Vec<Workload>> {
        let mut all: Vec<Workload> = tree::workloads().into();
        all.extend([unbalanced::workload(), queens::workload(), skynet::workload()]);
        all.extend(fan_out::workloads());
        all.extend(producer::workloads());
        all.extend(push::workloads());
        all.push(latency::workload(options));
        all.push(fairness::workload(options));
        all.push(idle::workload(options));
        all.push(pace::workload(options));
        all.extend(long::workloads());
        all.extend(memory::workloads(options));
        all.push(life_cycle::workload(options));
        Ok(all)
    }
}
