//! Chunked lists beside `Vec`, and the cost of finding a partition.
//!
//! Lists are of 64-bit numbers. Working sets fit a core's first or second level of cache, or
//! neither. The program `list_memory` counts bytes in an allocator below the lists; in any other
//! program all code would pay for counting.

use std::hint::black_box;
use std::ops::Index;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use columnar::MemoryPool;
use columnar::chunked::{ChunkedVec, Growth};
use columnar::sharding::partition_index;

use crate::bench::{About, Bench};
use crate::contender::{Contender, Outcome, Role};
use crate::number::short;
use crate::options::Options;
use crate::workload::{Column, Workload};

/// Values of the lists: a head, the first level of cache, the second, neither.
const SIZES: [usize; 4] = [100, 4_000, 64_000, 4_000_000];
/// Looks of a run; also the least number of pushes.
const OPERATIONS: usize = 200_000;
/// Values in a chunk of the fixed policy.
const FIXED: usize = 16_384;
const PARTITIONS: usize = 256;
/// Values of a slice by which a list is extended, and of a chunk of group numbers.
const SLICE: usize = 1_000;

/// Rows of eight bytes in each of 32 partitions; then those of one partition, if it differs.
const ROWS: [(usize, Option<usize>); 8] = [
    (0, None),
    (1, None),
    (100, None),
    (1_000, None),
    (10_000, None),
    (100_000, None),
    (100, Some(10_000)),
    (100, Some(100_000)),
];

/// An operation on a list, by its number of values.
type Operation = (&'static str, fn(usize) -> Workload);

/// The bench `lists`.
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
        let operations: [Operation; 6] = [
            ("push", push),
            ("extend by slices", extend),
            ("random access", random_access),
            ("random access at computed places", computed),
            ("sum", sum),
            ("sums per group", sums_per_group),
        ];
        let mut all = Vec::new();
        for (name, operation) in operations {
            for size in SIZES {
                let label = format!("{} values", short(size as f64));
                all.push(operation(size).pivot(name, "list of", label, &[0]));
            }
        }
        all.extend(partitions());
        all.extend(ROWS.into_iter().map(memory));
        Ok(all)
    }
}

/// Numbers that the compiler does not know.
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

/// A row that runs over what `make` makes; only the run is measured.
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

/// A list of `size` numbers.
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

