//! The hook's effect on tasks, inside and outside of jobs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use datafusion::common::runtime::{JoinSet, SpawnedTask};
use pools::{AsyncJob, JobOptions};

use crate::engine::{Ours, block_on_many_threads, one_thread};

async fn in_a_job() -> bool {
    AsyncJob::current().is_some()
}

#[test]
fn what_a_task_of_a_job_spawns_is_of_the_same_job_and_what_other_tasks_spawn_is_tokios() {
    let ours = Ours::with_workers(2);
    block_on_many_threads(async {
        let nested = ours.windlass.spawn(JobOptions::new().name("nested"), async {
            let task = SpawnedTask::spawn(async {
                let mut set = JoinSet::new();
                set.spawn(in_a_job());
                in_a_job().await && set.join_next().await.expect("one task").expect("no panic")
            });
            let all_in_a_job = task.await.expect("no panic");
            let (_over, spawned) = AsyncJob::current().expect("this is a task of it").progress();
            (all_in_a_job, spawned)
        });
        assert_eq!(nested.await.expect("it runs"), (true, 3));
        assert!(!SpawnedTask::spawn(in_a_job()).await.expect("no panic"));
    });
}

#[test]
fn a_panic_comes_as_it_was_thrown_to_the_code_that_awaits_the_task() {
    let ours = Ours::with_workers(1);
    let payload = block_on_many_threads(ours.windlass.spawn(JobOptions::new(), async {
        let task = SpawnedTask::spawn(async { std::panic::panic_any(42_u8) });
        let error = task.await.expect_err("it panics");
        error.into_panic().downcast::<u8>().ok()
    }));
    assert_eq!(payload.expect("it runs"), Some(Box::new(42)));

    let whole = ours.windlass.spawn(JobOptions::new(), async {
        let task = SpawnedTask::spawn(async { panic!("out of ink") });
        task.join_unwind().await.expect("resumed before this")
    });
    let thrown = catch_unwind(AssertUnwindSafe(|| block_on_many_threads(whole)));
    let thrown = thrown.expect_err("resumed again").downcast::<&str>();
    assert_eq!(thrown.expect("a text"), Box::new("out of ink"));
}

struct Noted(Arc<AtomicBool>);

impl Drop for Noted {
    fn drop(&mut self) {
        // Ordering: Relaxed. The test polls until it sees the value.
        self.0.store(true, Ordering::Relaxed);
    }
}

fn await_drop(dropped: &AtomicBool) {
    let begun = Instant::now();
    // Ordering: Relaxed. As above.
    while !dropped.load(Ordering::Relaxed) {
        assert!(begun.elapsed() < Duration::from_secs(60), "never dropped");
        thread::yield_now();
    }
}

#[test]
fn dropping_a_task_drops_its_future() {
    let ours = Ours::with_workers(2);
    let dropped = Arc::new(AtomicBool::new(false));
    let noted = Noted(Arc::clone(&dropped));
    block_on_many_threads(async {
        let task = ours.windlass.spawn(JobOptions::new(), async {
            let (started, starts) = tokio::sync::oneshot::channel();
            let task = SpawnedTask::spawn(async move {
                let _noted = noted;
                started.send(()).expect("it is awaited");
                std::future::pending::<()>().await;
            });
            starts.await.expect("it starts");
            drop(task);
        });
        task.await.expect("it runs");
    });
    await_drop(&dropped);
    assert!(ours.windlass.snapshot().jobs.is_empty());
}

#[test]
fn dropping_what_spawn_gave_drops_the_whole_job() {
    let ours = Ours::with_workers(2);
    let dropped = Arc::new(AtomicBool::new(false));
    let noted = Noted(Arc::clone(&dropped));
    let (started, starts) = tokio::sync::oneshot::channel();
    let task = ours
        .windlass
        .spawn(JobOptions::new().name("to be dropped"), async {
            let task = SpawnedTask::spawn(async move {
                let _noted = noted;
                started.send(()).expect("it is awaited");
                std::future::pending::<()>().await;
            });
            task.await
        });
    one_thread().block_on(starts).expect("it starts");
    let jobs = ours.windlass.snapshot().jobs;
    assert_eq!(jobs.len(), 1);
    assert_eq!(
        (jobs[0].name.as_str(), jobs[0].tasks_spawned),
        ("to be dropped", 2)
    );
    drop(task);
    await_drop(&dropped);
}

#[test]
fn the_hook_is_installed_once_and_serves_any_pools() {
    let (first, second) = (Ours::with_workers(1), Ours::with_workers(2));
    for ours in [&first, &second] {
        let spawned = ours.windlass.spawn(JobOptions::new(), async {
            SpawnedTask::spawn(in_a_job()).await.expect("no panic")
        });
        assert!(block_on_many_threads(spawned).expect("it runs"));
    }
}
