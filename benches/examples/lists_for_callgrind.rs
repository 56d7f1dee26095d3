//! One operation on one kind of list, so many times: for counting instructions, and for memory.
//!
//! ```text
//! cargo build --release -p benches --example lists_for_callgrind
//! for values in 1000000 3000000; do
//!     valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/lists_for_callgrind push chunked $values
//! done
//! target/release/examples/lists_for_callgrind memory
//! ```
//!
//! The operations are `push`, `extend`, `get` and `sum`, the lists `vec`, `ahead` (a `Vec` that was allocated ahead) and `chunked`. What `get` and
//! `sum` read is 4,000 values, again and again; `nothing` is the loop around all of them. Per operation is the difference of two
//! counts over that of the numbers of values. `memory` prints what lists of partitions take, by the bytes they have charged.

use std::error::Error;
use std::hint::black_box;

use columnar::chunked::ChunkedVec;

/// Values that are read.
const READ: usize = 4_000;

const PARTITIONS: usize = 32;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (operation, list, values) = match arguments[..] {
        ["memory"] => return memory(),
        [operation, list] => (operation, list, 1_000_000),
        [operation, list, values] => (operation, list, values.parse()?),
        _ => return Err("which operation, on which list, how many times?".into()),
    };
    let sum = match (operation, list) {
        ("nothing", _) => numbers(values).fold(0, |sum: u64, number| sum ^ black_box(number)),
        ("push", "vec") => pushed(values, Vec::new()),
        ("push", "ahead") => pushed(values, Vec::with_capacity(values)),
        ("push", "chunked") => {
            let mut list = ChunkedVec::new();
            for number in numbers(values) {
                list.push(number)?;
            }
            black_box(list).len() as u64
        }
        ("extend", "vec") => extended(values, Vec::new()),
        ("extend", "ahead") => extended(values, Vec::with_capacity(values)),
        ("extend", "chunked") => {
            let mut list = ChunkedVec::new();
            list.extend(numbers(values))?;
            black_box(list).len() as u64
        }
        ("get", "vec" | "ahead") => {
            let list: Vec<u64> = black_box(numbers(READ).collect());
            indices(values).fold(0, |sum, at| sum ^ list[at])
        }
        ("get", "chunked") => {
            let list = black_box(readable()?);
            indices(values).fold(0, |sum, at| sum ^ list[at])
        }
        ("sum", "vec" | "ahead") => {
            let list: Vec<u64> = numbers(READ).collect();
            (0..values / READ).fold(0, |sum, _| sum ^ black_box(&list).iter().fold(0, |a, b| a ^ b))
        }
        ("sum", "chunked") => {
            let list = readable()?;
            (0..values / READ).fold(0, |sum, _| sum ^ black_box(&list).iter().fold(0, |a, b| a ^ b))
        }
        _ => return Err(format!("no operation {operation} on {list}").into()),
    };
    println!("{operation} {list}: {values} values, {sum:x}");
    Ok(())
}

/// Numbers that the compiler does not know.
fn numbers(count: usize) -> impl Iterator<Item = u64> {
    (0..black_box(count) as u64).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Places among the values that are read.
fn indices(count: usize) -> impl Iterator<Item = usize> {
    numbers(count).map(|number| (((number >> 32) * READ as u64) >> 32) as usize)
}

fn readable() -> Result<ChunkedVec<u64>, Box<dyn Error>> {
    let mut list = ChunkedVec::new();
    list.extend(numbers(READ))?;
    Ok(list)
}

fn pushed(values: usize, mut list: Vec<u64>) -> u64 {
    for number in numbers(values) {
        list.push(number);
    }
    black_box(list).len() as u64
}

fn extended(values: usize, mut list: Vec<u64>) -> u64 {
    list.extend(numbers(values));
    black_box(list).len() as u64
}

/// What the lists of partitions take when each has so many rows of eight bytes, and when one has most of them.
fn memory() -> Result<(), Box<dyn Error>> {
    println!(
        "{PARTITIONS} partitions, rows of 8 bytes; KiB\n{:>10}{:>10}{:>12}{:>12}{:>12}{:>12}",
        "rows", "longest", "values", "ChunkedVec", "Vec", "ahead"
    );
    let even = [1, 100, 1_000, 10_000, 100_000].map(|rows| vec![rows; PARTITIONS]);
    let skewed = [10_000, 100_000].map(|longest| {
        let mut rows = vec![100; PARTITIONS];
        rows[7] = longest;
        rows
    });
    for partitions in even.into_iter().chain(skewed) {
        let longest = partitions.iter().copied().max().unwrap_or(0);
        let mut chunked = 0;
        let mut grown = 0;
        for &rows in &partitions {
            let mut list = ChunkedVec::new();
            list.extend(numbers(rows))?;
            chunked += list.bytes();
            let mut list = Vec::new();
            numbers(rows).for_each(|number| list.push(number));
            grown += list.capacity() * size_of::<u64>();
        }
        let rows: usize = partitions.iter().sum();
        let kib = |bytes: usize| bytes as f64 / 1024.0;
        println!(
            "{:>10}{longest:>10}{:>12.1}{:>12.1}{:>12.1}{:>12.1}",
            rows / PARTITIONS,
            kib(rows * size_of::<u64>()),
            kib(chunked),
            kib(grown),
            kib(PARTITIONS * longest * size_of::<u64>()),
        );
    }
    Ok(())
}
