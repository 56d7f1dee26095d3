//! Names the operator of a query's longest poll.
//!
//! Operators run inside one another, in one task, so their timers are read before and after each
//! poll. The poll belongs to the deepest operator whose timers grew by at least half of it.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::metrics::{CustomMetricValue, Metric, MetricValue};
use pipeline_exec::lock;

use crate::hook::watch::Watch;

/// These exclude waiting.
const TIMERS: [&str; 3] = ["elapsed_compute", "build_time", "join_time"];

/// A timer may exceed the poll by this, since two clocks are read.
const SLACK: f64 = 0.1;

#[derive(Debug)]
pub(super) struct Longest {
    plan: Arc<dyn ExecutionPlan>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    polls: u64,
    timers: Arc<[Timer]>,
    longest: LongestPoll,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LongestPoll {
    took: Duration,
    operator: Option<String>,
}

#[derive(Debug)]
struct Timer {
    operator: String,
    depth: usize,
    metric: Arc<Metric>,
}

impl Timer {
    fn ns(&self) -> usize {
        self.metric.value().as_usize()
    }
}

impl Longest {
    pub(super) fn new(plan: &Arc<dyn ExecutionPlan>) -> Self {
        Self {
            plan: Arc::clone(plan),
            known: Mutex::default(),
        }
    }

    pub(super) fn poll(&self) -> LongestPoll {
        lock(&self.known).longest.clone()
    }

    /// Operators add timers as they begin, so the plan is searched again at polls 1, 2, 4, 8, …
    fn before(&self) -> (Arc<[Timer]>, Vec<usize>) {
        let (again, mut timers) = {
            let mut known = lock(&self.known);
            known.polls += 1;
            (known.polls.is_power_of_two(), Arc::clone(&known.timers))
        };
        if again {
            timers = self.timers();
            lock(&self.known).timers = Arc::clone(&timers);
        }
        let ns = timers.iter().map(Timer::ns).collect();
        (timers, ns)
    }

    fn took(&self, took: Duration, timers: &Arc<[Timer]>, before: &[usize]) {
        if took <= lock(&self.known).longest.took {
            return;
        }
        let all = self.timers();
        let ran = all.iter().map(|timer| {
            let known = timers
                .iter()
                .position(|known| Arc::ptr_eq(&known.metric, &timer.metric));
            let ns = timer.ns().saturating_sub(known.map_or(0, |place| before[place]));
            (timer.depth, Duration::from_nanos(ns as u64))
        });
        let ran: Vec<_> = ran.collect();
        let operator = which(took, &ran).map(|place| all[place].operator.clone());
        let mut known = lock(&self.known);
        known.timers = all;
        if took > known.longest.took {
            known.longest = LongestPoll { took, operator };
        }
    }

    fn timers(&self) -> Arc<[Timer]> {
        let mut timers = Vec::new();
        collect(&self.plan, 0, &mut timers);
        timers.into()
    }
}

impl Watch for Longest {
    fn polled(&self, poll: &mut dyn FnMut()) {
        let (timers, before) = self.before();
        let began = Instant::now();
        poll();
        self.took(began.elapsed(), &timers, &before);
    }
}

/// `ran`: each timer's depth and growth.
fn which(took: Duration, ran: &[(usize, Duration)]) -> Option<usize> {
    let fits = |ran: Duration| ran >= took / 2 && ran <= took.mul_f64(1.0 + SLACK);
    let fitting = ran.iter().enumerate().filter(|(_, (_, ran))| fits(*ran));
    fitting
        .max_by_key(|(_, (depth, _))| *depth)
        .map(|(place, _)| place)
}

fn collect(plan: &Arc<dyn ExecutionPlan>, depth: usize, timers: &mut Vec<Timer>) {
    let metrics = plan.metrics().unwrap_or_default();
    let of_compute = metrics
        .iter()
        .filter(|metric| TIMERS.contains(&metric.value().name()));
    timers.extend(of_compute.map(|metric| Timer {
        operator: plan.name().to_owned(),
        depth,
        metric: Arc::clone(metric),
    }));
    for child in plan.children() {
        collect(child, depth + 1, timers);
    }
}

impl LongestPoll {
    pub(super) fn or(self, other: Self) -> Self {
        if other.took > self.took { other } else { self }
    }

    pub(super) fn metric(self) -> Option<MetricValue> {
        self.operator.as_ref()?;
        Some(MetricValue::Custom {
            name: "longest_turn_in".into(),
            value: Arc::new(In(Mutex::new(self))),
        })
    }
}

#[derive(Debug)]
struct In(Mutex<LongestPoll>);

impl In {
    fn get(&self) -> LongestPoll {
        lock(&self.0).clone()
    }
}

impl fmt::Display for In {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get().operator.as_deref().unwrap_or_default())
    }
}

impl CustomMetricValue for In {
    fn new_empty(&self) -> Arc<dyn CustomMetricValue> {
        Arc::new(In(Mutex::default()))
    }

    fn aggregate(&self, other: Arc<dyn CustomMetricValue>) {
        if let Some(other) = other.as_any().downcast_ref::<Self>() {
            let longer = self.get().or(other.get());
            *lock(&self.0) = longer;
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_eq(&self, other: &Arc<dyn CustomMetricValue>) -> bool {
        let other = other.as_any().downcast_ref::<Self>();
        other.is_some_and(|other| other.get() == self.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_deepest_operator_with_half_of_the_poll_is_told() {
        let ran = [(0, ms(0)), (1, ms(98)), (2, ms(90)), (3, ms(8))];
        assert_eq!(which(ms(100), &ran), Some(2));
        assert_eq!(
            which(ms(20), &ran),
            None,
            "timers of several workers, and one too short"
        );
        assert_eq!(which(ms(100), &[(1, ms(49))]), None);
        assert_eq!(which(ms(100), &[]), None);
    }

    #[test]
    fn of_two_queries_the_longer_poll_counts() {
        let poll = |took, operator: &str| LongestPoll {
            took,
            operator: Some(operator.to_owned()),
        };
        let both = poll(ms(3), "SortExec").or(poll(ms(2), "FilterExec"));
        assert_eq!(both, poll(ms(3), "SortExec"));
        let metric = both.metric().unwrap();
        let mut all = metric.new_empty();
        all.aggregate(&metric);
        assert_eq!(all.to_string(), "SortExec");
        assert_eq!(LongestPoll::default().metric(), None, "no operator is known");
    }
}
