//! Virtual time: the cost of each operation.
//!
//! Each actor has a clock. Clocks synchronise where one actor's work must follow another's: a take
//! after the push, a wake after the unpark, a second write of a cache line after the first. An
//! operation pays its price, and a fetch of its [line](crate::lines) if another core has touched it
//! since:
//!
//! ```text
//!   actor's clock ──► + the operation ──► + the line, if another core has it ──► + the queue at that line
//! ```
//!
//! With [`Earliest`](crate::StrategyKind::Earliest) this is a discrete-event simulation of a
//! machine with a core a worker. `cargo xtask bench predict` measures the default prices.

use std::fmt;

use crate::line::{Fields, LineError};
use crate::lines::Touch;
use crate::trace::Op;

pub(crate) const PS: u64 = 1_000;

macro_rules! costs {
    ($($(#[doc = $doc:literal])+ $name:ident = $default:literal,)+) => {
        /// What operations cost in virtual time, in picoseconds.
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
            /// Each cost, with the name of its field.
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
    /// A read of a word in the own cache.
    load_ps = 300,
    /// A write of a word in the own cache.
    store_ps = 300,
    /// A read-modify-write of a word in the own cache.
    exchange_ps = 4_700,
    /// A sequentially consistent fence.
    fence_ps = 4_700,
    /// Fetching a line that another core has written, to read it.
    line_read_ps = 121_000,
    /// Fetching a line that another core has touched, to write it.
    line_write_ps = 114_000,
    /// A push to the own queue.
    push_ps = 2_200,
    /// A pop from the own queue, empty or not.
    pop_ps = 6_100,
    /// A look into another's queue or the injector, if unchanged.
    look_ps = 10_600,
    /// The first task of a theft, with the lines of the queue and the task.
    steal_ps = 89_000,
    /// Each stolen task.
    steal_task_ps = 12_500,
    /// A push to the injector.
    inject_ps = 5_600,
    /// Each task of a batch pushed to the injector.
    inject_task_ps = 1_400,
    /// A take of a run of tasks from the injector.
    take_ps = 49_400,
    /// Each task of such a run.
    take_task_ps = 5_000,
    /// A spawn into the worker's private tasks.
    keep_ps = 1_400,
    /// A task that does nothing, from its take to its end.
    task_ps = 2_800,
    /// A read of the clock.
    clock_ps = 23_200,
    /// One spin.
    spin_ps = 23_500,
    /// A yield of the core that no other thread wants.
    yield_ps = 452_000,
    /// Going to sleep.
    park_ps = 452_000,
    /// An unpark of a sleeping thread, for the caller.
    unpark_ps = 4_166_000,
    /// From the start of that unpark until the thread runs.
    wake_ps = 2_583_000,
    /// An unpark of a thread still on its core, for the caller.
    unpark_awake_ps = 255_800,
    /// From the start of that unpark until the thread notices it.
    doze_wake_ps = 428_000,
    /// An uncontended lock and unlock.
    lock_ps = 9_700,
    /// A search of the board for a job.
    board_look_ps = 17_300,
    /// An insertion into the board, or a removal.
    board_change_ps = 71_200,
    /// An empty slot, without the shared operations priced above.
    slot_ps = 6_600,
}

impl Costs {
    pub(crate) fn of(&self, op: Op, value: u64, comes: Option<Touch>) -> u64 {
        let line_ps = match comes {
            None => 0,
            Some(Touch::Read) => self.line_read_ps,
            // The theft's price includes the line.
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
            // Priced by the world, which knows whether the target sleeps.
            Op::Unpark | Op::Signal => 0,
            Op::End | Op::Panic | Op::HandBack | Op::Awake | Op::Work | Op::Delay => 0,
            // Only in records of runs on threads.
            Op::Leave | Op::HandOver | Op::Refused | Op::GiveUp => 0,
        };
        op_ps.saturating_add(line_ps)
    }

    /// The *burden* of an edge: the least time until a spawned task runs on a worker that must be
    /// woken.
    #[must_use]
    pub fn burden_ps(&self) -> u64 {
        self.wake_ps + self.steal_ps + self.steal_task_ps
    }

    /// Sets the cost with the field name `name`.
    ///
    /// # Errors
    ///
    /// No cost has that name.
    pub fn set(&mut self, name: &str, ps: u64) -> Result<(), LineError> {
        let field = self.field_mut(name);
        *field.ok_or_else(|| LineError(format!("`{name}` is no cost")))? = ps;
        Ok(())
    }

    pub(crate) fn write(&self, fields: &mut Fields) {
        let default = Self::default();
        for ((name, ps), (_, default_ps)) in self.fields().zip(default.fields()) {
            if ps != default_ps {
                fields.push(name, ps);
            }
        }
    }

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
    /// One row a cost, in nanoseconds.
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
