//! The cost of single operations: the executor's state word, and the job board's orders, a skip
//! list of small keys beside a tree behind a lock.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use crossbeam_skiplist::SkipSet;
use executor_core::RunState;
use executor_core::ports::{Native, NativeWord};
use pipeline_exec::policy::JobHandle;

fn state_word(c: &mut Criterion) {
    let state = RunState::new(0, NativeWord::new);
    c.bench_function("state word: accept and settle", |b| {
        b.iter(|| {
            state.accept(black_box(&Native), 1).expect("the gate is open");
            state.release(&Native, 1)
        });
    });
}

const SIZES: [usize; 4] = [10, 1_000, 100_000, 1_000_000];

/// Jobs whose costs are all over.
fn jobs(count: usize) -> impl Iterator<Item = JobHandle> {
    (0..count).map(|seq| JobHandle {
        cost: (seq as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40,
        seq,
        index: seq,
    })
}

/// Many, so that the walked paths differ.
fn comers(waiting: usize) -> impl FnMut() -> JobHandle {
    let mut all = jobs(waiting + 4_096)
        .skip(waiting)
        .collect::<Vec<_>>()
        .into_iter()
        .cycle();
    move || all.next().expect("a cycle has no end")
}

fn come_and_go(c: &mut Criterion) {
    let mut group = c.benchmark_group("board's orders: a job comes and goes");
    for waiting in SIZES {
        let set: SkipSet<JobHandle> = jobs(waiting).collect();
        let mut next = comers(waiting);
        group.bench_function(BenchmarkId::new("skip list", waiting), |b| {
            b.iter(|| {
                let job = next();
                set.insert(job);
                set.remove(&job).is_some()
            });
        });
        let set: Mutex<BTreeSet<JobHandle>> = Mutex::new(jobs(waiting).collect());
        let lock = || set.lock().unwrap_or_else(PoisonError::into_inner);
        group.bench_function(BenchmarkId::new("tree behind a lock", waiting), |b| {
            b.iter(|| {
                let job = next();
                lock().insert(job);
                lock().remove(&job)
            });
        });
    }
    group.finish();
}

fn look(c: &mut Criterion) {
    let mut group = c.benchmark_group("board's orders: the heaviest");
    for waiting in SIZES {
        let set: SkipSet<JobHandle> = jobs(waiting).collect();
        group.bench_function(BenchmarkId::new("skip list", waiting), |b| {
            b.iter(|| black_box(&set).back().map(|entry| *entry.value()));
        });
        let set: Mutex<BTreeSet<JobHandle>> = Mutex::new(jobs(waiting).collect());
        let lock = || set.lock().unwrap_or_else(PoisonError::into_inner);
        group.bench_function(BenchmarkId::new("tree behind a lock", waiting), |b| {
            b.iter(|| black_box(lock().last().copied()));
        });
    }
    group.finish();
}

criterion_group!(micro, state_word, come_and_go, look);
criterion_main!(micro);
