//! A swarm: scenario, strategy and faults drawn from each seed, every run twice.
//!
//! Random subsets of features find more than all at once (Groce et al., "Swarm testing", ISSTA
//! 2012): a fault that ends most runs early hides what comes later.

mod spares;
mod traffic;

use std::fmt;
use std::time::{Duration, Instant};

use executor_core::{ExecutorConfig, OnPanic};

use crate::coverage::{Coverage, CoveragePoint};
use crate::fault::{Fault, Faults};
use crate::oracle::Oracle;
use crate::report::{Course, Failure};
use crate::scenario::{Jobs, Load, RunOptions, Scenario, Shape, Tasks};
use crate::schedule::{STEPS_EXPECTED, StrategyKind};
use crate::scheduler::Dice;
use crate::setup::{Ending, Setup};

/// A range of seeds to run.
#[derive(Clone, Debug)]
pub struct Swarm {
    /// The first seed.
    pub seed_base: u64,
    /// Number of seeds.
    pub seeds: u64,
    /// Replaces the scenario drawn from the seed.
    pub scenario: Option<Scenario>,
    /// Replaces the strategy drawn from the seed.
    pub strategy: Option<StrategyKind>,
    /// Whether each run is repeated, and the hashes compared.
    pub twice: bool,
    /// Whether the first failure ends the swarm.
    pub stop_at_failure: bool,
    /// Steps of a run, at most.
    pub step_limit: Option<u64>,
    /// An oracle to silence.
    pub silenced: Option<Oracle>,
}

/// The result of a swarm.
#[derive(Clone, Debug, Default)]
pub struct SwarmReport {
    /// Seeds that ran.
    pub seeds: u64,
    /// Runs, repetitions included.
    pub schedules: u64,
    /// Steps in all runs.
    pub steps: u64,
    /// Coverage points that were hit.
    pub coverage: Coverage,
    /// Faults that struck.
    pub faults: Faults,
    /// Failures, by seed.
    pub failures: Vec<Failure>,
    /// Elapsed wall-clock time.
    pub elapsed: Duration,
}

impl Swarm {
    /// `seeds` seeds from `seed_base` on.
    #[must_use]
    pub fn new(seed_base: u64, seeds: u64) -> Self {
        Self {
            seed_base,
            seeds,
            scenario: None,
            strategy: None,
            twice: true,
            stop_at_failure: false,
            step_limit: None,
            silenced: None,
        }
    }

    /// The scenario and the strategy of `seed`.
    #[must_use]
    pub fn draw(&self, seed: u64) -> (Scenario, StrategyKind) {
        let (scenario, strategy) = traffic::draw(seed).unwrap_or_else(|| {
            let mut dice = Dice::new(seed ^ DRAW);
            (draw_scenario(&mut dice), draw_strategy(&mut dice))
        });
        let mut scenario = self
            .scenario
            .clone()
            .unwrap_or_else(|| spares::add(seed, grow_some(seed, scenario)));
        if let Some(limit) = self.step_limit {
            scenario.setup.step_limit = scenario.setup.step_limit.min(limit);
        }
        (scenario, self.strategy.unwrap_or(strategy))
    }

    /// Runs all seeds.
    #[must_use]
    pub fn run(&self) -> SwarmReport {
        let start = Instant::now();
        let mut report = SwarmReport::default();
        for seed in (0..self.seeds).map(|n| self.seed_base.wrapping_add(n)) {
            let (scenario, strategy) = self.draw(seed);
            report.seeds += 1;
            let first = report.run(&scenario, strategy, seed, self.silenced);
            if self.twice {
                let second = report.run(&scenario, strategy, seed, self.silenced);
                if first.trace_hash != second.trace_hash && self.silenced != Some(Oracle::Determinism) {
                    let message = format!(
                        "the first run's trace has the hash {:016x}, the second's {:016x}",
                        first.trace_hash, second.trace_hash
                    );
                    report.failures.push(Failure {
                        oracle: Oracle::Determinism,
                        message,
                        course: Box::new(second),
                        found: None,
                    });
                } else if report.failures.len() > 1 {
                    let last = report.failures.len() - 1;
                    if report.failures[last].course.line == report.failures[last - 1].course.line {
                        report.failures.pop();
                    }
                }
            }
            if self.stop_at_failure && !report.failures.is_empty() {
                break;
            }
        }
        report.elapsed = start.elapsed();
        report
    }
}

