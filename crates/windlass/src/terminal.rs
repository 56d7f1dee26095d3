//! Where a person watches: a bar while a job runs, and Ctrl-C to stop it.
//!
//! ```text
//!   Ctrl-C ──► handler ──┬─ work runs:  cancel it through its control and say so   ──► it fails as cancelled
//!                        ├─ again:      end at once
//!                        └─ none runs:  end at once
//! ```
//!
//! The handler runs in a thread of its own; that Ctrl-C was pressed and which work runs lie under one lock, and work has its control before it
//! begins. So no Ctrl-C is lost: one that comes when work has just completed makes it count as
//! cancelled, and none starts after it.
//!
//! The bar appears only on a terminal and only for work that takes longer than [`BAR_AFTER`].

mod status_line;

use std::io::IsTerminal;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use query::pipeline_exec::{PipelineExecutor, PipelineHandle};
use query::pools::{MixedPool, Pools};
use query::source::JobRunner;
use query::{QueryError, WorkControl};

use self::status_line::StatusLine;
use crate::message::say;

/// What is done by then needs no bar.
const BAR_AFTER: Duration = Duration::from_millis(500);
/// How often the bar moves.
const BAR_EVERY: Duration = Duration::from_millis(100);

/// The exit code of a program that Ctrl-C ended: 128 + SIGINT.
pub(crate) const EXIT_CANCELLED: u8 = 130;

/// Runs jobs, with a bar and Ctrl-C.
pub(crate) struct Terminal {
    /// They compute on the executor.
    pools: Pools,
    interrupt: Arc<Mutex<Interrupt>>,
    /// All work ends by then.
    deadline: Option<Instant>,
}

#[derive(Default)]
struct Interrupt {
    /// Ctrl-C was pressed.
    requested: bool,
    running: Option<Running>,
}

struct Running {
    control: WorkControl,
    bar: ProgressBar,
}

impl Terminal {
    /// Runs jobs on `executor`, until `deadline` if there is one, and from now on handles Ctrl-C; a process can have one.
    pub(crate) fn new(executor: PipelineExecutor, deadline: Option<Instant>) -> Result<Self, ctrlc::Error> {
        let terminal = Self {
            deadline,
            ..Self::without_handler(executor)
        };
        let interrupt = terminal.interrupt.clone();
        ctrlc::set_handler(move || match request(&interrupt) {
            Reaction::Cancelled => {}
            Reaction::End => std::process::exit(EXIT_CANCELLED.into()),
        })?;
        Ok(terminal)
    }

    fn without_handler(executor: PipelineExecutor) -> Self {
        Self {
            pools: Pools::from_executor(executor),
            interrupt: Arc::default(),
            deadline: None,
        }
    }

    /// Does `what` with a table, as the bar says it: `reading`.
    pub(crate) fn activity(&self, what: &'static str) -> Activity<'_> {
        Activity { terminal: self, what }
    }

    fn watch<T>(
        &self,
        bar: &ProgressBar,
        work: impl FnOnce(&WorkControl) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        let control = WorkControl::new();
        if let Some(deadline) = self.deadline {
            control.end_by(deadline);
        }
        {
            let mut interrupt = lock(&self.interrupt);
            if interrupt.requested {
                return Err(QueryError::Cancelled);
            }
            interrupt.running = Some(Running {
                control: control.clone(),
                bar: bar.clone(),
            });
        }
        let outcome = thread::scope(|scope| {
            let (done, wait_for_done) = mpsc::channel();
            if std::io::stderr().is_terminal() {
                let control = &control;
                scope.spawn(move || show(bar, control, &wait_for_done));
            }
            let outcome = work(&control);
            drop::<mpsc::Sender<()>>(done);
            outcome
        });
        let mut interrupt = lock(&self.interrupt);
        interrupt.running = None;
        let output = outcome?;
        // Whoever read "cancelling" gets no result.
        if interrupt.requested {
            return Err(QueryError::Cancelled);
        }
        Ok(output)
    }
}

/// A terminal that says what it does.
pub(crate) struct Activity<'a> {
    terminal: &'a Terminal,
    what: &'static str,
}

