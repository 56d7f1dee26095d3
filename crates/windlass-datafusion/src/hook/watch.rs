//! Watches the polls of a future, and of all that it spawns.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

thread_local! {
    static WATCH: RefCell<Option<Arc<dyn Watch>>> = const { RefCell::new(None) };
}

pub(crate) trait Watch: Send + Sync {
    /// Must call `poll` once.
    fn polled(&self, poll: &mut dyn FnMut());
}

pub(crate) fn current() -> Option<Arc<dyn Watch>> {
    WATCH.with_borrow(Clone::clone)
}

pub(crate) fn inside<R>(watch: &Arc<dyn Watch>, call: impl FnOnce() -> R) -> R {
    let _restore = Restore(WATCH.replace(Some(Arc::clone(watch))));
    call()
}

struct Restore(Option<Arc<dyn Watch>>);

impl Drop for Restore {
    fn drop(&mut self) {
        WATCH.set(self.0.take());
    }
}

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
