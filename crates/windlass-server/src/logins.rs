//! Which login may have a thread: one at a time.
//!
//! Logins share the threads of the sockets with all connections. Without a bound, a thousand
//! clients that connect at once are polled one after another before the next message of a client
//! that is logged in. So a login is polled only while it has the one place, which it gives back
//! whenever it waits:
//!
//! ```text
//!   woken ─► waits for the place ─► polled ─┬─► waits for its client: the place is free
//!                                           └─► done: the place is free
//! ```
//!
//! A client that sends its login byte by byte holds the place for as long as a byte takes to read.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use tokio::sync::Semaphore;

/// The place, for which logins wait in the order in which they were woken.
pub(crate) struct Logins(Semaphore);

impl Logins {
    pub(crate) fn new() -> Self {
        Self(Semaphore::new(1))
    }

    /// Runs `login`, which is polled while no other login is.
    pub(crate) async fn run<T>(&self, login: impl Future<Output = T>) -> T {
        let mut login = pin!(login);
        loop {
            // The semaphore is never closed.
            let place = self.0.acquire().await;
            let polled = poll_fn(|cx| Poll::Ready(login.as_mut().poll(cx))).await;
            drop(place);
            if let Poll::Ready(done) = polled {
                return done;
            }
            woken().await;
        }
    }
}

/// Waits until the task is woken, for what it was polled for before.
async fn woken() {
    let mut is_woken = false;
    poll_fn(|_| {
        if std::mem::replace(&mut is_woken, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

impl fmt::Debug for Logins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Logins").field(&self.0).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::oneshot;
    use tokio::task::{JoinSet, yield_now};

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn one_login_is_polled_at_a_time_and_all_are_done() {
        const LOGINS: usize = 100;
        let (logins, polled) = (Arc::new(Logins::new()), Arc::new(AtomicUsize::new(0)));
        let mut all = JoinSet::new();
        for number in 0..LOGINS {
            let (logins, polled) = (Arc::clone(&logins), Arc::clone(&polled));
            all.spawn(async move {
                let login = async {
                    for _ in 0..10 {
                        // Ordering: Relaxed. The count alone is asked for.
                        assert_eq!(polled.fetch_add(1, Ordering::Relaxed), 0, "two at once");
                        std::thread::yield_now();
                        polled.fetch_sub(1, Ordering::Relaxed);
                        yield_now().await;
                    }
                    number
                };
                logins.run(login).await
            });
        }
        let mut done = all.join_all().await;
        done.sort_unstable();
        assert_eq!(done, (0..LOGINS).collect::<Vec<_>>());
    }

    /// Those that wait for a client, and one that was dropped while it did, hold no place.
    #[tokio::test]
    async fn a_login_that_waits_for_its_client_holds_up_no_other() {
        let logins = Arc::new(Logins::new());
        let (client, silent) = oneshot::channel::<u8>();
        let waits = tokio::spawn({
            let logins = Arc::clone(&logins);
            async move { logins.run(silent).await }
        });
        let dropped = tokio::spawn({
            let logins = Arc::clone(&logins);
            async move { logins.run(std::future::pending::<()>()).await }
        });
        yield_now().await;
        dropped.abort();
        assert!(dropped.await.unwrap_err().is_cancelled());
        assert_eq!(logins.run(async { 1 }).await, 1);
        client.send(2).unwrap();
        assert_eq!(waits.await.unwrap(), Ok(2));
    }
}
