//! What the lists of partitions take, counted by the allocator.

use std::fmt::Write as _;

use allocation_counter::measure;
use anyhow::ensure;
use benches::number::short;
use columnar::chunked::ChunkedVec;

const PARTITIONS: usize = 32;

/// Rows of eight bytes in each partition; and in one of them, if it has others.
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

/// A row for each number of rows, in KiB: what is held at the end, and in brackets at the most.
pub(crate) fn table() -> anyhow::Result<String> {
    let mut text = format!(
        "\n{PARTITIONS} partitions of rows of 8 bytes, KiB: what is held at the end, at the most in brackets, and the number of allocations. \
         *Ahead* is `Vec::with_capacity` of the most rows of any partition, *growing* a `Vec` that was told nothing.\n\n\
         | rows in each | values | `ChunkedVec` | ahead | growing |\n|---|--:|--:|--:|--:|\n"
    );
    for (each, of_one) in ROWS {
        let rows = |partition: usize| of_one.filter(|_| partition == 7).unwrap_or(each);
        let most = of_one.unwrap_or(each);
        let all: usize = (0..PARTITIONS).map(rows).sum();
        let mut refused = None;
        let chunked = counted(|lists: &mut [ChunkedVec<u64>]| {
            for (partition, list) in lists.iter_mut().enumerate() {
                refused = refused.take().or((0..rows(partition) as u64)
                    .try_for_each(|row| list.push(row))
                    .err());
            }
        });
        ensure!(refused.is_none(), "a list without a quota was refused memory");
        let vec = |capacity: usize| {
            counted(|lists: &mut [Vec<u64>]| {
                for (partition, list) in lists.iter_mut().enumerate() {
                    list.reserve_exact(capacity);
                    (0..rows(partition) as u64).for_each(|row| list.push(row));
                }
            })
        };
        let name = match of_one {
            None => short(each as f64),
            Some(more) => format!("{}, in one {}", short(each as f64), short(more as f64)),
        };
        writeln!(
            text,
            "| {name} | {} | {chunked} | {} | {} |",
            kib((all * size_of::<u64>()) as u64),
            vec(most),
            vec(0)
        )?;
    }
    Ok(text)
}

/// What filling lists allocates; the list of lists is there before.
fn counted<L: Default>(fill: impl FnOnce(&mut [L])) -> String {
    let mut lists: Vec<L> = (0..PARTITIONS).map(|_| L::default()).collect();
    let counted = measure(|| fill(&mut lists));
    let now = u64::try_from(counted.bytes_current).unwrap_or(0);
    format!(
        "{} ({}), {}",
        kib(now),
        kib(counted.bytes_max),
        counted.count_total
    )
}

fn kib(bytes: u64) -> String {
    short(bytes as f64 / 1024.0)
}
