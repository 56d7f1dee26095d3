//! Checks a run's figures against the [bounds](super::bounds).

use std::cell::OnceCell;

use super::bounds::{OLD_PARTS, PARTS};
use super::{Figures, Traffic};
use crate::line::Fields;
use crate::oracle::{Lines, Oracle, Stood, Violation};
use crate::report::Failure;
use crate::simulation::Simulation;

/// Visits for which an old job must be in flight before shares are judged.
const VISITS_ENOUGH: u64 = 40;

impl Traffic {
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

    /// To short jobs a middle job is heavy.
    fn judge_share(
        &self,
        simulation: &Simulation,
        figures: &Figures,
        lines: &Lines,
    ) -> Result<(), Violation> {
        let workers = simulation.setup().config.workers;
        let share = figures.heavy_share + figures.middle_share;
        // A heavy job that is young after a cancel stands in line with others.
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

    fn least_share(&self, workers: usize, old: u64) -> f64 {
        let of_old = OLD_PARTS as f64 / PARTS as f64;
        // Reserve takes the heaviest old job; old short jobs share the main workers' part.
        let reserve = if workers == 1 {
            of_old
        } else {
            self.reserve as f64 / workers as f64
        };
        let main = (1.0 - reserve) * self.heavy_and_middle() as f64 / old.max(1) as f64;
        of_old * (reserve + main) * SEEN
    }

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

    fn keeps_busy(&self, simulation: &Simulation) -> bool {
        let workers = simulation.setup().config.workers as u64;
        let lasts = u64::from(self.heavy_slots) * self.heavy_slot_ns >= 8 * workers * self.visit_ns();
        self.heavies > 0 && self.heavy_jobs == 0 && lasts
    }

    fn leaves_room(&self, simulation: &Simulation) -> bool {
        let workers = simulation.setup().config.workers as u64;
        2 * self.short_work_ns() <= workers * self.short_every_ns
    }
}

/// Allows for the beginning and end of a short load.
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

    fn judged(traffic: &Traffic, figures: &Figures, lines: &Lines) -> Result<(), Oracle> {
        let simulation = Simulation::new(1).workers(2).strategy(StrategyKind::Earliest);
        let verdict = traffic.judge(&simulation, 1, figures, lines);
        verdict.map_err(|violation| violation.oracle)
    }

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
        assert_eq!(share(&long, 0.03), Err(Oracle::Starvation));
        assert_eq!(share(&long, 0.04), Ok(()));
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
