//! A future as work of the mixed pool.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::gate::Pass;
use crate::thread::{Work, as_work};

/// Inside until its future is dropped, so a shutdown from that destructor is refused.
pub(super) struct Marked<F> {
    future: Option<Pin<Box<F>>>,
    /// Dropped after the future.
    _pass: Pass,
}

impl<F> Marked<F> {
    pub(super) fn new(future: F, pass: Pass) -> Self {
        Self {
            future: Some(Box::pin(future)),
            _pass: pass,
        }
    }
}

impl<F: Future> Future for Marked<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let future = self.future.as_mut().expect("it is there until the drop");
        as_work(Work::Async, || future.as_mut().poll(cx))
    }
}

impl<F> Drop for Marked<F> {
    fn drop(&mut self) {
        as_work(Work::Async, || drop(self.future.take()));
    }
}
