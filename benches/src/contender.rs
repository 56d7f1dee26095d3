//! Somebody who can do a workload, and what came of one round of it.

/// Who a row of a table is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Windlass, with some settings.
    Ours,
    /// Somebody else who does the same.
    Peer,
    /// No pool at all: the work itself, or what it costs to do nothing.
    Baseline,
}

/// A row of a table. It has no threads until it is started.
pub(crate) trait Contender {
    /// Name in the table.
    fn name(&self) -> &str;

    /// Whose row it is.
    fn role(&self) -> Role;

    /// Rounds after which it sits still: for peers so slow that a round of theirs outlasts all others'.
    fn rounds_max(&self) -> usize;

    /// Starts threads and whatever else is not to be measured. All of it ends when the run is dropped.
    fn start(&self) -> Box<dyn Run>;
}

/// A contender that has its threads.
pub(crate) trait Run {
    /// Does the work once.
    fn run(&mut self) -> Outcome;
}

impl<F: FnMut() -> Outcome> Run for F {
    fn run(&mut self) -> Outcome {
        self()
    }
}

/// What came of doing the work once.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Checked to be the same for all.
    pub(crate) answer: u64,
    /// What the contender measured itself, because time from outside is not what the workload is about.
    pub(crate) measured: Vec<f64>,
    /// What it measured many times, for percentiles of all rounds together.
    pub(crate) samples: Vec<f64>,
}

impl From<u64> for Outcome {
    fn from(answer: u64) -> Self {
        Self {
            answer,
            ..Self::default()
        }
    }
}

/// A contender made of a name and a closure that starts it.
pub(crate) struct Named<F> {
    name: String,
    role: Role,
    rounds_max: usize,
    start: F,
}

impl<F> Named<F> {
    pub(crate) fn new(name: impl Into<String>, role: Role, start: F) -> Self {
        Self {
            name: name.into(),
            role,
            rounds_max: usize::MAX,
            start,
        }
    }

    /// Sits still after so many rounds.
    pub(crate) fn slow(mut self, rounds_max: usize) -> Self {
        self.rounds_max = rounds_max;
        self
    }
}

/// The row `serial`: the answer, computed in one thread that needs no start.
pub(crate) fn serial(answer: impl Fn() -> u64 + Clone + 'static) -> Box<dyn Contender> {
    let start = move || {
        let answer = answer.clone();
        move || answer().into()
    };
    Named::new("serial", Role::Baseline, start).boxed()
}

impl<F, R> Named<F>
where
    F: Fn() -> R + 'static,
    R: FnMut() -> Outcome + 'static,
{
    pub(crate) fn boxed(self) -> Box<dyn Contender> {
        Box::new(self)
    }
}

impl<F, R> Contender for Named<F>
where
    F: Fn() -> R,
    R: FnMut() -> Outcome + 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn role(&self) -> Role {
        self.role
    }

    fn rounds_max(&self) -> usize {
        self.rounds_max
    }

    fn start(&self) -> Box<dyn Run> {
        Box::new((self.start)())
    }
}
