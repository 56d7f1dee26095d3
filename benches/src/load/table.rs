//! The loads, what they come to, and tables of it in Markdown.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use benches::number::short;
use pipeline_exec::policy::{Class, JobSpec, PipelineConfig};
use pipeline_exec::{JobId, Stage, StageGraph, StepCx, StepError, split_threads};
use sim::{Failure, Figures, Simulation, StrategyKind, Traffic};

const MS: u64 = 1_000_000;

/// When all clients' first jobs have been served, which come at the same moment.
const SETTLED_NS: u64 = 100 * MS;

/// Short jobs beside some heavy clients.
pub(crate) struct Beside {
    pub(crate) workers: usize,
    pub(crate) heavies: u32,
    pub(crate) figures: Figures,
}

impl Beside {
    /// A thousand jobs of four slots of 250 µs, an eighth of all that the workers can do, beside clients with jobs of 1,000 slots of 1 ms.
    /// Now and then somebody cancels one of those.
    pub(crate) fn simulated(workers: usize, heavies: u32) -> Result<Self, Failure> {
        let (_, reserve) = split(workers);
        let (shorts, short_every_ns) = (1_000, 8 * MS / workers as u64);
        let traffic = Traffic {
            shorts,
            short_every_ns,
            short_after_ns: SETTLED_NS,
            length_ns: SETTLED_NS + u64::from(shorts) * short_every_ns,
            heavies,
            cancels: if heavies > 0 { 20 } else { 0 },
            reserve,
            ..Traffic::default()
        };
        let figures = traffic.measure(workers, 1)?;
        Ok(Self {
            workers,
            heavies,
            figures,
        })
    }
}

/// A row for each load.
pub(crate) fn beside(rows: &[Beside]) -> String {
    let mut text = String::from(
        "| workers | heavy clients | p50, ms | p95, ms | p99, ms | max, ms | heavy share | longest wait of a heavy job, ms | cancel to stopped p99, ms | makespan, ms |\n\
         |--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    let ms = |ns: u64| short(ns as f64 / MS as f64);
    for Beside {
        workers,
        heavies,
        figures,
    } in rows
    {
        let Figures { short, stop, .. } = figures;
        let times = [short.p50_ns, short.p95_ns, short.p99_ns, short.max_ns]
            .map(ms)
            .join(" | ");
        let share = format!("{:.0} %", figures.heavy_share * 100.0);
        let rest = [figures.heavy_wait_ns, stop.p99_ns, figures.makespan_ns]
            .map(ms)
            .join(" | ");
        writeln!(text, "| {workers} | {heavies} | {times} | {share} | {rest} |").expect("a string takes all");
    }
    text
}

/// A job of a thousand equal slots on some workers.
pub(crate) struct SpeedUp {
    pub(crate) workers: usize,
    pub(crate) slot_us: u64,
    pub(crate) takes_ns: u64,
}

/// Slots of that job.
const SLOTS: usize = 1_000;

impl SpeedUp {
    pub(crate) fn simulated(workers: usize, slot_us: u64) -> Result<Self, Failure> {
        let (main, reserve) = split(workers);
        let config = PipelineConfig {
            main,
            reserve,
            quantum: Duration::from_millis(2),
            capacity: 1,
        };
        let job = JobSpec {
            table_name: "equal".into(),
            id: JobId::new(0),
            cost: 0,
            class: Class::Normal,
            deadline: None,
            workers_max: usize::MAX,
            stages: StageGraph::from(vec![Arc::new(Slots) as Arc<dyn Stage>]),
            output: None,
        };
        // The workers sleep when it comes.
        let simulation = Simulation::new(1).strategy(StrategyKind::Earliest).begin_ns(MS);
        let summary = simulation.run_job(config, job, move |_stage, _slot| slot_us * 1_000)?;
        Ok(Self {
            workers,
            slot_us,
            takes_ns: summary.profile.elapsed_ns,
        })
    }

    /// How many times as fast as the slots one after the other for nothing.
    pub(crate) fn speed_up(&self) -> f64 {
        (SLOTS as u64 * self.slot_us * 1_000) as f64 / self.takes_ns as f64
    }

    /// No more is possible with whole slots.
    pub(crate) fn at_most(&self) -> f64 {
        SLOTS as f64 / SLOTS.div_ceil(self.workers) as f64
    }
}

/// A row for each number of workers.
pub(crate) fn speed_up(rows: &[SpeedUp]) -> String {
    let mut text = String::from(
        "| slots | workers | takes, ms | speed-up | of at most | part of it |\n|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in rows {
        writeln!(
            text,
            "| {} µs | {} | {} | {} | {} | {:.3} |",
            row.slot_us,
            row.workers,
            short(row.takes_ns as f64 / MS as f64),
            short(row.speed_up()),
            short(row.at_most()),
            row.speed_up() / row.at_most(),
        )
        .expect("a string takes all");
    }
    text
}

fn split(workers: usize) -> (usize, usize) {
    split_threads(NonZeroUsize::new(workers).expect("options say from 1 on"))
}

/// A stage of [`SLOTS`] slots; what they take is the simulator's affair.
struct Slots;

impl Stage for Slots {
    fn slots(&self) -> usize {
        SLOTS
    }

    fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_what_a_load_came_to() {
        let row = Beside::simulated(4, 2).unwrap();
        assert_eq!(row.figures.short.count, 1_000);
        let table = beside(&[row]);
        assert!(
            table.lines().count() == 3 && table.contains("| 4 | 2 |"),
            "{table}"
        );
    }

    #[test]
    fn a_job_is_nearly_as_many_times_as_fast_as_there_are_workers() {
        let row = SpeedUp::simulated(4, 1_000).unwrap();
        assert!(row.speed_up() > 3.8 && row.speed_up() <= row.at_most());
        assert!(speed_up(&[row]).contains("| 1000 µs | 4 |"));
    }
}
