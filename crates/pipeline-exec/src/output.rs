//! What a job gives: made by its last finisher, left in a cell, taken out by its ticket.
//!
//! ```text
//!   Job<T> ──► JobSpec: JobOutput, the closure without its type ──► last finisher: make
//!      │                                                               │
//!      └─────► JobTicket<T>: the cell ◄────────────────────────────────┘ before the ticket fires
//! ```
//!
//! The executor's table holds jobs of all kinds, so the type is known at both ends only. There is no channel: one writes, one
//! reads, and the ticket's ledger lies between the two. The ticket has the cell and not the closure, so that a ticket
//! that somebody keeps does not keep the user's stages.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::StepError;
use crate::step_cx::StepCx;

/// Makes what a job gives, once its stages are over.
///
/// Users say [`JobBuilder::output`](crate::JobBuilder::output); this is what the policy sees of it.
pub struct JobOutput {
    make: Box<Make<()>>,
    /// Where the output will lie: a [`Cell`] whose type only the job and its ticket know.
    cell: Arc<dyn Any + Send + Sync>,
}

/// Where an output lies between the last finisher and the ticket.
type Cell<T> = Mutex<Option<T>>;

/// A user's closure that makes an output.
pub(crate) type Make<T> = dyn Fn(&StepCx<'_>) -> Result<T, StepError> + Send + Sync;

/// What a job has of its output.
pub(crate) enum Output<T> {
    /// It is here: a job that gives nothing.
    Given(T),
    /// It is to be made. Boxed, so that a job that comes back in an error is a small one.
    Made(Box<(Arc<JobOutput>, Place<T>)>),
}

/// What a ticket has of its job's output.
pub(crate) enum Place<T> {
    /// It is here.
    Given(T),
    /// It will be there when the job has completed.
    Cell(Arc<Cell<T>>),
}

impl JobOutput {
    /// Made by `make`. Whoever drives the policy by hand has no ticket that would take it out.
    pub fn new<T: Send + 'static>(
        make: impl Fn(&StepCx<'_>) -> Result<T, StepError> + Send + Sync + 'static,
    ) -> Self {
        Self::with_cell(Arc::new(make)).0
    }

    fn with_cell<T: Send + 'static>(make: Arc<Make<T>>) -> (Self, Arc<Cell<T>>) {
        let cell = Arc::new(Cell::new(None));
        let into = Arc::clone(&cell);
        let make = move |cx: &StepCx<'_>| {
            let output = make(cx)?;
            let before = into
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .replace(output);
            // Outside the lock: it is the user's.
            drop(before);
            Ok(())
        };
        let output = Self {
            make: Box::new(make),
            cell: Arc::clone(&cell) as _,
        };
        (output, cell)
    }

    pub(crate) fn make(&self, cx: &StepCx<'_>) -> Result<(), StepError> {
        (self.make)(cx)
    }
}

impl<T: Send + 'static> Output<T> {
    pub(crate) fn made_by(make: Arc<Make<T>>) -> Self {
        let (maker, cell) = JobOutput::with_cell(make);
        Self::Made(Box::new((Arc::new(maker), Place::Cell(cell))))
    }
}

impl<T> Output<T> {
    /// Who makes it, if somebody does.
    pub(crate) fn maker(&self) -> Option<&Arc<JobOutput>> {
        match self {
            Self::Given(_) => None,
            Self::Made(made) => Some(&made.0),
        }
    }

    pub(crate) fn into_place(self) -> Place<T> {
        match self {
            Self::Given(output) => Place::Given(output),
            Self::Made(made) => made.1,
        }
    }
}

impl Output<()> {
    /// Of a job whose type is forgotten: what it makes stays in the cell.
    pub(crate) fn forgotten(maker: Option<Arc<JobOutput>>) -> Self {
        match maker {
            None => Self::Given(()),
            Some(maker) => Self::Made(Box::new((maker, Place::Given(())))),
        }
    }

    /// The same with its type, if it makes a `T`.
    pub(crate) fn remember<T: Send + 'static>(&self) -> Option<Output<T>> {
        let maker = self.maker()?;
        let cell = Arc::clone(&maker.cell).downcast::<Cell<T>>().ok()?;
        Some(Output::Made(Box::new((Arc::clone(maker), Place::Cell(cell)))))
    }
}

impl<T> Place<T> {
    /// The output of a job that has completed.
    pub(crate) fn take(self) -> T {
        match self {
            Self::Given(output) => output,
            Self::Cell(cell) => {
                let output = cell.lock().unwrap_or_else(PoisonError::into_inner).take();
                output.expect("a job completes after its output was made")
            }
        }
    }
}

impl fmt::Debug for JobOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobOutput").finish_non_exhaustive()
    }
}
