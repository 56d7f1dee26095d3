//! A schedule: the actor of each step, and each random number.
//!
//! A [`Strategy`] makes the choices, and [`Choices`] records them. Strategy and seed determine
//! them, so a line replays a run; the record also does, and stays useful after the code has
//! changed.

use std::fmt;
use std::str::FromStr;

use crate::actor::Actor;
use crate::choices::Choices;
use crate::fingerprint::Fingerprints;
use crate::scheduler::{DelayBounded, Earliest, Pct, RandomWalk, Replay, RoundRobin};

/// Makes the choices of a run.
pub trait Strategy {
    /// The actor among [`Moment::runnable`] that takes the next step; any other is a panic.
    fn pick(&mut self, moment: &Moment<'_>) -> usize;

    /// A number below `bound`, which is not 0.
    fn below(&mut self, bound: usize) -> usize;

    /// Whether an event strikes that has one chance in `rarity`, which is not 0.
    fn happens(&mut self, rarity: usize) -> bool {
        self.below(rarity) == 0
    }
}

/// What a strategy may know when it picks.
pub struct Moment<'a> {
    runnable: &'a [usize],
    arrived: &'a [usize],
    actors: &'a [Actor],
    last: Option<usize>,
    fingerprints: Option<&'a Fingerprints>,
}

impl<'a> Moment<'a> {
    pub(crate) fn new(
        runnable: &'a [usize],
        arrived: &'a [usize],
        actors: &'a [Actor],
        last: Option<usize>,
    ) -> Self {
        Self {
            runnable,
            arrived,
            actors,
            last,
            fingerprints: None,
        }
    }

    pub(crate) fn with_fingerprints(self, fingerprints: &'a Fingerprints) -> Self {
        Self {
            fingerprints: Some(fingerprints),
            ..self
        }
    }

    pub(crate) fn fingerprints(&self) -> Option<&'a Fingerprints> {
        self.fingerprints
    }

    pub(crate) fn fingerprint(&self) -> Option<u64> {
        self.fingerprints
            .map(|fingerprints| fingerprints.fingerprint(self.actors))
    }

    /// The actors that may go, unordered. There is at least one.
    #[must_use]
    pub fn runnable(&self) -> &[usize] {
        self.runnable
    }

    /// Those that became runnable since the last pick, each once. Only the last actor moves the
    /// clock of another that was runnable.
    #[must_use]
    pub fn arrived(&self) -> &[usize] {
        self.arrived
    }

    /// Whether this actor may go.
    #[must_use]
    pub fn is_runnable(&self, actor: usize) -> bool {
        self.actors
            .get(actor)
            .is_some_and(|actor| actor.state == crate::actor::State::Runnable)
    }

    /// The actor of the step before.
    #[must_use]
    pub fn last(&self) -> Option<usize> {
        self.last
    }

    /// Number of actors, finished ones included.
    #[must_use]
    pub fn actors(&self) -> usize {
        self.actors.len()
    }

    /// An actor's virtual time.
    #[must_use]
    pub fn clock_ns(&self, actor: usize) -> u64 {
        self.actors[actor].clock_ns()
    }

    /// An actor's virtual time in picoseconds, its unit.
    #[must_use]
    pub fn clock_ps(&self, actor: usize) -> u64 {
        self.actors[actor].clock_ps
    }

    /// The first runnable actor from `from` on, cyclically.
    #[must_use]
    pub fn next_from(&self, from: usize) -> usize {
        let all = self.actors.len();
        (0..all)
            .map(|k| (from + k) % all)
            .find(|&actor| self.is_runnable(actor))
            .expect("an actor is runnable")
    }
}

impl fmt::Debug for Moment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Moment")
            .field("runnable", &self.runnable)
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

/// The strategies that a replay line can name: `random`, `pct:3`, `delay:2:400`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StrategyKind {
    /// Every runnable actor is equally likely at every step.
    #[default]
    Random,
    /// As `Random`, but the last actor continues seven times out of eight.
    Sticky,
    /// Every runnable actor in turn.
    RoundRobin,
    /// The actor with the earliest clock: a machine with a core for each.
    Earliest,
    /// Random priorities that change a few times; see [`Pct`].
    Pct {
        /// The depth of bugs that it targets: one more than the number of changes.
        depth: u32,
        /// Expected steps of the run; [`STEPS_EXPECTED`] if not written.
        steps: u32,
    },
    /// Each actor goes until it must wait, except for a few delays; see [`DelayBounded`].
    Delay {
        /// Number of delays.
        delays: u32,
        /// Expected steps of the run; [`STEPS_EXPECTED`] if not written.
        steps: u32,
    },
    /// All choices, run after run, by a search. Alone it makes the search's first run.
    Exhaustive,
}

/// Default of the expected steps of a run: a few tasks on a few workers.
pub const STEPS_EXPECTED: u32 = 1_000;

