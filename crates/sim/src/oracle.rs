//! Oracles: each judges one property of a run.
//!
//! An oracle watches operations and keeps its own books, so it need not trust the policy:
//!
//! | oracle | property |
//! |---|---|
//! | [tasks](TaskOracle) | an accepted task runs exactly once or is handed back |
//! | [count](CountOracle) | the state word covers exactly what is in flight |
//! | [sleep](SleepOracle) | no worker sleeps beside queued work |
//! | [protocol](ProtocolOracle) | a change of a word is a step that its actor may take |
//! | [demand](DemandOracle) | idle workers get some of the private tasks |
//! | [order](OrderOracle) | each end of a queue gives the right task |
//! | [reach](ReachOracle) | a worker that finds no work has looked everywhere |
//! | [economy](EconomyOracle) | a wake has a reason |
//! | [fairness](FairnessOracle) | a busy worker polls the injector |
//! | [jobs](JobOracle) | a slot runs once, the board shows claimable jobs, a job ends once |
//! | [turns](TurnOracle) | a claim follows its worker's role and quantum |
//! | [task turns](TaskTurnOracle) | a turn has a reason and one worker |
//! | [stays](StayOracle) | a worker leaves a job in time |
//! | [stand-ins](StandInOracle) | spare threads run young work beside long turns |
//! | [service](ServiceOracle) | the least served job comes first |
//! | [share](ShareOracle) | old jobs get 15 % |
//! | [lending](LendOracle) | a lent thread runs its own job alone |
//! | [latency](LatencyOracle) | short jobs end soon |
//! | [admission](AdmissionOracle) | jobs stay within the capacity, and a refusal has a reason |
//!
//! The [world](crate::world) raises [`Oracle::Deadlock`] and [`Oracle::Liveness`]. The crate
//! `recorded` shows a run on threads to those of tasks, count, sleep, protocol and fairness.

mod admission;
mod count;
mod demand;
mod economy;
mod fairness;
mod jobs;
mod latency;
mod lending;
mod order;
mod protocol;
mod reach;
mod service;
mod share;

mod sleep;
mod stand_ins;
mod stays;
mod task_turns;
mod tasks;
mod turns;

use std::fmt;
use std::str::FromStr;

use executor_core::ExecutorConfig;
use executor_core::sleep::SleepWord;

use crate::line::LineError;

pub(crate) use admission::{AdmissionOracle, Answer};
pub use count::CountOracle;
pub(crate) use demand::DemandOracle;
pub(crate) use economy::EconomyOracle;
pub use fairness::FairnessOracle;
pub(crate) use jobs::JobOracle;
pub(crate) use latency::{Kind, LatencyOracle, Lines, Stood};
pub(crate) use lending::LendOracle;
pub(crate) use order::OrderOracle;
pub use protocol::ProtocolOracle;
pub(crate) use reach::ReachOracle;
pub(crate) use service::ServiceOracle;
pub(crate) use share::{Came as CameByShare, ShareOracle};
pub use sleep::SleepOracle;
pub(crate) use stand_ins::StandInOracle;
pub(crate) use stays::{Moment, StayOracle, Stayed};
pub(crate) use task_turns::{Found as FoundTask, TaskTurnOracle};
pub use tasks::{Came, TaskOracle};
pub(crate) use tasks::{Origin, TaskId, Totals};
pub(crate) use turns::{Came as CameToJob, Claim, Order, TurnOracle};