fn grow_some(seed: u64, mut scenario: Scenario) -> Scenario {
    let mut dice = Dice::new(seed ^ GROW);
    if let Load::Jobs(jobs) = &mut scenario.load
        && dice.below(2) == 0
    {
        jobs.tasks = 1 + dice.below(6) as u32;
    }
    scenario
}

/// Separates this draw, so that the other loads stay as they are.
const GROW: u64 = 0x2545_f491_4f6c_dd1d;

/// Separates this draw from the schedule's.
const DRAW: u64 = 0x9e37_79b9_7f4a_7c15;

impl SwarmReport {
    fn run(
        &mut self,
        scenario: &Scenario,
        strategy: StrategyKind,
        seed: u64,
        silenced: Option<Oracle>,
    ) -> Course {
        let options = RunOptions {
            silenced,
            ..RunOptions::default()
        };
        let course = match scenario.run(strategy, seed, options) {
            Ok(summary) => summary.course,
            Err(failure) => {
                let course = (*failure.course).clone();
                self.failures.push(failure);
                course
            }
        };
        self.schedules += 1;
        self.steps += course.steps;
        self.coverage.merge(&course.coverage);
        self.faults.merge(&course.faults);
        course
    }
}

/// Seeds after which a swarm should have reached everything.
const SEEDS_ENOUGH: u64 = 1_000;

/// Percentage of the coverage points that these seeds must hit.
const COVERAGE_PERCENT: usize = 95;

impl Swarm {
    /// Whether it draws freely, and enough for [`SwarmReport::unreached`].
    #[must_use]
    pub fn reaches_all(&self) -> bool {
        self.seeds >= SEEDS_ENOUGH && self.scenario.is_none() && self.strategy.is_none()
    }
}

impl SwarmReport {
    /// Faults that never struck, and the missed coverage points if they are more than one in
    /// twenty.
    #[must_use]
    pub fn unreached(&self) -> Vec<String> {
        let never = Fault::ALL.iter().filter(|&&fault| self.faults.of(fault) == 0);
        let mut unreached: Vec<String> = never.map(|fault| format!("fault: {}", fault.name())).collect();
        let all = CoveragePoint::ALL.len();
        if self.coverage.hit_count() * 100 < all * COVERAGE_PERCENT {
            let missed = CoveragePoint::ALL
                .iter()
                .filter(|&&point| self.coverage.count(point) == 0);
            unreached.extend(missed.map(|point| format!("coverage point: {}", point.name())));
        }
        unreached
    }
}

impl fmt::Display for SwarmReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.elapsed.as_secs_f64().max(1e-9);
        let rate = |n: u64| (n as f64 / seconds).round();
        writeln!(f, "  {:<34} {:>12}", "seeds", self.seeds)?;
        writeln!(f, "  {:<34} {:>12}", "schedules", self.schedules)?;
        writeln!(f, "  {:<34} {:>12}", "schedules / s", rate(self.schedules))?;
        writeln!(f, "  {:<34} {:>12}", "steps", self.steps)?;
        writeln!(f, "  {:<34} {:>12}", "steps / s", rate(self.steps))?;
        for &fault in Fault::ALL {
            let name = format!("faults: {}", fault.name());
            writeln!(f, "  {name:<34} {:>12}", self.faults.of(fault))?;
        }
        let coverage = format!("{} / {}", self.coverage.hit_count(), CoveragePoint::ALL.len());
        writeln!(f, "  {:<34} {coverage:>12}", "coverage points hit / total")?;
        writeln!(f, "  {:<34} {:>12}", "failures", self.failures.len())
    }
}

