//! On `executor-threaded` alone: a crawler, fed by several threads, through each way in which an
//! executor ends.

use std::collections::BTreeSet;
use std::error::Error;
use std::panic;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use executor_threaded::hooks::{ExecTraceEvent, IdleAction, IdleHooks, IdleRound, PopSource, TieredIdle, TraceHooks};
use executor_threaded::metrics::WorkerMetricsLocal;
use executor_threaded::worker_id::set_current_worker_id;
use executor_threaded::{Aborted, BuildError, Executor, ExecutorConfig, ExecutorHandle, MetricsSnapshot, Pin, Rejected, TaskCtx, WorkerCtx, current_worker_id, for_host};

#[derive(Debug, Clone, PartialEq)]
enum Task {
    /// Two folders below, down to a depth, and a file in each.
    Folder { depth: u32 },
    File { bytes: u64 },
    Broken,
}

#[derive(Debug, Default)]
struct Totals {
    files: u64,
    bytes: u64,
}

/// Adds its totals when its worker leaves.
struct Reporting {
    totals: Totals,
    sum: Arc<AtomicU64>,
}

impl Drop for Reporting {
    fn drop(&mut self) {
        self.sum.fetch_add(self.totals.bytes, Ordering::Relaxed);
    }
}

/// For any context: threads here, a simulator elsewhere.
fn crawl<C: TaskCtx<Task, Totals>>(task: Task, cx: &mut C) {
    match task {
        Task::Folder { depth: 0 } => cx.spawn_local(Task::File { bytes: 10 }),
        Task::Folder { depth } => {
            cx.spawn_local(Task::Folder { depth: depth - 1 });
            cx.spawn_global(Task::Folder { depth: depth - 1 });
            cx.publish();
        }
        Task::File { bytes } => {
            let totals = cx.scratch();
            totals.files += 1;
            totals.bytes += bytes;
        }
        Task::Broken => panic!("this file is broken"),
    }
}

fn two_workers() -> ExecutorConfig {
    ExecutorConfig::new(2)
}

fn crawler(config: ExecutorConfig) -> Result<Executor<Task>, BuildError> {
    Executor::<Task>::new(config, |_worker| Totals::default(), |task, cx| crawl(task, cx))
}

fn run_to_the_end() -> Result<(), Box<dyn Error>> {
    let config: ExecutorConfig = for_host()?;
    config.validate()?;
    let sum = Arc::new(AtomicU64::new(0));
    let reported = Arc::clone(&sum);
    let executor: Executor<Task> = Executor::new(
        config.seed(7).pin_threads(Pin::Never).tune(|tuning| { tuning.steal_tries = 2; tuning.spin_iters = 50; tuning.park_timeout = None; }),
        move |worker| {
            assert_eq!(current_worker_id(), Some(worker));
            let totals = Totals::default();
            let sum = Arc::clone(&reported);
            Reporting { totals, sum }
        },
        |task, cx: &mut WorkerCtx<Task, Reporting>| {
            assert_eq!(current_worker_id(), Some(cx.worker_id));
            let (scratch, spawner) = cx.parts();
            match task {
                Task::Folder { depth: 0 } => scratch.totals.bytes += 1,
                Task::Folder { depth } => {
                    spawner.spawn_local(Task::Folder { depth: depth - 1 });
                    spawner.spawn_global(Task::Folder { depth: depth - 1 });
                }
                other => cx.handle().spawn(other).unwrap_or_else(|Rejected(task)| {
                    panic!("a running task keeps the gate as it was: {task:?}");
                }),
            }
            let _: &WorkerMetricsLocal = &cx.metrics;
            let _ = cx.rng.clone();
        },
    )?;
    let handle: ExecutorHandle<Task> = executor.handle();
    let producers: Vec<_> = (0..3)
        .map(|_| {
            let handle = handle.clone();
            thread::spawn(move || handle.spawn(Task::Folder { depth: 6 }))
        })
        .collect();
    for producer in producers {
        producer.join().expect("a producer does not panic")?;
    }
    executor.spawn_external_batch(vec![Task::Folder { depth: 4 }; 2])?;
    executor.wait_idle();
    assert!(executor.is_accepting() && handle.is_accepting());
    executor.spawn_external(Task::Folder { depth: 0 })?;
    let metrics: MetricsSnapshot = executor.join();
    // Scratch values are dropped before `join` returns.
    assert_eq!(sum.load(Ordering::Relaxed), 3 * 64 + 2 * 16 + 1);
    assert_eq!(metrics.total.executed(), 3 * 127 + 2 * 31 + 1);
    assert_eq!(
        metrics.total.executed(),
        metrics.accepted_external() + metrics.total.spawned
    );
    let WorkerMetricsLocal {
        steals_won,
        steals_tried,
        ..
    } = metrics.total;
    assert!(steals_won <= steals_tried);

    assert!(!handle.is_accepting());
    let Err(Rejected(task)) = handle.spawn(Task::File { bytes: 3 }) else {
        panic!("nobody would run it");
    };
    assert_eq!(task, Task::File { bytes: 3 });
    let Err(Rejected(tasks)) = handle.spawn_batch(vec![task; 5]) else {
        panic!("nobody would run them");
    };
    assert_eq!(tasks.len(), 5);
    let error: Box<dyn Error> = Box::new(Rejected(tasks));
    assert!(error.to_string().contains("no longer accepts"));
    Ok(())
}

