//! Chunked lists beside `Vec`: push, extend, random access, going through.
//!
//! `Vec::with_capacity` is a `Vec` that was told how much is coming: it neither copies nor asks twice, and no list that does not know can
//! be faster. Lists are of 64-bit numbers. What each operation executes is counted by `examples/lists_for_callgrind.rs`.

use std::hint::black_box;
use std::iter;
use std::sync::Arc;

use columnar::Quota;
use columnar::chunked::{ChunkedVec, Growth};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// A head, what fits into the first level of cache, what fits into none.
const SIZES: [u64; 3] = [100, 4_000, 4_000_000];

/// Chunks of the fixed policy.
const FIXED: usize = 16_384;

fn chunked() -> ChunkedVec<u64> {
    ChunkedVec::new()
}

fn charged() -> ChunkedVec<u64> {
    ChunkedVec::with_quota(Arc::new(Quota::new("bench", usize::MAX)))
}

fn fixed() -> ChunkedVec<u64> {
    ChunkedVec::with_growth(Growth::Fixed(FIXED), None)
}

fn sized<'c>(c: &'c mut Criterion, what: &str, size: u64) -> BenchmarkGroup<'c, WallTime> {
    let mut group = c.benchmark_group(format!("{what} {size}"));
    group.throughput(Throughput::Elements(size));
    group
}

