//! Virtual time: what each operation costs.
//!
//! Each party has a clock of its own, which every operation moves on. Clocks meet where one party's doing comes
//! before another's: a task is not taken before it was pushed, a worker is not awake before it was woken. The
//! makespan is the latest clock of a worker. The costs are round figures for one core of a current server;
//! predictions that are to be compared with a measurement need costs measured on that machine.

use crate::trace::Op;

/// What operations cost, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Costs {
    /// A read or write of a shared word that is likely to be in the cache, or of one's own memory.
    pub(crate) access: u64,
    /// A read-modify-write of a shared word, or a fence.
    pub(crate) exchange: u64,
    /// A push to or pop from one's own queue.
    pub(crate) own_queue: u64,
    /// A look into somebody else's queue.
    pub(crate) foreign_queue: u64,
    /// Going to sleep.
    pub(crate) park: u64,
    /// Waking another, for the one who wakes.
    pub(crate) unpark: u64,
    /// A pause on the core.
    pub(crate) spin: u64,
    /// Giving up the core.
    pub(crate) yield_now: u64,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            access: 1,
            exchange: 15,
            own_queue: 5,
            foreign_queue: 60,
            park: 1_500,
            unpark: 4_000,
            spin: 10,
            yield_now: 300,
        }
    }
}

impl Costs {
    /// Of one operation.
    pub(crate) fn of(&self, op: Op) -> u64 {
        match op {
            Op::Load | Op::Store | Op::Ticket | Op::TableGet | Op::Now | Op::Keep => self.access,
            Op::Fetch | Op::Exchange | Op::ExchangeFailed | Op::Fence => self.exchange,
            Op::TablePut | Op::TableClear | Op::Change => self.exchange,
            Op::Push | Op::Pop | Op::PopEmpty => self.own_queue,
            Op::Inject
            | Op::TakeInjected
            | Op::TakeFrom
            | Op::TakeEmpty
            | Op::Retry
            | Op::BringHome
            | Op::Peek => self.foreign_queue,
            Op::SetInsert | Op::SetRemove | Op::SetLast => self.foreign_queue,
            Op::Park | Op::Wait => self.park,
            Op::Unpark | Op::Signal => self.unpark,
            Op::Spin => self.spin,
            Op::Yield => self.yield_now,
            Op::Start | Op::End | Op::Panic | Op::HandBack | Op::Awake | Op::Work | Op::Delay => 0,
            // Only in records of runs on threads.
            Op::Leave | Op::HandOver | Op::Refused | Op::GiveUp => 0,
        }
    }
}
