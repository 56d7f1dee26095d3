//! What the policy promises of a load, in numbers that follow from the load: quantum, slots, jobs,
//! 85 : 15.
//!
//! | word | is | because |
//! |---|---|---|
//! | *blocking* | a slot | within it a worker in an old job comes to a boundary, and looks |
//! | *visit* | a quantum and a slot | longer no worker stays in a young job, nor in an old one on a used-up allowance |
//! | *stay* | four quanta and a slot | longer no worker stays in an old job |
//! | *youth* | a stay and a quantum | a job is young for four quanta, and charged when a visit ends |
//!
//! Each has the time of scheduling on top.
//!
//! | what | bound | because |
//! |---|---|---|
//! | cancel until stopped | the blocking | no worker claims any more, and one that is in a slot ends it |
//! | latency of a short job that is settled | alone + the blocking, and on several workers twice its work | see below |
//! | latency of a short job | the *line*, and what it takes as an old job | see below |
//! | wait of an old job | for each old job by main worker and 1 more: what it has had more than they over 15 %, and a stay with all young jobs that may follow one | others catch up in the part of the time that is theirs, and overshoot by a visit |
//! | the same where short jobs leave room | for each old job and each main worker what it has had more and a stay, and the work of the young jobs there, over what short jobs leave of the main workers' time | the same |
//! | wait of a young heavy job | the line, and a short job for each visit of those in it if short jobs have one slot | it is young as others are, and singles come in turns with the young jobs of the board |
//! | share of heavy jobs while one is old | 15 % of all workers' time; of what main workers give to old jobs, the part by number | 3 of 20 parts of each worker's time are for what is old, short jobs of four quanta and more among it; reserve takes the heaviest |
//!
//! A job that is old from the beginning stands as if it had had a stay more than the others.
//!
//! A short job is *settled* if it stays young, and if, since no short job was in flight, no heavy
//! or middle one was young and no worker's allowance was used up. Then every worker takes it, or a
//! short job before it, at its next boundary: a worker in an old job gives way. So of the time of
//! each worker the blocking is lost since short jobs began to wait, and nothing else. Let `V` be
//! what is left, alone, of the work of the short jobs before it:
//!
//! ```text
//!   one worker       it takes short jobs in their order, so each ends later than alone by the blocking
//!   several workers  one begins with it after   blocking + V / workers
//!                    alone that takes           V / workers - work at least, or V is less than workers * work
//!                    and one is enough for its  work
//! ```
//!
//! Other short jobs stand in *line*: what was there before them goes first, that is short jobs in
//! flight, each with its work, and young heavy ones, each with its youth. All workers are at it,
//! or, while a heavy job is young, the main ones. Of their time 17 of 20 parts are for young jobs,
//! and a visit more is lost at the beginning and the end. A job that takes four quanta and more
//! grows old; then all that are old receive as much as it, and a stay more before it and behind it.
//!
//! A load that the tighter bounds are not true of has the looser one, so that none is without.

use std::cell::OnceCell;

use pipeline_exec::policy::shared::{STAY_QUANTA, YOUNG_QUANTA};
use pipeline_exec::policy::stand_in::STAND_IN_QUANTA;

use super::{Figures, Traffic};
use crate::line::Fields;
use crate::oracle::{Lines, Oracle, Stood, Violation};
use crate::report::Failure;
use crate::simulation::Simulation;

/// What wakes, claims and accounts may add to each visit, and to a run in which all begin asleep,
/// in nanoseconds.
const OVERHEAD_NS: u64 = 50_000;

/// The part of the time that is for what is old: 3 of 20.
const OLD_PARTS: u64 = 3;
const YOUNG_PARTS: u64 = PARTS - OLD_PARTS;
const PARTS: u64 = 20;

/// Quanta that young jobs may have in a row while an old one waits.
const ALLOWANCE_QUANTA: u64 = 10;

/// For so many visits an old job has to be in flight for shares to say something.
const VISITS_ENOUGH: u64 = 40;

impl Traffic {
    /// A slot, the longest that there may be, and what scheduling takes.
    #[must_use]
    pub fn blocking_ns(&self) -> u64 {
        self.blocking_by_slot_ns().max(self.long_slot_ns + OVERHEAD_NS)
    }

    /// The same but for long slots.
    fn blocking_by_slot_ns(&self) -> u64 {
        let short_ns = if self.shorts > 0 { self.short_slot_ns } else { 0 };
        let heavy_ns = if self.heavies + self.middles > 0 {
            self.heavy_slot_ns
        } else {
            0
        };
        short_ns.max(heavy_ns) + OVERHEAD_NS
    }

