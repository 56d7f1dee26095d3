//! What the policy promises of a load, in numbers that follow from the load: quantum, slots, jobs, 85 : 15.
//!
//! A *visit* is a quantum and a slot: longer no worker stays in a job.
//!
//! | what | bound | because |
//! |---|---|---|
//! | cancel until stopped | a visit | nobody claims any more, and who is in a slot ends it |
//! | wait of a job that was served before | 2 visits for each old job by main worker and 2 more, over 15 % | at worst all others that are old go before it twice, in the part of the time that is theirs |
//! | wait until it is served first | the same, and the *line*: the work of the short jobs that were there before it, twice, over the young ones' part | it is young until it has received something, or known to be heavy; young jobs go in the order of their submission, in turns with singles |
//! | share of heavy jobs | the reserve workers' time, and 15 % of the main workers' divided by the old jobs | reserve takes the heaviest; 3 of 20 parts of each main worker's time are for what is old, short jobs of more than a quantum among it |
//! | latency of a short job | alone + 2 visits and 1 for each heavy or middle job by main worker, for each quantum that it takes | every worker may just have begun a visit, and a turn of the reserve role or of the old ones' share may come next; jobs that came before it and have received nothing either go first |
//! | latency of a short job, where queues form or heavy jobs are young again and again | the line, the visits as above, and a wait as an old job for each quantum after the first | it stands behind what was there before it, and when it has had its quantum, with the old ones |
//!
//! A load that the tighter bounds are not true of has the looser one, so that none is without.

use pipeline_exec::policy::shared::EXPECTED_QUANTA_MAX;

