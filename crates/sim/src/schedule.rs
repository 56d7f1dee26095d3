//! A schedule: who takes each micro-step, and what every question of chance was answered with.
//!
//! A [`Strategy`] makes the choices; [`Choices`] is the record of them. From one strategy and one seed the choices
//! are always the same, so a line replays a run. The record replays it, too, and still means something after
//! the code has changed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::party::Party;
use crate::scheduler::{Earliest, RandomWalk, RoundRobin};

/// Makes the choices of a run.
pub trait Strategy {
    /// Which of [`Moment::runnable`] takes the next micro-step. The scheduler panics on any other.
    fn pick(&mut self, moment: &Moment<'_>) -> usize;

    /// A number below `bound`, which is not 0.
    fn below(&mut self, bound: usize) -> usize;
}

/// What a strategy may know when it picks.
pub struct Moment<'a> {
    runnable: &'a [usize],
    arrived: &'a [usize],
    parties: &'a [Party],
    last: Option<usize>,
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
        }
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

/// The strategies that a replay line can name.
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
}

impl StrategyKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Random, Self::Sticky, Self::RoundRobin, Self::Earliest];

    /// A strategy of this kind.
    #[must_use]
    pub fn build(self, seed: u64) -> Box<dyn Strategy> {
        match self {
            Self::Random => Box::new(RandomWalk::new(seed, 0)),
            Self::Sticky => Box::new(RandomWalk::new(seed, 7)),
            Self::RoundRobin => Box::new(RoundRobin::new(seed)),
            Self::Earliest => Box::new(Earliest::new(seed)),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Sticky => "sticky",
            Self::RoundRobin => "round-robin",
            Self::Earliest => "earliest",
        }
    }
}

impl fmt::Display for StrategyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for StrategyKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| {
                let known = Self::ALL.map(Self::name).join(", ");
                format!("`{text}` is no strategy; there are {known}")
            })
    }
}

/// Every choice of a run, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choices {
    /// The party that took each micro-step.
    pub picks: Vec<u32>,
    /// The answer to each question of chance.
    pub numbers: Vec<u64>,
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

    pub(crate) fn take_choices(&mut self) -> Choices {
        std::mem::take(&mut self.choices)
    }
}
