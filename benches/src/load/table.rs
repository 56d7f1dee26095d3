//! The loads, what they come to, and tables of it in Markdown.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use benches::number::short;
use pipeline_exec::policy::{JobSpec, PipelineConfig};
use pipeline_exec::{JobId, Stage, StageGraph, StepCx, StepError, split_threads};
use sim::{Costs, Failure, Figures, Simulation, StrategyKind, Traffic};

const MS: u64 = 1_000_000;

/// When all clients' first jobs, which come at the same moment, have grown old: on one worker 16 of
/// them take 8 ms each, in 17 of 20 parts of its time.
const SETTLED_NS: u64 = 200 * MS;

/// How many heavy jobs are cancelled in the run that tells how long that takes.
const CANCELS: u32 = 20;

/// Short jobs beside some heavy clients.
pub(crate) struct Beside {
    pub(crate) workers: usize,
    pub(crate) heavies: u32,
    pub(crate) figures: Figures,
    /// The same with cancels.
    pub(crate) with_cancels: Figures,
}

impl Beside {
    /// A thousand jobs of four slots of 250 µs, an eighth of all that the workers can do, beside
    /// clients with jobs of 1,000 slots of 1 ms; once more with cancels of those now and then.
    pub(crate) fn simulated(workers: usize, heavies: u32) -> Result<Self, Failure> {
        let (_, reserve) = split(workers);
        let (shorts, short_every_ns) = (1_000, 8 * MS / workers as u64);
        let traffic = Traffic {
            shorts,
            short_every_ns,
            short_after_ns: SETTLED_NS,
            length_ns: SETTLED_NS + u64::from(shorts) * short_every_ns,
            heavies,
            reserve,
            ..Traffic::default()
        };
        let figures = traffic.measure(workers, 1)?;
        let cancels = if heavies > 0 { CANCELS } else { 0 };
        let with_cancels = Traffic { cancels, ..traffic }.measure(workers, 1)?;
        Ok(Self {
            workers,
            heavies,
            figures,
            with_cancels,
        })
    }
}

/// A row for each load.
pub(crate) fn beside(rows: &[Beside]) -> String {
    let mut text = String::from(
        "| workers | heavy clients | p50, ms | p95, ms | p99, ms | max, ms | p99 above alone, ms | longest wait of a heavy job, ms | with cancels: p99, ms | cancel to stopped p99, ms |\n\
         |--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for Beside {
        workers,
        heavies,
        figures,
        with_cancels,
    } in rows
    {
        let short = &figures.short;
        let times = [short.p50_ns, short.p95_ns, short.p99_ns, short.max_ns]
            .map(ms)
            .join(" | ");
        let alone = rows
            .iter()
            .find(|row| (row.workers, row.heavies) == (*workers, 0))
            .filter(|_| *heavies > 0)
            .map(|alone| short.p99_ns.saturating_sub(alone.figures.short.p99_ns));
        let wait = (*heavies > 0).then_some(figures.heavy_wait_ns);
        let stop = &with_cancels.stop;
        let cancelled = (*heavies > 0).then_some(with_cancels.short.p99_ns);
        let stop = (stop.count > 0).then_some(stop.p99_ns);
        let rest = [alone, wait, cancelled, stop].map(|ns| ns.map_or_else(|| "–".to_owned(), ms));
        let rest = rest.join(" | ");
        writeln!(text, "| {workers} | {heavies} | {times} | {rest} |").expect("a string takes all");
    }
    text
}

/// More short jobs than all workers can do, beside heavy ones.
pub(crate) struct Flood {
    workers: usize,
    figures: Figures,
    /// What the simulator's oracle lets a heavy job wait.
    bound_ns: u64,
}

impl Flood {
    /// Jobs of one slot of 1 ms, a fifth more than there is time for, beside as many heavy clients as workers, and eight at least.
    pub(crate) fn simulated(workers: usize) -> Result<Self, Failure> {
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
        Ok(Self {
            workers,
            figures: traffic.measure(workers, 1)?,
            bound_ns: traffic.wait_bound_ns(workers),
        })
    }
}

/// A row for each number of workers.
pub(crate) fn flood(rows: &[Flood]) -> String {
    let mut text = String::from(
        "| workers | of them reserve | short jobs' share | heavy jobs' share | longest wait of a heavy job, ms | bound, ms |\n\
         |--:|--:|--:|--:|--:|--:|\n",
    );
    for Flood {
        workers,
        figures,
        bound_ns,
    } in rows
    {
        let (_, reserve) = split(*workers);
        writeln!(
            text,
            "| {workers} | {reserve} | {:.1} % | {:.1} % | {} | {} |",
            figures.short_share * 100.0,
            figures.heavy_share * 100.0,
            ms(figures.heavy_wait_ns),
            ms(*bound_ns),
        )
        .expect("a string takes all");
    }
    text
}

/// A job of a thousand equal slots on some workers.
pub(crate) struct SpeedUp {
    pub(crate) workers: usize,
    pub(crate) slot_us: u64,
    /// With what operations cost on the machine that was measured.
    pub(crate) takes_ns: u64,
    /// When the worker that was last to begin claimed its first slots.
    last_begins_ns: u64,
    /// With wakes for nothing.
    pub(crate) without_wakes_ns: u64,
    /// With lines for nothing.
    without_lines_ns: u64,
    /// With all operations for nothing.
    for_nothing_ns: u64,
}

