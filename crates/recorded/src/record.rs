//! What a run wrote down: the events of each party, in its own order.

use executor_core::ExecutorConfig;

use crate::event::{Event, Events, TaskId};
use crate::log::{Log, Written};

/// A recorded run.
#[derive(Clone, Debug)]
pub struct Record {
    config: ExecutorConfig,
    /// By party: the workers by number, then parties outside.
    lanes: Vec<Lane>,
    returned: Vec<TaskId>,
}

#[derive(Clone, Debug, Default)]
struct Lane {
    words: Vec<u64>,
    tasks: u32,
}

impl Record {
    /// Panics if a party's log is missing or there are two.
    pub(crate) fn new(
        config: ExecutorConfig,
        logs: impl IntoIterator<Item = Log>,
        returned: Vec<TaskId>,
    ) -> Self {
        let mut written: Vec<_> = logs.into_iter().map(Log::into_written).collect();
        written.sort_by_key(|written| written.party);
        for (party, written) in written.iter().enumerate() {
            assert_eq!(
                written.party, party,
                "party {party} has handed over no log, or two"
            );
        }
        let lane = |written: Written| Lane {
            words: written.words,
            tasks: written.tasks,
        };
        Self {
            config,
            lanes: written.into_iter().map(lane).collect(),
            returned,
        }
    }

    /// The settings of the executor.
    #[must_use]
    pub fn config(&self) -> &ExecutorConfig {
        &self.config
    }

    /// The number of parties. The first are the workers.
    #[must_use]
    pub fn parties(&self) -> usize {
        self.lanes.len()
    }

    /// The events of `party`, in its order.
    #[must_use]
    pub fn events(&self, party: usize) -> Events<'_> {
        Events::of(&self.lanes[party].words)
    }

    /// Tasks that `party` spawned or tried to hand over.
    #[must_use]
    pub fn tasks(&self, party: usize) -> u32 {
        self.lanes[party].tasks
    }

    /// The tasks that were returned to the owner.
    #[must_use]
    pub fn returned(&self) -> &[TaskId] {
        &self.returned
    }

    /// The size of the logs in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.lanes.iter().map(|lane| size_of_val(&*lane.words)).sum()
    }

    /// The same record with other events of `party`, for tests of code that checks records.
    #[must_use]
    pub fn with_events(mut self, party: usize, events: impl IntoIterator<Item = Event>) -> Self {
        let mut words = Vec::new();
        events.into_iter().for_each(|event| event.write(&mut words));
        self.lanes[party].words = words;
        self
    }
}
