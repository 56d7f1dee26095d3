//! Ours with varied settings: a row with other settings is one line.

use std::sync::Arc;

use executor_threaded::affinity::CoreAssigner;
use executor_threaded::{Executor, ExecutorConfig, Pin};

use super::{Pool, Work};
use crate::THREADS;
use crate::tally::{Meter, Tally};

#[derive(Clone, Copy)]
pub(crate) struct Ours {
    /// Name in tables; begins with `windlass`.
    pub(crate) name: &'static str,
    configure: fn(ExecutorConfig) -> ExecutorConfig,
}

impl Ours {
    pub(crate) const fn plain() -> Self {
        Self::with("windlass", |config| config)
    }

    /// Each worker has a core of its own even if none is left for others. With too few cores this
    /// equals [`Ours::plain`].
    pub(crate) const fn pinned() -> Self {
        Self::with("windlass, pinned", |config| {
            let workers = config.workers;
            config.pin_threads(match CoreAssigner::new().deal(workers) {
                Ok(_) => Pin::Always,
                Err(_) => Pin::Never,
            })
        })
    }

    pub(crate) const fn with(name: &'static str, configure: fn(ExecutorConfig) -> ExecutorConfig) -> Self {
        Self { name, configure }
    }

    pub(crate) fn config(&self) -> ExecutorConfig {
        (self.configure)(ExecutorConfig::new(THREADS))
    }
}

pub(crate) struct Windlass<T> {
    executor: Executor<T>,
    meter: Meter,
}

impl<T: Send + 'static> Windlass<T> {
    pub(crate) fn start(config: ExecutorConfig, work: impl Work<T>) -> Self {
        let tally = Arc::new(Tally::default());
        let slots = Arc::clone(&tally);
        let executor = Executor::new(
            config,
            move |_| slots.slot(),
            move |task, cx| {
                let (slot, spawner) = cx.parts();
                slot.add(work(task, &mut |child| spawner.spawn_local(child)));
            },
        );
        Self {
            executor: executor.expect("the executor starts"),
            meter: Meter::new(tally),
        }
    }
}

impl<T: Send + 'static> Pool<T> for Windlass<T> {
    fn spawn(&self, task: T) {
        assert!(self.executor.spawn_external(task).is_ok(), "the gate is open");
    }

    fn spawn_batch(&self, tasks: Vec<T>) {
        assert!(
            self.executor.spawn_external_batch(tasks).is_ok(),
            "the gate is open"
        );
    }

    fn wait(&mut self, _tasks: u64) -> u64 {
        self.executor.wait_idle();
        self.meter.take()
    }
}
