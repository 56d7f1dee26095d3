//! What the policy promises of a load, in numbers that follow from the load: quantum, slots, jobs, 85 : 15.
//!
//! A *visit* is a quantum and a slot: longer no worker stays in a job.
//!
//! | what | bound | because |
//! |---|---|---|
//! | latency of a short job | alone + 2 visits and 1 for each heavy or middle job by main worker, for each quantum that it takes | every worker may just have begun a visit, and a turn of the reserve role or of the old ones' share may come next; jobs that came before it and have received nothing either go first |
//! | share of heavy jobs | 15 % | 3 of 20 parts of each worker's time, or of the workers, are theirs |
//! | wait of a job | 2 visits for each job, over 15 % | at worst all others go before it twice, in the 15 % that are for those that are old |
//! | cancel until stopped | a visit | nobody claims any more, and who is in a slot ends it |

use pipeline_exec::policy::shared::EXPECTED_QUANTA_MAX;

use super::{Figures, Traffic};
use crate::line::Fields;
use crate::oracle::{Oracle, Violation};
use crate::report::Failure;
use crate::simulation::Simulation;

/// What wakes, claims and accounts may add to each visit, and to a run in which all begin asleep.
const OVERHEAD_NS: u64 = 50_000;

/// The part of the time that is for what is old or heavy: 3 of 20.
const HEAVY_PARTS: u64 = 3;
const PARTS: u64 = 20;

/// So many visits long has traffic to be for shares to say something.
const VISITS_ENOUGH: u64 = 40;

impl Traffic {
    /// A quantum, a slot, and what scheduling takes.
    #[must_use]
    pub fn visit_ns(&self) -> u64 {
        let short_ns = if self.shorts > 0 { self.short_slot_ns } else { 0 };
        let heavy_ns = if self.heavies + self.middles > 0 {
            self.heavy_slot_ns
        } else {
            0
        };
        self.quantum_ns + short_ns.max(heavy_ns) + OVERHEAD_NS
    }

    /// How long a heavy or a middle job may wait for a worker, whatever the short ones do.
    #[must_use]
    pub fn wait_bound_ns(&self) -> u64 {
        // Short jobs of more than a quantum grow old and wait in the same line.
        let grow_old = if self.is_short_within_a_quantum() {
            0
        } else {
            self.shorts
        };
        let jobs = u64::from(self.heavies + self.middles + grow_old);
        (jobs + 1) * 2 * self.visit_ns() * PARTS / HEAVY_PARTS
    }

    /// The same short jobs without anything beside them.
    #[must_use]
    pub fn alone(&self) -> Self {
        Self {
            heavies: 0,
            middles: 0,
            cancels: 0,
            ..self.clone()
        }
    }

    /// Holds what a run came to against the bounds.
    pub(super) fn judge(
        &self,
        simulation: &Simulation,
        seed: u64,
        figures: &Figures,
    ) -> Result<(), Violation> {
        let hears = |oracle| simulation.hears(oracle);
        if hears(Oracle::Latency) {
            let bound_ns = self.visit_ns();
            at_most(
                Oracle::Latency,
                "a cancelled job ran on",
                figures.stop.max_ns,
                bound_ns,
            )?;
        }
        if hears(Oracle::Starvation) && self.heavy_every_ns == 0 {
            let bound_ns = self.wait_bound_ns();
            // Of more short jobs than there is time for, a queue forms, and a new heavy one is behind it until it is known to be heavy.
            let waited_ns = if self.leaves_room(simulation) {
                figures.heavy_wait_ns.max(figures.middle_wait_ns)
            } else {
                figures.wait_again_ns
            };
            at_most(
                Oracle::Starvation,
                "a job with slots to claim waited",
                waited_ns,
                bound_ns,
            )?;
        }
        // Middle jobs are as heavy to short ones.
        let share = figures.heavy_share + figures.middle_share;
        if hears(Oracle::Starvation) && self.keeps_busy(simulation) && share < LEAST_SHARE {
            let message = format!("heavy jobs had {:.3} of the workers' time", share);
            return Err(Violation::new(Oracle::Starvation, message));
        }
        if hears(Oracle::Latency) && self.are_heavy() && self.leaves_room(simulation) {
            let alone = self.alone_ns(simulation, seed).map_err(|failure| Violation {
                oracle: failure.oracle,
                message: format!("without heavy jobs: {}", failure.message),
            })?;
            // A short job that takes several quanta stands back after each.
            let quanta = (u64::from(self.short_slots) * self.short_slot_ns).div_ceil(self.quantum_ns.max(1));
            let main = (simulation.setup().config.workers - self.reserve) as u64;
            let others = 2 + u64::from(self.heavies + self.middles).div_ceil(main);
            let bound_ns = alone + quanta * others * self.visit_ns();
            at_most(
                Oracle::Latency,
                "a short job took",
                figures.short.max_ns,
                bound_ns,
            )?;
        }
        Ok(())
    }

    /// The longest that a short job takes without heavy ones.
    fn alone_ns(&self, simulation: &Simulation, seed: u64) -> Result<u64, Failure> {
        let alone = self.alone();
        let mut label = Fields::default();
        alone.write(&mut label);
        let alone_simulation = Simulation::of(
            simulation.setup().clone(),
            simulation.strategy_kind(),
            seed,
            label,
        )
        .silenced_as(simulation);
        let (_, figures) = alone.go(&alone_simulation, seed, true)?;
        Ok(figures.short.max_ns)
    }

    /// Whether heavy jobs could use all the time there is, and traffic is long enough for their share of it to be seen.
    fn keeps_busy(&self, simulation: &Simulation) -> bool {
        let workers = simulation.setup().config.workers as u64;
        let lasts = u64::from(self.heavy_slots) * self.heavy_slot_ns >= 8 * workers * self.visit_ns();
        // What is old, short jobs of more than a quantum among it, shares its part; reserve looks for the heaviest alone.
        self.heavies > 0
            && (self.is_short_within_a_quantum() || self.reserve > 0 || workers == 1)
            && self.heavy_jobs == 0
            && self.panics == 0
            && self.cancels == 0
            && lasts
            && self.length_ns >= VISITS_ENOUGH * self.visit_ns()
    }

    /// Whether there are heavy jobs that take more than eight quanta: others count as short ones, and come again as new ones all the time.
    fn are_heavy(&self) -> bool {
        self.heavies > 0
            && u64::from(self.heavy_slots) * self.heavy_slot_ns > EXPECTED_QUANTA_MAX * self.quantum_ns
    }

    /// Whether a short job is over before it grows old.
    fn is_short_within_a_quantum(&self) -> bool {
        u64::from(self.short_slots) * self.short_slot_ns <= self.quantum_ns
    }

    /// Whether short jobs leave time for others: half of it.
    fn leaves_room(&self, simulation: &Simulation) -> bool {
        let workers = simulation.setup().config.workers as u64;
        let work_ns = u64::from(self.short_slots) * self.short_slot_ns;
        2 * work_ns <= workers * self.short_every_ns
    }
}

/// 15 %, without what is lost at the beginning and the end of a short load.
const LEAST_SHARE: f64 = 0.13;

fn at_most(oracle: Oracle, what: &str, ns: u64, bound_ns: u64) -> Result<(), Violation> {
    if ns <= bound_ns {
        return Ok(());
    }
    Err(Violation::new(
        oracle,
        format!("{what} for {ns} ns, and {bound_ns} ns are the bound"),
    ))
}
