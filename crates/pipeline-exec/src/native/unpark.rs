//! The waker of a thread that parks.

use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};

pub(crate) fn unparker() -> Waker {
    Waker::from(Arc::new(Unpark(thread::current())))
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}
