//! Faults: things that may happen on a machine and seldom do.
//!
//! Each kind has a budget, so that a run in which everything goes wrong still ends: after the faults have stopped,
//! everything must finish. Each has a rarity: as long as something is left of its budget, it strikes once in so many
//! chances. And each has a counter, so that a swarm can show that it struck.
//!
//! Nobody asks chance about a fault without a budget. So a list of choices stays what it was when a kind is added.

macro_rules! faults {
    ($($(#[doc = $doc:literal])+ $fault:ident, $field:ident, $key:literal, $name:literal, 1 in $rarity:literal;)+) => {
        /// What can go wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Fault {
            $($(#[doc = $doc])+ $fault,)+
        }

        impl Fault {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$fault,)+];

            /// Its name in tables.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$fault => $name,)+ }
            }

            /// Its budget's name in replay lines.
            #[must_use]
            pub fn key(self) -> &'static str {
                match self { $(Self::$fault => $key,)+ }
            }

            /// It strikes once in so many chances.
            #[inline]
            pub(crate) fn rarity(self) -> usize {
                match self { $(Self::$fault => $rarity,)+ }
            }
        }

        /// How often each fault may strike in one run, or has struck. The default is never.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Faults {
            $($(#[doc = $doc])+ pub $field: u32,)+
        }

        impl Faults {
            /// None at all.
            pub const NONE: Self = Self { $($field: 0,)+ };

            /// How often `fault`.
            #[must_use]
            #[inline]
            pub fn of(&self, fault: Fault) -> u32 {
                match fault { $(Fault::$fault => self.$field,)+ }
            }

            #[inline]
            pub(crate) fn of_mut(&mut self, fault: Fault) -> &mut u32 {
                match fault { $(Fault::$fault => &mut self.$field,)+ }
            }
        }
    };
}

faults! {
    /// A park returns for no reason.
    SpuriousWake, spurious_wakes, "spurious", "spurious wakes", 1 in 3;
    /// A look into a queue comes back contended.
    Retry, retries, "retries", "contended looks", 1 in 4;
    /// A task panics, before its first line or after its last.
    Panic, panics, "panics", "panics", 1 in 24;
    /// A task panics in the middle, between two of its operations.
    PanicInside, panics_inside, "inside", "panics inside a task", 1 in 16;
    /// A hook panics: of the trace, of the idle time, or the one that is told of a panic.
    HookPanic, hook_panics, "hooks", "panics of a hook", 1 in 48;
    /// Somebody who has been unparked cannot go for a while.
    LateWake, late_wakes, "late_wakes", "late wakes", 1 in 3;
    /// A park's timeout is over and nothing happens for a while.
    LateTimer, late_timers, "late_timers", "late timers", 1 in 2;
    /// Anybody is held up for a while between two operations.
    Stall, stalls, "stalls", "stalls", 1 in 48;
    /// Many looks in a row come back contended, whoever looks.
    RetryStorm, retry_storms, "storms", "storms of contended looks", 1 in 8;
    /// A clock is read that has gone far ahead.
    ClockJump, clock_jumps, "jumps", "clock jumps", 1 in 8;
    /// Two things that are ordered by a number have the same: a job the cost of the one before, or a task begins at the time
    /// at which somebody else's clock stands.
    Tie, ties, "ties", "ties", 1 in 3;
    /// The count is brought up to its maximum, less a few, from outside, and kept there for a while. Beyond it there is room for what
    /// workers hold and for as many more tasks as they may keep private all together; a run that spawns more overflows.
    Overflow, overflows, "overflows", "counts near overflow", 1 in 1;
    /// A worker's thread begins late.
    LateStart, late_starts, "late_starts", "late starts", 1 in 2;
    /// A slot of a job, or a turn of a task, takes very long: that of the build of a hash table, 100 ms. So do the next ones, as many as
    /// there are workers. How long it is, and in which jobs, is the load's to say.
    LongSlot, long_slots, "long_slots", "long slots", 1 in 12;
    /// A worker's thread cannot be started, so there is no executor: those that run already are told that it is over.
    FailedStart, failed_starts, "failed_starts", "failed starts", 1 in 4;
}

impl Faults {
    /// Whether a task may fail to come to its end.
    pub(crate) fn panic_something(&self) -> bool {
        self.panics + self.panics_inside + self.hook_panics > 0
    }

    /// Adds those of another run.
    pub fn merge(&mut self, other: &Self) {
        for &fault in Fault::ALL {
            *self.of_mut(fault) += other.of(fault);
        }
    }
}

/// What is left of the faults of a run.
#[derive(Debug)]
pub(crate) struct FaultBudget {
    left: Faults,
    struck: Faults,
}

impl FaultBudget {
    pub(crate) fn new(faults: Faults) -> Self {
        Self {
            left: faults,
            struck: Faults::NONE,
        }
    }

    #[inline]
    pub(crate) fn left(&self, fault: Fault) -> u32 {
        self.left.of(fault)
    }

    pub(crate) fn spend(&mut self, fault: Fault) {
        *self.left.of_mut(fault) -= 1;
        *self.struck.of_mut(fault) += 1;
    }

    /// How often each has struck.
    pub(crate) fn struck(&self) -> Faults {
        self.struck
    }
}

/// Payload of a task's panic that a fault has caused; it goes through without a message on the console.
pub(crate) struct InjectedPanic;

/// The same of a hook's.
pub(crate) struct InjectedHookPanic;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_has_its_own_place_key_and_name() {
        let mut faults = Faults::NONE;
        for (n, &fault) in Fault::ALL.iter().enumerate() {
            *faults.of_mut(fault) = n as u32 + 1;
        }
        let counts: BTreeSet<u32> = Fault::ALL.iter().map(|&fault| faults.of(fault)).collect();
        let keys: BTreeSet<&str> = Fault::ALL.iter().map(|fault| fault.key()).collect();
        let names: BTreeSet<&str> = Fault::ALL.iter().map(|fault| fault.name()).collect();
        let all = Fault::ALL.len();
        assert_eq!([counts.len(), keys.len(), names.len()], [all; 3]);
    }

    #[test]
    fn what_has_struck_is_taken_from_the_budget() {
        let mut budget = FaultBudget::new(Faults {
            stalls: 2,
            ..Faults::NONE
        });
        budget.spend(Fault::Stall);
        assert_eq!(budget.left(Fault::Stall), 1);
        assert_eq!(budget.left(Fault::Retry), 0);
        assert_eq!(budget.struck().stalls, 1);
    }
}
