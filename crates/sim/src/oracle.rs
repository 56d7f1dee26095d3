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
//! | [order](OrderOracle) | owners take the newest, thieves and the injector's takers the oldest |
//! | [reach](ReachOracle) | whoever concludes that there is no work has looked everywhere |
//! | [economy](EconomyOracle) | nobody is woken without work, nor twice for one task |
//! | [fairness](FairnessOracle) | a worker with work of its own still looks at the injector |
//! | [jobs](JobOracle) | slots are claimed and run once, the board shows what can be claimed, every ticket fires once |
//! | [turns](TurnOracle) | a worker claims in its role, by that role's order, and goes into no further job after its quantum |
//! | [task turns](TaskTurnOracle) | a task has a turn for a reason and on one worker, and is dropped once, before its job's end is told |
//! | [stays](StayOracle) | a worker leaves a young job after its quantum, and an old one after four, or when a young one waits |
//! | [stand-ins](StandInOracle) | a spare thread stands in when every worker is in a long turn, for young work, and none of that waits unwatched |
//! | [service](ServiceOracle) | a main worker takes the job that has received the least, and each visit adds to it |
//! | [lending](LendOracle) | a lent thread runs its job and no other, and sleeps through no slot of it |
//! | [latency](LatencyOracle) | short jobs end soon, heavy ones keep their share, nobody starves, a cancel stops a job soon |
//! | [admission](AdmissionOracle) | never more jobs than the capacity, and nobody is turned away without a reason |
//!
//! The [world](crate::world) itself raises [`Oracle::Deadlock`] and [`Oracle::Liveness`]. A [record](crate::recorded) of a run on
//! threads is judged by the same, but for hunger and jobs: it does not say when a private task was spawned or taken beside what others do.

mod admission;
mod count;
mod economy;
mod fairness;
mod hunger;
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
pub(crate) use count::CountOracle;
pub(crate) use economy::EconomyOracle;
pub(crate) use fairness::FairnessOracle;
pub(crate) use hunger::HungerOracle;
pub(crate) use jobs::JobOracle;
pub(crate) use latency::{Kind, LatencyOracle, Lines, Stood};
pub(crate) use lending::LendOracle;
pub(crate) use order::OrderOracle;
pub(crate) use protocol::ProtocolOracle;
pub(crate) use reach::ReachOracle;
pub(crate) use service::ServiceOracle;
pub(crate) use share::{Came as CameByShare, ShareOracle};
pub(crate) use sleep::SleepOracle;
pub(crate) use stand_ins::StandInOracle;
pub(crate) use stays::{Moment, StayOracle, Stayed};
pub(crate) use task_turns::{Found as FoundTask, TaskTurnOracle};
pub(crate) use tasks::{Came, Origin, TaskId, TaskOracle, Totals};
pub(crate) use turns::{Came as CameToJob, Claim, Order, TurnOracle};

macro_rules! oracles {
    ($($(#[doc = $doc:literal])+ $oracle:ident = $name:literal,)+) => {
        /// Which oracle has spoken.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Oracle {
            $($(#[doc = $doc])+ $oracle,)+
        }

        impl Oracle {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$oracle,)+];

            /// Its name in reports and in the corpus.
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
    /// The count does not cover what is in flight, or is kept up by nothing.
    Count = "count",
    /// A task was let in after the gate had closed, or refused before.
    Gate = "gate",
    /// Everybody sleeps and work lies in a queue: a wake-up was lost.
    LostWakeUp = "lost-wake-up",
    /// A worker sleeps or has left, or others have nothing to do, and it keeps tasks that nobody else can find.
    HiddenWork = "hidden-work",
    /// More searchers than there may be.
    Searchers = "searchers",
    /// A word was changed in a way in which no step changes it, or by somebody who may not take that step.
    Protocol = "protocol",
    /// A worker did not look at the injector for too long.
    InjectorBypass = "injector-bypass",
    /// A task was taken from the wrong end of a queue.
    Order = "order",
    /// A worker concluded that there is no work, and had not looked everywhere.
    Reach = "reach",
    /// A worker was woken for nothing, or more were than there are tasks.
    Economy = "economy",
    /// A worker looked for work where there cannot be any.
    Victim = "victim",
    /// Nobody can go on, and not everybody has finished.
    Deadlock = "deadlock",
    /// The run did not come to an end.
    Liveness = "liveness",
    /// A task panicked, and no fault had made it.
    TaskPanic = "task-panic",
    /// The scheduling code itself panicked.
    PolicyPanic = "policy-panic",
    /// A slot of a job was claimed or run twice, or never.
    Claims = "claims",
    /// A task of a job that grows had a turn without a reason or on two workers, or was dropped twice or too late.
    TaskTurns = "task-turns",
    /// A job was missing from the board, or stayed on it.
    Board = "board",
    /// A worker went into a job although one that comes before it could be had.
    PickOrder = "pick-order",
    /// A worker claimed in a role that is not its own, or not by that role's order.
    Role = "role",
    /// A worker stayed after its quantum was over.
    Quantum = "quantum",
    /// A worker went into a job although another had received less, or a visit added nothing to what a job has received.
    Service = "service",
    /// A worker went into a young job although it was an old one's turn.
    Share = "share",
    /// A spare thread stood in too early or for old work, or young work waited beside long turns and none was told.
    StandIn = "stand-in",
    /// A job was let in beyond the capacity or after the close, or turned away without a reason.
    Admission = "admission",
    /// A lent thread ran another job, shared its number, or slept while a slot of its job could be claimed.
    Lending = "lending",
    /// A short job took longer beside heavy ones than quanta explain, or a cancelled one to stop.
    Latency = "latency",
    /// A job that could be gone into was not, for longer than the others explain, or heavy jobs had less than their share.
    Starvation = "starvation",
    /// A ticket fired twice, or never, or does not say what became of its job.
    Ticket = "ticket",
    /// A run did not come to what its reader expects ([`Report::ensure`](crate::Report::ensure)).
    Expectation = "expectation",
    /// Two runs of one seed took different ways.
    Determinism = "determinism",
    /// A record of a run on threads does not fit together.
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
    pub(crate) order: OrderOracle,
    pub(crate) reach: ReachOracle,
    pub(crate) economy: EconomyOracle,
}

impl Oracles {
    pub(crate) fn begin(&mut self, config: &ExecutorConfig) {
        self.tasks.begin(config.workers);
        self.count.begin(config);
        self.sleep.begin(config);
        self.protocol.begin(config);
        self.hunger.begin(config);
        self.fairness.begin(config);
        self.order.begin(config);
        self.reach.begin(config);
    }

    /// `party` changed the state word.
    pub(crate) fn state_changed(
        &mut self,
        party: usize,
        outside: bool,
        before: usize,
        after: usize,
    ) -> Result<(), Violation> {
        let protocol = self.protocol.state_changed(outside, before, after);
        let count = self.count.state_changed(party, outside, before, after);
        protocol.and(count)
    }

    /// `party` changed the sleep word.
    pub(crate) fn sleep_changed(
        &mut self,
        party: usize,
        before: SleepWord,
        after: SleepWord,
    ) -> Result<(), Violation> {
        // Each sees every change, whatever the other says: nobody may listen to that one.
        let sleep = self.sleep.word_changed(after);
        let protocol = self.protocol.sleep_changed(party, before, after);
        sleep.and(protocol)
    }
}