use super::{Figures, Traffic};
use crate::line::Fields;
use crate::oracle::{Lines, Oracle, Stood, Violation};
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

    /// How long a heavy or a middle job that has been served may wait for one of `workers` workers, whatever the short ones do, if those
    /// take no more than a quantum each.
    #[must_use]
    pub fn wait_bound_ns(&self, workers: usize) -> u64 {
        self.old_wait_ns(workers, self.heavy_and_middle())
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
        lines: &Lines,
    ) -> Result<(), Violation> {
        let hears = |oracle| simulation.hears(oracle);
        if hears(Oracle::Starvation) {
            self.judge_waits(simulation, figures, lines)?;
            self.judge_share(simulation, figures, lines)?;
        }
        if hears(Oracle::Latency) {
            at_most(
                Oracle::Latency,
                "a cancelled job ran on",
                figures.stop.max_ns,
                self.visit_ns(),
            )?;
            self.judge_lines(simulation, lines)?;
            if self.are_heavy() && self.leaves_room(simulation) {
                self.judge_latency(simulation, seed, figures)?;
            }
        }
        Ok(())
    }

    /// Heavy and middle jobs, before they were served and afterwards.
    fn judge_waits(
        &self,
        simulation: &Simulation,
        figures: &Figures,
        lines: &Lines,
    ) -> Result<(), Violation> {
        let workers = simulation.setup().config.workers;
        let again_ns = self.old_wait_ns(workers, self.old_jobs(lines));
        at_most(
            Oracle::Starvation,
            "a job with slots to claim waited",
            figures.wait_again_ns,
            again_ns,
        )?;
        lines.first_waits.iter().try_for_each(|&Stood { ns, ahead }| {
            let bound_ns = again_ns + self.line_ns(workers, ahead);
            at_most(
                Oracle::Starvation,
                "a job waited until it was served first",
                ns,
                bound_ns,
            )
        })
    }

    /// Middle jobs are as heavy to short ones.
    fn judge_share(
        &self,
        simulation: &Simulation,
        figures: &Figures,
        lines: &Lines,
    ) -> Result<(), Violation> {
        let share = figures.heavy_share + figures.middle_share;
        let least = self.least_share(simulation.setup().config.workers, self.old_jobs(lines));
        if self.keeps_busy(simulation) && share < least {
            let message =
                format!("heavy jobs had {share:.3} of the workers' time, and {least:.3} are the least");
            return Err(Violation::new(Oracle::Starvation, message));
        }
        Ok(())
    }

    /// The least part of the time of all workers that is for heavy and middle jobs, if `old` are old.
    fn least_share(&self, workers: usize, old: u64) -> f64 {
        let of_old = HEAVY_PARTS as f64 / PARTS as f64;
        // Reserve looks for the heaviest alone; what a main worker has for old jobs, short ones that are old share.
        let reserve = if workers == 1 {
            of_old
        } else {
            self.reserve as f64 / workers as f64
        };
        let main = (1.0 - reserve) * of_old * self.heavy_and_middle() as f64 / old.max(1) as f64;
        (reserve + main) * SEEN
    }

    /// Short jobs, beside what was there before each of them.
    fn judge_lines(&self, simulation: &Simulation, lines: &Lines) -> Result<(), Violation> {
        let workers = simulation.setup().config.workers;
        let as_old_ns = self.old_wait_ns(workers, self.old_jobs(lines)) + self.visit_ns();
        let visits_ns = self.others(workers) * self.visit_ns() + (self.quanta() - 1) * as_old_ns;
        lines.short.iter().try_for_each(|&Stood { ns, ahead }| {
            let bound_ns = self.line_ns(workers, ahead + 1) + visits_ns;
            at_most(
                Oracle::Latency,
                "a short job stood in line and took",
                ns,
                bound_ns,
            )
        })
    }

    /// Short jobs, beside what they take without the heavy ones.
    fn judge_latency(&self, simulation: &Simulation, seed: u64, figures: &Figures) -> Result<(), Violation> {
        let alone = self.alone_ns(simulation, seed).map_err(|failure| Violation {
            oracle: failure.oracle,
            message: format!("without heavy jobs: {}", failure.message),
        })?;
        let workers = simulation.setup().config.workers;
        // A short job that takes several quanta stands back after each.
        let bound_ns = alone + self.quanta() * self.others(workers) * self.visit_ns();
        at_most(
            Oracle::Latency,
            "a short job took",
            figures.short.max_ns,
            bound_ns,
        )
    }

    /// How long one of `jobs` old jobs may wait.
    fn old_wait_ns(&self, workers: usize, jobs: u64) -> u64 {
        (jobs.div_ceil(self.main(workers)) + 1) * 2 * self.visit_ns() * PARTS / HEAVY_PARTS
    }

    /// How long it may take until `ahead` short jobs have received what they need, or have grown old. A job of one slot lets one that
    /// stands on the board go first, and the other way round.
    fn line_ns(&self, workers: usize, ahead: usize) -> u64 {
        let turn_ns = if self.are_heavy() { 0 } else { self.visit_ns() };
        let each_ns = self.short_work_ns() + turn_ns + OVERHEAD_NS;
        // The young ones' part, of what a single worker has for its main role.
        let parts = PARTS - HEAVY_PARTS;
        2 * (ahead as u64).div_ceil(self.main(workers)) * each_ns * PARTS * PARTS / (parts * parts)
    }

    /// So many visits may come before one of a short job.
    fn others(&self, workers: usize) -> u64 {
        2 + self.heavy_and_middle().div_ceil(self.main(workers))
    }

    /// Jobs that may be old at the same time.
    fn old_jobs(&self, lines: &Lines) -> u64 {
        let short = if self.quanta() > 1 { lines.most_shorts } else { 0 };
        self.heavy_and_middle() + short as u64
    }

    /// Heavy and middle jobs that may be there at the same time.
    fn heavy_and_middle(&self) -> u64 {
        let of_a_client = match (self.length_ns.checked_div(self.heavy_every_ns), self.heavy_jobs) {
            (None, _) => 1,
            (Some(jobs), 0) => jobs + 1,
            (Some(jobs), most) => (jobs + 1).min(u64::from(most)),
        };
        u64::from(self.heavies) * of_a_client + u64::from(self.middles)
    }

    fn main(&self, workers: usize) -> u64 {
        (workers - self.reserve) as u64
    }

    fn short_work_ns(&self) -> u64 {
        u64::from(self.short_slots) * self.short_slot_ns
    }

    /// How many quanta a short job takes.
    fn quanta(&self) -> u64 {
        self.short_work_ns().div_ceil(self.quantum_ns.max(1)).max(1)
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
        let (_, figures, _) = alone.go(&alone_simulation, seed, true)?;
        Ok(figures.short.max_ns)
    }

    /// Whether heavy jobs could use all the time there is, and traffic is long enough for their share of it to be seen.
    fn keeps_busy(&self, simulation: &Simulation) -> bool {
        let workers = simulation.setup().config.workers as u64;
        let lasts = u64::from(self.heavy_slots) * self.heavy_slot_ns >= 8 * workers * self.visit_ns();
        self.heavies > 0 && self.heavy_jobs == 0 && lasts && self.length_ns >= VISITS_ENOUGH * self.visit_ns()
    }

    /// Whether there are heavy jobs that take more than eight quanta: others are young, and come again as new ones all the time.
    fn are_heavy(&self) -> bool {
        self.heavies > 0
            && u64::from(self.heavy_slots) * self.heavy_slot_ns > EXPECTED_QUANTA_MAX * self.quantum_ns
    }

    /// Whether short jobs leave time for others: half of it.
    fn leaves_room(&self, simulation: &Simulation) -> bool {
        let workers = simulation.setup().config.workers as u64;
        2 * self.short_work_ns() <= workers * self.short_every_ns
    }
}

