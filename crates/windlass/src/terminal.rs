//! The terminal: a bar while work runs, and Ctrl-C to stop it.
//!
//! ```text
//!   Ctrl-C ──► handler ──┬─ work runs:  cancel its token and say so   ──► it fails as cancelled
//!                        ├─ again:      end at once
//!                        └─ none runs:  end at once
//! ```
//!
//! One lock guards whether Ctrl-C was pressed and whether work runs, so no Ctrl-C is lost: work
//! that completes at the same moment counts as cancelled, and no work starts after it. The bar
//! appears only on a terminal and only for work that takes longer than [`BAR_AFTER`].

mod status_line;

use std::io::IsTerminal;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use self::status_line::StatusLine;
use crate::message::say;

const BAR_AFTER: Duration = Duration::from_millis(500);
const BAR_EVERY: Duration = Duration::from_millis(100);

/// 128 + SIGINT.
pub(crate) const EXIT_CANCELLED: u8 = 130;

/// Work that a bar shows.
pub(crate) trait Watched: Sync {
    /// What is done at the moment.
    fn message(&self) -> String;

    /// Parts that are done, and all that are known.
    fn parts(&self) -> (u64, u64);

    /// Whether a bar may be drawn.
    fn has_room(&self) -> bool {
        true
    }
}

/// Ctrl-C ended the work.
#[derive(Debug)]
pub(crate) struct Cancelled;

pub(crate) struct Terminal {
    interrupt: Arc<Mutex<Interrupt>>,
}

struct Interrupt {
    requested: bool,
    cancel: Box<dyn Fn() + Send>,
    bar: Option<ProgressBar>,
}

impl Terminal {
    /// Handles Ctrl-C from now on, by calling `cancel`. A process can have one handler.
    pub(crate) fn new(cancel: impl Fn() + Send + 'static) -> Result<Self, ctrlc::Error> {
        let terminal = Self::without_handler(cancel);
        let interrupt = terminal.interrupt.clone();
        ctrlc::set_handler(move || match request(&interrupt) {
            Reaction::Cancelled => {}
            Reaction::End => std::process::exit(EXIT_CANCELLED.into()),
        })?;
        Ok(terminal)
    }

    fn without_handler(cancel: impl Fn() + Send + 'static) -> Self {
        Self {
            interrupt: Arc::new(Mutex::new(Interrupt {
                requested: false,
                cancel: Box::new(cancel),
                bar: None,
            })),
        }
    }

    pub(crate) fn watch<T, E: From<Cancelled>>(
        &self,
        progress: &dyn Watched,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let style = ProgressStyle::with_template("{msg} {bar:40} {percent:>3} % {elapsed}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()).with_style(style);
        {
            let mut interrupt = lock(&self.interrupt);
            if interrupt.requested {
                return Err(Cancelled.into());
            }
            interrupt.bar = Some(bar.clone());
        }
        let outcome = thread::scope(|scope| {
            let (done, wait_for_done) = mpsc::channel();
            if std::io::stderr().is_terminal() && progress.has_room() {
                let bar = &bar;
                scope.spawn(move || show(bar, progress, &wait_for_done));
            }
            let outcome = work();
            drop::<mpsc::Sender<()>>(done);
            outcome
        });
        let mut interrupt = lock(&self.interrupt);
        interrupt.bar = None;
        let output = outcome?;
        // After the word "cancelling" no result is written.
        if interrupt.requested {
            return Err(Cancelled.into());
        }
        Ok(output)
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Reaction {
    /// The program goes on until the work has ended.
    Cancelled,
    End,
}

fn request(interrupt: &Mutex<Interrupt>) -> Reaction {
    let mut interrupt = lock(interrupt);
    let again = std::mem::replace(&mut interrupt.requested, true);
    match &interrupt.bar {
        Some(bar) if !again => {
            let text = "cancelling; Ctrl-C again ends at once";
            if bar.is_hidden() {
                say_behind_echo(text);
            } else {
                bar.suspend(|| say(text));
            }
            (interrupt.cancel)();
            Reaction::Cancelled
        }
        Some(bar) if !bar.is_hidden() => {
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

/// Without a bar, the terminal has put `^C` on the line.
fn say_behind_echo(text: &str) {
    let line_end = if std::io::stderr().is_terminal() { "\n" } else { "" };
    say(format_args!("{line_end}{text}"));
}

/// Draws until the other end of `done` is dropped.
fn show(bar: &ProgressBar, progress: &dyn Watched, done: &Receiver<()>) {
    if done.recv_timeout(BAR_AFTER) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    bar.set_draw_target(ProgressDrawTarget::term_like(Box::new(StatusLine::on_stderr())));
    loop {
        let (finished, total) = progress.parts();
        bar.set_message(progress.message());
        bar.set_length(total);
        bar.set_position(finished);
        if done.recv_timeout(BAR_EVERY) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    bar.finish_and_clear();
}

/// No statement under the lock leaves the state half changed.
fn lock(interrupt: &Mutex<Interrupt>) -> MutexGuard<'_, Interrupt> {
    interrupt.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use query::pipeline_exec::{Job, JobReport, PipelineExecutor, step};
    use query::{CancellationToken, QueryError, Work};

    use super::*;

    fn terminal() -> (Terminal, Work) {
        let token = CancellationToken::new();
        let executor = PipelineExecutor::new(1).expect("a thread starts");
        let work = Work::from(executor).cancelled_by(token.clone());
        (Terminal::without_handler(move || token.cancel()), work)
    }

    fn run(
        (terminal, work): &(Terminal, Work),
        press: impl Fn(&Mutex<Interrupt>) + Send + Sync + 'static,
    ) -> Result<JobReport, QueryError> {
        let interrupt = terminal.interrupt.clone();
        let press = step(move |_| {
            press(&interrupt);
            Ok(())
        });
        terminal.watch(&work.progress(), || work.run(Job::from_steps("t", vec![press])))
    }

    #[test]
    fn the_first_ctrl_c_cancels_the_running_job_and_the_second_ends_the_program() {
        let outcome = run(&terminal(), |interrupt| {
            assert_eq!(request(interrupt), Reaction::Cancelled);
            assert_eq!(request(interrupt), Reaction::End);
        });
        assert!(matches!(outcome, Err(QueryError::Cancelled)), "{outcome:?}");
    }

    #[test]
    fn ctrl_c_without_a_job_ends_the_program() {
        assert_eq!(request(&terminal().0.interrupt), Reaction::End);
    }

    #[test]
    fn a_job_that_completed_before_the_cancel_reached_it_counts_as_cancelled() {
        let outcome = run(&terminal(), |interrupt| lock(interrupt).requested = true);
        assert!(matches!(outcome, Err(QueryError::Cancelled)), "{outcome:?}");
    }

    #[test]
    fn no_job_starts_after_ctrl_c() {
        let terminal = terminal();
        lock(&terminal.0.interrupt).requested = true;
        let ran = Arc::new(Mutex::new(false));
        let note = ran.clone();
        let outcome = run(&terminal, move |_| *note.lock().unwrap() = true);
        assert!(matches!(outcome, Err(QueryError::Cancelled)), "{outcome:?}");
        drop(terminal);
        assert!(!*ran.lock().unwrap());
    }
}
