//! Virtual time: what each operation costs.
//!
//! Each party has a clock of its own, which every operation moves on. Clocks meet where one party's doing comes before another's: a
//! task is not taken before it was pushed, a worker is not awake before it was woken, and a cache line that two want to write is
//! given to one after the other. What an operation costs is the price of the operation itself, and, if another core has touched
//! the [line](crate::lines) since, that of fetching it:
//!
//! ```text
//!   party's clock ──► + the operation ──► + the line, if another core has it ──► + whoever is before us at that line
//! ```
//!
//! With the strategy [`Earliest`](crate::StrategyKind::Earliest) this is a discrete-event simulation of a machine with a core for each
//! worker. The prices are of one machine: `cargo xtask sim --predict` measures them, and says how far predictions were off.

use std::fmt;

use crate::line::{Fields, LineError};
use crate::lines::Touch;
use crate::trace::Op;

/// Picoseconds of a nanosecond.
pub(crate) const PS: u64 = 1_000;

macro_rules! costs {
    ($($(#[doc = $doc:literal])+ $name:ident = $default:literal,)+) => {
        /// What operations cost in virtual time, in picoseconds, since the commonest take less than a nanosecond.
        ///
        /// ```
        /// use sim::{Costs, Simulation, StrategyKind};
        ///
        /// let makespan = |costs| {
        ///     let simulation = Simulation::new(1).strategy(StrategyKind::Earliest).costs(costs);
        ///     let report = simulation.run(0..100, |_| (), |_: u32, cx| cx.work(1_000)).expect("no race here");
        ///     report.makespan_ns
        /// };
        /// let slow = Costs { task_ps: 1_000_000, ..Costs::default() };
        /// assert!(makespan(slow) > makespan(Costs::default()) + 90_000);
        /// ```
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Costs {
            $($(#[doc = $doc])+ pub $name: u64,)+
        }

        impl Default for Costs {
            /// As measured on an AMD EPYC (family 26, model 2) with 2 cores on 2026-11-21.
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        impl Costs {
            /// Each cost by the name of its field.
            pub fn fields(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name),)+].into_iter()
            }

            /// Sets every cost.
            pub fn set_all(&mut self, ps: u64) {
                $(self.$name = ps;)+
            }

            fn field_mut(&mut self, name: &str) -> Option<&mut u64> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)+
                    _ => None,
                }
            }
        }
    };
}

costs! {
    /// A read of a word that lies in the own cache.
    load_ps = 300,
    /// A write of a word that lies in the own cache.
    store_ps = 300,
    /// A read-modify-write of a word that lies in the own cache.
    exchange_ps = 4_700,
    /// A sequentially consistent fence.
    fence_ps = 4_700,
    /// A line that another core has written comes, to be read.
    line_read_ps = 121_000,
    /// A line that another core has touched comes, to be written. Others wait for it meanwhile.
    line_write_ps = 114_000,
    /// A push to the own queue.
    push_ps = 2_200,
    /// A pop from the own queue, whether it holds something or not.
    pop_ps = 6_100,
    /// A look into somebody else's queue or the injector, which have not changed since the last look.
    look_ps = 10_600,
    /// The first task of a queue is stolen: with the queue's lines and the task's.
    steal_ps = 89_000,
    /// Each task that is stolen.
    steal_task_ps = 12_500,
    /// A push to the injector.
    inject_ps = 5_600,
    /// Each task of a batch that is pushed to the injector.
    inject_task_ps = 1_400,
    /// A run of tasks is taken from the injector.
    take_ps = 49_400,
    /// Each task of such a run.
    take_task_ps = 5_000,
    /// A task is spawned and stays with its worker.
    keep_ps = 1_400,
    /// A task is taken from what the worker has, starts, does nothing and ends.
    task_ps = 2_800,
    /// The clock is read.
    clock_ps = 23_200,
    /// An instant of waiting on the core.
    spin_ps = 23_500,
    /// The core is offered to others, and nobody wants it.
    yield_ps = 452_000,
    /// A thread goes to sleep.
    park_ps = 452_000,
    /// A sleeping thread is woken, for who wakes it.
    unpark_ps = 4_166_000,
    /// From the beginning of that until the woken thread runs.
    wake_ps = 2_583_000,
    /// A thread is unparked that is still on its core, for who unparks it.
    unpark_awake_ps = 255_800,
    /// From the beginning of that until the other notices.
    doze_wake_ps = 428_000,
    /// An uncontended lock is taken and given back.
    lock_ps = 9_700,
    /// The board of jobs is asked for a job.
    board_look_ps = 17_300,
    /// A job is put on the board or taken off.
    board_change_ps = 71_200,
    /// A slot of a job is run that does nothing, without the operations on shared words that are counted by themselves.
    slot_ps = 6_600,
}

