//! What happens to the panic of a task that is isolated: which worker, which payload, and the scratch that may be broken.
//!
//! It is called on the worker's own thread between two tasks, so it may put a new scratch in the place of one that the
//! task has left half changed. It is part of the task for whoever waits: the executor is not idle before it returns.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::error::panic_message;

/// A handler, as a worker holds it: worker, payload, scratch.
pub(crate) type PanicHandler<S> = Arc<dyn Fn(usize, Box<dyn Any + Send>, &mut S) + Send + Sync>;

/// What [`ExecutorBuilder::on_panic`](crate::ExecutorBuilder::on_panic) was given, or the default. There is no third.
pub trait HandlesPanics<S>: sealed::IntoHandler<S> {}

/// The default: the panic is an event of `tracing` at level ERROR, and its payload is dropped.
#[derive(Clone, Copy, Debug, Default)]
pub struct DropPayload;

/// The handler that was given.
pub struct HandleWith<S>(pub(crate) PanicHandler<S>);

impl<S> fmt::Debug for HandleWith<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandleWith").finish_non_exhaustive()
    }
}

impl<S> HandlesPanics<S> for DropPayload {}

impl<S> HandlesPanics<S> for HandleWith<S> {}

mod sealed {
    use super::*;

    /// Whoever becomes a handler for workers with a scratch value of type `S`.
    #[expect(unnameable_types, reason = "this is what seals the trait above")]
    pub trait IntoHandler<S> {
        fn into_handler(self) -> PanicHandler<S>;
    }

    impl<S> IntoHandler<S> for DropPayload {
        fn into_handler(self) -> PanicHandler<S> {
            Arc::new(|_worker, payload, _scratch| {
                let message = panic_message(&*payload);
                tracing::error!(message, "a task panicked; the worker goes on");
            })
        }
    }

    impl<S> IntoHandler<S> for HandleWith<S> {
        fn into_handler(self) -> PanicHandler<S> {
            self.0
        }
    }
}
