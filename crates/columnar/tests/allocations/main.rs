//! The allocations of lists and queries, measured by a counting allocator.

mod groups;

use std::array;
use std::sync::Arc;

use allocation_counter::{AllocationInfo, measure};
use columnar::MemoryPool;
use columnar::chunked::{ChunkedVec, HEAD};

const PARTITIONS: usize = 32;

pub(crate) fn counted<R>(run: impl FnOnce() -> R) -> (R, AllocationInfo) {
    let mut result = None;
    let info = measure(|| result = Some(run()));
    (result.expect("it ran"), info)
}

fn fill(rows: impl IntoIterator<Item = usize>) -> Vec<ChunkedVec<u64>> {
    let lists = rows.into_iter().map(|rows| {
        let mut list = ChunkedVec::new();
        (0..rows as u64).for_each(|row| list.push(row).expect("there is no quota"));
        list
    });
    lists.collect()
}

fn bytes(lists: &[ChunkedVec<u64>]) -> usize {
    lists.iter().map(ChunkedVec::bytes).sum()
}

#[test]
fn lists_of_100_rows_allocate_their_heads_and_nothing_else() {
    let (lists, info) = counted(|| {
        let mut lists: [ChunkedVec<u64>; PARTITIONS] = array::from_fn(|_| ChunkedVec::new());
        for list in &mut lists {
            (0..100).for_each(|row| list.push(row).expect("there is no quota"));
        }
        lists
    });
    let heads = (PARTITIONS * HEAD * size_of::<u64>()) as u64;
    assert_eq!((info.count_total, info.bytes_total), (PARTITIONS as u64, heads));
    assert_eq!(bytes(&lists) as u64, heads);
}

#[test]
fn an_empty_list_allocates_nothing() {
    let pool = Arc::new(MemoryPool::new("empty", 0));
    let (lists, info) = counted(|| {
        let mut plain = ChunkedVec::<String>::new();
        let mut reserved = ChunkedVec::<String>::with_pool(pool.clone());
        plain.extend([]).expect("nothing was asked for");
        reserved.extend_from_slice(&[]).expect("nothing was asked for");
        reserved.clear();
        assert_eq!(plain.iter().chain(reserved.iter()).count(), 0);
        (plain, reserved)
    });
    drop(lists);
    assert_eq!(info.count_total, 0);
}

#[test]
fn a_million_values_take_a_chunk_each_time_they_have_doubled() {
    let (list, info) = counted(|| fill([1_000_000]).remove(0));
    // 128 × (2^13 - 1) is more than a million. The directory has room for 8 full chunks, then for
    // 16; one allocation is `fill`'s.
    assert_eq!(info.count_total, 13 + 2 + 1);
    assert_eq!(list.chunks().count(), 13);
    let values = list.len() * size_of::<u64>();
    assert!(list.bytes() < 2 * values, "{} for {values}", list.bytes());
}

#[test]
fn what_is_charged_is_what_is_allocated() {
    for rows in [1, 128, 129, 384, 385, 5_000, 40_000, 100_000] {
        let pool = Arc::new(MemoryPool::new("exact", usize::MAX));
        let (list, info) = counted(|| {
            let mut list: ChunkedVec<[u8; 24]> = ChunkedVec::with_pool(pool.clone());
            list.extend((0..rows).map(|_| [0; 24])).expect("room");
            list
        });
        assert_eq!(info.bytes_current, list.bytes() as i64, "{rows} rows");
        assert_eq!(info.bytes_max, pool.peak() as u64, "{rows} rows");
        let (_, freed) = counted(|| drop(list));
        assert_eq!(-freed.bytes_current, info.bytes_current, "{rows} rows");
        assert_eq!(pool.used(), 0);
    }
}

#[test]
fn partitions_take_what_their_rows_take() {
    let ahead = |rows_max: usize| PARTITIONS * rows_max * size_of::<u64>();
    for rows in [1_000, 10_000, 100_000] {
        let (lists, info) = counted(|| fill([rows; PARTITIONS]));
        let own = size_of_val(lists.as_slice());
        assert!(
            info.bytes_max as usize - own < 2 * ahead(rows),
            "{rows} rows: {}",
            info.bytes_max
        );
    }
    let skewed = (0..PARTITIONS).map(|partition| if partition == 7 { 100_000 } else { 100 });
    let (lists, info) = counted(|| fill(skewed));
    let own = size_of_val(lists.as_slice());
    assert!(
        (info.bytes_max as usize - own) * 20 < ahead(100_000),
        "{}",
        info.bytes_max
    );
}
