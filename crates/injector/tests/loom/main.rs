//! The loom models of the queue: every interleaving and every reordering that C11 allows, of small scenes.
//!
//! `cargo xtask loom` runs them and prints, for each, its bound, its executions and its seconds. A model is named
//! after its interleaving; `docs/memory-model.md` says which synchronisation edge each one carries. A block has two slots
//! here, so a scene of three values sees its end. Loom finds a value that is read while it may be written, the queue's
//! own cells find a block that is touched after it changed its owner, and one that is never freed. Without
//! `--cfg windlass_loom` this binary is empty.
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

/// A queue of boxes, so that a value that is lost or doubled is also memory that is.
type Queue = Arc<Injector<Box<usize>>>;

/// A queue with these values.
fn queue(values: impl IntoIterator<Item = usize>) -> Queue {
    let queue = Queue::new(Injector::new());
    push(&queue, values);
    queue
}

fn push(queue: &Queue, values: impl IntoIterator<Item = usize>) {
    values.into_iter().for_each(|value| queue.push(Box::new(value)));
}

/// A thread that pushes.
fn producer<const N: usize>(queue: &Queue, values: [usize; N]) -> JoinHandle<()> {
    let queue = queue.clone();
    thread::spawn(move || push(&queue, values))
}

/// A thread that takes what is ready.
///
/// A scene has its first producer on the main thread, which loom runs first. The other way round loom misses executions:
/// of a place it remembers the last access alone, and a push reads the index before it changes it, so a consumer that has
/// read the index earlier is forgotten.
fn consumer(queue: &Queue) -> JoinHandle<Vec<usize>> {
    let queue = queue.clone();
    thread::spawn(move || take(&queue))
}

/// Takes what is ready.
fn take(queue: &Queue) -> Vec<usize> {
    let mut run = Vec::new();
    queue.take(|value| {
        run.push(*value);
        Next::More
    });
    run
}

/// Takes the rest, which must be ready, and checks that the queue knows that it is empty.
fn take_rest(queue: &Queue) -> Vec<usize> {
    let len = queue.len();
    let run = take(queue);
    assert_eq!((run.len(), queue.len()), (len, 0));
    assert!(queue.is_empty() && !queue.has_ready());
    run
}

/// Both of these, in this order, as one.
fn joined(first: Vec<usize>, then: Vec<usize>) -> Vec<usize> {
    [first, then].concat()
}
