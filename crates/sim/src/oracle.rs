//! Oracles: who says that a run went wrong, and why.
//!
//! Each watches what is done from outside and keeps its own books, so that it does not believe the policy:
//!
//! | oracle | says |
//! |---|---|
//! | [tasks](TaskOracle) | every accepted task runs exactly once or is handed back |
//! | [count](CountOracle) | the state word covers all that is in flight, exactly; nothing is accepted after close |
//! | [sleep](SleepOracle) | nobody sleeps while work lies in a queue, or on work of its own; searchers keep to their bound |
//! | [protocol](ProtocolOracle) | every change of a word is a step that its party may take now; it ends at zero and closed |
//! | [hunger](HungerOracle) | a worker that keeps tasks to itself feeds those who have nothing |
//! | [fairness](FairnessOracle) | a worker with work of its own still looks at the injector |
//! | [jobs](JobOracle) | slots are claimed and run once, the board shows what can be claimed, every ticket fires once |
//!
//! The [world](crate::world) itself raises [`Oracle::Deadlock`] and [`Oracle::Liveness`]. A [record](crate::recorded) of a run on
//! threads is judged by the same, but for hunger and jobs: it does not say when a private task was spawned or taken beside what others do.

mod count;
mod fairness;
mod hunger;
mod jobs;
mod protocol;
mod sleep;
mod tasks;

use std::fmt;

use executor_core::ExecutorConfig;
use executor_core::sleep::SleepWord;

pub(crate) use count::CountOracle;
pub(crate) use fairness::FairnessOracle;
pub(crate) use hunger::HungerOracle;
pub(crate) use jobs::JobOracle;
pub(crate) use protocol::ProtocolOracle;
pub(crate) use sleep::SleepOracle;
pub(crate) use tasks::{Came, Origin, TaskId, TaskOracle, Totals};

/// Which oracle has spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Oracle {
    /// A task was lost, or ran more than once.
    ExactlyOnce,
    /// The count does not cover what is in flight, or is kept up by nothing.
    Count,
    /// A task was let in after the gate had closed, or refused before.
    Gate,
    /// Everybody sleeps and work lies in a queue: a wake-up was lost.
    LostWakeUp,
    /// A worker sleeps or has left, or others have nothing to do, and it keeps tasks that nobody else can find.
    HiddenWork,
    /// More searchers than there may be.
    Searchers,
    /// A word was changed in a way in which no step changes it, or by somebody who may not take that step.
    Protocol,
    /// A worker did not look at the injector for too long.
    InjectorBypass,
    /// A worker looked for work where there cannot be any.
    Victim,
    /// Nobody can go on, and not everybody has finished.
    Deadlock,
    /// The run did not come to an end.
    Liveness,
    /// A task panicked, and no fault had made it.
    TaskPanic,
    /// The scheduling code itself panicked.
    PolicyPanic,
    /// A slot of a job was claimed or run twice, or never.
    Claims,
    /// A job was missing from the board, or stayed on it.
    Board,
    /// A worker went into a job although one that comes before it could be had.
    PickOrder,
    /// A ticket fired twice, or never.
    Ticket,
    /// Two runs of one seed took different ways.
    Determinism,
    /// A record of a run on threads does not fit together.
    Record,
}

impl Oracle {
    /// Its name in reports and in the corpus.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ExactlyOnce => "exactly-once",
            Self::Count => "count",
            Self::Gate => "gate",
            Self::LostWakeUp => "lost-wake-up",
            Self::HiddenWork => "hidden-work",
            Self::Searchers => "searchers",
            Self::Protocol => "protocol",
            Self::InjectorBypass => "injector-bypass",
            Self::Victim => "victim",
            Self::Deadlock => "deadlock",
            Self::Liveness => "liveness",
            Self::TaskPanic => "task-panic",
            Self::PolicyPanic => "policy-panic",
            Self::Claims => "claims",
            Self::Board => "board",
            Self::PickOrder => "pick-order",
            Self::Ticket => "ticket",
            Self::Determinism => "determinism",
            Self::Record => "record",
        }
    }
}

impl fmt::Display for Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What an oracle said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) oracle: Oracle,
    pub(crate) message: String,
}

impl Violation {
    pub(crate) fn new(oracle: Oracle, message: impl Into<String>) -> Self {
        Self {
            oracle,
            message: message.into(),
        }
    }
}

/// All oracles of a run.
#[derive(Debug, Default)]
pub(crate) struct Oracles {
    pub(crate) tasks: TaskOracle,
    pub(crate) count: CountOracle,
    pub(crate) sleep: SleepOracle,
    pub(crate) protocol: ProtocolOracle,
    pub(crate) hunger: HungerOracle,
    pub(crate) fairness: FairnessOracle,
}

impl Oracles {
    pub(crate) fn begin(&mut self, config: &ExecutorConfig) {
        self.tasks.begin(config.workers);
        self.count.begin(config);
        self.sleep.begin(config);
        self.protocol.begin(config);
        self.hunger.begin(config);
        self.fairness.begin(config);
    }
    /// `party` changed the state word.
    pub(crate) fn state_changed(
        &mut self,
        party: usize,
        outside: bool,
        before: usize,
        after: usize,
    ) -> Result<(), Violation> {
        self.protocol.state_changed(outside, before, after)?;
        self.count.state_changed(party, outside, before, after)
    }

    /// `party` changed the sleep word.
    pub(crate) fn sleep_changed(
        &mut self,
        party: usize,
        before: SleepWord,
        after: SleepWord,
    ) -> Result<(), Violation> {
        self.sleep.word_changed(after)?;
        self.protocol.sleep_changed(party, before, after)
    }
}
