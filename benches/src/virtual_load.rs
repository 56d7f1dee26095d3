//! Short jobs beside heavy ones, and one job on many workers, in virtual time.
//!
//! Nothing is measured: every figure is the simulator's, and the same on every machine.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use pipeline_exec::policy::{JobSpec, PipelineConfig};
use pipeline_exec::{JobId, Stage, StageGraph, StepCx, StepError, split_threads};
use sim::{Costs, Failure, Figures, Simulation, StrategyKind, Traffic};

use crate::bench::{About, Bench};
use crate::contender::{Contender, Outcome};
use crate::options::{Knob, Options};
use crate::target::{Of, Target};
use crate::workload::{Column, Workload};

const MS: u64 = 1_000_000;

/// When all clients' first jobs, which come at the same moment, have grown old: on one worker 16 of
/// them take 8 ms each, in 17 of 20 parts of its time.
const SETTLED_NS: u64 = 200 * MS;

/// Heavy jobs cancelled in the run that measures cancels.
const CANCELS: u32 = 20;

const SLOTS: usize = 1_000;

/// Least part of the possible speed-up.
const PART: f64 = 0.95;

const KNOBS: &[Knob] = &[
    Knob::new("workers", "1,2,4,8,16,32,64", "numbers of workers, 1 to 256"),
    Knob::new("heavies", "0,1,2,4,8,16", "numbers of heavy clients"),
];

pub(crate) struct VirtualLoad;

impl Bench for VirtualLoad {
    fn about(&self) -> &'static About {
        &About {
            name: "load",
            question: "in virtual time: short jobs beside heavy ones, one job on many workers",
            page: "benches/load.md",
            plots: "load",
            rounds: 1,
            knobs: KNOBS,
        }
    }

    fn workloads(&self, options: &Options) -> Result<Vec<Workload>> {
        let workers: Vec<usize> = options.numbers("workers")?;
        anyhow::ensure!(
            workers.iter().all(|workers| (1..=256).contains(workers)),
            "--workers takes numbers from 1 to 256"
        );
        let heavies: Vec<u32> = options.numbers("heavies")?;
        let mut all: Vec<Workload> = heavies.iter().map(|&heavies| beside(heavies, &workers)).collect();
        all.push(flood(&workers));
        all.extend(workers.iter().map(|&workers| speed_up(workers)));
        Ok(all)
    }
}

fn simulated(
    name: impl Into<String>,
    run: impl Fn() -> Result<Vec<f64>, Failure> + Clone + 'static,
) -> Contender {
    Contender::ours(name, move || {
        let run = run.clone();
        move || -> Result<Outcome> { Ok(Outcome::verified(run()?)) }
    })
}

fn in_virtual_time(name: String, story: &str, columns: impl IntoIterator<Item = Column>) -> Workload {
    Workload::new(name, story)
        .columns(columns)
        .cold()
        .rounds_max(1)
        .elsewhere()
}

fn count_of(workers: usize) -> String {
    format!("{workers} worker{}", if workers == 1 { "" } else { "s" })
}

fn beside(heavies: u32, workers: &[usize]) -> Workload {
    let story = "A thousand jobs of four slots of 250 µs, an eighth of all that the workers can do, beside \
         clients with jobs of 1,000 slots of 1 ms; once more with cancels of those now and then.";
    in_virtual_time(
        format!("short jobs beside {heavies} heavy clients"),
        story,
        [
            Column::measured("p99, ms", 0),
            Column::measured("p50, ms", 1),
            Column::measured("p95, ms", 2),
            Column::measured("max, ms", 3),
            Column::measured("p99 above alone, ms", 4),
            Column::measured("longest wait of a heavy job, ms", 5),
            Column::measured("with cancels: p99, ms", 6),
            Column::measured("cancel to stopped p99, ms", 7),
        ],
    )
    .rows(
        workers
            .iter()
            .map(|&workers| simulated(count_of(workers), move || beside_figures(workers, heavies))),
    )
    .family("short jobs beside heavy ones", "heavy clients", heavies.into())
}

