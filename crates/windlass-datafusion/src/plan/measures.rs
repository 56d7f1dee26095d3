//! Resources that the jobs of a node have used, for EXPLAIN ANALYZE.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use datafusion_physical_plan::metrics::{Count, Metric, MetricValue, MetricsSet, Time};
use pipeline_exec::lock;
use pools::AsyncJob;

use super::longest::LongestPoll;

#[derive(Debug, Default)]
pub(super) struct Measures {
    ended: Mutex<Used>,
}

/// What one job has used.
#[derive(Clone, Debug, Default)]
pub(super) struct Used {
    tasks: usize,
    turns: u64,
    busy: Duration,
    waited: Duration,
    longest_turn: Duration,
    longest_poll: LongestPoll,
}

impl Used {
    pub(super) fn by(job: &AsyncJob, longest_poll: LongestPoll) -> Self {
        let used = job.used();
        let (_over, tasks) = job.progress();
        Self {
            tasks,
            turns: used.turns,
            busy: used.busy,
            waited: used.waited,
            longest_turn: used.longest_turn,
            longest_poll,
        }
    }

    /// Without what was used before. The longest turn is that of the whole job.
    pub(super) fn since(self, before: &Self) -> Self {
        Self {
            tasks: self.tasks.saturating_sub(before.tasks),
            turns: self.turns.saturating_sub(before.turns),
            busy: self.busy.saturating_sub(before.busy),
            waited: self.waited.saturating_sub(before.waited),
            ..self
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            tasks: self.tasks + other.tasks,
            turns: self.turns + other.turns,
            busy: self.busy + other.busy,
            waited: self.waited + other.waited,
            longest_turn: self.longest_turn.max(other.longest_turn),
            longest_poll: self.longest_poll.or(other.longest_poll),
        }
    }
}

impl Measures {
    pub(super) fn add(&self, job: &AsyncJob, longest: LongestPoll) {
        let mut ended = lock(&self.ended);
        *ended = ended.clone().and(Used::by(job, longest));
    }

    /// Of all ended jobs and a running one: `docs/datafusion.md` has the meanings.
    pub(super) fn metrics(&self, running: Option<Used>) -> MetricsSet {
        let ended = lock(&self.ended).clone();
        let used = match running {
            Some(running) => ended.and(running),
            None => ended,
        };
        let mut metrics = MetricsSet::new();
        let mut push = |value| metrics.push(Arc::new(Metric::new(value, None)));
        for (name, number) in [
            ("tasks", used.tasks),
            ("turns", usize::try_from(used.turns).unwrap_or(usize::MAX)),
        ] {
            let count = Count::new();
            count.add(number);
            push(MetricValue::Count {
                name: name.into(),
                count,
            });
        }
        for (name, duration) in [
            ("busy", used.busy),
            ("waited", used.waited),
            ("longest_turn", used.longest_turn),
        ] {
            let time = Time::new();
            time.add_duration(duration);
            push(MetricValue::Time {
                name: name.into(),
                time,
            });
        }
        if let Some(operator) = used.longest_poll.metric() {
            push(operator);
        }
        metrics
    }
}