impl JobRunner for Activity<'_> {
    fn executor(&self) -> Result<PipelineHandle, QueryError> {
        self.terminal.pools.executor()
    }

    fn mixed(&self) -> MixedPool {
        self.terminal.pools.mixed()
    }

    fn watch<T>(
        &self,
        table: &str,
        work: impl FnOnce(&WorkControl) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        let style = ProgressStyle::with_template("{msg} {bar:40} {percent:>3} % {elapsed}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
            .with_style(style)
            .with_message(format!("{} {table}", self.what));
        self.terminal.watch(&bar, work)
    }
}

/// What follows from a Ctrl-C.
#[derive(Debug, PartialEq, Eq)]
enum Reaction {
    /// The work was told to stop; the program goes on until it has.
    Cancelled,
    /// The program ends now.
    End,
}

/// Ctrl-C was pressed.
fn request(interrupt: &Mutex<Interrupt>) -> Reaction {
    let mut interrupt = lock(interrupt);
    let again = std::mem::replace(&mut interrupt.requested, true);
    match &interrupt.running {
        Some(Running { control, bar }) if !again => {
            let text = "cancelling; Ctrl-C again ends at once";
            if bar.is_hidden() {
                say_behind_echo(text);
            } else {
                bar.suspend(|| say(text));
            }
            control.cancel();
            Reaction::Cancelled
        }
        Some(Running { bar, .. }) if !bar.is_hidden() => {
            bar.finish_and_clear();
            // The thread that moves the bar may come once more.
            bar.set_draw_target(ProgressDrawTarget::hidden());
            say("cancelled");
            Reaction::End
        }
        _ => {
            say_behind_echo("cancelled");
            Reaction::End
        }
    }
}

/// Where nothing is drawn, a terminal has put `^C` on the line.
fn say_behind_echo(text: &str) {
    let line_end = if std::io::stderr().is_terminal() { "\n" } else { "" };
    say(format_args!("{line_end}{text}"));
}

/// Draws until the other end of `done` is dropped.
fn show(bar: &ProgressBar, control: &WorkControl, done: &Receiver<()>) {
    if done.recv_timeout(BAR_AFTER) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    bar.set_draw_target(ProgressDrawTarget::term_like(Box::new(StatusLine::on_stderr())));
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

/// What the lock guards is whole between any two statements.
fn lock(interrupt: &Mutex<Interrupt>) -> MutexGuard<'_, Interrupt> {
    interrupt.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use query::pipeline_exec::{Job, step};

    use super::*;

    fn terminal() -> Terminal {
        Terminal::without_handler(PipelineExecutor::new(1).expect("a thread starts"))
    }

    /// A job of one slot, which presses keys while it runs.
    fn job(press: impl Fn(&Mutex<Interrupt>) + Send + Sync + 'static, terminal: &Terminal) -> Job {
        let interrupt = terminal.interrupt.clone();
        Job::from_steps(
            "t",
            vec![step(move |_| {
                press(&interrupt);
                Ok(())
            })],
        )
    }

    #[test]
    fn the_first_ctrl_c_cancels_the_running_job_and_the_second_ends_the_program() {
        let terminal = terminal();
        let twice = |interrupt: &Mutex<Interrupt>| {
            assert_eq!(request(interrupt), Reaction::Cancelled);
            assert_eq!(request(interrupt), Reaction::End);
        };
        let outcome = terminal.activity("testing").run(job(twice, &terminal));
        assert!(matches!(outcome, Err(QueryError::Cancelled)), "{outcome:?}");
    }

    #[test]
    fn ctrl_c_without_a_job_ends_the_program() {
        assert_eq!(request(&terminal().interrupt), Reaction::End);
    }

    #[test]
    fn a_job_that_completed_before_the_cancel_reached_it_counts_as_cancelled() {
        let terminal = terminal();
        // Pressed, and the job ends well all the same: the cancel comes too late.
        let pressed = |interrupt: &Mutex<Interrupt>| lock(interrupt).requested = true;
        let outcome = terminal.activity("testing").run(job(pressed, &terminal));
        assert!(matches!(outcome, Err(QueryError::Cancelled)), "{outcome:?}");
    }

    #[test]
    fn no_job_starts_after_ctrl_c() {
        let terminal = terminal();
        lock(&terminal.interrupt).requested = true;
        let ran = Arc::new(Mutex::new(false));
        let note = ran.clone();
        let noted = job(move |_| *note.lock().unwrap() = true, &terminal);
        let outcome = terminal.activity("testing").run(noted);
        assert!(matches!(outcome, Err(QueryError::Cancelled)), "{outcome:?}");
        drop(terminal);
        assert!(!*ran.lock().unwrap());
    }
}