fn beside_figures(workers: usize, heavies: u32) -> Result<Vec<f64>, Failure> {
    let figures = traffic(workers, heavies).measure(workers, 1)?;
    let short = &figures.short;
    let times = [short.p99_ns, short.p50_ns, short.p95_ns, short.max_ns].map(ms);
    if heavies == 0 {
        return Ok([&times[..], &[f64::NAN; 4]].concat());
    }
    let alone: Figures = traffic(workers, 0).measure(workers, 1)?;
    let with_cancels = Traffic {
        cancels: CANCELS,
        ..traffic(workers, heavies)
    };
    let with_cancels = with_cancels.measure(workers, 1)?;
    let stop = &with_cancels.stop;
    let beside = [
        ms(short.p99_ns.saturating_sub(alone.short.p99_ns)),
        ms(figures.heavy_wait_ns),
        ms(with_cancels.short.p99_ns),
        if stop.count > 0 { ms(stop.p99_ns) } else { f64::NAN },
    ];
    Ok([times, beside].concat())
}

fn traffic(workers: usize, heavies: u32) -> Traffic {
    let (_, reserve) = split(workers);
    let (shorts, short_every_ns) = (1_000, 8 * MS / workers as u64);
    Traffic {
        shorts,
        short_every_ns,
        short_after_ns: SETTLED_NS,
        length_ns: SETTLED_NS + u64::from(shorts) * short_every_ns,
        heavies,
        reserve,
        ..Traffic::default()
    }
}

fn flood(workers: &[usize]) -> Workload {
    let story = "Jobs of one slot of 1 ms, a fifth more than there is time for, beside as many heavy \
         clients as workers, and eight at least. The bound is what the simulator's oracle lets a \
         heavy job wait.";
    let columns = [
        Column::measured("longest wait of a heavy job, ms", 0),
        Column::measured("bound, ms", 1),
        Column::measured("short jobs' share, %", 2),
        Column::measured("heavy jobs' share, %", 3),
        Column::measured("reserve workers", 4),
    ];
    in_virtual_time(
        "more short jobs than there is time for".to_owned(),
        story,
        columns,
    )
    .rows(
        workers
            .iter()
            .map(|&workers| simulated(count_of(workers), move || flood_figures(workers))),
    )
}

fn flood_figures(workers: usize) -> Result<Vec<f64>, Failure> {
    let (_, reserve) = split(workers);
    let short_every_ns = MS * 100 / (120 * workers as u64);
    let length_ns = 4_000 * MS / workers.min(8) as u64;
    let traffic = Traffic {
        shorts: (length_ns / short_every_ns) as u32,
        short_slots: 1,
        short_slot_ns: MS,
        short_every_ns,
        length_ns,
        heavies: (workers as u32).max(8),
        capacity: 1 << 20,
        reserve,
        ..Traffic::default()
    };
    let figures = traffic.measure(workers, 1)?;
    Ok(vec![
        ms(figures.heavy_wait_ns),
        ms(traffic.wait_bound_ns(workers)),
        figures.short_share * 100.0,
        figures.heavy_share * 100.0,
        reserve as f64,
    ])
}

const SLOTS_OF_1_MS: &str = "slots of 1 ms";

fn speed_up(workers: usize) -> Workload {
    let without_wakes = || Costs {
        unpark_ps: 0,
        wake_ps: 0,
        unpark_awake_ps: 0,
        doze_wake_ps: 0,
        ..Costs::default()
    };
    let without_lines = || Costs {
        line_read_ps: 0,
        line_write_ps: 0,
        ..Costs::default()
    };
    let for_nothing = || {
        let mut costs = Costs::default();
        costs.set_all(0);
        costs
    };
    let row = |name, slot_us, costs: fn() -> Costs| {
        simulated(name, move || speed_up_figures(workers, slot_us, costs()))
    };
    let story = "One job of 1,000 slots, all workers asleep when it comes, with what operations cost on the \
         machine that was measured; then with wakes, lines of the other core, or all operations for \
         nothing.";
    in_virtual_time(
        format!("one job of 1,000 slots, {}", count_of(workers)),
        story,
        [
            Column::gained("part of what is possible", 0),
            Column::gained("speed-up", 1),
            Column::measured("takes, ms", 2),
            Column::measured("last worker begins after, µs", 3),
        ],
    )
    .rows([
        row(SLOTS_OF_1_MS, 1_000, Costs::default),
        row("slots of 100 µs", 100, Costs::default),
        row("100 µs, wakes for nothing", 100, without_wakes),
        row("100 µs, lines for nothing", 100, without_lines),
        row("100 µs, all for nothing", 100, for_nothing),
    ])
    .targets([Target::at_least(PART, Of::Number(1.0)).row(SLOTS_OF_1_MS)])
    .family("one job of 1,000 slots", "workers", workers as f64)
}