/// So much of a share is seen, with what is lost at the beginning and the end of a short load.
const SEEN: f64 = 0.87;

fn at_most(oracle: Oracle, what: &str, ns: u64, bound_ns: u64) -> Result<(), Violation> {
    if ns <= bound_ns {
        return Ok(());
    }
    Err(Violation::new(
        oracle,
        format!("{what} for {ns} ns, and {bound_ns} ns are the bound"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::StrategyKind;

    /// What `judge` says of a run on two workers.
    fn judged(traffic: &Traffic, figures: &Figures, lines: &Lines) -> Result<(), Oracle> {
        let simulation = Simulation::new(1).workers(2).strategy(StrategyKind::Earliest);
        let verdict = traffic.judge(&simulation, 1, figures, lines);
        verdict.map_err(|violation| violation.oracle)
    }

    /// More short jobs than there is time for, beside jobs that are heavy or are not.
    fn flood(heavy_slots: u32) -> Traffic {
        Traffic {
            shorts: 100,
            short_every_ns: 100_000,
            heavies: 2,
            heavy_slots,
            length_ns: 200_000_000,
            ..Traffic::default()
        }
    }

    #[test]
    fn a_flood_has_bounds_as_well_whether_its_heavy_jobs_are_heavy_or_not() {
        let busy = Figures {
            heavy_share: 0.5,
            ..Figures::default()
        };
        let minute = Stood {
            ns: 60_000_000_000,
            ahead: 100,
        };
        for traffic in [flood(1_000), flood(4)] {
            assert_eq!(judged(&traffic, &busy, &Lines::default()), Ok(()));
            let short = Lines {
                short: vec![minute],
                ..Lines::default()
            };
            assert_eq!(judged(&traffic, &busy, &short), Err(Oracle::Latency));
            let first = Lines {
                first_waits: vec![minute],
                ..Lines::default()
            };
            assert_eq!(judged(&traffic, &busy, &first), Err(Oracle::Starvation));
        }
    }

    #[test]
    fn who_has_more_ahead_may_stand_longer_and_who_has_nobody_ahead_may_not() {
        let traffic = flood(1_000);
        let busy = Figures {
            heavy_share: 0.5,
            ..Figures::default()
        };
        let stood = |ahead| Lines {
            short: vec![Stood {
                ns: 100_000_000,
                ahead,
            }],
            ..Lines::default()
        };
        assert_eq!(judged(&traffic, &busy, &stood(0)), Err(Oracle::Latency));
        assert_eq!(judged(&traffic, &busy, &stood(100)), Ok(()));
    }

    #[test]
    fn heavy_jobs_have_what_reserve_has_and_their_part_of_what_is_for_old_jobs() {
        let long = Traffic {
            short_slots: 20,
            ..flood(1_000)
        };
        let old = Lines {
            most_shorts: 6,
            ..Lines::default()
        };
        let share = |traffic: &Traffic, heavy_share| {
            let figures = Figures {
                heavy_share,
                ..Figures::default()
            };
            judged(traffic, &figures, &old)
        };
        // Two of eight that are old: a fourth of 15 %.
        assert_eq!(share(&long, 0.03), Err(Oracle::Starvation));
        assert_eq!(share(&long, 0.04), Ok(()));
        let with_reserve = Traffic { reserve: 1, ..long };
        assert_eq!(share(&with_reserve, 0.4), Err(Oracle::Starvation));
        assert_eq!(share(&flood(1_000), 0.1), Err(Oracle::Starvation));
        assert_eq!(share(&flood(1_000), 0.15), Ok(()));
    }
}
