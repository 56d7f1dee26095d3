//! How many statements run at once, in total and for each user.

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use pipeline_exec::lock;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::wire::SqlError;

/// Bounds on the numbers of statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementLimits {
    /// Statements that run at once.
    pub running: NonZeroUsize,
    /// Statements that wait; one more is an error.
    pub waiting: usize,
    /// One user's statements that run or wait.
    pub per_user: NonZeroUsize,
}

/// Admits statements in the order in which they ask.
pub(crate) struct Admission {
    limits: StatementLimits,
    places: Arc<Semaphore>,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    waiting: usize,
    users: HashMap<Arc<str>, usize>,
}

/// The right to run, until it is dropped.
pub(crate) struct Admitted {
    of_user: UserPlace,
    /// `None` while the statement pauses.
    place: Option<OwnedSemaphorePermit>,
}

struct UserPlace {
    all: Arc<Admission>,
    user: Arc<str>,
}

struct Waiting<'a>(&'a Admission);

impl Admission {
    pub(crate) fn new(limits: StatementLimits) -> Arc<Self> {
        let places = limits.running.get().min(Semaphore::MAX_PERMITS);
        Arc::new(Self {
            limits,
            places: Arc::new(Semaphore::new(places)),
            counts: Mutex::default(),
        })
    }

    /// Waits for a place. An error if too many wait, or the user has too many. Dropping the future
    /// gives up.
    pub(crate) async fn enter(self: &Arc<Self>, user: &Arc<str>) -> Result<Admitted, SqlError> {
        let of_user = self.user_place(user)?;
        let place = Some(self.place().await?);
        Ok(Admitted { of_user, place })
    }

    async fn place(&self) -> Result<OwnedSemaphorePermit, SqlError> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Ok(place);
        }
        let _waiting = self.wait()?;
        let place = Arc::clone(&self.places).acquire_owned().await;
        place.map_err(|_closed| SqlError::shutting_down())
    }

    /// Running, waiting.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let free = self.places.available_permits();
        (
            self.limits.running.get().saturating_sub(free),
            lock(&self.counts).waiting,
        )
    }

    fn user_place(self: &Arc<Self>, user: &Arc<str>) -> Result<UserPlace, SqlError> {
        let mut counts = lock(&self.counts);
        let count = counts.users.entry(Arc::clone(user)).or_default();
        if *count >= self.limits.per_user.get() {
            let what = format!("{user} has {count} statements that run or wait, and may have no more");
            return Err(SqlError::new("53300", what));
        }
        *count += 1;
        drop(counts);
        Ok(UserPlace {
            all: Arc::clone(self),
            user: Arc::clone(user),
        })
    }

    fn wait(&self) -> Result<Waiting<'_>, SqlError> {
        let mut counts = lock(&self.counts);
        if counts.waiting >= self.limits.waiting {
            let StatementLimits { running, waiting, .. } = self.limits;
            let what = format!("the server is full: {running} statements run and {waiting} wait");
            return Err(SqlError::new("53300", what));
        }
        counts.waiting += 1;
        Ok(Waiting(self))
    }
}

impl Admitted {
    /// Gives the place among the running statements to another. The statement still counts for its
    /// user, because it holds memory.
    pub(crate) fn pause(&mut self) {
        self.place = None;
    }

    /// Waits for a place, if the statement pauses. Dropping the future leaves it paused.
    ///
    /// # Errors
    ///
    /// If too many wait.
    pub(crate) async fn resume(&mut self) -> Result<(), SqlError> {
        if self.place.is_none() {
            self.place = Some(self.of_user.all.place().await?);
        }
        Ok(())
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        lock(&self.0.counts).waiting -= 1;
    }
}

impl Drop for UserPlace {
    fn drop(&mut self) {
        let mut counts = lock(&self.all.counts);
        if let Some(count) = counts.users.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                counts.users.remove(&self.user);
            }
        }
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission")
            .field("limits", &self.limits)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Admitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admitted").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn limits(running: usize, waiting: usize, per_user: usize) -> Arc<Admission> {
        Admission::new(StatementLimits {
            running: NonZeroUsize::new(running).unwrap(),
            waiting,
            per_user: NonZeroUsize::new(per_user).unwrap(),
        })
    }

    fn poll<F: Future>(future: &mut std::pin::Pin<Box<F>>) -> Poll<F::Output> {
        future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn statements_wait_within_a_bound_and_go_in_turn() {
        let admission = limits(1, 1, 10);
        let user = Arc::from("alice");
        let enter = || Box::pin(admission.enter(&user));
        let (mut first, mut second, mut third) = (enter(), enter(), enter());
        let Poll::Ready(Ok(place)) = poll(&mut first) else {
            panic!("the first has to wait");
        };
        assert!(poll(&mut second).is_pending());
        match poll(&mut third) {
            Poll::Ready(Err(error)) => {
                assert!(error.message.contains("1 statements run and 1 wait"), "{error}")
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(admission.counts(), (1, 1));
        drop(place);
        assert!(matches!(poll(&mut second), Poll::Ready(Ok(_))));
        drop((first, second, third));
        assert_eq!(admission.counts(), (0, 0));
        assert!(lock(&admission.counts).users.is_empty());
    }

    #[test]
    fn a_statement_that_pauses_makes_room_and_counts_for_its_user() {
        let admission = limits(1, 0, 2);
        let user = Arc::from("alice");
        let enter = || Box::pin(admission.enter(&user));
        let Poll::Ready(Ok(mut paused)) = poll(&mut enter()) else {
            panic!("the first has to wait");
        };
        paused.pause();
        let Poll::Ready(Ok(running)) = poll(&mut enter()) else {
            panic!("a pause makes no room");
        };
        let Poll::Ready(Err(error)) = poll(&mut enter()) else {
            panic!("a third of the user is let in");
        };
        assert!(error.message.starts_with("alice has 2 statements"), "{error}");
        let Poll::Ready(Err(error)) = poll(&mut Box::pin(paused.resume())) else {
            panic!("two run at once");
        };
        assert!(error.message.starts_with("the server is full"), "{error}");
        drop(running);
        assert!(matches!(
            poll(&mut Box::pin(paused.resume())),
            Poll::Ready(Ok(()))
        ));
        assert_eq!(admission.counts(), (1, 0));
    }

    #[test]
    fn a_user_at_its_limit_does_not_stop_another() {
        let admission = limits(10, 10, 1);
        let (alice, bob) = (Arc::from("alice"), Arc::from("bob"));
        let Poll::Ready(Ok(_place)) = poll(&mut Box::pin(admission.enter(&alice))) else {
            panic!("the first has to wait");
        };
        match poll(&mut Box::pin(admission.enter(&alice))) {
            Poll::Ready(Err(error)) => {
                assert!(error.message.starts_with("alice has 1 statements"), "{error}")
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(
            poll(&mut Box::pin(admission.enter(&bob))),
            Poll::Ready(Ok(_))
        ));
    }
}