impl StrategyKind {
    /// A strategy of this kind.
    #[must_use]
    pub fn build(self, seed: u64) -> Box<dyn Strategy> {
        match self {
            Self::Random => Box::new(RandomWalk::new(seed, 0)),
            Self::Sticky => Box::new(RandomWalk::new(seed, 7)),
            Self::RoundRobin => Box::new(RoundRobin::new(seed)),
            Self::Earliest => Box::new(Earliest::new(seed)),
            Self::Pct { depth, steps } => Box::new(Pct::new(seed, depth, steps)),
            Self::Delay { delays, steps } => Box::new(DelayBounded::new(seed, delays, steps)),
            Self::Exhaustive => Box::new(Replay::new(Choices::default())),
        }
    }

    pub(crate) fn is_timeless(self) -> bool {
        self == Self::Exhaustive
    }
}

impl fmt::Display for StrategyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, number, steps) = match *self {
            Self::Random => return f.write_str("random"),
            Self::Sticky => return f.write_str("sticky"),
            Self::RoundRobin => return f.write_str("round-robin"),
            Self::Earliest => return f.write_str("earliest"),
            Self::Exhaustive => return f.write_str("exhaustive"),
            Self::Pct { depth, steps } => ("pct", depth, steps),
            Self::Delay { delays, steps } => ("delay", delays, steps),
        };
        write!(f, "{name}:{number}")?;
        if steps != STEPS_EXPECTED {
            write!(f, ":{steps}")?;
        }
        Ok(())
    }
}

impl FromStr for StrategyKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let parameters = |number: &str, steps: Option<&str>| {
            let of = |text: &str, least: u32| text.parse().ok().filter(|&number: &u32| number >= least);
            let steps = steps.map_or(Some(STEPS_EXPECTED), |steps| of(steps, 1));
            match (of(number, 0), steps) {
                (Some(number), Some(steps)) => Ok((number, steps)),
                _ => Err(format!("`{text}`: behind the name come whole numbers of 32 bits")),
            }
        };
        Ok(match parts[..] {
            ["random"] => Self::Random,
            ["sticky"] => Self::Sticky,
            ["round-robin"] => Self::RoundRobin,
            ["earliest"] => Self::Earliest,
            ["exhaustive"] => Self::Exhaustive,
            ["pct", depth, ref steps @ ..] if steps.len() < 2 => {
                let (depth, steps) = parameters(depth, steps.first().copied())?;
                Self::Pct { depth, steps }
            }
            ["delay", delays, ref steps @ ..] if steps.len() < 2 => {
                let (delays, steps) = parameters(delays, steps.first().copied())?;
                Self::Delay { delays, steps }
            }
            _ => {
                return Err(format!(
                    "`{text}` is no strategy; there are random, sticky, round-robin, earliest, exhaustive, \
                     pct:DEPTH[:STEPS], delay:DELAYS[:STEPS]"
                ));
            }
        })
    }
}

pub(crate) struct Schedule {
    strategy: Box<dyn Strategy>,
    choices: Choices,
    keeps: bool,
}

impl Schedule {
    pub(crate) fn new(strategy: Box<dyn Strategy>) -> Self {
        Self {
            strategy,
            choices: Choices::default(),
            keeps: true,
        }
    }

    pub(crate) fn forget(&mut self) {
        self.keeps = false;
    }

    pub(crate) fn pick(&mut self, moment: &Moment<'_>) -> usize {
        let actor = self.strategy.pick(moment);
        assert!(
            moment.is_runnable(actor),
            "the strategy picked actor {actor}, which may not go"
        );
        if self.keeps {
            self.choices.picks.push(actor as u32);
        }
        actor
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let number = self.strategy.below(bound);
        assert!(
            number < bound,
            "the strategy answered {number} to a question below {bound}"
        );
        if self.keeps {
            self.choices.numbers.push(number as u64);
        }
        number
    }

    pub(crate) fn happens(&mut self, rarity: usize) -> bool {
        let happens = self.strategy.happens(rarity);
        // The smallest numbers with that meaning to `Strategy::below`.
        self.choices.numbers.push(u64::from(!happens));
        happens
    }

    pub(crate) fn take_choices(&mut self) -> Choices {
        std::mem::take(&mut self.choices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strategy_survives_being_written_and_read() {
        for text in [
            "random",
            "sticky",
            "round-robin",
            "earliest",
            "exhaustive",
            "pct:3",
            "pct:1:64",
            "delay:0",
            "delay:2:400",
        ] {
            let kind: StrategyKind = text.parse().expect(text);
            assert_eq!(kind.to_string(), text);
        }
    }

    #[test]
    fn a_strategy_without_its_parameters_or_with_others_is_none() {
        for text in [
            "pct",
            "pct:",
            "pct:3:0",
            "pct:-1",
            "pct:1:2:3",
            "random:1",
            "delay:x",
        ] {
            assert!(text.parse::<StrategyKind>().is_err(), "{text}");
        }
    }
}