fn draw_strategy(dice: &mut Dice) -> StrategyKind {
    let steps = |dice: &mut Dice| [100, 300, STEPS_EXPECTED, 3_000][dice.below(4)];
    match dice.below(16) {
        0..6 => StrategyKind::Random,
        6..10 => StrategyKind::Sticky,
        10..12 => StrategyKind::Pct {
            depth: 1 + dice.below(4) as u32,
            steps: steps(dice),
        },
        12..14 => StrategyKind::Delay {
            delays: dice.below(4) as u32,
            steps: steps(dice),
        },
        14 => StrategyKind::RoundRobin,
        _ => StrategyKind::Earliest,
    }
}

fn draw_scenario(dice: &mut Dice) -> Scenario {
    let mut setup = draw_setup(dice);
    if dice.below(3) == 0 {
        return draw_jobs(dice, setup);
    }
    let shape = Shape::ALL[dice.below(Shape::ALL.len())];
    let (roots, size) = match shape {
        Shape::Flat => (1 + dice.below(24) as u32, 0),
        Shape::Tree => (1 + dice.below(3) as u32, dice.below(6) as u32),
        Shape::Chain => (1 + dice.below(3) as u32, dice.below(24) as u32),
        Shape::Fan | Shape::Mixed | Shape::Publish => (1 + dice.below(3) as u32, dice.below(40) as u32),
        Shape::Phases => (1 + dice.below(3) as u32, dice.below(160) as u32),
        Shape::Burst => {
            let most = [40, 40, 400, 400][dice.below(4)];
            (1 + dice.below(3) as u32, dice.below(most) as u32)
        }
        Shape::Meeting => {
            setup.config.workers = setup.config.workers.max(2);
            forbid_panics(&mut setup.faults);
            if matches!(setup.ending, Ending::Abort | Ending::CloseThenAbort) {
                setup.ending = Ending::Close;
            }
            let roots = 1 + dice.below((setup.config.workers - 1).min(3));
            (roots as u32, 1 + dice.below(12) as u32)
        }
    };
    let tasks = Tasks { shape, roots, size };
    if !tasks.fits_beyond_max(&setup.config) {
        setup.faults.overflows = 0;
    }
    Scenario {
        load: Load::Tasks(tasks),
        setup,
    }
}

fn draw_jobs(dice: &mut Dice, mut setup: Setup) -> Scenario {
    forbid_panics(&mut setup.faults);
    setup.faults.overflows = 0;
    setup.batch = 0;
    setup.waiters = 0;
    let workers = setup.config.workers;
    let slots_max = [6, 6, 30][dice.below(3)];
    let jobs = Jobs {
        jobs: 1 + dice.below(8) as u32,
        stages: 1 + dice.below(5) as u32,
        slots: 1 + dice.below(slots_max) as u32,
        reserve: dice.below(workers.min(4)),
        capacity: [1, 2, 8][dice.below(3)],
        quantum_ns: [0, 200, 2_000, 1_000_000][dice.below(4)],
        slot_ns: [0, 0, 300, 5_000][dice.below(4)],
        cancels: dice.below(3) / 2 * (1 + dice.below(3)),
        troubles: dice.below(2) == 0,
        lends: dice.below(4) > 0,
        nests: dice.below(2) == 0,
        spares: 0,
        long_slot_ns: 0,
        tasks: 0,
    };
    Scenario {
        load: Load::Jobs(jobs),
        setup,
    }
}