    /// How long short jobs may wait until a worker or a spare thread is there for them, and stays
    /// as long as there are any.
    fn lost_ns(&self) -> u64 {
        if self.spares == 0 {
            return self.blocking_ns();
        }
        let stood_in_ns = STAND_IN_QUANTA * self.quantum_ns + OVERHEAD_NS;
        self.blocking_by_slot_ns()
            .max(stood_in_ns)
            .min(self.blocking_ns())
    }

    /// A quantum, a slot, and what scheduling takes.
    #[must_use]
    pub fn visit_ns(&self) -> u64 {
        self.quantum_ns + self.blocking_ns()
    }

    /// How long a heavy or a middle job that has been served may wait for one of `workers` workers,
    /// whatever the short ones do, if those stay young.
    #[must_use]
    pub fn wait_bound_ns(&self, workers: usize) -> u64 {
        self.old_wait_ns(workers, self.heavy_and_middle(), self.stay_ns())
    }

    /// The most that a short job may take beside jobs that are old, if alone it takes `alone_ns` at
    /// most.
    #[must_use]
    pub fn settled_bound_ns(&self, workers: usize, alone_ns: u64) -> u64 {
        match workers {
            1 => alone_ns + self.blocking_ns(),
            _ => alone_ns + self.blocking_ns() + 2 * self.short_work_ns(),
        }
    }

