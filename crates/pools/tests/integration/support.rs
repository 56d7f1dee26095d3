//! Test support: a gate that holds work.

use std::sync::{Arc, Condvar, Mutex};

use pools::{CpuTask, Pools};

#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<(bool, usize)>,
    changed: Condvar,
}

impl Gate {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn pass(&self) {
        self.arrive();
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |state| !state.0).unwrap());
    }

    pub(crate) fn arrive(&self) {
        self.state.lock().unwrap().1 += 1;
        self.changed.notify_all();
    }

    pub(crate) fn arrived(&self) -> usize {
        self.state.lock().unwrap().1
    }

    pub(crate) fn wait_for(&self, n: usize) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |state| state.1 < n).unwrap());
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().0 = true;
        self.changed.notify_all();
    }
}

/// No spare threads: while the workers are held, no task runs.
pub(crate) fn pools(cpu_threads: usize) -> Pools {
    Pools::builder()
        .cpu_threads(cpu_threads)
        .cpu_spares(0)
        .mixed_threads(1)
        .build()
        .unwrap()
}

pub(crate) fn hold_cpu(pools: &Pools, threads: usize) -> (Arc<Gate>, Vec<CpuTask<()>>) {
    let gate = Gate::new();
    let held = (0..threads).map(|_| {
        let gate = gate.clone();
        pools.cpu().run(move |_cx| gate.pass())
    });
    let held = held.collect();
    gate.wait_for(threads);
    (gate, held)
}
