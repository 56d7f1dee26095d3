//! What a run comes to: a [`Report`], or a [`Failure`] with everything that is needed to have it again.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use executor_core::{WorkerExit, WorkerMetricsLocal};
use serde::{Deserialize, Serialize};

use crate::fault::Faults;
use crate::line::ReplayLine;
use crate::mark::Marks;
use crate::oracle::{Oracle, Violation};
use crate::profile::Profile;
use crate::schedule::Choices;
use crate::trace::{Event, Interleaving};

/// A run that no oracle found fault with.
#[derive(Debug)]
pub struct Report<T, S> {
    /// The workers' scratch values, by worker.
    pub scratches: Vec<S>,
    /// Tasks that nobody ran, because the executor aborted.
    pub handed_back: Vec<T>,
    /// Tasks that the gate refused.
    pub refused: Vec<T>,
    /// How each worker left.
    pub exits: Vec<WorkerExit>,
    /// The workers' counters, added up.
    pub metrics: WorkerMetricsLocal,
    /// What tasks said when they panicked, if that was allowed.
    pub panics: Vec<String>,
    /// Virtual time from the start until the last worker had left.
    pub makespan_ns: u64,
    /// Work, span, and how long the tasks took in virtual time.
    pub profile: Profile,
    /// Everything about how it went.
    pub course: Course,
}

/// How a run went, whether well or not.
#[derive(Clone, Debug)]
pub struct Course {
    /// The line that replays it.
    pub line: ReplayLine,
    /// Hash of every operation in order: equal hashes, equal runs.
    pub trace_hash: u64,
    /// Micro-steps taken.
    pub micro_steps: u64,
    /// Every choice that was made.
    pub choices: Choices,
    /// Situations that were reached.
    pub marks: Marks,
    /// Faults that struck.
    pub faults: Faults,
    /// What each party is called, by its number.
    pub parties: Vec<String>,
    /// The last operations; all of them if [`crate::Simulation::keep_events`] was asked for.
    pub events: Vec<Event>,
}

/// An oracle found fault with a run.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Which oracle.
    pub oracle: Oracle,
    /// What it said.
    pub message: String,
    /// How the run went up to there.
    pub course: Box<Course>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            oracle,
            message,
            course,
        } = self;
        writeln!(f, "{oracle}: {message}")?;
        writeln!(f, "after {} micro-steps; the last of them:", course.micro_steps)?;
        let events = &course.events[course.events.len().saturating_sub(48)..];
        let parties = &course.parties;
        write!(f, "{}", Interleaving { events, parties })?;
        write!(f, "replay: {}", course.line)
    }
}

impl std::error::Error for Failure {}

impl Failure {
    pub(crate) fn new(violation: Violation, course: Course) -> Self {
        Self {
            oracle: violation.oracle,
            message: violation.message,
            course: Box::new(course),
        }
    }

    /// Writes the choices that led here to `path`, as JSON, with the replay line and the oracle beside them. The list
    /// still means something when the code has changed and the line no longer leads here.
    ///
    /// # Errors
    ///
    /// Whatever creating or writing the file fails with.
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
    /// Name of the oracle that spoke.
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
