//! What a worker does after a failed search: spin, yield or park.
//!
//! A wake-up costs microseconds, so a few more searches come first; endless searching costs a core.

use std::time::Duration;

use crate::config::ExecutorConfig;
use crate::ports::parking::Park;

/// Decides what one worker does after a failed search.
///
/// It decides only that. Contended attempts, the backoff before a look and
/// [`TaskCtx::wait_until`](crate::TaskCtx::wait_until) wait without asking it; "An idle policy" in
/// `docs/architecture.md` lists all such waits.
pub trait IdleHooks {
    /// Chooses the action after a failed search. It is not called after a park's timeout: the
    /// worker looks again and parks for as long again, until it is woken or finds work.
    fn on_idle(&mut self, round: IdleRound) -> IdleAction;

    /// The worker has work after `idle`. A panic stops the executor and drops the task.
    fn on_work(&mut self, _idle: Duration) {}
}

/// The worker's situation after a failed search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleRound {
    /// Calls of [`on_idle`](IdleHooks::on_idle) before this one since the worker last had work.
    /// Looks after a park's timeout do not count.
    pub round: u32,
    /// Whether the worker is a searcher; otherwise it has not probed other workers' queues.
    pub searching: bool,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleAction {
    /// Search again at once.
    Spin,
    /// Yield the core, then search again.
    Yield,
    /// Register as a sleeper, look once more, and park.
    Park(Park),
}

/// Longest idle time that is better spent spinning: a wake costs the waker 4 µs and delays the work
/// by 10 µs.
const WORTH_SPINNING: Duration = Duration::from_micros(50);

/// Spins that take as long as one failed search.
const SPINS_A_ROUND: u32 = 10;

const ADAPTED_MAX: u32 = 8;

/// The default: rounds of searching, then parking, with a yield in every 16th later round. A worker
/// that is no searcher spins for as long before it parks, once it has had work.
///
/// The number of rounds doubles after an idle time below 50 µs and halves after a longer one,
/// between an eighth and eight times the configured number.
#[derive(Clone, Debug)]
pub struct TieredIdle {
    configured: u32,
    spin_rounds: u32,
    spins_a_round: u32,
    park_timeout: Option<Duration>,
    has_worked: bool,
}

impl TieredIdle {
    /// Starts with `spin_rounds` rounds; `park_timeout` limits each park.
    #[must_use]
    pub fn new(spin_rounds: u32, park_timeout: Option<Duration>) -> Self {
        Self {
            configured: spin_rounds,
            spin_rounds,
            spins_a_round: SPINS_A_ROUND,
            park_timeout,
            has_worked: false,
        }
    }

    /// The default hooks for `config`.
    #[must_use]
    pub fn of(config: &ExecutorConfig) -> Self {
        Self {
            spins_a_round: if config.is_crowded() { 0 } else { SPINS_A_ROUND },
            ..Self::new(config.tuning.spin_iters, config.tuning.park_timeout)
        }
    }
}

impl IdleHooks for TieredIdle {
    fn on_idle(&mut self, IdleRound { round, searching }: IdleRound) -> IdleAction {
        let past = round.checked_sub(self.spin_rounds);
        match past {
            _ if !searching => IdleAction::Park(Park {
                spin_before: if self.has_worked {
                    self.spin_rounds.saturating_mul(self.spins_a_round)
                } else {
                    0
                },
                timeout: self.park_timeout,
            }),
            None => IdleAction::Spin,
            Some(past) if past % 16 == 15 => IdleAction::Yield,
            Some(_) => IdleAction::Park(Park {
                spin_before: 0,
                timeout: self.park_timeout,
            }),
        }
    }

    fn on_work(&mut self, idle: Duration) {
        self.has_worked = true;
        let (least, most) = (
            self.configured.div_ceil(ADAPTED_MAX),
            self.configured.saturating_mul(ADAPTED_MAX),
        );
        let adapted = if idle < WORTH_SPINNING {
            self.spin_rounds.saturating_mul(2)
        } else {
            self.spin_rounds / 2
        };
        self.spin_rounds = adapted.clamp(least, most);
    }
}

/// Parks after each failed search, without a spin or a yield, for `park_timeout` at most. It suits
/// programs to which an idle worker's core is worth more than the 10 µs by which a wake delays the
/// work.
#[derive(Clone, Debug)]
pub struct ParkAtOnce {
    park_timeout: Option<Duration>,
}

