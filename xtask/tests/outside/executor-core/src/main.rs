//! On `executor-core` alone: the policy over ports of one's own, here plain queues. One worker
//! counts the leaves of a tree, without a thread.

use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::Duration;

use executor_core::ports::{
    Clock, Entropy, Faults, Inject, LocalQueue, Native, NativeWord, Parking, ProducerPorts, Run, Steal, Stealing,
    Unpark,
};
use executor_core::{
    ExecutorConfig, NoopTrace, Scheduler, TaskCtx, TieredIdle, WorkerCtxLike, WorkerExit,
    WorkerMetricsLocal, WorkerState, run_worker,
};

/// A subtree's depth.
type Tree = u32;

struct Shared {
    scheduler: Scheduler<NativeWord>,
    injector: RefCell<VecDeque<Tree>>,
    own: RefCell<Vec<Tree>>,
}

#[derive(Clone, Copy)]
struct Ports<'a>(&'a Shared);

executor_core::delegate_memory!(impl[] Memory<NativeWord> for Ports<'_>, |_ports| Native);

impl Inject<Tree> for Ports<'_> {
    fn inject(&self, task: Tree) {
        self.0.injector.borrow_mut().push_back(task);
    }

    fn inject_batch(&self, batch: Vec<Tree>) {
        self.0.injector.borrow_mut().extend(batch);
    }
}

impl LocalQueue<Tree> for Ports<'_> {
    fn push(&self, task: Tree) {
        self.0.own.borrow_mut().push(task);
    }

    fn pop(&self) -> Option<Tree> {
        self.0.own.borrow_mut().pop()
    }

    fn is_empty(&self) -> bool {
        self.0.own.borrow().is_empty()
    }
}

impl Stealing<Tree> for Ports<'_> {
    fn steal_injected(&self, _most: usize, run: &mut Run<Tree>) -> Steal<()> {
        let taken = self.0.injector.borrow_mut().pop_front().map(|task| run.push(task));
        taken.map_or(Steal::Empty, Steal::Task)
    }

    fn injector_is_empty(&self) -> bool {
        self.0.injector.borrow().is_empty()
    }

    fn victim_is_empty(&self, _victim: usize) -> bool {
        true
    }

    fn steal_from(&self, victim: usize) -> Steal<Tree> {
        panic!("the only worker looked for worker {victim}");
    }
}

impl Unpark for Ports<'_> {
    fn unpark(&self, worker: usize) {
        panic!("worker {worker} was woken, but never slept");
    }

    fn signal_waiters(&self) {}
}

impl Parking for Ports<'_> {
    fn park(&self, _timeout: Option<Duration>) {
        panic!("the only worker went to sleep with nobody to wake it");
    }

    fn spin(&self, _times: u32) {}

    fn yield_now(&self) {}
}

impl Clock for Ports<'_> {
    fn now_ns(&self) -> u64 {
        0
    }
}

impl Entropy for Ports<'_> {
    fn below(&self, _bound: usize) -> usize {
        0
    }
}

impl Faults for Ports<'_> {
    fn record_panic(&self, payload: Box<dyn Any + Send>) {
        std::panic::resume_unwind(payload);
    }
}

impl ProducerPorts<Tree> for Ports<'_> {
    fn scheduler(&self) -> &Scheduler<NativeWord> {
        &self.0.scheduler
    }
}

struct Worker<'a> {
    state: WorkerState<Tree, Ports<'a>>,
    leaves: u64,
    metrics: WorkerMetricsLocal,
}

impl TaskCtx<Tree, u64> for Worker<'_> {
    fn worker_id(&self) -> usize {
        self.state.worker_id()
    }

    fn scratch(&mut self) -> &mut u64 {
        &mut self.leaves
    }

    fn spawn_local(&mut self, task: Tree) {
        self.state.spawn_local(task);
    }

    fn spawn_global(&mut self, task: Tree) {
        self.state.spawn_global(task);
    }

    fn publish(&mut self) {
        self.state.publish();
    }

    fn has_idle_workers(&mut self) -> bool {
        self.state.has_idle_workers()
    }

    fn wait_until(&mut self, _what: &'static str, ready: impl FnMut() -> bool) -> bool {
        self.state.wait_until(ready)
    }
}

impl<'a> WorkerCtxLike<Tree, u64> for Worker<'a> {
    type Ports = Ports<'a>;

    fn state(&mut self) -> &mut WorkerState<Tree, Ports<'a>> {
        &mut self.state
    }

    fn metrics(&mut self) -> &mut WorkerMetricsLocal {
        &mut self.metrics
    }
}

fn count<C: TaskCtx<Tree, u64>>(depth: Tree, cx: &mut C) {
    if depth == 0 {
        *cx.scratch() += 1;
    } else if depth.is_multiple_of(2) {
        cx.spawn_local_all([depth - 1; 2]);
    } else {
        cx.spawn_local(depth - 1);
        cx.spawn_global(depth - 1);
    }
}

fn main() {
    let shared = Shared {
        scheduler: Scheduler::new(ExecutorConfig::default(), NativeWord::new),
        injector: RefCell::default(),
        own: RefCell::default(),
    };
    let ports = Ports(&shared);
    shared
        .scheduler
        .spawn_external(&ports, 10)
        .expect("the gate is open");
    shared.scheduler.close(&ports);
    let rejected = shared
        .scheduler
        .spawn_external(&ports, 7)
        .expect_err("the gate is closed");
    assert_eq!(rejected.0, 7);

    let mut worker = Worker {
        state: WorkerState::new(0, ports),
        leaves: 0,
        metrics: WorkerMetricsLocal::default(),
    };
    let mut idle = TieredIdle::new(0, None);
    let exit = run_worker(
        &mut worker,
        &|tree, cx: &mut Worker<'_>| count(tree, cx),
        &mut idle,
        &mut NoopTrace,
    );
    assert_eq!(exit, WorkerExit::Done);
    assert_eq!(worker.leaves, 1 << 10);
    println!(
        "executor-core: {} leaves in {} tasks",
        worker.leaves,
        worker.metrics.executed()
    );
}
