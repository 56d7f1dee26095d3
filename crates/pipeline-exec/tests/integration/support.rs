//! Parts of the tests: stages that count, gates that hold workers, a small `block_on`.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use pipeline_exec::{Job, PipelineExecutor, Stage, StepCx, StepError, step};

pub(crate) struct Counting {
    pub(crate) runs: Vec<AtomicUsize>,
    pub(crate) finished: AtomicUsize,
}

impl Counting {
    pub(crate) fn new(slots: usize) -> Arc<Self> {
        Arc::new(Self {
            runs: (0..slots).map(|_| AtomicUsize::new(0)).collect(),
            finished: AtomicUsize::new(0),
        })
    }

    pub(crate) fn assert_each_ran_once(&self) {
        for (slot, runs) in self.runs.iter().enumerate() {
            assert_eq!(runs.load(Ordering::Relaxed), 1, "slot {slot}");
        }
        assert_eq!(self.finished.load(Ordering::Relaxed), 1, "finish");
    }

    pub(crate) fn ran(&self) -> usize {
        self.runs.iter().map(|runs| runs.load(Ordering::Relaxed)).sum()
    }
}

impl Stage for Counting {
    fn name(&self) -> &str {
        "counting"
    }

    fn slots(&self) -> usize {
        self.runs.len()
    }

    fn run(&self, slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        self.runs[slot].fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn finish(&self, _cx: &StepCx<'_>) -> Result<(), StepError> {
        assert_eq!(self.ran(), self.runs.len(), "finish sees every slot");
        self.finished.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    open: bool,
    arrived: usize,
}

impl Gate {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.arrived += 1;
        self.changed.notify_all();
        while !state.open {
            state = self.changed.wait(state).unwrap();
        }
    }

    pub(crate) fn wait_for(&self, n: usize) {
        let mut state = self.state.lock().unwrap();
        while state.arrived < n {
            state = self.changed.wait(state).unwrap();
        }
    }

    pub(crate) fn has_come(&self, n: usize) -> bool {
        self.state.lock().unwrap().arrived >= n
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().open = true;
        self.changed.notify_all();
    }
}

pub(crate) fn hold_workers(executor: &PipelineExecutor, threads: usize) -> Arc<Gate> {
    let gate = Gate::new();
    let steps = (0..threads).map(|_| {
        let gate = gate.clone();
        step(move |_cx| {
            gate.pass();
            Ok(())
        })
    });
    let ticket = executor.submit(Job::from_steps("hold", steps.collect())).unwrap();
    gate.wait_for(threads);
    drop(ticket);
    gate
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
