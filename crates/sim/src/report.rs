//! What a run comes to: a [`Report`], or a [`Failure`] with everything that is needed to have it again.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use executor_core::{WorkerExit, WorkerMetricsLocal};
use serde::{Deserialize, Serialize};

use crate::choices::Choices;
use crate::fault::Faults;
use crate::line::ReplayLine;
use crate::mark::Marks;
use crate::oracle::{Oracle, Violation};
use crate::profile::Profile;
use crate::trace::{Event, Interleaving, JobEvent, TAIL};

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
    /// The run was given up where an oracle would have ended it that nobody listened to; see [`crate::RunOptions::silenced`].
    pub cut: bool,
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
    /// What happened to jobs, if all operations are kept.
    pub jobs: Vec<JobEvent>,
    /// Whether these are all.
    pub is_complete: bool,
}

impl Course {
    /// How long and how restless the run was: micro-steps, and switches from one party to another.
    ///
    /// Of a run without an end that a list of choices led into, only the list counts.
    #[must_use]
    pub fn size(&self) -> (u64, usize) {
        match &self.line.choices {
            Some(listed) if listed.picks.len() < self.choices.picks.len() => {
                (listed.picks.len() as u64, listed.switches())
            }
            _ => (self.micro_steps, self.choices.switches()),
        }
    }
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
    /// The failure that was found first, if this one was shrunk from it.
    pub found: Option<Box<Found>>,
}

/// A failure before it was shrunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The line that replays it.
    pub line: ReplayLine,
    /// Micro-steps taken.
    pub micro_steps: u64,
    /// Switches from one party to another.
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
        let (micro_steps, switches) = course.size();
        if let Some(found) = found {
            writeln!(f, "found:  {}", found.line)?;
            writeln!(
                f,
                "{micro_steps} micro-steps and {switches} switches; before it was shrunk, {} and {}",
                found.micro_steps, found.switches
            )?;
        } else {
            writeln!(f, "{micro_steps} micro-steps and {switches} switches")?;
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
        let parties = &course.parties;
        write!(f, "{}", Interleaving { events, parties })?;
        f.write_str(&sentence)?;
        if !details.is_empty() {
            write!(f, "\n{}", details.trim_end())?;
        }
        Ok(())
    }
}

/// The most operations of a shrunk run that are shown; only runs that could not be shrunk have more.
const ROWS: usize = 512;

impl std::error::Error for Failure {}

impl Failure {
    /// The oracle, and what it said, without how everything stood.
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
