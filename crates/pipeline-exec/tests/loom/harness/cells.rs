//! A stage whose slots leave marks that its `finish` and the model look at.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use loom::sync::atomic::AtomicUsize;
use loom::sync::{Condvar, Mutex};
use pipeline_exec::{Stage, StepCx, StepError};

use super::scene;

pub(crate) const SLOW_NS: u64 = 10;

pub(crate) struct Cells {
    runs: Vec<AtomicUsize>,
    finished: AtomicUsize,
    slow: Option<(usize, Mutex<Slow>, Condvar)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Slow {
    NotYet,
    Runs,
    MayEnd,
}

impl Cells {
    pub(crate) fn new(slots: usize) -> Arc<Self> {
        Self::build(slots, None)
    }

    pub(crate) fn with_slow(slots: usize, slow: usize) -> Arc<Self> {
        Self::build(slots, Some(slow))
    }

    fn build(slots: usize, slow: Option<usize>) -> Arc<Self> {
        Arc::new(Self {
            runs: (0..slots).map(|_| AtomicUsize::new(0)).collect(),
            finished: AtomicUsize::new(0),
            slow: slow.map(|slot| (slot, Mutex::new(Slow::NotYet), Condvar::new())),
        })
    }

    /// While the slow slot runs on another thread, nothing is left to interleave.
    pub(crate) fn while_slow(&self, act: impl FnOnce()) {
        let (_, state, changed) = self.slow.as_ref().expect("a slot takes time");
        wait(state, changed, Slow::Runs);
        act();
        set(state, changed, Slow::MayEnd);
    }

    pub(crate) fn ran(&self) -> (usize, usize) {
        let runs = self.runs.iter().map(|run| run.load(Ordering::Relaxed)).sum();
        (runs, self.finished.load(Ordering::Relaxed))
    }
}

fn wait(state: &Mutex<Slow>, changed: &Condvar, until: Slow) {
    let mut state = state.lock().unwrap();
    while *state != until {
        state = changed.wait(state).unwrap();
    }
}

fn set(state: &Mutex<Slow>, changed: &Condvar, to: Slow) {
    *state.lock().unwrap() = to;
    changed.notify_all();
}

impl Stage for Cells {
    fn slots(&self) -> usize {
        self.runs.len()
    }

    fn run(&self, slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        // Ordering: Relaxed, here and below. Only the policy publishes what a slot writes.
        let before = self.runs[slot].load(Ordering::Relaxed);
        self.runs[slot].store(before + 1, Ordering::Relaxed);
        if let Some((slow, state, changed)) = &self.slow
            && *slow == slot
        {
            set(state, changed, Slow::Runs);
            wait(state, changed, Slow::MayEnd);
            scene::pass(SLOW_NS);
        }
        Ok(())
    }

    fn finish(&self, _cx: &StepCx<'_>) -> Result<(), StepError> {
        for run in &self.runs {
            if run.load(Ordering::Relaxed) != 1 {
                return Err("finish does not see what a slot wrote".into());
            }
        }
        let before = self.finished.load(Ordering::Relaxed);
        self.finished.store(before + 1, Ordering::Relaxed);
        Ok(())
    }
}
