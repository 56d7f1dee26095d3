//! The handler of isolated panics.
//!
//! It runs on the worker's own thread between two tasks, so it may replace a scratch value that the
//! task has left half changed. The executor is not idle before it returns.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use executor_core::panic_message;

pub(crate) type PanicHandler<S> = Arc<dyn Fn(usize, Box<dyn Any + Send>, &mut S) + Send + Sync>;

/// A handler of [`ExecutorBuilder::on_panic`](crate::ExecutorBuilder::on_panic), or the default. It
/// is sealed.
pub trait HandlesPanics<S>: sealed::IntoHandler<S> {}

/// The default: the panic is an event of `tracing` at level ERROR, and its payload is dropped.
#[derive(Clone, Copy, Debug, Default)]
pub struct DropPayload;

/// A user's handler.
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
