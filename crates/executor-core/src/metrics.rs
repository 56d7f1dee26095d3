//! What one worker counts about itself, in plain integers that are always on.

use std::time::Duration;

/// One worker's counters. They only grow; those of spawns, publications, wakes and own tasks are
/// updated when the worker has no more work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerMetricsLocal {
    /// Own tasks run, private or public.
    pub executed_local: u64,
    /// Tasks run that came from the injector.
    pub executed_injector: u64,
    /// Tasks run that were stolen from another worker.
    pub executed_stolen: u64,
    /// Tasks that this worker's tasks spawned.
    pub spawned: u64,
    /// Private tasks that became public.
    pub published: u64,
    /// Probes of other workers' queues.
    pub steals_tried: u64,
    /// Probes that brought a task.
    pub steals_won: u64,
    /// Sleeps that a waker or the executor's end ended. One sleep has many parks if it has a
    /// timeout.
    pub parks: u64,
    /// Workers that this one woke.
    pub wakes: u64,
    /// Wakes of this worker after which it found nothing.
    pub wakes_for_nothing: u64,
    /// Tasks that the abort returned.
    pub returned: u64,
    /// Tasks that panicked, without hooks.
    pub panicked: u64,
    /// Time spent parked.
    pub idle: Duration,
}

impl WorkerMetricsLocal {
    /// Tasks run, including those that panicked.
    #[must_use]
    pub fn executed(&self) -> u64 {
        self.executed_local + self.executed_injector + self.executed_stolen
    }

    /// Adds another worker's counters.
    pub fn merge(&mut self, other: &Self) {
        let Self {
            executed_local,
            executed_injector,
            executed_stolen,
            spawned,
            published,
            steals_tried,
            steals_won,
            parks,
            wakes,
            wakes_for_nothing,
            returned,
            panicked,
            idle,
        } = other;
        self.executed_local += executed_local;
        self.executed_injector += executed_injector;
        self.executed_stolen += executed_stolen;
        self.spawned += spawned;
        self.published += published;
        self.steals_tried += steals_tried;
        self.steals_won += steals_won;
        self.parks += parks;
        self.wakes += wakes;
        self.wakes_for_nothing += wakes_for_nothing;
        self.returned += returned;
        self.panicked += panicked;
        self.idle += *idle;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_two_workers_has_what_either_counted() {
        let one = WorkerMetricsLocal {
            executed_local: 1,
            executed_injector: 2,
            executed_stolen: 3,
            spawned: 4,
            published: 5,
            steals_tried: 6,
            steals_won: 7,
            parks: 8,
            wakes: 9,
            wakes_for_nothing: 10,
            returned: 11,
            panicked: 12,
            idle: Duration::from_secs(13),
        };
        let mut sum = WorkerMetricsLocal::default();
        sum.merge(&one);
        assert_eq!((&sum, sum.executed()), (&one, 6));
        sum.merge(&one);
        assert_eq!((sum.executed(), sum.panicked, sum.idle.as_secs()), (12, 24, 26));
    }
}
