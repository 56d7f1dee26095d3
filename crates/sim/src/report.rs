//! The outcome of a run: a [`Report`], or a [`Failure`] with all that reproduces it.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use executor_core::{WorkerExit, WorkerMetricsLocal};
use serde::{Deserialize, Serialize};

use crate::choices::Choices;
use crate::coverage::Coverage;
use crate::fault::Faults;
use crate::line::ReplayLine;
use crate::oracle::{Oracle, Violation};
use crate::profile::Profile;
use crate::trace::{Event, Interleaving, JobEvent, TAIL};

/// A run that every oracle passed.
#[derive(Debug)]
pub struct Report<T, S> {
    /// The workers' scratch values.
    pub scratches: Vec<S>,
    /// Tasks that did not run, because the executor aborted.
    pub handed_back: Vec<T>,
    /// Tasks that were refused.
    pub refused: Vec<T>,
    /// How each worker left.
    pub exits: Vec<WorkerExit>,
    /// The workers' counters, added up.
    pub metrics: WorkerMetricsLocal,
    /// Messages of panicked tasks, if panics were allowed.
    pub panics: Vec<String>,
    /// Virtual time from the start until the last worker had left.
    pub makespan_ns: u64,
    /// Work, span and elapsed virtual time.
    pub profile: Profile,
    /// The run itself.
    pub course: Course,
}

/// The course of a run, passed or failed.
#[derive(Clone, Debug)]
pub struct Course {
    /// The line that replays it.
    pub line: ReplayLine,
    /// Hash of every operation in order.
    pub trace_hash: u64,
    /// Whether the run was cut short by [`crate::RunOptions::silenced`].
    pub cut: bool,
    /// Steps taken.
    pub steps: u64,
    /// Every choice that was made.
    pub choices: Choices,
    /// Coverage points that were hit.
    pub coverage: Coverage,
    /// Faults that struck.
    pub faults: Faults,
    /// Names of the actors, by number.
    pub actors: Vec<String>,
    /// The last operations; all with [`crate::Simulation::keep_events`].
    pub events: Vec<Event>,
    /// Events of jobs, if all operations are kept.
    pub jobs: Vec<JobEvent>,
    /// Whether `events` has all operations.
    pub is_complete: bool,
}

impl Course {
    /// Steps and switches of the run. Of an endless run only the list of choices counts.
    #[must_use]
    pub fn size(&self) -> (u64, usize) {
        match &self.line.choices {
            Some(listed) if listed.picks.len() < self.choices.picks.len() => {
                (listed.picks.len() as u64, listed.switches())
            }
            _ => (self.steps, self.choices.switches()),
        }
    }
}

/// A run that an oracle failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Which oracle.
    pub oracle: Oracle,
    /// The oracle's message.
    pub message: String,
    /// The run up to the failure.
    pub course: Box<Course>,
    /// The failure before shrinking, if this one was shrunk.
    pub found: Option<Box<Found>>,
}

/// A failure before it was shrunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The line that replays it.
    pub line: ReplayLine,
    /// Steps taken.
    pub steps: u64,
    /// Switches from one actor to another.
    pub switches: usize,
    /// Runs that shrinking it took.
    pub runs: u64,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            oracle: _,
            message,
            course,
            found,
        } = self;
        let details = message.split_once('\n').map_or("", |(_, details)| details);
        let sentence = self.sentence();
        writeln!(f, "{sentence}")?;
        writeln!(f, "replay: {}", course.line)?;
        let (steps, switches) = course.size();
        if let Some(found) = found {
            writeln!(f, "found:  {}", found.line)?;
            writeln!(
                f,
                "{steps} steps and {switches} switches; before it was shrunk, {} and {}",
                found.steps, found.switches
            )?;
        } else {
            writeln!(f, "{steps} steps and {switches} switches")?;
        }
        let rows = match found {
            Some(_) => ROWS,
            None => TAIL,
        };
        let left_out = course.events.len().saturating_sub(rows);
        let events = &course.events[left_out..];
        if left_out > 0 || !course.is_complete {
            writeln!(f, "the last {} operations:", events.len())?;
        }
        let actors = &course.actors;
        write!(f, "{}", Interleaving { events, actors })?;
        f.write_str(&sentence)?;
        if !details.is_empty() {
            write!(f, "\n{}", details.trim_end())?;
        }
        Ok(())
    }
}

/// Rows shown of a shrunk run.
const ROWS: usize = 512;

impl std::error::Error for Failure {}

impl Failure {
    /// The oracle and its message, without the state of the actors.
    #[must_use]
    pub fn sentence(&self) -> String {
        let sentence = self.message.lines().next().unwrap_or_default();
        format!("{}: {sentence}", self.oracle)
    }

    pub(crate) fn new(violation: Violation, course: Course) -> Self {
        Self {
            oracle: violation.oracle,
            message: violation.message,
            course: Box::new(course),
            found: None,
        }
    }

    /// Writes the choices to `path` as JSON, with replay line and oracle.
    ///
    /// # Errors
    ///
    /// Any error of creating or writing the file.
    pub fn write_choices(&self, path: &Path) -> io::Result<()> {
        let saved = Recording {
            line: self.course.line.to_string(),
            oracle: self.oracle.name().to_owned(),
            choices: self.course.choices.clone(),
        };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, serde_json::to_vec(&saved)?)
    }
}

/// A failure as it is kept in a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recording {
    /// The replay line.
    pub line: String,
    /// Name of the oracle that failed the run.
    pub oracle: String,
    /// The choices that led there.
    pub choices: Choices,
}

impl Recording {
    /// Reads what [`Failure::write_choices`] wrote.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is not such a file.
    pub fn read(path: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&fs::read(path)?)?)
    }
}
