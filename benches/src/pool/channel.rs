//! Threads that take typed tasks from one unbounded crossbeam channel.

use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam::channel::{self, Sender};

use super::{Pool, Work};
use crate::THREADS;
use crate::tally::{Meter, Tally};

pub(crate) struct Channel<T> {
    /// `None` ends a thread: the threads also send, so the channel would never close.
    sender: Sender<Option<T>>,
    threads: Vec<JoinHandle<()>>,
    meter: Meter,
}

impl<T: Send + 'static> Channel<T> {
    pub(crate) fn start(work: impl Work<T>) -> Self {
        let (sender, receiver) = channel::unbounded::<Option<T>>();
        let tally = Arc::new(Tally::default());
        let thread = |_| {
            let (receiver, sender, work) = (receiver.clone(), sender.clone(), work.clone());
            let (tally, slot) = (Arc::clone(&tally), tally.slot());
            std::thread::spawn(move || {
                let next = || {
                    receiver.try_recv().or_else(|_| {
                        tally.ran_out();
                        receiver.recv()
                    })
                };
                while let Ok(Some(task)) = next() {
                    slot.add_task(work(task, &mut |child| send(&sender, Some(child))));
                }
            })
        };
        let threads = (0..THREADS).map(thread).collect();
        Self {
            sender,
            threads,
            meter: Meter::new(tally),
        }
    }
}

fn send<T>(sender: &Sender<Option<T>>, task: Option<T>) {
    assert!(sender.send(task).is_ok(), "the threads live");
}

impl<T: Send + 'static> Pool<T> for Channel<T> {
    fn spawn(&self, task: T) {
        send(&self.sender, Some(task));
    }

    fn wait(&mut self, tasks: u64) -> u64 {
        self.meter.wait(tasks)
    }
}

impl<T> Drop for Channel<T> {
    fn drop(&mut self) {
        self.threads.iter().for_each(|_| send(&self.sender, None));
        for thread in self.threads.drain(..) {
            thread.join().expect("no thread panics");
        }
    }
}
