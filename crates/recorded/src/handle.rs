//! A party outside of a recorded run, and its log.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use executor_core::ports::{Native, NativeWord, Waiting};
use executor_core::{Rejected, delegate_memory};

use crate::event::Event;
use crate::log::Log;
use crate::ports::{Numbered, Recorded};
use crate::recording::{Run, SharedWords};
use crate::word::{Versioned, VersionedWord};

/// One party that hands tasks to a recorded run; a clone is another one.
pub struct RecordedHandle<'r, T> {
    run: &'r Run<T>,
    /// Taken by the drop.
    log: Option<Log>,
}

/// Unwinds out of a wait that takes too long.
struct OutOfPatience;

type Ports<'a, T> = Recorded<&'a SharedWords<T>, Native, &'a Log>;

impl<'r, T> RecordedHandle<'r, T> {
    pub(crate) fn new(run: &'r Run<T>) -> Self {
        Self {
            run,
            log: Some(run.log()),
        }
    }

    /// Hands over one task.
    ///
    /// # Errors
    ///
    /// The task, if none is accepted any more.
    #[inline]
    pub fn spawn(&self, task: T) -> Result<(), Rejected<T>> {
        let log = self.log();
        let id = log.begin_hand_over(1);
        let spawned = self
            .run
            .shared
            .scheduler()
            .spawn_external(&self.ports(), Numbered { id, task });
        match spawned {
            Ok(_woken) => {
                log.handed_over();
                Ok(())
            }
            Err(Rejected(Numbered { task, .. })) => {
                log.event(Event::Refused { tasks: 1 });
                Err(Rejected(task))
            }
        }
    }

    /// Hands over all tasks or none.
    ///
    /// # Errors
    ///
    /// All the tasks, if none is accepted any more.
    ///
    /// # Panics
    ///
    /// If they are more than the record can number.
    pub fn spawn_batch(&self, tasks: Vec<T>) -> Result<(), Rejected<Vec<T>>> {
        let count = u32::try_from(tasks.len()).expect("a record numbers a party's tasks with 32 bits");
        if count == 0 {
            return Ok(());
        }
        let log = self.log();
        let ids = std::iter::successors(Some(log.begin_hand_over(count)), |id| Some(id.following()));
        let numbered = ids.zip(tasks).map(|(id, task)| Numbered { id, task }).collect();
        let spawned = self
            .run
            .shared
            .scheduler()
            .spawn_external_batch(&self.ports(), numbered);
        match spawned {
            Ok(_woken) => {
                log.handed_over();
                Ok(())
            }
            Err(Rejected(tasks)) => {
                log.event(Event::Refused { tasks: count });
                Err(Rejected(
                    tasks.into_iter().map(|numbered| numbered.task).collect(),
                ))
            }
        }
    }

    /// Closes the executor; accepted tasks run.
    pub fn close(&self) {
        self.run.shared.scheduler().close(&self.ports());
    }

    /// Aborts the executor; tasks that have not run are returned.
    pub fn shutdown(&self) {
        self.run.shared.scheduler().abort(&self.ports());
    }

    /// Blocks until nothing is in flight. After the recording's patience it ends the run by force
    /// and returns `false`.
    pub fn wait_idle(&self) -> bool {
        let waiting = Waiter {
            ports: self.ports(),
            run: self.run,
        };
        // Unwind safety: it holds only references.
        match catch_unwind(AssertUnwindSafe(|| {
            self.run.shared.scheduler().wait_idle(&waiting);
        })) {
            Ok(()) => {
                self.log().event(Event::Idle);
                true
            }
            Err(payload) if payload.is::<OutOfPatience>() => {
                self.give_up();
                false
            }
            Err(payload) => resume_unwind(payload),
        }
    }

    pub(crate) fn give_up(&self) {
        self.log().event(Event::GaveUp);
        self.run.shared.scheduler().sleep().finish(&self.ports());
    }

    /// Records how many changes the two words had in all.
    pub(crate) fn look_for_the_last_time(&self) {
        let (scheduler, ports) = (self.run.shared.scheduler(), self.ports());
        scheduler.state().in_flight(&ports);
        scheduler.sleep().peek(&ports);
    }

    #[inline]
    fn ports(&self) -> Ports<'_, T> {
        Recorded::new(&*self.run.shared, Versioned(Native), self.log())
    }

    #[inline]
    fn log(&self) -> &Log {
        self.log.as_ref().expect("the drop alone takes it")
    }
}

struct Waiter<'a, T> {
    ports: Ports<'a, T>,
    run: &'a Run<T>,
}

delegate_memory!(impl[T] Memory<VersionedWord<NativeWord>> for Waiter<'_, T>, |waiter| waiter.ports);

impl<T> Waiting for Waiter<'_, T> {
    fn ticket(&self) -> u64 {
        self.ports.ticket()
    }

    fn wait_past(&self, ticket: u64) {
        if !self.run.shared.wait_past_for(ticket, self.run.recording.patience) {
            // `wait_idle` catches it, so the panic hook is not called.
            resume_unwind(Box::new(OutOfPatience));
        }
    }
}

impl<T> Clone for RecordedHandle<'_, T> {
    fn clone(&self) -> Self {
        Self::new(self.run)
    }
}

impl<T> Drop for RecordedHandle<'_, T> {
    fn drop(&mut self) {
        if let Some(log) = self.log.take() {
            self.run.hand_over(log);
        }
    }
}

impl<T> fmt::Debug for RecordedHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordedHandle").finish_non_exhaustive()
    }
}