/// Numbers that the compiler does not know.
fn numbers(size: u64) -> impl Iterator<Item = u64> {
    (0..black_box(size)).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn push(c: &mut Criterion) {
    for size in SIZES {
        let mut group = sized(c, "push", size);
        group.bench_function("Vec", |b| {
            b.iter(|| {
                let mut list = Vec::new();
                numbers(size).for_each(|number| list.push(number));
                list
            });
        });
        group.bench_function("Vec::with_capacity", |b| {
            b.iter(|| {
                let mut list = Vec::with_capacity(size as usize);
                numbers(size).for_each(|number| list.push(number));
                list
            });
        });
        for (name, new) in [
            ("ChunkedVec", chunked as fn() -> ChunkedVec<u64>),
            ("ChunkedVec with quota", charged),
            ("ChunkedVec, fixed", fixed),
        ] {
            group.bench_function(BenchmarkId::from_parameter(name), |b| {
                b.iter(|| {
                    let mut list = new();
                    numbers(size).for_each(|number| list.push(number).expect("room"));
                    list
                });
            });
        }
    }
}

fn extend(c: &mut Criterion) {
    for size in SIZES {
        let source: Vec<u64> = numbers(size).collect();
        let mut group = sized(c, "extend by slices of 1000", size);
        group.bench_function("Vec", |b| {
            b.iter(|| {
                let mut list = Vec::new();
                source
                    .chunks(1_000)
                    .for_each(|slice| list.extend_from_slice(slice));
                list
            });
        });
        group.bench_function("Vec::with_capacity", |b| {
            b.iter(|| {
                let mut list = Vec::with_capacity(source.len());
                source
                    .chunks(1_000)
                    .for_each(|slice| list.extend_from_slice(slice));
                list
            });
        });
        group.bench_function("ChunkedVec", |b| {
            b.iter(|| {
                let mut list = chunked();
                source
                    .chunks(1_000)
                    .for_each(|slice| list.extend_from_slice(slice).expect("room"));
                list
            });
        });
        group.bench_function("Vec, by an iterator", |b| {
            b.iter(|| {
                let mut list = Vec::new();
                list.extend(numbers(size));
                list
            });
        });
        group.bench_function("ChunkedVec, by an iterator", |b| {
            b.iter(|| {
                let mut list = chunked();
                list.extend(numbers(size)).expect("room");
                list
            });
        });
    }
}

fn random_access(c: &mut Criterion) {
    const LOOKS: u64 = 100_000;
    for size in SIZES {
        let vec: Vec<u64> = numbers(size).collect();
        let mut indices = numbers(LOOKS).map(|number| (((number >> 32) * size) >> 32) as usize);
        let indices: Vec<usize> = indices.by_ref().collect();
        let mut group = sized(c, "random access among", size);
        group.throughput(Throughput::Elements(LOOKS));
        group.bench_function("Vec", |b| {
            let vec = black_box(&vec);
            b.iter(|| indices.iter().fold(0, |sum: u64, &at| sum.wrapping_add(vec[at])));
        });
        for (name, mut list) in [("ChunkedVec", chunked()), ("ChunkedVec, fixed", fixed())] {
            list.extend_from_slice(&vec).expect("room");
            group.bench_function(name, |b| {
                let list = black_box(&list);
                b.iter(|| indices.iter().fold(0, |sum: u64, &at| sum.wrapping_add(list[at])));
            });
        }
    }
}

fn iterate(c: &mut Criterion) {
    for size in SIZES {
        let vec: Vec<u64> = numbers(size).collect();
        let mut list = chunked();
        list.extend_from_slice(&vec).expect("room");
        let mut group = sized(c, "sum of", size);
        let add = |sum: u64, number: &u64| sum.wrapping_add(*number);
        group.bench_function("Vec, fold", |b| {
            let vec = black_box(&vec);
            b.iter(|| vec.iter().fold(0, add));
        });
        group.bench_function("ChunkedVec, fold", |b| {
            let list = black_box(&list);
            b.iter(|| list.iter().fold(0, add));
        });
        group.bench_function("ChunkedVec, chunks", |b| {
            let list = black_box(&list);
            b.iter(|| list.chunks().fold(0, |sum, chunk| chunk.iter().fold(sum, add)));
        });
        // Values that go through a black box cannot be added four at a time: this is the loop itself.
        group.bench_function("Vec, for", |b| {
            b.iter(|| {
                for number in &vec {
                    black_box(number);
                }
            });
        });
        group.bench_function("ChunkedVec, for", |b| {
            b.iter(|| {
                for number in &list {
                    black_box(number);
                }
            });
        });
    }
}

/// What the state of a sum does: chunk after chunk of rows it grows by the groups that are new, then adds a value to the group of each row.
fn sums_per_group(c: &mut Criterion) {
    const ROWS: u64 = 2_000_000;
    const CHUNK: usize = 16_384;
    for groups in [4, 10_000, 1_500_000] {
        let ids: Vec<u32> = numbers(ROWS)
            .map(|number| (((number >> 32) * groups) >> 32) as u32)
            .collect();
        // Groups are numbered in the order of their first row, so that each chunk adds some.
        let mut numbering = vec![u32::MAX; groups as usize];
        let mut next = 0;
        let ids: Vec<u32> = ids
            .into_iter()
            .map(|id| {
                let number = &mut numbering[id as usize];
                if *number == u32::MAX {
                    *number = next;
                    next += 1;
                }
                *number
            })
            .collect();
        let mut group = sized(c, "sums per group", groups);
        group.throughput(Throughput::Elements(ROWS));
        group.bench_function("Vec", |b| {
            b.iter(|| {
                let mut totals: Vec<(i128, i64)> = Vec::new();
                for ids in ids.chunks(CHUNK) {
                    let most = ids.iter().max().map_or(0, |&id| id as usize + 1);
                    totals.resize(most.max(totals.len()), (0, 0));
                    for &id in ids {
                        totals[id as usize].0 += i128::from(id);
                    }
                }
                totals
            });
        });
        group.bench_function("ChunkedVec", |b| {
            b.iter(|| {
                let mut totals: ChunkedVec<(i128, i64)> = ChunkedVec::new();
                for ids in ids.chunks(CHUNK) {
                    let most = ids.iter().max().map_or(0, |&id| id as usize + 1);
                    let more = most.saturating_sub(totals.len());
                    totals.extend(iter::repeat_n((0, 0), more)).expect("room");
                    for &id in ids {
                        totals[id as usize].0 += i128::from(id);
                    }
                }
                totals
            });
        });
    }
}

criterion_group!(lists, push, extend, random_access, iterate, sums_per_group);
criterion_main!(lists);
