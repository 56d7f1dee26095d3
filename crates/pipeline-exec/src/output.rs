//! A job's output: its last finisher makes it, a cell holds it, its ticket takes it.
//!
//! ```text
//!    Job<T> ──► JobSpec: JobOutput, the closure without its type ──► last finisher: make
//!       │                                                               │
//!       └─────► JobTicket<T>: the cell ◄────────────────────────────────┘ before the ticket fires
//! ```
//!
//! The ledger orders the write and the read of the cell. The ticket holds no closure, so it does
//! not keep the stages alive.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex};

use executor_threaded::lock;

use crate::error::StepError;
use crate::step_cx::StepCx;

/// Makes a job's output; users call [`JobBuilder::output`](crate::JobBuilder::output).
pub struct JobOutput {
    make: Box<Make<()>>,
    /// A [`Cell`], whose type only the job and its ticket know.
    cell: Arc<dyn Any + Send + Sync>,
}

type Cell<T> = Mutex<Option<T>>;

pub(crate) type Make<T> = dyn Fn(&StepCx<'_>) -> Result<T, StepError> + Send + Sync;

pub(crate) enum Output<T> {
    Given(T),
    /// Boxed to keep a job inside an error small.
    Made(Box<(Arc<JobOutput>, Place<T>)>),
}

pub(crate) enum Place<T> {
    Given(T),
    Cell(Arc<Cell<T>>),
}

impl JobOutput {
    /// For drivers of the policy, which have no ticket.
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
            let before = lock(&into).replace(output);
            // The drop is the user's code, so it runs outside the lock.
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
    pub(crate) fn forgotten(maker: Option<Arc<JobOutput>>) -> Self {
        match maker {
            None => Self::Given(()),
            Some(maker) => Self::Made(Box::new((maker, Place::Given(())))),
        }
    }

    pub(crate) fn remember<T: Send + 'static>(&self) -> Option<Output<T>> {
        let maker = self.maker()?;
        let cell = Arc::clone(&maker.cell).downcast::<Cell<T>>().ok()?;
        Some(Output::Made(Box::new((Arc::clone(maker), Place::Cell(cell)))))
    }
}

impl<T> Place<T> {
    pub(crate) fn take(self) -> T {
        match self {
            Self::Given(output) => output,
            Self::Cell(cell) => {
                let output = lock(&cell).take();
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
