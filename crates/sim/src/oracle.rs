//! Oracles: each judges one property of a run.
//!
//! An oracle keeps its own books and does not trust the policy. A method named after an event
//! (`parked`, `submitted`) reports it, mostly with the acting worker or actor, and returns an error
//! if the event breaks the property.
//!
//! The [world](crate::world) raises [`Oracle::Deadlock`] and [`Oracle::Liveness`]. The crate
//! `recorded` applies the oracles of tasks, count, sleep, protocol and fairness to runs on threads.

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

            /// Returns the name in reports and in the corpus.
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
    /// All workers sleep while work is queued.
    LostWakeUp = "lost-wake-up",
    /// A worker that sleeps, has left, or sees idle workers keeps tasks that only it can find.
    HiddenWork = "hidden-work",
    /// Searchers exceed the bound.
    Searchers = "searchers",
    /// A word changed by an invalid step, or by the wrong actor.
    Protocol = "protocol",
    /// A worker did not poll the injector for too long.
    InjectorBypass = "injector-bypass",
    /// A task was taken from the wrong end of a queue.
    Order = "order",
    /// A worker gave up its search without looking everywhere.
    Reach = "reach",
    /// A worker was woken without a task for it.
    Economy = "economy",
    /// A worker searched a victim that cannot have work.
    Victim = "victim",
    /// No actor can continue, and some have not finished.
    Deadlock = "deadlock",
    /// The run exceeded its step limit.
    Liveness = "liveness",
    /// A task panicked by itself.
    TaskPanic = "task-panic",
    /// The scheduling code panicked.
    PolicyPanic = "policy-panic",
    /// A slot of a job was claimed or run twice, or never.
    Claims = "claims",
    /// A task of a growing job ran without a reason or on two workers, or was dropped twice or
    /// late.
    TaskTurns = "task-turns",
    /// A job was missing from the board, or stayed on it.
    Board = "board",
    /// A worker passed over an available job that precedes its pick.
    PickOrder = "pick-order",
    /// A worker claimed in another's role, or against its role's order.
    Role = "role",
    /// A worker stayed beyond its quantum.
    Quantum = "quantum",
    /// A worker entered a job although another had received less, or a visit added nothing.
    Service = "service",
    /// A worker entered a young job on an old one's turn.
    Share = "share",
    /// A spare thread stood in early or for old work, or young work waited unwatched.
    StandIn = "stand-in",
    /// A job was accepted beyond the capacity or after close, or refused without a reason.
    Admission = "admission",
    /// A lent thread ran another job, shared its number, or slept beside a claimable slot of its
    /// job.
    Lending = "lending",
    /// A short job, or the stop of a cancelled job, took longer than quanta explain.
    Latency = "latency",
    /// An available job waited longer than the others explain, or heavy jobs lost their share.
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
    /// The error message.
    pub message: String,
}

impl Violation {
    /// Makes a violation.
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
    /// See [`TaskOracle`].
    pub tasks: TaskOracle,
    /// See [`CountOracle`].
    pub count: CountOracle,
    /// See [`SleepOracle`].
    pub sleep: SleepOracle,
    /// See [`ProtocolOracle`].
    pub protocol: ProtocolOracle,
    pub(crate) demand: DemandOracle,
    /// See [`FairnessOracle`].
    pub fairness: FairnessOracle,
    pub(crate) order: OrderOracle,
    pub(crate) reach: ReachOracle,
    pub(crate) economy: EconomyOracle,
}

impl Oracles {
    /// Begins a run of `config`.
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

    /// Records a change of the state word by `actor`.
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

    /// Records a change of the sleep word.
    pub fn sleep_changed(
        &mut self,
        actor: usize,
        before: SleepWord,
        after: SleepWord,
    ) -> Result<(), Violation> {
        // Both must see every change: one of the two may be silenced.
        let sleep = self.sleep.word_changed(after);
        let protocol = self.protocol.sleep_changed(actor, before, after);
        sleep.and(protocol)
    }
}
