//! What the parties of a recorded run share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use executor_core::ExecutorConfig;
use executor_core::ports::Native;
use executor_threaded::lock;
use executor_threaded::ports::{Shared, ThreadPorts};

use crate::log::Log;
use crate::ports::Numbered;
use crate::word::Versioned;

pub(crate) type Memory = Versioned<Native>;

pub(crate) type SharedWords<T> = Shared<Numbered<T>, Memory>;

pub(crate) type UnrecordedPorts<T> = ThreadPorts<Numbered<T>, Memory>;

/// How to record. Open to struct update syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The executor's settings. Threads are not pinned.
    pub config: ExecutorConfig,
    /// Entries of eight bytes that each log has memory for at first. Default 4,096.
    pub entries: usize,
    /// The longest wait for the end, after which the run is ended by force. Default 10 s.
    pub patience: Duration,
}

impl Recording {
    /// Records an executor of `config`.
    #[must_use]
    pub fn new(config: ExecutorConfig) -> Self {
        Self {
            config,
            entries: 4_096,
            patience: Duration::from_secs(10),
        }
    }
}

pub(crate) struct Run<T> {
    pub(crate) shared: Arc<SharedWords<T>>,
    pub(crate) recording: Recording,
    pub(crate) logs: Mutex<Vec<Log>>,
    pub(crate) parties: AtomicUsize,
}

impl<T> Run<T> {
    pub(crate) fn log(&self) -> Log {
        // Ordering: Relaxed. Each caller gets another number.
        let party = self.parties.fetch_add(1, Ordering::Relaxed);
        Log::new(party, self.recording.entries)
    }

    pub(crate) fn hand_over(&self, log: Log) {
        lock(&self.logs).push(log);
    }
}
