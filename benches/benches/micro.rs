//! Parts of the executor alone: the cost of one operation.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use executor_core::RunState;
use executor_core::ports::{Native, NativeWord};
use executor_threaded::{Executor, ExecutorConfig};

fn state_word(c: &mut Criterion) {
    let state = RunState::new(0, NativeWord::new);
    c.bench_function("state word: accept and settle", |b| {
        b.iter(|| {
            state.accept(black_box(&Native), 1).expect("the gate is open");
            state.release(&Native, 1)
        });
    });
}

fn life_cycle(c: &mut Criterion) {
    c.bench_function("executor: start and join, 2 workers", |b| {
        b.iter(|| {
            let config = ExecutorConfig::new(2);
            Executor::<()>::new(config, |_| (), |(), _| {})
                .expect("the executor starts")
                .join()
        });
    });
}

fn chain(c: &mut Criterion) {
    let config = ExecutorConfig::new(1);
    let executor = Executor::<u32>::new(
        config,
        |_| (),
        |left, cx| {
            if left > 0 {
                cx.spawn_local(left - 1);
            }
        },
    )
    .expect("the executor starts");
    c.bench_function("executor: a chain of 10,000 tasks, 1 worker", |b| {
        b.iter(|| {
            executor.spawn_external(10_000).expect("the gate is open");
            executor.wait_idle();
        });
    });
}

criterion_group!(micro, state_word, life_cycle, chain);
criterion_main!(micro);
