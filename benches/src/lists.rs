//! Chunked lists beside `Vec`, and the cost of finding a partition.

use std::hint::black_box;
use std::ops::Index;
use std::sync::Arc;

use anyhow::Result;
use columnar::MemoryPool;
use columnar::chunked::{ChunkedVec, Growth};
use columnar::sharding::partition_index;

use crate::bench::{About, Bench};
use crate::contender::{Contender, Role};
use crate::number::short;
use crate::options::Options;
use crate::workload::{Column, Workload};

/// Values that fit a head, the first level of cache, the second, and neither.
const SIZES: [usize; 4] = [100, 4_000, 64_000, 4_000_000];
/// Looks of a run; also the least number of pushes.
const OPERATIONS: usize = 200_000;
/// Values in a chunk of the fixed policy.
const FIXED: usize = 16_384;
const PARTITIONS: usize = 256;

/// A list operation, by the list's number of values.
type Operation = (&'static str, fn(usize) -> Workload);

pub(crate) struct Lists;

impl Bench for Lists {
    fn about(&self) -> &'static About {
        &About {
            name: "lists",
            question: "lists that grow in chunks beside Vec, and what finding a partition costs",
            page: "benches/lists.md",
            plots: "",
            rounds: 51,
            knobs: &[],
        }
    }

    fn workloads(&self, _options: &Options) -> Result<Vec<Workload>> {
        let operations: [Operation; 2] = [("push", push), ("random access", random_access)];
        let mut all = Vec::new();
        for (name, operation) in operations {
            for size in SIZES {
                let label = format!("{} values", short(size as f64));
                all.push(operation(size).pivot(name, "list of", label, &[0]));
            }
        }
        all.extend(partitions());
        Ok(all)
    }
}

/// Unknown to the compiler.
fn numbers(count: usize) -> impl Iterator<Item = u64> {
    (0..black_box(count) as u64).map(scrambled)
}

fn scrambled(number: u64) -> u64 {
    let x = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn place_of(number: u64, size: usize) -> usize {
    ((u128::from(number) * size as u128) >> 64) as usize
}

fn table(name: String, units: usize, answer: impl Fn() -> u64 + 'static, rows: Vec<Contender>) -> Workload {
    Workload::new(
        name,
        "Nanoseconds a value; the ratio is that of `ChunkedVec` to `Vec`.",
    )
    .units(units as u64)
    .columns([Column::ns_per("ns")])
    .answer(answer)
    .rows(rows)
}

/// Only `run` is measured.
fn row<D: 'static>(
    name: &str,
    role: Role,
    make: impl Fn() -> D + 'static,
    run: impl Fn(&D) -> u64 + Copy + 'static,
) -> Contender {
    Contender::new(name, role, move || {
        let data = make();
        move || run(black_box(&data))
    })
}

fn vec_of(size: usize) -> Vec<u64> {
    numbers(size).collect()
}

fn chunked_of(size: usize, growth: Growth) -> ChunkedVec<u64> {
    let mut list = ChunkedVec::with_growth(growth, None);
    list.extend(numbers(size)).expect("there is no quota");
    list
}

fn places(size: usize) -> Vec<usize> {
    numbers(OPERATIONS).map(|number| place_of(number, size)).collect()
}

const DOUBLING: &str = "`ChunkedVec`";
const IN_FIXED: &str = "`ChunkedVec`, fixed";
const PLAIN: &str = "`Vec`";
const AHEAD: &str = "`Vec::with_capacity`";

fn push(size: usize) -> Workload {
    let lists = (OPERATIONS / size).max(1);
    let vec = move |capacity: usize| {
        let of_one = |_| {
            let mut list = Vec::with_capacity(capacity);
            numbers(size).for_each(|number| list.push(number));
            black_box(list).len() as u64
        };
        (0..lists).map(of_one).sum()
    };
    let chunked = move |new: &dyn Fn() -> ChunkedVec<u64>| {
        let of_one = |_| {
            let mut list = new();
            numbers(size).for_each(|number| list.push(number).expect("room"));
            black_box(list).len() as u64
        };
        (0..lists).map(of_one).sum()
    };
    let quota = || Arc::new(MemoryPool::new("bench", usize::MAX));
    let rows = vec![
        row(DOUBLING, Role::Ours, || (), move |()| chunked(&ChunkedVec::new)),
        row("`ChunkedVec` with a quota", Role::Ours, quota, move |quota| {
            chunked(&|| ChunkedVec::with_pool(Arc::clone(quota)))
        }),
        row(
            IN_FIXED,
            Role::Ours,
            || (),
            move |()| chunked(&|| ChunkedVec::with_growth(Growth::Fixed(FIXED), None)),
        ),
        row(PLAIN, Role::Peer, || (), move |()| vec(0)),
        row(AHEAD, Role::Baseline, || (), move |()| vec(size)),
    ];
    table(
        format!("push, {size} values"),
        lists * size,
        move || (lists * size) as u64,
        rows,
    )
}

/// Places are known before: the loop has only the accesses.
fn random_access(size: usize) -> Workload {
    fn sum<L: Index<usize, Output = u64>>((places, list): &(Vec<usize>, L)) -> u64 {
        places.iter().fold(0, |sum: u64, &at| sum.wrapping_add(list[at]))
    }
    let chunked = move |growth| move || (places(size), chunked_of(size, growth));
    let rows = vec![
        row(DOUBLING, Role::Ours, chunked(Growth::Doubling), sum),
        row(IN_FIXED, Role::Ours, chunked(Growth::Fixed(FIXED)), sum),
        row(PLAIN, Role::Peer, move || (places(size), vec_of(size)), sum),
    ];
    let name = format!("random access, {size} values");
    table(name, OPERATIONS, move || looked_up(size), rows)
}

/// The sum that random access finds.
fn looked_up(size: usize) -> u64 {
    let found = places(size).into_iter().map(|place| scrambled(place as u64));
    found.fold(0, u64::wrapping_add)
}

/// Records in a run whose partition is looked for.
const RECORDS: usize = 100_000;

fn partitions() -> Vec<Workload> {
    let pair = |n: u64| (n as u32 % 7, n >> 40);
    let text = |n: u64| format!("Supplier#{:09}", n % 1_000_000);
    vec![
        keys("64-bit number", |n| n),
        keys("pair of numbers", pair),
        keys("text of 18 bytes", text),
    ]
}

fn keys<K: std::hash::Hash + 'static>(label: &str, key: impl Fn(u64) -> K + Copy + 'static) -> Workload {
    let indices = |keys: &Vec<K>| {
        keys.iter()
            .fold(0, |all, key| all ^ partition_index(key, PARTITIONS) as u64)
    };
    let make = move || numbers(RECORDS).map(key).collect::<Vec<K>>();
    table(
        format!("partition of a {label}"),
        RECORDS,
        move || indices(&make()),
        vec![row("ns a record", Role::Ours, make, indices)],
    )
    .pivot(
        format!("finding the partition of a key, of {PARTITIONS}"),
        "key",
        label,
        &[0],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interleave;

    #[test]
    fn all_rows_of_an_operation_give_the_answer() {
        for size in [100, 4_000] {
            for operation in [push, random_access] {
                interleave::run(operation(size), 1).unwrap();
            }
        }
        for workload in partitions() {
            interleave::run(workload, 1).unwrap();
        }
    }
}
