//! A schedule: who takes each micro-step, and what every question of chance was answered with.
//!
//! A [`Strategy`] makes the choices; [`Choices`] is the record of them. From one strategy and one seed the choices
//! are always the same, so a line replays a run. The record replays it, too, and still means something after
//! the code has changed.

use std::fmt;
use std::str::FromStr;

use crate::choices::Choices;
use crate::history::History;
use crate::party::Party;
use crate::scheduler::{DelayBounded, Earliest, Pct, RandomWalk, Replay, RoundRobin};

/// Makes the choices of a run.
pub trait Strategy {
    /// Which of [`Moment::runnable`] takes the next micro-step. The scheduler panics on any other.
    fn pick(&mut self, moment: &Moment<'_>) -> usize;

    /// A number below `bound`, which is not 0.
    fn below(&mut self, bound: usize) -> usize;

    /// Whether something happens that happens once in `rarity` times, which is not 0.
    fn happens(&mut self, rarity: usize) -> bool {
        self.below(rarity) == 0
    }
}

/// What a strategy may know when it picks.
pub struct Moment<'a> {
    runnable: &'a [usize],
    arrived: &'a [usize],
    parties: &'a [Party],
    last: Option<usize>,
    history: Option<&'a History>,
}

impl<'a> Moment<'a> {
    pub(crate) fn new(
        runnable: &'a [usize],
        arrived: &'a [usize],
        parties: &'a [Party],
        last: Option<usize>,
    ) -> Self {
        Self {
            runnable,
            arrived,
            parties,
            last,
            history: None,
        }
    }

    /// With what is known of the state.
    pub(crate) fn knowing(self, history: &'a History) -> Self {
        Self {
            history: Some(history),
            ..self
        }
    }

    /// What is known of the state, if anything.
    pub(crate) fn history(&self) -> Option<&'a History> {
        self.history
    }

    /// The state, if it is known.
    pub(crate) fn fingerprint(&self) -> Option<u64> {
        self.history.map(|history| history.fingerprint(self.parties))
    }

    /// The parties that may go, in no particular order. There is at least one.
    #[must_use]
    pub fn runnable(&self) -> &[usize] {
        self.runnable
    }

    /// Those of them that might not go when the last pick was made, each once. What another party than the last does moves nobody's
    /// clock but theirs.
    #[must_use]
    pub fn arrived(&self) -> &[usize] {
        self.arrived
    }

    /// Whether this party may go.
    #[must_use]
    pub fn is_runnable(&self, party: usize) -> bool {
        self.parties
            .get(party)
            .is_some_and(|party| party.state == crate::party::State::Runnable)
    }

    /// Who took the step before.
    #[must_use]
    pub fn last(&self) -> Option<usize> {
        self.last
    }

    /// How many parties there are, those that have finished included.
    #[must_use]
    pub fn parties(&self) -> usize {
        self.parties.len()
    }

    /// A party's virtual time.
    #[must_use]
    pub fn clock_ns(&self, party: usize) -> u64 {
        self.parties[party].clock_ns()
    }

    /// A party's virtual time in picoseconds, the unit in which it passes.
    #[must_use]
    pub fn clock_ps(&self, party: usize) -> u64 {
        self.parties[party].clock_ps
    }

    /// The first party that may go, counting upwards from `from` and round.
    #[must_use]
    pub fn next_from(&self, from: usize) -> usize {
        let all = self.parties.len();
        (0..all)
            .map(|k| (from + k) % all)
            .find(|&party| self.is_runnable(party))
            .expect("somebody may go")
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

/// The strategies that a replay line can name, with their parameters: `random`, `pct:3`, `delay:2:400`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StrategyKind {
    /// Every runnable party is equally likely at every step.
    #[default]
    Random,
    /// As `Random`, but the party that went last goes on seven times out of eight, so that switches are
    /// rare and long stretches of one party meet single steps of another.
    Sticky,
    /// Every runnable party in turn.
    RoundRobin,
    /// Always the party whose clock is earliest: the order of events on a machine that has a core for each.
    Earliest,
    /// Random priorities that change a few times; see [`Pct`]. Written `pct:DEPTH:STEPS`.
    Pct {
        /// The depth of bugs that it is for: one more than the priorities change.
        depth: u32,
        /// Micro-steps that the run is expected to take. [`STEPS_EXPECTED`] need not be written.
        steps: u32,
    },
    /// Everybody goes until they must wait, but for a few delays; see [`DelayBounded`]. Written `delay:DELAYS:STEPS`.
    Delay {
        /// How many.
        delays: u32,
        /// Micro-steps that the run is expected to take. [`STEPS_EXPECTED`] need not be written.
        steps: u32,
    },
    /// All choices, one run after the other, by a search. Alone it makes the first run of it:
    /// everybody goes until they must wait, and the first answer is given to every question of chance.
    Exhaustive,
}

/// Micro-steps that a run is expected to take, if nothing else is said: a few tasks on a few workers.
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

    /// Whether runs of this strategy leave time and pauses out, so that there is only a bounded number of them; see
    /// search.
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

/// A strategy, and the record of what it chose.
pub(crate) struct Schedule {
    strategy: Box<dyn Strategy>,
    choices: Choices,
    /// Whether choices are recorded.
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

    /// Records no choices from now on.
    pub(crate) fn forget(&mut self) {
        self.keeps = false;
    }

    pub(crate) fn pick(&mut self, moment: &Moment<'_>) -> usize {
        let party = self.strategy.pick(moment);
        assert!(
            moment.is_runnable(party),
            "the strategy picked party {party}, which may not go"
        );
        if self.keeps {
            self.choices.picks.push(party as u32);
        }
        party
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
        // As the smallest numbers that say so to `Strategy::below`.
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
