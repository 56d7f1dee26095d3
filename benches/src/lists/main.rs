//! Chunked lists beside `Vec`, and what finding a partition costs: the figures of `benches/lists.md`.
//!
//! `cargo xtask bench --lists` runs it. All variants take turns in each round, each does the same work, and their answers are compared. Lists are of
//! 64-bit numbers. Working sets are as large as what a core's first and second level of cache hold, and larger than both.
//! Bytes are those that an allocator counts below the lists.

mod memory;

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::ensure;
use benches::generated;
use benches::number::short;
use benches::{machine, program};
use columnar::Quota;
use columnar::chunked::{ChunkedVec, Growth};
use columnar::sharding::partition_index;
use lexopt::{Arg, ValueExt as _};

const ROUNDS: usize = 51;
/// Values of the lists: a head, the first level of cache, the second, neither.
const SIZES: [usize; 4] = [100, 4_000, 64_000, 4_000_000];
/// Looks in a round, and at least so many values that are pushed.
const OPERATIONS: usize = 200_000;
/// Chunks of the fixed policy.
const FIXED: usize = 16_384;
const PARTITIONS: usize = 256;

const USAGE: &str = "usage: lists [--rounds N] [--write FOLDER]

  --rounds N      rounds of all variants in turn (51)
  --write FOLDER  also put the figures into lists.md of this folder";

fn main() -> ExitCode {
    program::run(Options::read(lexopt::Parser::from_env()), USAGE, run)
}

/// What the command line asks for.
#[derive(Debug, PartialEq)]
struct Options {
    rounds: usize,
    write: Option<PathBuf>,
}

impl Options {
    fn read(mut parser: lexopt::Parser) -> Result<Self, lexopt::Error> {
        let mut options = Self {
            rounds: ROUNDS,
            write: None,
        };
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Long("rounds") => options.rounds = parser.value()?.parse()?,
                Arg::Long("write") => options.write = Some(parser.value()?.into()),
                other => return Err(other.unexpected()),
            }
        }
        if options.rounds == 0 {
            return Err("--rounds takes a number from 1 on".into());
        }
        Ok(options)
    }
}

fn run(options: &Options) -> anyhow::Result<()> {
    let mut text = format!(
        "{}, {} rounds, {}\n\nNanoseconds a value, medians with quartiles; ratios to `Vec` in brackets.\n",
        machine::processor(),
        options.rounds,
        machine::date()
    );
    let mut header = "\n| |".to_owned();
    SIZES
        .iter()
        .for_each(|size| header += &format!(" {} values |", short(*size as f64)));
    header += &format!("\n|---|{}\n", "--:|".repeat(SIZES.len()));
    for (what, operations) in [
        ("push", push as fn(usize) -> Variants),
        ("random access", random_access),
        ("random access at computed places", random_access_computed),
        ("sum", sum),
    ] {
        text += &header;
        let columns: Vec<Vec<Row>> = SIZES
            .iter()
            .map(|&size| measure(operations(size), options.rounds))
            .collect::<anyhow::Result<_>>()?;
        for (at, row) in columns[0].iter().enumerate() {
            write!(text, "| {what}: {} |", row.name)?;
            for rows in &columns {
                let (row, vec) = (&rows[at], &rows[0]);
                let [low, median, high] = row.quartiles;
                let (low, high) = (short(low), short(high));
                write!(text, " {} ({low} – {high})", short(median))?;
                if at > 0 {
                    write!(text, " [{} ×]", short(median / vec.quartiles[1]))?;
                }
                text += " |";
            }
            text += "\n";
        }
    }
    text += "\nFinding the partition of a key, of 256:\n\n| key | ns a record |\n|---|--:|\n";
    // Different keys have different places.
    for row in timed(partitions(), options.rounds).0 {
        let [low, median, high] = row.quartiles.map(short);
        writeln!(text, "| {} | {median} ({low} – {high}) |", row.name)?;
    }
    text += &memory::table()?;
    println!("{text}");
    if let Some(folder) = &options.write {
        generated::write(
            &folder.join("lists.md"),
            "cargo xtask bench --lists --write",
            &text,
        )?;
    }
    Ok(())
}