/// Slots of that job.
const SLOTS: usize = 1_000;

impl SpeedUp {
    pub(crate) fn simulated(workers: usize, slot_us: u64) -> Result<Self, Failure> {
        let takes = |costs| takes_ns(workers, slot_us, costs);
        let (takes_ns, last_begins_ns) = takes(Costs::default())?;
        let without_wakes = Costs {
            unpark_ps: 0,
            wake_ps: 0,
            unpark_awake_ps: 0,
            doze_wake_ps: 0,
            ..Costs::default()
        };
        let without_lines = Costs {
            line_read_ps: 0,
            line_write_ps: 0,
            ..Costs::default()
        };
        let mut for_nothing = Costs::default();
        for_nothing.set_all(0);
        Ok(Self {
            workers,
            slot_us,
            takes_ns,
            last_begins_ns,
            without_wakes_ns: takes(without_wakes)?.0,
            without_lines_ns: takes(without_lines)?.0,
            for_nothing_ns: takes(for_nothing)?.0,
        })
    }

    /// How many times as fast as the slots one after the other for nothing.
    fn speed_up(&self) -> f64 {
        SLOTS as f64 * self.slot_us as f64 * 1e3 / self.takes_ns as f64
    }

    /// No more is possible with whole slots.
    fn at_most(&self) -> f64 {
        SLOTS as f64 / SLOTS.div_ceil(self.workers) as f64
    }

    /// What part of the most that is possible a run has that takes `ns`.
    pub(crate) fn part(&self, ns: u64) -> f64 {
        SLOTS.div_ceil(self.workers) as f64 * self.slot_us as f64 * 1e3 / ns as f64
    }
}

/// How long the job takes, and when the last worker begins.
fn takes_ns(workers: usize, slot_us: u64, costs: Costs) -> Result<(u64, u64), Failure> {
    let (main, reserve) = split(workers);
    let config = PipelineConfig {
        main,
        reserve,
        quantum: Duration::from_millis(2),
        capacity: 1,
    };
    let stages = StageGraph::from(vec![Arc::new(Slots) as Arc<dyn Stage>]);
    let job = JobSpec::new("equal", JobId::new(0), stages);
    // The workers sleep when it comes.
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
    Ok((summary.profile.elapsed_ns, last_begins_ns))
}

/// A row for each number of workers and length of a slot.
pub(crate) fn speed_up(rows: &[SpeedUp]) -> String {
    let mut text = String::from(
        "| slots | workers | takes, ms | speed-up | of at most | part of it | last worker begins after, µs | part, wakes for nothing | part, lines for nothing | part, all for nothing |\n\
         |--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in rows {
        writeln!(
            text,
            "| {} µs | {} | {} | {} | {} | {:.3} | {:.0} | {:.3} | {:.3} | {:.3} |",
            row.slot_us,
            row.workers,
            ms(row.takes_ns),
            short(row.speed_up()),
            short(row.at_most()),
            row.part(row.takes_ns),
            row.last_begins_ns as f64 / 1e3,
            row.part(row.without_wakes_ns),
            row.part(row.without_lines_ns),
            row.part(row.for_nothing_ns),
        )
        .expect("a string takes all");
    }
    text
}

/// Milliseconds and hundredths.
fn ms(ns: u64) -> String {
    format!("{:.2}", ns as f64 / MS as f64)
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
    fn each_load_has_its_row_and_alone_there_is_nothing_to_compare_with() {
        let rows = [(2, 0), (2, 2)].map(|(workers, heavies)| Beside::simulated(workers, heavies).unwrap());
        let text = beside(&rows);
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(text.contains("| – | – | – |"), "{text}");
        assert!(rows[0].figures.short.p99_ns < rows[1].figures.short.p99_ns);
    }

    #[test]
    fn a_job_is_nearly_as_many_times_as_fast_as_there_are_workers() {
        let row = SpeedUp::simulated(4, 1_000).unwrap();
        assert!(row.speed_up() > 3.8 && row.speed_up() <= row.at_most());
        assert!(speed_up(&[row]).contains("| 1000 µs | 4 |"));
    }

    #[test]
    fn what_costs_nothing_takes_no_longer_and_nothing_is_faster_than_whole_slots() {
        let row = SpeedUp::simulated(16, 100).unwrap();
        for ns in [row.without_wakes_ns, row.without_lines_ns, row.for_nothing_ns] {
            assert!(ns <= row.takes_ns && row.part(ns) <= 1.0);
        }
        assert!(row.speed_up() < row.at_most());
        assert_eq!(speed_up(&[row]).lines().count(), 3);
    }

    #[test]
    fn heavy_jobs_keep_their_share_of_a_flood() {
        let row = Flood::simulated(2).unwrap();
        assert!(row.figures.heavy_wait_ns <= row.bound_ns);
        let text = flood(&[row]);
        assert!(text.contains("| 2 | 1 |"), "{text}");
    }
}