impl Costs {
    /// What an operation takes that is done `times` times at once, with a line that must `come` or is there.
    pub(crate) fn of(&self, op: Op, value: u64, comes: Option<Touch>) -> u64 {
        let line_ps = match comes {
            None => 0,
            Some(Touch::Read) => self.line_read_ps,
            // A thief's line is in the price of the theft.
            Some(Touch::Write) if op == Op::TakeFrom => self.steal_ps,
            Some(Touch::Write) => self.line_write_ps,
        };
        let op_ps = match op {
            Op::Load | Op::Ticket | Op::Access | Op::Await => self.load_ps,
            Op::Store => self.store_ps,
            Op::Fetch | Op::Exchange | Op::ExchangeFailed => self.exchange_ps,
            Op::Fence => self.fence_ps,
            Op::Push | Op::BringHome => self.push_ps,
            Op::Pop | Op::PopEmpty => self.pop_ps,
            Op::TakeEmpty | Op::Retry | Op::Peek => self.look_ps,
            Op::TakeFrom => self.steal_task_ps,
            Op::Inject => self.inject_ps,
            Op::TakeInjected => self
                .take_ps
                .saturating_add(value.saturating_mul(self.take_task_ps)),
            Op::Keep => self.keep_ps,
            Op::Start => self.task_ps,
            Op::Now => self.clock_ps,
            Op::Spin => value.saturating_mul(self.spin_ps),
            Op::Yield => self.yield_ps,
            Op::Park | Op::Wait => self.park_ps,
            Op::TableGet | Op::TablePut | Op::TableClear | Op::TableUsed | Op::Change => self.lock_ps,
            Op::FifoPush => self.inject_ps,
            Op::FifoPop => self.take_ps,
            Op::FifoLen => self.look_ps,
            Op::SetLast => self.board_look_ps,
            Op::SetInsert | Op::SetRemove => self.board_change_ps,
            // By whether somebody sleeps: the world knows.
            Op::Unpark | Op::Signal => 0,
            Op::End | Op::Panic | Op::HandBack | Op::Awake | Op::Work | Op::Delay => 0,
            // Only in records of runs on threads.
            Op::Leave | Op::HandOver | Op::Refused | Op::GiveUp => 0,
        };
        op_ps.saturating_add(line_ps)
    }

    /// What it takes at least until a spawned task runs on another worker, which has to be woken for it: the *burden* of an edge.
    #[must_use]
    pub fn burden_ps(&self) -> u64 {
        self.wake_ps + self.steal_ps + self.steal_task_ps
    }

    /// Sets the cost that is called `name`, as its field is.
    ///
    /// # Errors
    ///
    /// There is no such cost.
    pub fn set(&mut self, name: &str, ps: u64) -> Result<(), LineError> {
        let field = self.field_mut(name);
        *field.ok_or_else(|| LineError(format!("`{name}` is no cost")))? = ps;
        Ok(())
    }

    /// Writes what differs from the default into `fields`.
    pub(crate) fn write(&self, fields: &mut Fields) {
        let default = Self::default();
        for ((name, ps), (_, default_ps)) in self.fields().zip(default.fields()) {
            if ps != default_ps {
                fields.push(name, ps);
            }
        }
    }

    /// Takes its fields out of `fields`.
    pub(crate) fn read(fields: &mut Fields) -> Result<Self, LineError> {
        let mut costs = Self::default();
        for (name, _) in Self::default().fields() {
            if let Some(ps) = fields.take(name)? {
                costs.set(name, ps)?;
            }
        }
        Ok(costs)
    }
}

impl fmt::Display for Costs {
    /// A row each, in nanoseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().try_for_each(|(name, ps)| {
            let name = name.trim_end_matches("_ps").replace('_', " ");
            writeln!(f, "  {name:<14} {:>12.1} ns", ps as f64 / 1e3)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_survive_being_written_and_read_and_defaults_are_not_written() {
        let mut fields = Fields::default();
        Costs::default().write(&mut fields);
        assert_eq!(fields, Fields::default());
        let mut costs = Costs::default();
        for (step, (name, _)) in Costs::default().fields().enumerate() {
            *costs.field_mut(name).expect("it is a field") += 1 + step as u64;
        }
        costs.write(&mut fields);
        let mut read: Fields = fields.to_string().parse().expect("it is well formed");
        assert_eq!(Costs::read(&mut read), Ok(costs));
        assert_eq!(read.end(), Ok(()));
    }

    #[test]
    fn a_line_from_another_core_costs_more_than_one_that_is_there() {
        let costs = Costs::default();
        let read = |comes| costs.of(Op::Load, 0, comes);
        assert_eq!(read(Some(Touch::Read)) - read(None), costs.line_read_ps);
        let stolen = costs.of(Op::TakeFrom, 7, Some(Touch::Write));
        assert_eq!(stolen, costs.steal_ps + costs.steal_task_ps);
    }
}
