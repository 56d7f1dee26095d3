//! A row of a table: a contender for a workload, and the outcome of one round.

use anyhow::Result;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Ours,
    Peer,
    /// No pool: the work itself, or the cost of doing nothing.
    Baseline,
}

/// A row. It has no threads until it is started.
pub(crate) struct Contender {
    pub(crate) name: String,
    pub(crate) role: Role,
    /// Limit for peers whose round outlasts all others.
    pub(crate) rounds_max: usize,
    start: Box<dyn Fn() -> Run>,
}

/// Does the work once. Dropping it ends all that `start` made.
pub(crate) type Run = Box<dyn FnMut() -> Result<Outcome>>;

impl Contender {
    /// `start` is not measured.
    pub(crate) fn new<R, O>(name: impl Into<String>, role: Role, start: impl Fn() -> R + 'static) -> Self
    where
        R: FnMut() -> O + 'static,
        O: IntoOutcome,
    {
        Self {
            name: name.into(),
            role,
            rounds_max: usize::MAX,
            start: Box::new(move || {
                let mut run = start();
                Box::new(move || run().into_outcome())
            }),
        }
    }

    pub(crate) fn ours<R, O>(name: impl Into<String>, start: impl Fn() -> R + 'static) -> Self
    where
        R: FnMut() -> O + 'static,
        O: IntoOutcome,
    {
        Self::new(name, Role::Ours, start)
    }

    pub(crate) fn peer<R, O>(name: impl Into<String>, start: impl Fn() -> R + 'static) -> Self
    where
        R: FnMut() -> O + 'static,
        O: IntoOutcome,
    {
        Self::new(name, Role::Peer, start)
    }

    /// Not compared with others.
    pub(crate) fn baseline<R, O>(name: impl Into<String>, start: impl Fn() -> R + 'static) -> Self
    where
        R: FnMut() -> O + 'static,
        O: IntoOutcome,
    {
        Self::new(name, Role::Baseline, start)
    }

    /// The answer, computed in one thread.
    pub(crate) fn serial(answer: impl Fn() -> u64 + Clone + 'static) -> Self {
        Self::new("serial", Role::Baseline, move || answer.clone())
    }

    pub(crate) fn slow(mut self, rounds_max: usize) -> Self {
        self.rounds_max = rounds_max;
        self
    }

    pub(crate) fn start(&self) -> Run {
        (self.start)()
    }
}

#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Verified to be the workload's.
    pub(crate) answer: u64,
    /// Figures measured by the row itself, where the elapsed time is not the workload's subject.
    pub(crate) measured: Vec<f64>,
    /// Values for percentiles of all rounds together.
    pub(crate) samples: Vec<f64>,
}

impl Outcome {
    /// The run has verified its answer itself.
    pub(crate) fn verified(measured: Vec<f64>) -> Self {
        Self {
            answer: 1,
            measured,
            samples: Vec::new(),
        }
    }
}

pub(crate) trait IntoOutcome {
    fn into_outcome(self) -> Result<Outcome>;
}

impl IntoOutcome for Outcome {
    fn into_outcome(self) -> Result<Outcome> {
        Ok(self)
    }
}

impl IntoOutcome for u64 {
    fn into_outcome(self) -> Result<Outcome> {
        let answer = self;
        Ok(Outcome {
            answer,
            ..Outcome::default()
        })
    }
}

impl IntoOutcome for Result<Outcome> {
    fn into_outcome(self) -> Result<Outcome> {
        self
    }
}
