//! The hook around a tracer of the program's own. It is the process's, so this test is a program.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion_common_runtime::{JoinSetTracer, SpawnedTask};
use pools::{AsyncJob, JobOptions, Pools};
use windlass_datafusion::{HookTaken, Windlass};

type Output = Box<dyn Any + Send>;

#[derive(Clone, Debug, Default)]
struct Counting {
    futures: Arc<AtomicUsize>,
    blocks: Arc<AtomicUsize>,
    polls_in_a_job: Arc<AtomicUsize>,
}

impl JoinSetTracer for Counting {
    fn trace_future(
        &self,
        mut future: Pin<Box<dyn Future<Output = Output> + Send>>,
    ) -> Pin<Box<dyn Future<Output = Output> + Send>> {
        // Ordering: Relaxed, all. Read when the tasks have been awaited.
        self.futures.fetch_add(1, Ordering::Relaxed);
        let polls = Arc::clone(&self.polls_in_a_job);
        Box::pin(std::future::poll_fn(move |cx| {
            if AsyncJob::current().is_some() {
                polls.fetch_add(1, Ordering::Relaxed);
            }
            future.as_mut().poll(cx)
        }))
    }

    fn trace_block(&self, block: Box<dyn FnOnce() -> Output + Send>) -> Box<dyn FnOnce() -> Output + Send> {
        // Ordering: Relaxed. As above.
        self.blocks.fetch_add(1, Ordering::Relaxed);
        block
    }
}

#[test]
fn a_tracer_inside_sees_every_future_and_is_polled_by_the_job() {
    let pools = || Pools::builder().cpu_threads(2).build().expect("in range");
    let tracer = Counting::default();
    let windlass = Windlass::install_around(pools(), tracer.clone()).expect("the hook is free");
    let pools_here = windlass.pools().clone();
    let sum = pools_here.mixed().block_on(async {
        assert_eq!(SpawnedTask::spawn(async { 1 }).await.expect("no panic"), 1);
        let task = windlass.spawn(JobOptions::new(), async {
            let future = SpawnedTask::spawn(async { 2 });
            let block = SpawnedTask::spawn_blocking(|| 3);
            future.await.expect("no panic") + block.await.expect("no panic")
        });
        task.await.expect("it runs")
    });
    assert_eq!(sum.expect("not in a pool"), 5);
    // Ordering: Relaxed, all. The tasks have been awaited.
    let counted = [&tracer.futures, &tracer.blocks, &tracer.polls_in_a_job];
    assert_eq!(counted.map(|count| count.load(Ordering::Relaxed)), [2, 1, 1]);

    Windlass::install(pools()).expect("the hook is ours");
    let taken = Windlass::install_around(pools(), tracer).expect_err("it is around one tracer");
    let HookTaken::ByWindlass { at } = taken else {
        panic!("{taken:?}");
    };
    assert!(at.file().ends_with("around.rs"), "{at}");
}
