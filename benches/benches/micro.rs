//! The cost of single operations: the executor's state word, and the skip list that keeps the job
//! board's orders.

use std::hint::black_box;

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

/// A job whose cost is anywhere among those of the others.
fn job(seq: usize) -> JobHandle {
    JobHandle {
        rank: (seq as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40,
        seq,
        index: seq,
    }
}

fn orders(c: &mut Criterion) {
    let mut group = c.benchmark_group("board's orders");
    for waiting in [10, 1_000, 100_000, 1_000_000] {
        let set: SkipSet<JobHandle> = (0..waiting).map(job).collect();
        group.bench_function(BenchmarkId::new("a job comes and goes", waiting), |b| {
            // Many, so that the walked paths differ.
            let mut next = (waiting..waiting + 4_096).cycle();
            b.iter(|| {
                let job = job(next.next().expect("a cycle has no end"));
                set.insert(job);
                set.remove(&job).is_some()
            });
        });
        group.bench_function(BenchmarkId::new("the heaviest", waiting), |b| {
            b.iter(|| black_box(&set).back().map(|entry| *entry.value()));
        });
    }
    group.finish();
}

criterion_group!(micro, state_word, orders);
criterion_main!(micro);
