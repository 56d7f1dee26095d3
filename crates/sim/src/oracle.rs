//! Oracles: who says that a run went wrong, and why.
//!
//! Each watches what is done from outside and keeps its own books, so that it does not believe the policy:
//!
//! | oracle | says |
//! |---|---|
//! | [tasks](TaskOracle) | every accepted task runs exactly once or is handed back |
//! | [count](CountOracle) | the state word covers all that is in flight, exactly; nothing is accepted after close |
//! | [sleep](SleepOracle) | nobody sleeps while work lies in a queue, or on work of its own; searchers keep to their bound |
//! | [hunger](HungerOracle) | a worker that keeps tasks to itself feeds those who have nothing |
//! | [order](OrderOracle) | owners take the newest, thieves and the injector's takers the oldest |
//! | [reach](ReachOracle) | whoever concludes that there is no work has looked everywhere |
//! | [economy](EconomyOracle) | nobody is woken without work, nor twice for one task |
//! | [fairness](FairnessOracle) | a worker with work of its own still looks at the injector |
//! | [jobs](JobOracle) | slots are claimed and run once, the board shows what can be claimed, every ticket fires once |
//!
//! The [world](crate::world) itself raises [`Oracle::Deadlock`] and [`Oracle::Liveness`].

mod count;
mod economy;
mod fairness;
mod hunger;
mod jobs;
mod order;
mod reach;
mod sleep;
mod tasks;

use std::fmt;
use std::str::FromStr;

use executor_core::ExecutorConfig;

use crate::line::LineError;

pub(crate) use count::CountOracle;
pub(crate) use economy::EconomyOracle;
pub(crate) use fairness::FairnessOracle;
pub(crate) use hunger::HungerOracle;
pub(crate) use jobs::JobOracle;
pub(crate) use order::OrderOracle;
pub(crate) use reach::ReachOracle;
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
    /// A worker did not look at the injector for too long.
    InjectorBypass,
    /// A task was taken from the wrong end of a queue.
    Order,
    /// A worker concluded that there is no work, and had not looked everywhere.
    Reach,
    /// A worker was woken for nothing, or more were than there are tasks.
    Economy,
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
    /// A run did not come to what its reader expects ([`Report::ensure`](crate::Report::ensure)).
    Expectation,
    /// Two runs of one seed took different ways.
    Determinism,
}

impl Oracle {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::ExactlyOnce,
        Self::Count,
        Self::Gate,
        Self::LostWakeUp,
        Self::HiddenWork,
        Self::Searchers,
        Self::InjectorBypass,
        Self::Victim,
        Self::Deadlock,
        Self::Liveness,
        Self::TaskPanic,
        Self::PolicyPanic,
        Self::Claims,
        Self::Board,
        Self::PickOrder,
        Self::Ticket,
        Self::Determinism,
    ];

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
            Self::InjectorBypass => "injector-bypass",
            Self::Order => "order",
            Self::Reach => "reach",
            Self::Economy => "economy",
            Self::Victim => "victim",
            Self::Deadlock => "deadlock",
            Self::Liveness => "liveness",
            Self::TaskPanic => "task-panic",
            Self::PolicyPanic => "policy-panic",
            Self::Claims => "claims",
            Self::Board => "board",
            Self::PickOrder => "pick-order",
            Self::Ticket => "ticket",
            Self::Expectation => "expectation",
            Self::Determinism => "determinism",
        }
    }
}

impl FromStr for Oracle {
    type Err = LineError;

    fn from_str(text: &str) -> Result<Self, LineError> {
        Self::ALL
            .into_iter()
            .find(|oracle| oracle.name() == text)
            .ok_or_else(|| LineError(format!("`{text}` is no oracle")))
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
    pub(crate) hunger: HungerOracle,
    pub(crate) fairness: FairnessOracle,
    pub(crate) order: OrderOracle,
    pub(crate) reach: ReachOracle,
    pub(crate) economy: EconomyOracle,
}

impl Oracles {
    pub(crate) fn begin(&mut self, config: &ExecutorConfig) {
        self.tasks.begin(config.workers);
        self.count.begin(config);
        self.sleep.begin(config);
        self.hunger.begin(config);
        self.fairness.begin(config);
        self.order.begin(config);
        self.reach.begin(config);
    }
}
