//! Faults: events that are rare on a real machine.
//!
//! Each kind has a budget, so that a run ends once it is spent, and a rarity: chances per strike
//! while the budget lasts. A fault without a budget draws no random number, so old lists of choices
//! survive a new kind.

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

            /// Name of its budget in replay lines.
            #[must_use]
            pub fn key(self) -> &'static str {
                match self { $(Self::$fault => $key,)+ }
            }

            /// Chances per strike.
            #[inline]
            pub(crate) fn rarity(self) -> usize {
                match self { $(Self::$fault => $rarity,)+ }
            }
        }

        /// Strikes of each fault: the budget of a run, or what has struck. The default is none.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Faults {
            $($(#[doc = $doc])+ pub $field: u32,)+
        }

        impl Faults {
            /// No faults.
            pub const NONE: Self = Self { $($field: 0,)+ };

            /// Strikes of `fault`.
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
    /// A look into a queue reports contention.
    Retry, retries, "retries", "contended looks", 1 in 4;
    /// A task panics before its first line or after its last.
    Panic, panics, "panics", "panics", 1 in 24;
    /// A task panics between two of its operations.
    PanicInside, panics_inside, "inside", "panics inside a task", 1 in 16;
    /// A hook panics: of the trace, of idling, or for panics.
    HookPanic, hook_panics, "hooks", "panics of a hook", 1 in 48;
    /// An unparked actor cannot go for a while.
    LateWake, late_wakes, "late_wakes", "late wakes", 1 in 3;
    /// A park's timeout fires late.
    LateTimer, late_timers, "late_timers", "late timers", 1 in 2;
    /// An actor is held up between two operations.
    Stall, stalls, "stalls", "stalls", 1 in 48;
    /// Many looks in a row report contention, whichever actor looks.
    RetryBurst, retry_bursts, "storms", "bursts of contended looks", 1 in 8;
    /// A reading of a clock is far ahead.
    ClockJump, clock_jumps, "jumps", "clock jumps", 1 in 8;
    /// Two ordered numbers are equal: costs of consecutive jobs, or a task's start and another
    /// clock.
    Tie, ties, "ties", "ties", 1 in 3;
    /// The environment holds the count near its maximum for a while. Workers' credits and full
    /// private tasks still fit.
    Overflow, overflows, "overflows", "counts near overflow", 1 in 1;
    /// A worker's thread begins late.
    LateStart, late_starts, "late_starts", "late starts", 1 in 2;
    /// A slot of a job or a turn of a task is very long, and so are the next, one a worker.
    LongSlot, long_slots, "long_slots", "long slots", 1 in 12;
    /// A worker's thread cannot be started, so the executor ends before it begins.
    FailedStart, failed_starts, "failed_starts", "failed starts", 1 in 4;
}

impl Faults {
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

    pub(crate) fn struck(&self) -> Faults {
        self.struck
    }
}

pub(crate) struct InjectedPanic;

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
