//! Where a person watches: a bar while a job runs, and Ctrl-C to stop it.
//!
//! ```text
//!   Ctrl-C ──► handler ──┬─ a job runs:  cancel it through its control and say so   ──► the job fails as cancelled
//!                        ├─ again:       end at once
//!                        └─ no job runs: end at once
//! ```
//!
//! The handler runs in a thread of its own; that Ctrl-C was pressed and which job runs lie under one lock, so none
//! is lost between two jobs.
//!
//! The bar appears only on a terminal and only for jobs that take longer than [`BAR_AFTER`].

use std::io::IsTerminal;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use query::QueryError;
use query::pipeline_exec::{Job, JobControl, JobReport, PipelineExecutor};
use query::source::JobRunner;

/// What is done by then needs no bar.
const BAR_AFTER: Duration = Duration::from_millis(500);
/// How often the bar moves.
const BAR_EVERY: Duration = Duration::from_millis(100);
/// The exit code of a program that Ctrl-C ended: 128 + SIGINT.
const EXIT_CANCELLED: i32 = 130;

/// Runs jobs on an executor, with a bar and Ctrl-C.
pub(crate) struct Terminal {
    executor: PipelineExecutor,
    interrupt: Arc<Mutex<Interrupt>>,
}

#[derive(Default)]
struct Interrupt {
    /// Ctrl-C was pressed.
    requested: bool,
    running: Option<JobControl>,
}

impl Terminal {
    pub(crate) fn new(executor: PipelineExecutor) -> Result<Self, ctrlc::Error> {
        let interrupt = Arc::new(Mutex::new(Interrupt::default()));
        let handler = interrupt.clone();
        ctrlc::set_handler(move || request(&handler))?;
        Ok(Self { executor, interrupt })
    }

    /// Tells the handler which job runs.
    fn show(&self, running: Option<&JobControl>) {
        self.interrupt
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .running = running.cloned();
    }
}

impl JobRunner for Terminal {
    fn run(&self, job: Job) -> Result<JobReport, QueryError> {
        let name = job.table_name.clone();
        let ticket = self.executor.submit(job).map_err(|error| QueryError::Internal {
            message: format!("the executor took no job: {error:?}"),
        })?;
        let control = ticket.control();
        self.show(Some(&control));
        let outcome = thread::scope(|scope| {
            let (done, wait_for_done) = mpsc::channel();
            if std::io::stderr().is_terminal() {
                scope.spawn(move || show_bar(&name, &control, &wait_for_done));
            }
            let outcome = ticket.wait();
            drop::<mpsc::Sender<()>>(done);
            outcome
        });
        self.show(None);
        Ok(outcome?)
    }
}

/// Ctrl-C was pressed.
fn request(interrupt: &Mutex<Interrupt>) {
    let mut interrupt = interrupt.lock().unwrap_or_else(PoisonError::into_inner);
    let again = std::mem::replace(&mut interrupt.requested, true);
    match &interrupt.running {
        Some(control) if !again => {
            eprintln!("\ncancelling (Ctrl-C again ends at once)");
            control.cancel();
        }
        _ => {
            eprintln!("\ncancelled");
            std::process::exit(EXIT_CANCELLED);
        }
    }
}

/// Draws until the other end of `done` is dropped.
fn show_bar(name: &str, control: &JobControl, done: &Receiver<()>) {
    if done.recv_timeout(BAR_AFTER) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    let style = ProgressStyle::with_template("{msg} {bar:40} {percent:>3} % {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
        .with_style(style)
        .with_message(name.to_owned());
    loop {
        let (finished, total) = control.progress();
        bar.set_length(total as u64);
        bar.set_position(finished as u64);
        if done.recv_timeout(BAR_EVERY) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    bar.finish_and_clear();
}
