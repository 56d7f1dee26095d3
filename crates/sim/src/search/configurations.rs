//! The configurations that are closed exhaustively.
//!
//! They contain all races of the protocols between two workers, a producer and the owner. Their
//! settings maximise operations a task. With one worker all runs are made. With two, a single task
//! has more than 10⁷ states; at most two preemptions close for three tasks.

use super::Search;
use crate::scenario::Scenario;

/// A configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Its name.
    pub name: &'static str,
    /// The scenario, as in a replay line, without the shared settings.
    pub scenario: &'static str,
    /// Seed of what the scenario draws.
    pub seed: u64,
    /// Preemptions, at most; `None` for any number.
    pub preemptions: Option<u32>,
    /// Whether CI closes it.
    pub in_ci: bool,
}

const SMALL: &str = "spin=0,credit=1,tries=1";

/// Seed of a job of two stages, of one and two slots in a row, without a limit of workers.
pub(crate) const CHAIN: u64 = 24;

/// Seed of a job of four one-slot stages, the second and the third in parallel.
pub(crate) const DIAMOND: u64 = 125;

/// Seed of a job of one slot, which runs a nested job of two slots.
pub(crate) const NEST: u64 = 15;

/// Seed of a job of two tasks and a channel for one value, whose reader has a handle of the job.
pub(crate) const CHANNEL: u64 = 85;

/// Seed of a job of two tasks, one of which ends at once and thereby ends the other.
pub(crate) const ENDS: u64 = 5180;

impl Configuration {
    /// All configurations.
    pub const ALL: &[Self] = &[
        Self::unbounded(
            "1 worker, 3 tasks, close",
            "scenario=flat,roots=3,workers=1,private=0,end=close",
        ),
        Self::unbounded(
            "1 worker, 3 tasks, abort",
            "scenario=flat,roots=3,workers=1,private=0,end=abort",
        ),
        Self::unbounded(
            "1 worker, 2 tasks, close, a panic",
            "scenario=flat,roots=2,workers=1,private=0,end=close,panics=1",
        ),
        Self::unbounded(
            "1 worker, batch of 3, idle",
            "scenario=flat,roots=3,batch=3,workers=1,private=0,end=idle",
        ),
        Self::bounded(
            2,
            "2 workers, 3 tasks, close",
            "scenario=flat,roots=3,workers=2,private=0,end=close",
        ),
        Self::bounded(
            2,
            "2 workers, batch of 3, close, a panic",
            "scenario=flat,roots=3,batch=3,workers=2,private=0,end=close,panics=1",
        ),
        Self::bounded(
            1,
            "2 workers, 3 tasks, close, a panic",
            "scenario=flat,roots=3,workers=2,private=0,end=close,panics=1",
        ),
        Self::bounded(
            1,
            "2 workers, 2 tasks, close, faults",
            "scenario=flat,roots=2,workers=2,private=0,end=close,spurious=1,retries=1",
        ),
        Self::bounded(
            1,
            "2 producers, 2 workers, 2 tasks, close",
            "scenario=flat,roots=2,producers=2,workers=2,private=0,end=close",
        ),
        Self::bounded(
            1,
            "2 producers of batches, 2 workers, close",
            "scenario=flat,roots=4,producers=2,batch=2,workers=2,private=0,end=close",
        ),
        Self::bounded(
            0,
            "3 workers, 3 tasks, close",
            "scenario=flat,roots=3,workers=3,private=0,end=close",
        ),
        Self::bounded(
            0,
            "3 workers, batch of 3, join",
            "scenario=flat,roots=3,batch=3,workers=3,private=0,end=join",
        ),
        Self::bounded(
            2,
            "2 workers, chain of 3, join",
            "scenario=chain,roots=1,size=2,workers=2,private=0,end=join",
        ),
        Self::bounded(
            2,
            "2 workers, tree of 3, looking often, join",
            "scenario=tree,roots=1,size=1,workers=2,private=2,fair=1,end=join",
        ),
        Self::bounded(
            1,
            "2 workers, 2 private tasks, join",
            "scenario=burst,roots=1,size=2,workers=2,private=2,end=join",
        ),
        Self::bounded(
            1,
            "2 workers, 2 tasks, two wait for idle",
            "scenario=flat,roots=2,workers=2,private=0,waiters=1,end=idle",
        ),
        Self::job(1, "2 workers, job of 2 stages, drain", "end=join"),
        Self::job(1, "2 workers, job of 2 stages, drain at any moment", "end=close"),
        Self::job(1, "2 workers, job of 2 stages, cancel", "cancels=1,end=join"),
        Self::job(1, "2 workers, job of 2 stages, shutdown", "end=abort"),
        Self::job(
            1,
            "2 workers, job of 2 stages, a lent thread",
            "lends=true,end=join",
        ),
        Self {
            seed: DIAMOND,
            ..Self::bounded(
                1,
                "2 workers, job of 4 stages, 2 side by side",
                "scenario=jobs,jobs=1,stages=4,slots=1,quantum_ns=0,workers=2,private=0,end=join",
            )
        },
        Self::nest(1, "2 workers, a slot with a job of its own, drain", "end=join"),
        Self::nest(
            1,
            "2 workers, a slot with a job of its own, cancel",
            "cancels=1,end=join",
        ),
        Self::nest(
            1,
            "2 workers, a slot with a job of its own, shutdown",
            "end=abort",
        ),
        Self::nest(
            1,
            "2 workers, a slot with a job of its own, no room",
            "capacity=1,end=join",
        ),
        Self::grown(
            1,
            CHANNEL,
            "1 worker, a job of 2 tasks and a channel, drain",
            "workers=1,end=join",
        ),
        Self::grown(
            1,
            CHANNEL,
            "1 worker, a job of 2 tasks and a channel, shutdown",
            "workers=1,end=abort",
        ),
        Self::grown(
            0,
            CHANNEL,
            "2 workers, a job of 2 tasks and a channel, drain",
            "workers=2,end=join",
        ),
        Self::grown(
            0,
            CHANNEL,
            "2 workers, a job of 2 tasks and a channel, cancel",
            "workers=2,cancels=1,end=join",
        ),
        Self::grown(
            1,
            ENDS,
            "2 workers, a job of 2 tasks, drain, 1 preemption",
            "workers=2,end=join",
        )
        .at_night(),
        Self::grown(
            1,
            ENDS,
            "2 workers, a job of 2 tasks, shutdown, 1 preemption",
            "workers=2,end=abort",
        )
        .at_night(),
        Self::bounded(
            2,
            "2 producers, 2 workers, 2 tasks, close, 2 preemptions",
            "scenario=flat,roots=2,producers=2,workers=2,private=0,end=close",
        )
        .at_night(),
        Self::bounded(
            2,
            "2 workers, 2 tasks, idle",
            "scenario=flat,roots=2,workers=2,private=0,end=idle",
        )
        .at_night(),
        Self::bounded(
            2,
            "2 workers, 3 tasks, join, a panic",
            "scenario=flat,roots=3,workers=2,private=0,end=join,panics=1",
        )
        .at_night(),
        Self::bounded(
            3,
            "2 workers, 3 tasks, close, 3 preemptions",
            "scenario=flat,roots=3,workers=2,private=0,end=close",
        )
        .at_night(),
        Self::job(
            2,
            "2 workers, job of 2 stages, shutdown, 2 preemptions",
            "end=abort",
        )
        .at_night(),
    ];

