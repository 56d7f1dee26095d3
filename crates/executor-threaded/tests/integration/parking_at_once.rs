//! `ParkAtOnce`: workers on it wake each other, and each searches once before it parks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use executor_threaded::hooks::{ExecTraceEvent, IdleHooks, ParkAtOnce, TraceHooks};
use executor_threaded::{Executor, ExecutorConfig};

use crate::support::{both_ways_of_parking, config, wait_until};

both_ways_of_parking! {
    /// Between two trees the workers go to sleep, and within one they wake each other.
    fn trees_of_tasks_run_and_the_executor_ends(park_timeout) {
        run_trees(config(4, park_timeout), |_worker, config| ParkAtOnce::of(config));
    }
}

fn run_trees<I: IdleHooks>(
    config: ExecutorConfig,
    hooks: impl Fn(usize, &ExecutorConfig) -> I + Send + Sync + 'static,
) {
    const TREES: u64 = 500;
    let executor = Executor::<u32>::builder()
        .config(config)
        .idle_hooks(hooks)
        .build(
            |_| (),
            |height, cx| {
                if let Some(lower) = height.checked_sub(1) {
                    cx.spawn_local(lower);
                    cx.spawn_global(lower);
                }
            },
        )
        .expect("the executor starts");
    for _ in 0..TREES {
        executor.spawn_external(6).expect("the gate is open");
        executor.wait_idle();
    }
    assert_eq!(executor.join().total.executed(), TREES * 127);
}

/// Counts how often a worker goes to sleep; timeouts of its parks do not count.
struct Parks(Arc<AtomicUsize>);

impl<T> TraceHooks<T> for Parks {
    type Tag = ();

    fn tag(&mut self, _task: &T) {}

    fn event(&mut self, event: ExecTraceEvent<()>) {
        if matches!(event, ExecTraceEvent::Park) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_worker_searches_once_before_it_parks() {
    search_once_and_park(|_worker, config| ParkAtOnce::of(config));
}

/// Probes of other workers' queues tell: the default's 200 rounds make a thousand of them. For hooks
/// without a timeout, after which a look makes one more.
fn search_once_and_park<I: IdleHooks>(hooks: impl Fn(usize, &ExecutorConfig) -> I + Send + Sync + 'static) {
    const WORKERS: usize = 2;
    let parks = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&parks);
    let config = config(WORKERS, None);
    // Random victims, then a sweep over the only other worker.
    let a_search = u64::from(config.tuning.steal_tries) + 1;
    let executor = Executor::<()>::builder()
        .config(config)
        .idle_hooks(hooks)
        .trace_hooks(move |_worker| Parks(Arc::clone(&counted)))
        .build(|_| (), |(), _cx| {})
        .expect("the executor starts");
    wait_until(|| parks.load(Ordering::Relaxed) == WORKERS);
    let metrics = executor.join();
    // A search and the last look before the park, and a search after the executor has ended.
    let most = WORKERS as u64 * (a_search + 1 + a_search);
    assert!(metrics.total.steals_tried <= most, "{metrics}");
    assert_eq!(
        parks.load(Ordering::Relaxed),
        WORKERS,
        "nobody was woken before the end"
    );
}
