//! The loom models of the queue, each named after its interleaving. `cargo xtask loom` runs them;
//! `docs/memory-model.md` names the edge that each carries.
//!
//! A block has two slots here. Loom finds a value that is read while it may be written; the queue's
//! own cells find a block that is touched after its owner changed or never freed.
#![cfg(windlass_loom)]

mod blocks;
#[path = "../../../executor-core/tests/loom/harness/model.rs"]
mod model;
mod passing;
mod sleeping;

use injector::{Injector, Next};
use loom::sync::Arc;
use loom::thread::{self, JoinHandle};

use self::model::model;

/// A queue of boxes, so that loom sees a lost or doubled value as memory.
type Queue = Arc<Injector<Box<usize>>>;

fn queue(values: impl IntoIterator<Item = usize>) -> Queue {
    let queue = Queue::new(Injector::new());
    push(&queue, values);
    queue
}

fn push(queue: &Queue, values: impl IntoIterator<Item = usize>) {
    values.into_iter().for_each(|value| queue.push(Box::new(value)));
}

fn producer<const N: usize>(queue: &Queue, values: [usize; N]) -> JoinHandle<()> {
    let queue = queue.clone();
    thread::spawn(move || push(&queue, values))
}

/// A scene has its first producer on the main thread, which loom runs first. In the other order
/// loom misses executions: it remembers only the last access of a place, and a push reads the index
/// before it changes it, so an earlier read by a consumer is forgotten.
fn consumer(queue: &Queue) -> JoinHandle<Vec<usize>> {
    let queue = queue.clone();
    thread::spawn(move || take(&queue))
}

fn take(queue: &Queue) -> Vec<usize> {
    let mut run = Vec::new();
    queue.take(|value| {
        run.push(*value);
        Next::More
    });
    run
}

fn take_rest(queue: &Queue) -> Vec<usize> {
    let len = queue.len();
    let run = take(queue);
    assert_eq!((run.len(), queue.len()), (len, 0));
    assert!(queue.is_empty() && !queue.has_ready());
    run
}

fn joined(first: Vec<usize>, then: Vec<usize>) -> Vec<usize> {
    [first, then].concat()
}