/// The reached part of the best possible with whole slots, the speed-up, the time, and when the
/// last worker begins.
fn speed_up_figures(workers: usize, slot_us: u64, costs: Costs) -> Result<Vec<f64>, Failure> {
    let (main, reserve) = split(workers);
    let config = PipelineConfig {
        main,
        reserve,
        quantum: Duration::from_millis(2),
        capacity: 1,
    };
    let stages = StageGraph::from(vec![Arc::new(Slots) as Arc<dyn Stage>]);
    let job = JobSpec::new("equal", JobId::new(0), stages);
    // The workers sleep when the job comes.
    let begin_ns = MS;
    let simulation = Simulation::new(1)
        .strategy(StrategyKind::Earliest)
        .costs(costs)
        .begin_ns(begin_ns);
    let (summary, claims) =
        simulation.run_jobs(config, vec![job], move |_job, _stage, _slot| slot_us * 1_000)?;
    let mut begun = vec![None; workers];
    for claim in &claims {
        begun[claim.worker].get_or_insert(claim.at_ns.saturating_sub(begin_ns));
    }
    let last_begins_ns = begun.into_iter().flatten().max().unwrap_or(0);
    let takes_us = summary.profile.elapsed_ns as f64 / 1e3;
    let work_us = SLOTS as f64 * slot_us as f64;
    let least_us = SLOTS.div_ceil(workers) as f64 * slot_us as f64;
    Ok(vec![
        least_us / takes_us,
        work_us / takes_us,
        takes_us / 1e3,
        last_begins_ns as f64 / 1e3,
    ])
}

fn ms(ns: u64) -> f64 {
    ns as f64 / MS as f64
}

fn split(workers: usize) -> (usize, usize) {
    split_threads(NonZeroUsize::new(workers).expect("options say from 1 on"))
}

/// A stage of [`SLOTS`] slots; the simulator sets their time.
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
    fn heavy_clients_make_short_jobs_slower_and_alone_there_is_nothing_to_compare_with() {
        let [alone, beside] = [0, 2].map(|heavies| beside_figures(2, heavies).unwrap());
        assert!(alone[4..].iter().all(|figure| figure.is_nan()));
        assert!(alone[0] < beside[0]);
        let [longer, beside, alone] = [beside[4], beside[0], alone[0]].map(whole_ns);
        assert_eq!(longer, beside - alone);
    }

    fn whole_ns(ms: f64) -> i64 {
        (ms * MS as f64).round() as i64
    }

    #[test]
    fn a_job_is_nearly_as_many_times_as_fast_as_there_are_workers() {
        let figures = speed_up_figures(4, 1_000, Costs::default()).unwrap();
        assert!(
            figures[1] > 3.8 && figures[1] <= 4.0 && figures[0] <= 1.0,
            "{figures:?}"
        );
    }

    #[test]
    fn what_costs_nothing_takes_no_longer_and_nothing_is_faster_than_whole_slots() {
        let report = crate::interleave::run(speed_up(16), 1).unwrap();
        let part = |row: usize| report.rows[row].figures[0].median;
        for cheaper in 2..5 {
            assert!(
                part(1) <= part(cheaper) && part(cheaper) <= 1.0,
                "{}",
                report.rows[cheaper].name
            );
        }
    }

    #[test]
    fn heavy_jobs_wait_no_longer_than_the_bound_in_a_flood() {
        let figures = flood_figures(2).unwrap();
        assert!(figures[0] <= figures[1] && figures[4] == 1.0, "{figures:?}");
    }
}
