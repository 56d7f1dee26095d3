//! One worker, a binary tree of so many tasks, and nothing else: for counting instructions per task.
//!
//! ```text
//! cargo build --release -p benches --example tree_for_callgrind
//! valgrind --tool=callgrind target/release/examples/tree_for_callgrind 1000000
//! ```
//!
//! What starting and ending cost goes away in the difference between two runs of different size.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use executor_threaded::{Executor, ExecutorConfig, Pin};

/// A worker's own sum, that goes to the total when the worker ends.
struct Sum {
    own: u64,
    total: Arc<AtomicU64>,
}

impl Drop for Sum {
    fn drop(&mut self) {
        self.total.fetch_add(self.own, Ordering::Relaxed);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let tasks: u64 = match std::env::args().nth(1) {
        Some(text) => text
            .parse()
            .map_err(|error| format!("the number of tasks {text:?}: {error}"))?,
        None => 1_000_000,
    };
    let total = Arc::new(AtomicU64::new(0));
    let sums = Arc::clone(&total);
    let config = ExecutorConfig {
        workers: 1,
        pin_threads: Pin::Never,
        ..ExecutorConfig::default()
    };
    // A task is a node's number, as in a heap: the children of `n` are `2 n` and `2 n + 1`, as far as there are any.
    let executor = Executor::<u64>::new(
        config,
        move |_| Sum {
            own: 0,
            total: Arc::clone(&sums),
        },
        move |node, cx| {
            for child in [2 * node, 2 * node + 1] {
                if child <= tasks {
                    cx.spawn_local(child);
                }
            }
            cx.scratch.own += node;
        },
    )?;
    if tasks > 0 {
        executor.spawn_external(1)?;
    }
    let metrics = executor.join();
    let sum = total.load(Ordering::Relaxed);
    assert_eq!(metrics.total.executed(), tasks, "every task runs once");
    assert_eq!(sum, tasks * (tasks + 1) / 2, "and each is another");
    println!("{tasks} tasks, the sum of their numbers is {sum}");
    Ok(())
}
