//! Futures whose polls are watched: each of them, and all that is spawned in them.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

thread_local! {
    /// What watches the future that this thread polls.
    static WATCH: RefCell<Option<Arc<dyn Watch>>> = const { RefCell::new(None) };
}

/// Is told of the polls of a query's futures.
pub(crate) trait Watch: Send + Sync {
    /// Calls `poll` once, which polls a future.
    fn polled(&self, poll: &mut dyn FnMut());
}

/// What watches the future that this thread polls, if anything does.
pub(crate) fn current() -> Option<Arc<dyn Watch>> {
    WATCH.with_borrow(Clone::clone)
}

/// Calls `call`; what is spawned in it is watched by `watch`.
pub(crate) fn inside<R>(watch: &Arc<dyn Watch>, call: impl FnOnce() -> R) -> R {
    let _restore = Restore(WATCH.replace(Some(Arc::clone(watch))));
    call()
}

/// What watched before, to be put back, also behind a panic.
struct Restore(Option<Arc<dyn Watch>>);

impl Drop for Restore {
    fn drop(&mut self) {
        WATCH.set(self.0.take());
    }
}

/// A future whose polls are watched.
pub(crate) struct Watched<F> {
    future: F,
    watch: Arc<dyn Watch>,
}

impl<F> Watched<F> {
    pub(crate) fn new(future: F, watch: Arc<dyn Watch>) -> Self {
        Self { future, watch }
    }
}

impl<F: Future + Unpin> Future for Watched<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Self { future, watch } = &mut *self;
        inside(watch, || {
            let mut polled = Poll::Pending;
            watch.polled(&mut || polled = Pin::new(&mut *future).poll(cx));
            polled
        })
    }
}
