//! The life of a spare thread: it is parked until the policy wakes it to stand in for workers.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use executor_core::panic_message;
use executor_core::ports::Clock;

use super::hub::Hub;
use crate::policy::{PipelinePorts, guard, stand_in};

/// If a thread cannot be started, the others end.
pub(crate) fn start_spares(
    hub: &Arc<Hub>,
    name: &str,
    stack_size: Option<usize>,
    on_start: &(impl Fn(usize) + Clone + Send + 'static),
) -> io::Result<()> {
    let mut threads = Vec::new();
    for spare in 0..hub.shared().spares() {
        let mut builder = thread::Builder::new().name(format!("{name}-spare-{spare}"));
        if let Some(bytes) = stack_size {
            builder = builder.stack_size(bytes);
        }
        let (own, on_start) = (Arc::clone(hub), on_start.clone());
        let join = builder.spawn(move || own.run_spare(spare, on_start));
        let join = match join {
            Ok(join) => join,
            Err(error) => {
                hub.spares.end(true);
                return Err(error);
            }
        };
        threads.push(join.thread().clone());
        hub.spares.keep(join);
    }
    hub.spares.set_threads(threads.into());
    Ok(())
}

impl Hub {
    fn run_spare(self: Arc<Self>, spare: usize, on_start: impl Fn(usize)) {
        let number = self.shared().workers() + 1 + spare;
        guard::quietly(|| on_start(number));
        self.as_worker(number, || {
            loop {
                let life =
                    || stand_in::run_spare(&*self, spare, |until_ns| self.spare_sleeps(spare, until_ns));
                match std::panic::catch_unwind(std::panic::AssertUnwindSafe(life)) {
                    Ok(()) => return,
                    // Catches panics of user code outside of steps, such as a subscriber's.
                    Err(payload) => {
                        let message = panic_message(&*payload);
                        guard::discard(payload);
                        guard::quietly(|| tracing::error!(message, spare, "a spare thread's visit panicked"));
                        stand_in::recover(&*self, spare);
                    }
                }
            }
        });
    }

    /// Returns whether the executor goes on.
    #[expect(
        clippy::disallowed_methods,
        reason = "a spare thread sleeps until it is needed"
    )]
    fn spare_sleeps(&self, spare: usize, until_ns: Option<u64>) -> bool {
        match until_ns {
            None => {
                while !self.spares.is_ended() && !self.shared().spare_is_awake(self, spare) {
                    thread::park();
                }
            }
            Some(until_ns) => {
                let left_ns = until_ns.saturating_sub(self.now_ns());
                if left_ns > 0 && !self.spares.is_ended() {
                    thread::park_timeout(Duration::from_nanos(left_ns));
                }
            }
        }
        !self.spares.is_ended()
    }
}