    /// The same where slots may be long, with `ahead` short jobs in flight when it was submitted.
    #[must_use]
    pub fn settled_beside_long_bound_ns(&self, ahead: usize) -> u64 {
        let visit_ns = self.short_work_ns().min(self.quantum_ns) + self.short_slot_ns + OVERHEAD_NS;
        self.lost_ns() + (ahead as u64 + 1) * (self.short_work_ns() + OVERHEAD_NS) + visit_ns
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
            self.judge_waits(simulation, lines)?;
            self.judge_share(simulation, figures, lines)?;
        }
        if hears(Oracle::Latency) {
            at_most(
                Oracle::Latency,
                "a cancelled job ran on",
                figures.stop.max_ns,
                self.blocking_ns(),
            )?;
            self.judge_lines(simulation, lines)?;
            if self.leaves_room(simulation) {
                self.judge_settled(simulation, seed, lines)?;
            }
        }
        Ok(())
    }

    /// Heavy and middle jobs, before they were served and afterwards.
    fn judge_waits(&self, simulation: &Simulation, lines: &Lines) -> Result<(), Violation> {
        let workers = simulation.setup().config.workers;
        let old = self.old_jobs(lines);
        let judge = |stood: &Stood, what, lead_ns| {
            let bound_ns = if stood.is_young {
                self.line_ns(workers, stood) + self.singles_between_ns(workers, stood)
            } else {
                let shorts_ns = self.short_work_ns() * lines.most_shorts as u64;
                let beside_ns = shorts_ns + self.youth_ns() * stood.young as u64;
                self.old_wait_ns(workers, old, lead_ns)
                    .min(self.old_wait_with_room_ns(workers, old, lead_ns, beside_ns))
            };
            at_most(Oracle::Starvation, what, stood.ns, bound_ns)
        };
        lines
            .first_waits
            .iter()
            .try_for_each(|stood| judge(stood, "a job waited until it was served first", self.stay_ns()))?;
        lines.waits_again.iter().try_for_each(|stood| {
            judge(
                stood,
                "a job with slots to claim waited",
                stood.lead_ns.min(self.stay_ns()),
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
        let workers = simulation.setup().config.workers;
        let share = figures.heavy_share + figures.middle_share;
        // A heavy job that is young, since the one before it was cancelled, stands in line with
        // others.
        let part = lines.old_ns as f64 / self.length_ns.max(1) as f64;
        let least = self.least_share(workers, self.old_jobs(lines)) * part;
        let is_long = lines.old_ns >= VISITS_ENOUGH * self.visit_ns();
        if self.keeps_busy(simulation) && is_long && share < least {
            let message =
                format!("heavy jobs had {share:.3} of the workers' time, and {least:.3} are the least");
            return Err(Violation::new(Oracle::Starvation, message));
        }
        Ok(())
    }

    /// The least part of the time of all workers that is for heavy and middle jobs, if `old` are
    /// old.
    fn least_share(&self, workers: usize, old: u64) -> f64 {
        let of_old = OLD_PARTS as f64 / PARTS as f64;
        // Reserve takes the heaviest of the old jobs; what a main worker has for them, short ones
        // that are old share. A single worker has both roles.
        let reserve = if workers == 1 {
            of_old
        } else {
            self.reserve as f64 / workers as f64
        };
        let main = (1.0 - reserve) * self.heavy_and_middle() as f64 / old.max(1) as f64;
        of_old * (reserve + main) * SEEN
    }

    /// Short jobs, beside what was there before each of them.
    fn judge_lines(&self, simulation: &Simulation, lines: &Lines) -> Result<(), Violation> {
        let workers = simulation.setup().config.workers;
        let as_old_ns = self.as_old_ns(workers, self.old_jobs(lines));
        lines.short.iter().try_for_each(|stood| {
            at_most(
                Oracle::Latency,
                "a short job stood in line and took",
                stood.ns,
                self.line_ns(workers, stood) + as_old_ns,
            )
        })
    }

    /// Short jobs that are settled, beside what they take without the heavy ones.
    fn judge_settled(&self, simulation: &Simulation, seed: u64, lines: &Lines) -> Result<(), Violation> {
        let workers = simulation.setup().config.workers;
        let alone_ns = OnceCell::new();
        let settled = |stood: &&Stood| stood.settled && !self.grow_old();
        lines.short.iter().filter(settled).try_for_each(|stood| {
            if self.long_slot_ns > 0 {
                let bound_ns = self.settled_beside_long_bound_ns(stood.ahead);
                return at_most(
                    Oracle::Latency,
                    "a short job beside long slots took",
                    stood.ns,
                    bound_ns,
                );
            }
            let alone_ns = match alone_ns.get() {
                Some(&alone_ns) => alone_ns,
                None => {
                    let took_ns = self.alone_ns(simulation, seed).map_err(|failure| Violation {
                        oracle: failure.oracle,
                        message: format!("without heavy jobs: {}", failure.message),
                    })?;
                    *alone_ns.get_or_init(|| took_ns)
                }
            };
            at_most(
                Oracle::Latency,
                "a short job took",
                stood.ns,
                self.settled_bound_ns(workers, alone_ns),
            )
        })
    }

    /// Four quanta, a slot, and what scheduling takes.
    fn stay_ns(&self) -> u64 {
        STAY_QUANTA * self.quantum_ns + self.blocking_ns()
    }

    /// What a heavy job may receive while it is young.
    fn youth_ns(&self) -> u64 {
        self.stay_ns() + self.quantum_ns
    }

    /// How long one of `jobs` old jobs may wait that has had `lead_ns` more than the others,
    /// whatever the short ones do.
    fn old_wait_ns(&self, workers: usize, jobs: u64, lead_ns: u64) -> u64 {
        let of_old = |ns: u64| ns * PARTS / OLD_PARTS;
        // Young jobs follow an undisturbed stay as long as the full allowance goes, and then for a
        // visit.
        let and_young = self.stay_ns() + ALLOWANCE_QUANTA * self.quantum_ns + self.visit_ns();
        let each_ns = of_old(lead_ns) + and_young.min(of_old(self.stay_ns()));
        self.in_reserve_turns(workers, (jobs.div_ceil(self.main(workers)) + 1) * each_ns)
    }

    /// The same, if `beside_ns` of the work of young jobs was there at a time, and short ones leave
    /// room: `u64::MAX` if they do not.
    fn old_wait_with_room_ns(&self, workers: usize, jobs: u64, lead_ns: u64, beside_ns: u64) -> u64 {
        let main = self.main(workers);
        let old_ns = self.in_reserve_turns(workers, (jobs + main) * (lead_ns + self.stay_ns()));
        // In a wait of `t`: main * t <= old_ns + beside_ns + (t / every + 2) * work.
        let (every_ns, work_ns) = match self.shorts {
            0 => (1, 0),
            _ => (self.short_every_ns, self.short_work_ns()),
        };
        let Some(left_ns) = (main * every_ns)
            .checked_sub(work_ns)
            .filter(|&left_ns| left_ns > 0)
        else {
            return u64::MAX;
        };
        let ns = u128::from(old_ns + beside_ns + 2 * work_ns) * u128::from(every_ns) / u128::from(left_ns);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// How long `ns` in the main role take, if reserve turns of a single worker come in between,
    /// which are for the heaviest job.
    fn in_reserve_turns(&self, workers: usize, ns: u64) -> u64 {
        if workers == 1 {
            ns * PARTS / YOUNG_PARTS
        } else {
            ns
        }
    }

    /// How long it may take until what was before a job, and a short job behind that, has received
    /// what it needs, or has grown old.
    fn line_ns(&self, workers: usize, stood: &Stood) -> u64 {
        // While the heaviest job is young, reserve workers are there.
        let workers = if stood.young > 0 {
            self.main(workers)
        } else {
            workers as u64
        };
        let each_ns = self.short_work_ns() + OVERHEAD_NS;
        let shorts_ns = ((stood.ahead as u64).div_ceil(workers) + 1) * each_ns;
        let heavies_ns = (self.youth_ns() * stood.young as u64).div_ceil(workers);
        self.beside_old_ns(shorts_ns + heavies_ns) + 2 * self.visit_ns()
    }

    /// How long `ns` of the work of young jobs take a worker that has old ones to see to as well. A
    /// visit that is longer than what the full allowance owes is not made up for: no more than that
    /// is saved.
    fn beside_old_ns(&self, ns: u64) -> u64 {
        if self.long_slot_ns == 0 {
            return ns * PARTS / YOUNG_PARTS;
        }
        let allowance_ns = ALLOWANCE_QUANTA * self.quantum_ns;
        let owed_ns = allowance_ns * OLD_PARTS / YOUNG_PARTS;
        ns + (ns / allowance_ns.max(1) + 1) * owed_ns.max(self.visit_ns())
    }

    /// How long it takes what was before a heavy job to let short ones of one slot in between,
    /// which come in turns with visits of young jobs of the board: such a visit lasts for what a
    /// single leaves of the quantum, and for a slot at least.
    fn singles_between_ns(&self, workers: usize, stood: &Stood) -> u64 {
        if self.shorts == 0 || self.short_slots != 1 {
            return 0;
        }
        let least_ns = self
            .quantum_ns
            .saturating_sub(self.short_slot_ns)
            .max(self.heavy_slot_ns);
        let visits = (YOUNG_QUANTA * self.quantum_ns).div_ceil(least_ns.max(1)) + 1;
        let singles = (stood.young as u64 * visits).div_ceil(self.main(workers)) + 1;
        singles * (self.short_work_ns() + OVERHEAD_NS) * PARTS / YOUNG_PARTS
    }

    /// How long a short job may take from when it has grown old, if `jobs` are old.
    fn as_old_ns(&self, workers: usize, jobs: u64) -> u64 {
        if !self.grow_old() {
            return 0;
        }
        let rest_ns = self.short_work_ns() - YOUNG_QUANTA * self.quantum_ns + self.stay_ns();
        let others_ns = jobs.div_ceil(self.main(workers)) * (rest_ns + self.stay_ns());
        (rest_ns + others_ns) * PARTS / OLD_PARTS
    }

    /// Jobs that may be old at the same time.
    fn old_jobs(&self, lines: &Lines) -> u64 {
        let short = if self.grow_old() { lines.most_shorts } else { 0 };
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

    /// Whether short jobs take so long that they are not young to their end.
    fn grow_old(&self) -> bool {
        self.short_work_ns() >= YOUNG_QUANTA * self.quantum_ns
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

    /// Whether heavy jobs could use all the time there is.
    fn keeps_busy(&self, simulation: &Simulation) -> bool {
        let workers = simulation.setup().config.workers as u64;
        let lasts = u64::from(self.heavy_slots) * self.heavy_slot_ns >= 8 * workers * self.visit_ns();
        self.heavies > 0 && self.heavy_jobs == 0 && lasts
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

    const MS: u64 = 1_000_000;

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
            length_ns: 200 * MS,
            ..Traffic::default()
        }
    }

    fn busy() -> Figures {
        Figures {
            heavy_share: 0.5,
            ..Figures::default()
        }
    }

    fn stood(ns: u64) -> Stood {
        Stood {
            ns,
            ahead: 0,
            is_young: false,
            lead_ns: 0,
            young: 0,
            settled: false,
        }
    }

    fn short(stood: Stood) -> Lines {
        Lines {
            short: vec![stood],
            ..Lines::default()
        }
    }

    #[test]
    fn a_flood_has_bounds_as_well_whether_its_heavy_jobs_are_heavy_or_not() {
        let minute = stood(60_000 * MS);
        for traffic in [flood(1_000), flood(4)] {
            assert_eq!(judged(&traffic, &busy(), &Lines::default()), Ok(()));
            assert_eq!(judged(&traffic, &busy(), &short(minute)), Err(Oracle::Latency));
            for is_young in [false, true] {
                let waits = vec![Stood { is_young, ..minute }];
                let first = Lines {
                    first_waits: waits.clone(),
                    ..Lines::default()
                };
                let again = Lines {
                    waits_again: waits,
                    ..Lines::default()
                };
                assert_eq!(judged(&traffic, &busy(), &first), Err(Oracle::Starvation));
                assert_eq!(judged(&traffic, &busy(), &again), Err(Oracle::Starvation));
            }
        }
    }

    #[test]
    fn a_short_job_may_stand_longer_the_more_short_and_young_heavy_jobs_are_before_it() {
        let verdict = |stood| judged(&flood(1_000), &busy(), &short(stood));
        let long = stood(40 * MS);
        assert_eq!(verdict(long), Err(Oracle::Latency));
        assert_eq!(verdict(Stood { ahead: 100, ..long }), Ok(()));
        assert_eq!(verdict(Stood { young: 10, ..long }), Ok(()));
    }

    #[test]
    fn a_settled_short_job_may_be_blocked_once() {
        let traffic = Traffic {
            shorts: 1,
            length_ns: 2 * MS,
            ..flood(1_000)
        };
        let traffic = Traffic {
            short_every_ns: 2 * MS,
            ..traffic
        };
        // Alone it takes half a millisecond on two workers.
        let verdict = |ns, settled| {
            let stood = Stood { settled, ..stood(ns) };
            judged(&traffic, &busy(), &short(stood))
        };
        let bound_ns = traffic.settled_bound_ns(2, MS / 2);
        assert!(bound_ns < 4 * MS, "{bound_ns}");
        assert_eq!(verdict(bound_ns, true), Ok(()));
        assert_eq!(verdict(bound_ns + MS / 10, true), Err(Oracle::Latency));
        assert_eq!(verdict(bound_ns + MS / 10, false), Ok(()));
    }

    #[test]
    fn an_old_job_may_wait_longer_the_more_it_has_had_and_where_short_jobs_leave_no_room() {
        let verdict = |traffic: &Traffic, ns, lead_ns| {
            let again = Lines {
                waits_again: vec![Stood { lead_ns, ..stood(ns) }],
                ..Lines::default()
            };
            judged(traffic, &busy(), &again)
        };
        let (full, room) = (
            flood(1_000),
            Traffic {
                short_every_ns: 4 * MS,
                ..flood(1_000)
            },
        );
        assert_eq!(verdict(&full, 120 * MS, 8 * MS), Ok(()));
        assert_eq!(verdict(&full, 120 * MS, MS), Err(Oracle::Starvation));
        assert_eq!(verdict(&room, 120 * MS, 8 * MS), Err(Oracle::Starvation));
        assert_eq!(verdict(&room, 30 * MS, 8 * MS), Ok(()));
    }

    #[test]
    fn a_cancelled_job_may_be_in_a_slot_and_no_longer() {
        let stopped = |max_ns| {
            let mut figures = busy();
            figures.stop.max_ns = max_ns;
            judged(&flood(1_000), &figures, &Lines::default())
        };
        assert_eq!(stopped(MS), Ok(()));
        assert_eq!(stopped(2 * MS), Err(Oracle::Latency));
    }

    #[test]
    fn heavy_jobs_have_their_part_of_what_is_for_old_jobs_and_what_reserve_has_of_it() {
        let long = Traffic {
            short_slots: 40,
            ..flood(1_000)
        };
        let old = Lines {
            most_shorts: 6,
            old_ns: 200 * MS,
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
        // Of the reserve worker's 15 % all.
        let with_reserve = Traffic { reserve: 1, ..long };
        assert_eq!(share(&with_reserve, 0.08), Err(Oracle::Starvation));
        assert_eq!(share(&with_reserve, 0.09), Ok(()));
        assert_eq!(share(&flood(1_000), 0.1), Err(Oracle::Starvation));
        assert_eq!(share(&flood(1_000), 0.15), Ok(()));
        let half = Lines {
            old_ns: old.old_ns * 7 / 10,
            ..Lines::default()
        };
        let figures = Figures {
            heavy_share: 0.1,
            ..Figures::default()
        };
        assert_eq!(judged(&flood(1_000), &figures, &half), Ok(()), "no longer old");
    }
}
