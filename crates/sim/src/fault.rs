//! Faults: things that may happen on a machine and seldom do.
//!
//! Each kind has a budget, so that a run in which everything goes wrong still ends: after the faults have stopped,
//! everything must finish.

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A park returns for no reason.
    SpuriousWake,
    /// A look into a queue comes back contended.
    Retry,
    /// A task panics: before its first line or after its last.
    Panic,
}

/// How often each fault may strike in one run. The default is never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Parks that return for no reason.
    pub spurious_wakes: u32,
    /// Looks into a queue that come back contended.
    pub retries: u32,
    /// Tasks that panic.
    pub panics: u32,
}

impl Faults {
    /// None at all.
    pub const NONE: Self = Self {
        spurious_wakes: 0,
        retries: 0,
        panics: 0,
    };
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

    pub(crate) fn left(&self, fault: Fault) -> u32 {
        match fault {
            Fault::SpuriousWake => self.left.spurious_wakes,
            Fault::Retry => self.left.retries,
            Fault::Panic => self.left.panics,
        }
    }

    /// It strikes once in so many chances.
    pub(crate) fn rarity(&self, fault: Fault) -> usize {
        match fault {
            Fault::SpuriousWake => 3,
            Fault::Retry => 4,
            Fault::Panic => 24,
        }
    }

    pub(crate) fn spend(&mut self, fault: Fault) {
        let (left, struck) = match fault {
            Fault::SpuriousWake => (&mut self.left.spurious_wakes, &mut self.struck.spurious_wakes),
            Fault::Retry => (&mut self.left.retries, &mut self.struck.retries),
            Fault::Panic => (&mut self.left.panics, &mut self.struck.panics),
        };
        *left -= 1;
        *struck += 1;
    }

    /// How often each has struck.
    pub(crate) fn struck(&self) -> Faults {
        self.struck
    }
}

/// Payload of a panic that a fault has caused; it goes through without a message on the console.
pub(crate) struct InjectedPanic;