fn extend(size: usize) -> Workload {
    let lists = (OPERATIONS / size).max(1);
    let vec = move |source: &[u64], capacity: usize| {
        let of_one = |_| {
            let mut list = Vec::with_capacity(capacity);
            source
                .chunks(SLICE)
                .for_each(|slice| list.extend_from_slice(slice));
            black_box(list).len() as u64
        };
        (0..lists).map(of_one).sum()
    };
    let chunked = move |source: &Vec<u64>| {
        let of_one = |_| {
            let mut list = ChunkedVec::new();
            let mut slices = source.chunks(SLICE);
            slices
                .try_for_each(|slice| list.extend_from_slice(slice))
                .expect("room");
            black_box(list).len() as u64
        };
        (0..lists).map(of_one).sum()
    };
    let rows = vec![
        row(DOUBLING, Role::Ours, move || vec_of(size), chunked),
        row(
            PLAIN,
            Role::Peer,
            move || vec_of(size),
            move |source| vec(source, 0),
        ),
        row(
            AHEAD,
            Role::Baseline,
            move || vec_of(size),
            move |source| vec(source, size),
        ),
    ];
    table(
        format!("extend by slices of {SLICE}, {size} values"),
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

/// Places come from a hash in the same loop, as for a list used as a table.
fn computed(size: usize) -> Workload {
    fn sum<L: Index<usize, Output = u64>>((size, list): &(usize, L)) -> u64 {
        let values = numbers(OPERATIONS).map(|number| list[place_of(number, *size)]);
        values.fold(0, u64::wrapping_add)
    }
    let chunked = move |growth| move || (size, chunked_of(size, growth));
    let rows = vec![
        row(DOUBLING, Role::Ours, chunked(Growth::Doubling), sum),
        row(IN_FIXED, Role::Ours, chunked(Growth::Fixed(FIXED)), sum),
        row(PLAIN, Role::Peer, move || (size, vec_of(size)), sum),
    ];
    let name = format!("random access at computed places, {size} values");
    table(name, OPERATIONS, move || looked_up(size), rows)
}

/// The sum that random access finds, without a list.
fn looked_up(size: usize) -> u64 {
    let found = places(size).into_iter().map(|place| scrambled(place as u64));
    found.fold(0, u64::wrapping_add)
}

fn sum(size: usize) -> Workload {
    let times = (OPERATIONS / size).max(1);
    let add = |sum: u64, number: &u64| sum.wrapping_add(*number);
    let rows = vec![
        row(
            DOUBLING,
            Role::Ours,
            move || chunked_of(size, Growth::Doubling),
            move |list| (0..times).fold(0, |sum, _| black_box(list).iter().fold(sum, add)),
        ),
        row(
            PLAIN,
            Role::Peer,
            move || vec_of(size),
            move |list| (0..times).fold(0, |sum, _| black_box(list).iter().fold(sum, add)),
        ),
    ];
    let answer = move || (0..times).flat_map(|_| numbers(size)).fold(0, u64::wrapping_add);
    table(format!("sum, {size} values"), times * size, answer, rows)
}

/// A table of sums that grows with the greatest group number: a million rows, as many groups as
/// values.
fn sums_per_group(size: usize) -> Workload {
    let groups = move || -> Vec<u32> { places(size).into_iter().map(|place| place as u32).collect() };
    let most = |ids: &[u32]| ids.iter().max().map_or(0, |&id| id as usize + 1);
    let rows = vec![
        row(DOUBLING, Role::Ours, groups, move |ids| {
            let mut totals: ChunkedVec<(i128, i64)> = ChunkedVec::new();
            for ids in ids.chunks(SLICE) {
                let more = most(ids).saturating_sub(totals.len());
                totals.extend(std::iter::repeat_n((0, 0), more)).expect("room");
                ids.iter().for_each(|&id| totals[id as usize].0 += i128::from(id));
            }
            totals.iter().fold(0, |sum, (total, _)| sum + *total as u64)
        }),
        row(PLAIN, Role::Peer, groups, move |ids| {
            let mut totals: Vec<(i128, i64)> = Vec::new();
            for ids in ids.chunks(SLICE) {
                totals.resize(most(ids).max(totals.len()), (0, 0));
                ids.iter().for_each(|&id| totals[id as usize].0 += i128::from(id));
            }
            totals.iter().fold(0, |sum, (total, _)| sum + *total as u64)
        }),
    ];
    let answer = move || places(size).into_iter().map(|place| place as u64).sum();
    table(format!("sums per group, {size} values"), OPERATIONS, answer, rows)
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

/// Memory of the lists of partitions, counted by another program's allocator.
fn memory((each, of_one): (usize, Option<usize>)) -> Workload {
    let label = match of_one {
        None => short(each as f64),
        Some(more) => format!("{}, in one {}", short(each as f64), short(more as f64)),
    };
    let most = of_one.unwrap_or(each);
    let kinds = [
        (DOUBLING, Role::Ours, "chunked"),
        ("a `Vec` told the most rows of any", Role::Peer, "ahead"),
        ("a `Vec` that grows", Role::Peer, "growing"),
    ];
    let rows = kinds.map(|(name, role, kind)| {
        Contender::new(name, role, move || {
            move || counted(&[kind, &each.to_string(), &most.to_string()])
        })
    });
    Workload::new(
        format!("memory, rows in each {label}"),
        "32 partitions of rows of 8 bytes: what is held at the end, what at the most, and the \
         number of allocations.",
    )
    .columns([
        Column::told("KiB", 0),
        Column::told("at most", 1),
        Column::told("allocations", 2),
    ])
    .cold()
    .rounds_max(1)
    .rows(rows)
    .elsewhere()
    .pivot("lists of partitions", "rows in each", label, &[0, 1, 2])
}

/// Runs the counting program, which is beside this one.
fn counted(arguments: &[&str]) -> Result<Outcome> {
    let program = std::env::current_exe()?.with_file_name("list_memory");
    let output = Command::new(&program).args(arguments).output();
    let output = output.with_context(|| format!("cannot run {}: build all programs", program.display()))?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "list_memory failed: {error}");
    let words = String::from_utf8(output.stdout)?;
    let figures: Result<Vec<f64>, _> = words.split_whitespace().map(str::parse).collect();
    Ok(Outcome::verified(figures?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interleave;

    #[test]
    fn all_rows_of_an_operation_give_the_answer() {
        for size in [100, 4_000] {
            for operation in [push, extend, random_access, computed, sum, sums_per_group] {
                interleave::run(operation(size), 1).unwrap();
            }
        }
        for workload in partitions() {
            interleave::run(workload, 1).unwrap();
        }
    }
}
