//! A future that is the mixed pool's work.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::gate::Pass;
use crate::thread::{Work, as_work};

/// Runs as work of the pool, its drop included, and is inside until all of it is gone. So a shutdown that comes from a destructor in it is refused
/// like any other from inside, and one from outside finds nothing left when it finds nobody.
pub(super) struct Marked<F> {
    /// Until it is dropped.
    future: Option<Pin<Box<F>>>,
    /// Goes after the future.
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
