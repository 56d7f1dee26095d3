//! Memory of the lists of 32 partitions, counted by the allocator: `list_memory KIND EACH MOST`
//! prints KiB at the end, KiB at the peak, and the number of allocations.
//!
//! It is a program of its own, since all code linked to the counting allocator pays for it.

use std::error::Error;

use allocation_counter::measure;
use columnar::chunked::ChunkedVec;

const PARTITIONS: usize = 32;

/// The partition with the most rows.
const LARGEST: usize = 7;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, each, most] = arguments.as_slice() else {
        return Err("usage: list_memory chunked|ahead|growing EACH MOST".into());
    };
    let [kib, most_kib, allocations] = counted(kind, each.parse()?, most.parse()?)?;
    println!("{kib} {most_kib} {allocations}");
    Ok(())
}

fn counted(kind: &str, each: u64, most: u64) -> Result<[f64; 3], Box<dyn Error>> {
    let rows = |partition: usize| if partition == LARGEST { most } else { each };
    match kind {
        "chunked" => {
            let mut refused = None;
            let counted = filled(|list: &mut ChunkedVec<u64>, partition| {
                refused = refused
                    .take()
                    .or((0..rows(partition)).try_for_each(|row| list.push(row)).err());
            });
            refused.map_or(Ok(counted), |error| Err(error.into()))
        }
        "ahead" | "growing" => Ok(filled(|list: &mut Vec<u64>, partition| {
            list.reserve_exact(if kind == "ahead" { most as usize } else { 0 });
            (0..rows(partition)).for_each(|row| list.push(row));
        })),
        other => Err(format!("there is no kind of list {other:?}").into()),
    }
}

/// Allocations of filling lists; the list of lists exists before.
fn filled<L: Default>(mut fill: impl FnMut(&mut L, usize)) -> [f64; 3] {
    let mut lists: Vec<L> = (0..PARTITIONS).map(|_| L::default()).collect();
    let counted = measure(|| {
        for (partition, list) in lists.iter_mut().enumerate() {
            fill(list, partition);
        }
    });
    let kib = |bytes: u64| bytes as f64 / 1024.0;
    let now = u64::try_from(counted.bytes_current).unwrap_or(0);
    [kib(now), kib(counted.bytes_max), counted.count_total as f64]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_was_told_its_rows_allocates_once() {
        assert_eq!(counted("ahead", 100, 100).unwrap(), [25.0, 25.0, 32.0]);
        let [kib, most_kib, allocations] = counted("growing", 100, 100).unwrap();
        assert!(kib >= 25.0 && most_kib >= kib && allocations > 32.0);
        assert!(counted("chunked", 100, 100).unwrap()[0] >= 25.0);
        assert!(counted("linked", 1, 1).is_err());
    }
}