macro_rules! oracles {
    ($($(#[doc = $doc:literal])+ $oracle:ident = $name:literal,)+) => {
        /// The oracle that failed a run.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Oracle {
            $($(#[doc = $doc])+ $oracle,)+
        }

        impl Oracle {
            /// Every oracle.
            pub const ALL: &[Self] = &[$(Self::$oracle,)+];

            /// Returns the oracle's name in reports and in the corpus.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$oracle => $name,)+ }
            }
        }
    };
}

oracles! {
    /// A task was lost, or ran more than once.
    ExactlyOnce = "exactly-once",
    /// The count misses work in flight, or covers none.
    Count = "count",
    /// A task was accepted after close, or refused before.
    Gate = "gate",
    /// All workers sleep while work is queued: a wake-up was lost.
    LostWakeUp = "lost-wake-up",
    /// A worker sleeps, has left, or sees idle workers, and keeps tasks that only it can find.
    HiddenWork = "hidden-work",
    /// There are more searchers than the bound.
    Searchers = "searchers",
    /// A word changed in a way that is no step, or by an actor that may not take that step.
    Protocol = "protocol",
    /// A worker did not poll the injector for too long.
    InjectorBypass = "injector-bypass",
    /// A task was taken from the wrong end of a queue.
    Order = "order",
    /// A worker concluded that there is no work without looking everywhere.
    Reach = "reach",
    /// A worker was woken for nothing, or more were than there are tasks.
    Economy = "economy",
    /// A worker looked for work where there cannot be any.
    Victim = "victim",
    /// No actor can continue, and some have not finished.
    Deadlock = "deadlock",
    /// The run did not end within its step limit.
    Liveness = "liveness",
    /// A task panicked by itself.
    TaskPanic = "task-panic",
    /// The scheduling code itself panicked.
    PolicyPanic = "policy-panic",
    /// A slot of a job was claimed or run twice, or never.
    Claims = "claims",
    /// A task of a growing job ran without a reason or on two workers, or was dropped twice or
    /// late.
    TaskTurns = "task-turns",
    /// A job was missing from the board, or stayed on it.
    Board = "board",
    /// A worker entered a job although one that precedes it was available.
    PickOrder = "pick-order",
    /// A worker claimed in another's role, or against its role's order.
    Role = "role",
    /// A worker stayed beyond its quantum.
    Quantum = "quantum",
    /// A worker entered a job although another had received less, or a visit added nothing.
    Service = "service",
    /// A worker entered a young job on an old one's turn.
    Share = "share",
    /// A spare thread stood in early or for old work, or young work waited unwatched beside long
    /// turns.
    StandIn = "stand-in",
    /// A job was accepted beyond the capacity or after close, or refused without a reason.
    Admission = "admission",
    /// A lent thread ran another job, shared its number, or slept while its job had a claimable
    /// slot.
    Lending = "lending",
    /// A short job beside heavy ones, or the stop of a cancelled one, took longer than quanta
    /// explain.
    Latency = "latency",
    /// An available job was not entered for longer than the others explain, or heavy jobs lost
    /// their share.
    Starvation = "starvation",
    /// A ticket fired twice, never, or with the wrong outcome.
    Ticket = "ticket",
    /// A run broke an expectation of [`Report::ensure`](crate::Report::ensure).
    Expectation = "expectation",
    /// Two runs of one seed differed.
    Determinism = "determinism",
    /// A record of a run on threads contradicts itself.
    Record = "record",
}

impl FromStr for Oracle {
    type Err = LineError;

    fn from_str(text: &str) -> Result<Self, LineError> {
        Self::ALL
            .iter()
            .copied()
            .find(|oracle| oracle.name() == text)
            .ok_or_else(|| LineError(format!("`{text}` is no oracle")))
    }
}

impl fmt::Display for Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What an oracle found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The oracle.
    pub oracle: Oracle,
    /// What was wrong.
    pub message: String,
}

impl Violation {
    /// A violation that `oracle` found.
    pub fn new(oracle: Oracle, message: impl Into<String>) -> Self {
        Self {
            oracle,
            message: message.into(),
        }
    }
}

/// The oracles of tasks, for one run.
#[derive(Debug, Default)]
pub struct Oracles {
    /// A task runs exactly once.
    pub tasks: TaskOracle,
    /// The count of the state word.
    pub count: CountOracle,
    /// No worker sleeps beside queued work.
    pub sleep: SleepOracle,
    /// The steps that a change of a word may be.
    pub protocol: ProtocolOracle,
    pub(crate) demand: DemandOracle,
    /// Polls of the injector.
    pub fairness: FairnessOracle,
    pub(crate) order: OrderOracle,
    pub(crate) reach: ReachOracle,
    pub(crate) economy: EconomyOracle,
}

impl Oracles {
    /// A run of `config` begins.
    pub fn begin(&mut self, config: &ExecutorConfig) {
        self.tasks.begin(config.workers);
        self.count.begin(config);
        self.sleep.begin(config);
        self.protocol.begin(config);
        self.demand.begin(config);
        self.fairness.begin(config);
        self.order.begin(config);
        self.reach.begin(config);
    }

    /// `actor`, which is no worker if it is of the `environment`, changed the state word.
    pub fn state_changed(
        &mut self,
        actor: usize,
        environment: bool,
        before: usize,
        after: usize,
    ) -> Result<(), Violation> {
        let protocol = self.protocol.state_changed(environment, before, after);
        let count = self.count.state_changed(actor, environment, before, after);
        protocol.and(count)
    }

    /// `actor` changed the sleep word.
    pub fn sleep_changed(
        &mut self,
        actor: usize,
        before: SleepWord,
        after: SleepWord,
    ) -> Result<(), Violation> {
        // Both must see every change, since one of the two may be silenced.
        let sleep = self.sleep.word_changed(after);
        let protocol = self.protocol.sleep_changed(actor, before, after);
        sleep.and(protocol)
    }
}