/// A variant: its name, the operations of a run, and the run, which gives its answer.
type Variants = Vec<(&'static str, usize, Box<dyn Fn() -> u64>)>;

#[derive(Debug)]
struct Row {
    name: &'static str,
    /// Nanoseconds an operation.
    quartiles: [f64; 3],
}

/// All variants in turn, round by round.
fn measure(variants: Variants, rounds: usize) -> anyhow::Result<Vec<Row>> {
    let (rows, answers) = timed(variants, rounds);
    ensure!(
        answers.iter().all(|answer| *answer == answers[0]),
        "variants of one operation give different answers"
    );
    Ok(rows)
}

/// The times of all variants, and their answers.
fn timed(variants: Variants, rounds: usize) -> (Vec<Row>, Vec<u64>) {
    let mut times = vec![Vec::with_capacity(rounds); variants.len()];
    let mut answers = vec![0; variants.len()];
    for _ in 0..rounds {
        for (at, (_, operations, run)) in variants.iter().enumerate() {
            let start = Instant::now();
            answers[at] = black_box(run());
            times[at].push(start.elapsed().as_nanos() as f64 / *operations as f64);
        }
    }
    let rows = variants.iter().zip(times).map(|((name, ..), mut times)| {
        times.sort_by(f64::total_cmp);
        let at = |quarter: usize| times[(times.len() - 1) * quarter / 4];
        Row {
            name,
            quartiles: [at(1), at(2), at(3)],
        }
    });
    (rows.collect(), answers)
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

fn list(size: usize, growth: Growth) -> ChunkedVec<u64> {
    let mut list = ChunkedVec::with_growth(growth, None);
    list.extend(numbers(size)).expect("there is no quota");
    list
}

fn push(size: usize) -> Variants {
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
    let quota = Arc::new(Quota::new("bench", usize::MAX));
    let operations = lists * size;
    vec![
        ("`Vec`", operations, Box::new(move || vec(0))),
        ("`Vec::with_capacity`", operations, Box::new(move || vec(size))),
        (
            "`ChunkedVec`",
            operations,
            Box::new(move || chunked(&ChunkedVec::new)),
        ),
        (
            "`ChunkedVec` with a quota",
            operations,
            Box::new(move || chunked(&|| ChunkedVec::with_quota(Arc::clone(&quota)))),
        ),
        (
            "`ChunkedVec`, fixed",
            operations,
            Box::new(move || chunked(&|| ChunkedVec::with_growth(Growth::Fixed(FIXED), None))),
        ),
    ]
}

/// Places are known before: nothing but the accesses is in the loop.
fn random_access(size: usize) -> Variants {
    let places: Arc<[usize]> = numbers(OPERATIONS).map(|number| place_of(number, size)).collect();
    let vec: Vec<u64> = numbers(size).collect();
    let of_vec = Arc::clone(&places);
    let mut variants: Variants = vec![(
        "`Vec`",
        OPERATIONS,
        Box::new(move || {
            let vec = black_box(&vec);
            of_vec.iter().fold(0, |sum: u64, &at| sum.wrapping_add(vec[at]))
        }),
    )];
    for (name, growth) in [
        ("`ChunkedVec`", Growth::Doubling),
        ("`ChunkedVec`, fixed", Growth::Fixed(FIXED)),
    ] {
        let (places, list) = (Arc::clone(&places), list(size, growth));
        let run = move || {
            let list = black_box(&list);
            places.iter().fold(0, |sum: u64, &at| sum.wrapping_add(list[at]))
        };
        variants.push((name, OPERATIONS, Box::new(run)));
    }
    variants
}

/// Places come from a hash in the same loop, as where a list is used as a table.
fn random_access_computed(size: usize) -> Variants {
    let vec: Vec<u64> = numbers(size).collect();
    let mut variants: Variants = vec![(
        "`Vec`",
        OPERATIONS,
        Box::new(move || {
            let vec = black_box(&vec);
            numbers(OPERATIONS).fold(0, |sum: u64, number| {
                sum.wrapping_add(vec[place_of(number, size)])
            })
        }),
    )];
    for (name, growth) in [
        ("`ChunkedVec`", Growth::Doubling),
        ("`ChunkedVec`, fixed", Growth::Fixed(FIXED)),
    ] {
        let list = list(size, growth);
        let run = move || {
            let list = black_box(&list);
            numbers(OPERATIONS).fold(0, |sum: u64, number| {
                sum.wrapping_add(list[place_of(number, size)])
            })
        };
        variants.push((name, OPERATIONS, Box::new(run)));
    }
    variants
}

fn sum(size: usize) -> Variants {
    let times = (OPERATIONS / size).max(1);
    let vec: Vec<u64> = numbers(size).collect();
    let list = list(size, Growth::Doubling);
    let add = |sum: u64, number: &u64| sum.wrapping_add(*number);
    vec![
        (
            "`Vec`",
            times * size,
            Box::new(move || (0..times).fold(0, |sum, _| black_box(&vec).iter().fold(sum, add))),
        ),
        (
            "`ChunkedVec`",
            times * size,
            Box::new(move || (0..times).fold(0, |sum, _| black_box(&list).iter().fold(sum, add))),
        ),
    ]
}

/// Records whose partition is looked for in a run.
const PLACES: usize = 100_000;

fn partitions() -> Variants {
    let numbers: Vec<u64> = numbers(PLACES).collect();
    let pairs: Vec<(u32, u64)> = numbers.iter().map(|&n| (n as u32 % 7, n >> 40)).collect();
    let texts: Vec<String> = numbers
        .iter()
        .map(|n| format!("Supplier#{:09}", n % 1_000_000))
        .collect();
    let all = |indices: &mut dyn Iterator<Item = usize>| indices.fold(0, |all, index| all ^ index as u64);
    vec![
        (
            "64-bit number",
            PLACES,
            Box::new(move || all(&mut numbers.iter().map(|key| partition_index(key, PARTITIONS)))),
        ),
        (
            "pair of numbers",
            PLACES,
            Box::new(move || all(&mut pairs.iter().map(|key| partition_index(key, PARTITIONS)))),
        ),
        (
            "text of 18 bytes",
            PLACES,
            Box::new(move || all(&mut texts.iter().map(|key| partition_index(key, PARTITIONS)))),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_variants_of_an_operation_give_one_answer() {
        for size in [100, 4_000] {
            for operations in [push, random_access, random_access_computed, sum] {
                measure(operations(size), 1).unwrap();
            }
        }
        let mut wrong = sum(100);
        wrong.push(("wrong", 100, Box::new(|| 0)));
        assert!(measure(wrong, 1).is_err());
    }
}