fn survive_a_panic() -> Result<(), Box<dyn Error>> {
    let executor = crawler(two_workers())?;
    executor.spawn_external_batch(vec![Task::File { bytes: 1 }; 20])?;
    executor.spawn_external(Task::Broken)?;
    // May be returned: the executor may be closed by now.
    let late = executor.spawn_external(Task::File { bytes: 1 });
    let accepted = 21 + usize::from(late.is_ok());
    let aborted: Aborted<Task> = executor.try_join().expect_err("a task panicked");
    assert_eq!(aborted.panic_message(), Some("this file is broken"));
    assert!(aborted.panic.is_some());
    let run = usize::try_from(aborted.metrics.total.executed())?;
    assert_eq!(run + aborted.tasks.len(), accepted);
    Ok(())
}

/// Returns waiting tasks, including those that the last task spawned.
fn stop_in_the_middle() -> Result<(), Box<dyn Error>> {
    let (started, has_started) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let executor = Executor::<u32>::new(
        ExecutorConfig::default(),
        |_| (),
        move |task, cx| {
            if task == 0 {
                started.send(cx.handle()).expect("the owner listens");
                released
                    .lock()
                    .expect("nobody panics")
                    .recv()
                    .expect("the owner lets go");
                cx.spawn_local(100);
            }
        },
    )?;
    executor.spawn_external(0)?;
    let handle = has_started.recv()?;
    handle.spawn_batch(vec![1, 2, 3])?;
    let executor = match executor.join_timeout(Duration::from_millis(1)) {
        Err(executor) => executor,
        Ok(_) => panic!("its only worker is busy"),
    };
    assert!(
        !executor.is_accepting(),
        "joining closes the gate, even if it gives up"
    );
    handle.shutdown();
    release.send(())?;
    let left: BTreeSet<u32> = executor.shutdown().into_iter().collect();
    assert_eq!(left, BTreeSet::from([1, 2, 3, 100]));
    Ok(())
}

struct Watch {
    starts: Arc<AtomicU64>,
}

impl TraceHooks<Task> for Watch {
    type Tag = bool;

    fn tag(&mut self, task: &Task) -> bool {
        matches!(task, Task::File { .. })
    }

    fn event(&mut self, event: ExecTraceEvent<bool>) {
        if let ExecTraceEvent::TaskStart { tag, source, victim } = event {
            assert_eq!(source == PopSource::Steal, victim.is_some());
            self.starts.fetch_add(u64::from(tag), Ordering::Relaxed);
        }
    }
}

/// Yields once, then does as the default.
struct Patient(TieredIdle);

impl IdleHooks for Patient {
    fn on_idle(&mut self, round: IdleRound) -> IdleAction {
        match round.round {
            0 => IdleAction::Yield,
            _ => self.0.on_idle(round),
        }
    }
}

fn with_hooks() -> Result<(), Box<dyn Error>> {
    let files = Arc::new(AtomicU64::new(0));
    let starts = Arc::clone(&files);
    let executor = Executor::<Task>::builder()
        .config(two_workers())
        .thread_name("crawler")
        .stack_size(1 << 20)
        .on_start(|worker| {
            assert_eq!(
                thread::current().name(),
                Some(format!("crawler-{worker}").as_str())
            )
        })
        .on_stop(|worker| assert!(worker < 2))
        .idle_hooks(|_worker, config| Patient(TieredIdle::new(config.tuning.spin_iters, config.tuning.park_timeout)))
        .trace_hooks(move |_worker| Watch {
            starts: Arc::clone(&starts),
        })
        .build(|_worker| Totals::default(), |task, cx| crawl(task, cx))?;
    executor.spawn_external(Task::Folder { depth: 5 })?;
    executor.join();
    assert_eq!(files.load(Ordering::Relaxed), 32);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    assert_eq!(current_worker_id(), None);
    set_current_worker_id(Some(3));
    assert_eq!(current_worker_id(), Some(3));
    set_current_worker_id(None);

    let nobody = ExecutorConfig::new(0);
    let error = crawler(nobody).expect_err("nobody would work");
    assert!(
        matches!(error, BuildError::Config(_)) && error.to_string().contains("workers"),
        "{error}"
    );
    let error = Executor::<Task>::new(two_workers(), |_| -> () { panic!("no scratch today") }, |_, _| ());
    assert!(error.is_err_and(|error| error.to_string().contains("no scratch today")));

    run_to_the_end()?;
    survive_a_panic()?;
    stop_in_the_middle()?;
    with_hooks()?;
    drop(crawler(two_workers())?);
    println!("executor-threaded: ran, panicked, stopped and was watched");
    Ok(())
}