impl ParkAtOnce {
    /// The hooks for `config`. They read only `park_timeout`, which limits each park.
    #[must_use]
    pub fn of(config: &ExecutorConfig) -> Self {
        Self {
            park_timeout: config.tuning.park_timeout,
        }
    }
}

impl IdleHooks for ParkAtOnce {
    fn on_idle(&mut self, _round: IdleRound) -> IdleAction {
        IdleAction::Park(Park {
            spin_before: 0,
            timeout: self.park_timeout,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(idle: &mut TieredIdle, round: u32) -> IdleAction {
        idle.on_idle(IdleRound {
            round,
            searching: true,
        })
    }

    #[test]
    fn it_spins_then_parks_and_yields_in_every_sixteenth_round() {
        let mut idle = TieredIdle::new(200, None);
        assert_eq!(at(&mut idle, 0), IdleAction::Spin);
        assert_eq!(at(&mut idle, 199), IdleAction::Spin);
        for round in 200..215 {
            assert_eq!(at(&mut idle, round), IdleAction::Park(Park::default()));
        }
        assert_eq!(at(&mut idle, 215), IdleAction::Yield);
        assert_eq!(at(&mut idle, 216), IdleAction::Park(Park::default()));
    }

    #[test]
    fn without_a_place_among_the_searchers_it_parks_at_once_and_dozes_first_if_it_has_worked() {
        let timeout = Some(Duration::from_micros(200));
        let mut idle = TieredIdle::new(200, timeout);
        let round = IdleRound {
            round: 0,
            searching: false,
        };
        assert_eq!(
            idle.on_idle(round),
            IdleAction::Park(Park {
                spin_before: 0,
                timeout
            })
        );
        idle.on_work(Duration::from_micros(10));
        let options = Park {
            spin_before: 4_000,
            timeout,
        };
        assert_eq!(
            idle.on_idle(round),
            IdleAction::Park(options),
            "twice the rounds by now"
        );
    }

    #[test]
    fn with_fewer_cores_than_workers_only_searchers_spin() {
        for (cores, spin_before) in [(None, 2_000), (Some(2), 2_000), (Some(1), 0)] {
            let mut idle = TieredIdle::of(
                &ExecutorConfig::new(2)
                    .cores(cores)
                    .tune(|tuning| tuning.spin_iters = 100),
            );
            idle.on_work(Duration::ZERO);
            let round = IdleRound {
                round: 0,
                searching: false,
            };
            let timeout = None;
            assert_eq!(
                idle.on_idle(round),
                IdleAction::Park(Park { spin_before, timeout }),
                "{cores:?}"
            );
            assert_eq!(at(&mut idle, 0), IdleAction::Spin, "{cores:?}");
        }
    }

    #[test]
    fn rounds_follow_the_idle_times_within_bounds() {
        let rounds = |spin: u32, idle_us: &[u64]| {
            let mut idle = TieredIdle::new(spin, None);
            idle_us
                .iter()
                .for_each(|&us| idle.on_work(Duration::from_micros(us)));
            (0..).find(|&round| at(&mut idle, round) != IdleAction::Spin)
        };
        assert_eq!(rounds(200, &[10]), Some(400));
        assert_eq!(rounds(200, &[10; 9]), Some(1_600));
        assert_eq!(rounds(200, &[49]), Some(400));
        assert_eq!(rounds(200, &[50]), Some(100));
        assert_eq!(rounds(200, &[1_000]), Some(100));
        assert_eq!(rounds(200, &[1_000; 9]), Some(25));
        assert_eq!(rounds(200, &[10, 1_000]), Some(200));
        assert_eq!(rounds(0, &[10; 9]), Some(0));
    }

    #[test]
    fn park_at_once_parks_in_each_round_whatever_the_worker_did_before() {
        for timeout in [None, Some(Duration::from_micros(200))] {
            let mut idle =
                ParkAtOnce::of(&ExecutorConfig::new(2).tune(|tuning| tuning.park_timeout = timeout));
            for searching in [true, false] {
                for round in 0..40 {
                    assert_eq!(
                        idle.on_idle(IdleRound { round, searching }),
                        IdleAction::Park(Park {
                            spin_before: 0,
                            timeout
                        }),
                        "round {round}"
                    );
                }
                idle.on_work(Duration::ZERO);
            }
        }
    }
}
