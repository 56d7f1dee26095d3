//! A binary tree of tasks only: to count instructions per task, and to time them.
//!
//! ```text
//! cargo build --release -p benches --example tree_for_callgrind
//! for tasks in 1048575 3145727; do
//!     valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/tree_for_callgrind $tasks
//! done
//! target/release/examples/tree_for_callgrind 67108863 2
//! ```
//!
//! Arguments: tasks (a million by default) and workers (one). Instructions per task are the
//! difference of the two `Collected` counts over 2,097,152 tasks: start and end cancel out. The
//! time needs many tasks, since it includes the stop.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use executor_threaded::{Executor, ExecutorConfig, Pin};

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
    let mut arguments = std::env::args().skip(1);
    let tasks = number(arguments.next(), "tasks", 1_000_000)?;
    let workers = usize::try_from(number(arguments.next(), "workers", 1)?)?;
    if let Some(surplus) = arguments.next() {
        return Err(format!("{surplus:?} is one argument too many").into());
    }
    let total = Arc::new(AtomicU64::new(0));
    let sums = Arc::clone(&total);
    // Callgrind is some fifty times as slow as the machine: by the clock a task would sometimes
    // count as long, and take the public way, which is longer.
    let config = ExecutorConfig::new(workers)
        .pin_threads(Pin::Never)
        .tune(|tuning| tuning.short_task = Duration::from_secs(60));
    // A task is a node's number, as in a heap: the children of `n` are `2 n` and `2 n + 1`, if they
    // exist.
    let executor = Executor::<u64>::new(
        config,
        move |_| Sum {
            own: 0,
            total: Arc::clone(&sums),
        },
        move |node, cx| {
            cx.scratch.own += node;
            let (left, right) = (2 * node, 2 * node + 1);
            if right > tasks {
                return (left <= tasks).then_some(left);
            }
            cx.spawn_local(left);
            Some(right)
        },
    )?;
    let start = Instant::now();
    if tasks > 0 {
        executor.spawn_external(1)?;
    }
    let metrics = executor.join();
    let took = start.elapsed();
    let sum = total.load(Ordering::Relaxed);
    assert_eq!(metrics.total.executed(), tasks, "every task runs once");
    assert_eq!(sum, tasks * (tasks + 1) / 2, "and each is another");
    println!("{tasks} tasks, the sum of their numbers is {sum}");
    if tasks > 0 {
        println!("{:.3} ns per task", took.as_nanos() as f64 / tasks as f64);
    }
    Ok(())
}

fn number(argument: Option<String>, what: &str, otherwise: u64) -> Result<u64, String> {
    argument.map_or(Ok(otherwise), |text| {
        text.parse()
            .map_err(|error| format!("the number of {what} {text:?}: {error}"))
    })
}