fn draw_setup(dice: &mut Dice) -> Setup {
    let workers = match dice.below(64) {
        0 => 65,
        1..8 => 1,
        8..32 => 2,
        32..44 => 3,
        _ => 4 + dice.below(5),
    };
    let one_of = |dice: &mut Dice, choices: &[u32]| choices[dice.below(choices.len())];
    let mut config = ExecutorConfig::new(workers);
    let tuning = &mut config.tuning;
    tuning.credit_block = one_of(dice, &[1, 2, 64]) as usize;
    tuning.spin_iters = one_of(dice, &[0, 0, 1, 3]);
    tuning.steal_tries = one_of(dice, &[1, 2, 4]);
    tuning.fairness_interval = one_of(dice, &[1, 3, 61]);
    tuning.park_timeout = (dice.below(8) == 0).then(|| Duration::from_micros(200));
    tuning.private_tasks = one_of(dice, &[0, 1, 2, 5, 256, 256]) as usize;
    tuning.short_task = Duration::from_nanos(one_of(dice, &[0, 1_000, 1_000, 1_000_000_000]).into());
    tuning.wake_threshold = one_of(dice, &[1, 2, 5, 32]);
    config.cores = (dice.below(4) == 0).then(|| 1 + dice.below(workers));
    config.on_panic = [OnPanic::Stop, OnPanic::Stop, OnPanic::Isolate][dice.below(3)];
    Setup {
        config,
        producers: 1 + dice.below(3),
        batch: one_of(dice, &[0, 0, 2, 5, 40]) as usize,
        ending: match dice.below(8) {
            0..3 => Ending::Join,
            3..5 => Ending::Idle,
            5 => Ending::Close,
            6 => Ending::Abort,
            _ => Ending::CloseThenAbort,
        },
        waiters: dice.below(3) / 2 + dice.below(4) / 3,
        faults: draw_faults(dice),
        ..Setup::default()
    }
}

fn draw_faults(dice: &mut Dice) -> Faults {
    let mut sometimes = |one_in: usize, most: usize| match dice.below(one_in) {
        0 => 1 + dice.below(most) as u32,
        _ => 0,
    };
    Faults {
        spurious_wakes: sometimes(3, 16),
        retries: sometimes(3, 32),
        panics: sometimes(4, 3),
        panics_inside: sometimes(5, 3),
        hook_panics: sometimes(12, 2),
        late_wakes: sometimes(4, 8),
        late_timers: sometimes(4, 8),
        stalls: sometimes(4, 8),
        retry_bursts: sometimes(8, 2),
        clock_jumps: sometimes(4, 6),
        ties: sometimes(4, 12),
        overflows: sometimes(8, 3),
        late_starts: sometimes(8, 4),
        failed_starts: sometimes(24, 1),
        // Loads with long slots draw this with their length.
        long_slots: 0,
    }
}

/// Tasks that others wait for must run, and looks must not panic.
fn forbid_panics(faults: &mut Faults) {
    (faults.panics, faults.panics_inside, faults.hook_panics) = (0, 0, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_fault_that_never_struck_is_named() {
        let mut report = SwarmReport::default();
        for &fault in Fault::ALL {
            *report.faults.of_mut(fault) = 1;
        }
        CoveragePoint::ALL
            .iter()
            .for_each(|&point| report.coverage.hit(point));
        assert_eq!(report.unreached(), [""; 0]);
        report.faults.clock_jumps = 0;
        assert_eq!(report.unreached(), ["fault: clock jumps"]);
    }

    #[test]
    fn coverage_points_that_were_not_hit_are_named_if_they_are_more_than_one_in_twenty() {
        let hit = |but: usize| {
            let mut report = SwarmReport::default();
            for &fault in Fault::ALL {
                *report.faults.of_mut(fault) = 1;
            }
            CoveragePoint::ALL
                .iter()
                .skip(but)
                .for_each(|&point| report.coverage.hit(point));
            report.unreached()
        };
        assert_eq!(hit(CoveragePoint::ALL.len() / 20), [""; 0]);
        let missed = hit(CoveragePoint::ALL.len() / 20 + 1);
        assert!(missed[0].starts_with("coverage point: "), "{missed:?}");
    }

    #[test]
    fn a_swarm_of_one_scenario_need_not_reach_all() {
        assert!(Swarm::new(0, SEEDS_ENOUGH).reaches_all());
        assert!(!Swarm::new(0, SEEDS_ENOUGH - 1).reaches_all());
        let swarm = Swarm {
            strategy: Some(StrategyKind::Earliest),
            ..Swarm::new(0, SEEDS_ENOUGH)
        };
        assert!(!swarm.reaches_all());
    }
}