    const fn unbounded(name: &'static str, scenario: &'static str) -> Self {
        Self {
            name,
            scenario,
            seed: 0,
            preemptions: None,
            in_ci: true,
        }
    }

    const fn bounded(preemptions: u32, name: &'static str, scenario: &'static str) -> Self {
        Self {
            preemptions: Some(preemptions),
            ..Self::unbounded(name, scenario)
        }
    }

    /// Two workers and a job; `more` says how it ends.
    const fn job(preemptions: u32, name: &'static str, more: &'static str) -> Self {
        Self {
            seed: CHAIN,
            ..Self::bounded(preemptions, name, more)
        }
    }

    const fn nest(preemptions: u32, name: &'static str, more: &'static str) -> Self {
        Self {
            seed: NEST,
            ..Self::bounded(preemptions, name, more)
        }
    }

    const fn grown(preemptions: u32, seed: u64, name: &'static str, more: &'static str) -> Self {
        Self {
            seed,
            ..Self::bounded(preemptions, name, more)
        }
    }

    const fn at_night(self) -> Self {
        Self { in_ci: false, ..self }
    }

    /// The search that closes it.
    ///
    /// # Panics
    ///
    /// Never: a test reads all of them.
    #[must_use]
    pub fn search(&self) -> Search {
        let load = if self.scenario.starts_with("scenario=") {
            ""
        } else if [CHANNEL, ENDS].contains(&self.seed) {
            "scenario=jobs,jobs=1,stages=1,slots=1,tasks=2,quantum_ns=0,private=0,"
        } else if self.seed == NEST {
            "scenario=jobs,jobs=1,stages=1,slots=1,nests=true,quantum_ns=0,workers=2,private=0,"
        } else {
            "scenario=jobs,jobs=1,stages=2,slots=2,quantum_ns=0,workers=2,private=0,"
        };
        let fields = format!("{load}{},{SMALL}", self.scenario);
        let scenario = Scenario::from_fields(fields.parse().expect("the fields are well formed"));
        let mut search = Search::new(scenario.expect("it is a scenario")).expect("it can be searched");
        (search.seed, search.preemptions) = (self.seed, self.preemptions);
        search
    }
}
