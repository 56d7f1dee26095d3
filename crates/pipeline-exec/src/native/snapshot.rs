//! Reads the counters into a snapshot.

use std::time::Duration;

use executor_core::ports::Clock;

use super::hub::Hub;
use crate::metrics::{JobCounts, PipelineSnapshot};
use crate::policy::job::spec::Class;
use crate::policy::ports::PipelinePorts;

impl Hub {
    pub(crate) fn snapshot(&self) -> PipelineSnapshot {
        let (shared, meter) = (self.shared(), self.meter());
        // Reads in reverse order of events, so that a job counted as ended is also counted as
        // submitted.
        let ended = meter.jobs(0);
        let times = Class::ALL.map(|class| meter.times(class));
        let submitted = shared.submitted(self) as u64;
        let waited: u64 = times.iter().map(|times| times.wait.samples()).sum();
        let now_ns = self.now_ns();
        let mut workers = meter.activities(now_ns);
        let less =
            |all: u64, of_them: u64| usize::try_from(all.saturating_sub(of_them)).unwrap_or(usize::MAX);
        PipelineSnapshot {
            elapsed: Duration::from_nanos(now_ns),
            queue_depth: shared.admission().in_flight(self),
            waiting: less(submitted, waited),
            running: less(waited, ended.ended()),
            jobs: JobCounts { submitted, ..ended },
            others: workers.pop().unwrap_or_default(),
            workers,
            workers_main: shared.config().main,
            times,
        }
    }
}
