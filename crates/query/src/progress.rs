//! Shows what work does, and its slots.

use std::fmt;
use std::sync::{Arc, Mutex};

use pipeline_exec::{JobControl, lock};

/// A view of work that another thread runs. Clones show the same work.
///
/// ```
/// use query::pipeline_exec::{Job, PipelineExecutor, step};
/// use query::Work;
///
/// let work = Work::from(PipelineExecutor::new(1)?);
/// let steps = vec![step(|_cx| Ok(())), step(|_cx| Ok(()))];
/// work.run(Job::from_steps("cities", steps))?;
/// assert_eq!(work.progress().slots(), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Progress {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    activity: String,
    running: Vec<JobControl>,
    done: usize,
    /// Slots of all jobs, later ones included; 0 if not known.
    expected: usize,
}

impl Progress {
    /// What the work does, and on which table: `reading trips`. Empty before work begins.
    #[must_use]
    pub fn activity(&self) -> String {
        lock(&self.state).activity.clone()
    }

    /// Slots done, and all slots known so far.
    #[must_use]
    pub fn slots(&self) -> (usize, usize) {
        let (mut done, expected, running) = {
            let state = lock(&self.state);
            (state.done, state.expected, state.running.clone())
        };
        let mut total = done;
        for job in &running {
            let (job_done, job_total) = job.progress();
            done += job_done;
            total += job_total;
        }
        (done, total.max(expected))
    }

    pub(crate) fn begin(&self, activity: String) {
        let mut state = lock(&self.state);
        state.activity = activity;
        state.done = 0;
        state.expected = 0;
    }

    pub(crate) fn expect(&self, slots: usize) {
        lock(&self.state).expected = slots;
    }

    pub(crate) fn add(&self, job: JobControl) -> Counted {
        lock(&self.state).running.push(job.clone());
        Counted {
            progress: self.clone(),
            job,
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress")
            .field("activity", &self.activity())
            .field("slots", &self.slots())
            .finish()
    }
}

#[derive(Debug)]
pub(crate) struct Counted {
    progress: Progress,
    job: JobControl,
}

impl Drop for Counted {
    fn drop(&mut self) {
        let (done, _) = self.job.progress();
        let mut state = lock(&self.progress.state);
        state
            .running
            .retain(|running| running.handle() != self.job.handle());
        state.done += done;
    }
}
