//! Rows in the order of their radix partitions, so that a merge of a range of partitions reads one
//! run of memory.
//!
//! Slots always use the finest partitions. Ranges to merge are chosen when all slots are done: a
//! partition is the top bits of a hash, so neighbours form one range.

use std::ops::Range;
use std::sync::Arc;

use super::hash::bits_of;
use crate::memory::{MemoryExceeded, MemoryPool, ReservedVec};

pub(crate) const PARTITION_BITS: u32 = 8;
pub(crate) const PARTITIONS: usize = 1 << PARTITION_BITS;

/// The start of each partition, and the end of the last.
#[derive(Debug)]
pub(crate) struct Starts(ReservedVec<u32>);

impl Starts {
    pub(crate) fn places(&self, partitions: &Range<usize>) -> Range<usize> {
        self.0[partitions.start] as usize..self.0[partitions.end] as usize
    }
}

/// Stable inside a partition.
pub(crate) fn partition_rows(
    hashes: &[u64],
    pool: Option<&Arc<MemoryPool>>,
) -> Result<(ReservedVec<u32>, Starts), MemoryExceeded> {
    let partition = |hash: u64| bits_of(hash, PARTITION_BITS);
    let mut starts = ReservedVec::new(pool);
    starts.resize(PARTITIONS + 1, 0u32)?;
    for &hash in hashes {
        starts[partition(hash) + 1] += 1;
    }
    for at in 0..PARTITIONS {
        starts[at + 1] += starts[at];
    }
    let mut next = starts.to_vec();
    let mut order = ReservedVec::new(pool);
    order.resize(hashes.len(), 0u32)?;
    for (row, &hash) in hashes.iter().enumerate() {
        let place = &mut next[partition(hash)];
        order[*place as usize] = row as u32;
        *place += 1;
    }
    Ok((order, Starts(starts)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_row_is_in_its_partition_once_and_rows_keep_their_order(
            hashes in proptest::collection::vec(any::<u64>(), 0..500),
        ) {
            let (order, starts) = partition_rows(&hashes, None).unwrap();
            let mut all = order.to_vec();
            all.sort_unstable();
            prop_assert!(all.iter().copied().eq(0..hashes.len() as u32));
            for partition in 0..PARTITIONS {
                let rows = &order[starts.places(&(partition..partition + 1))];
                prop_assert!(rows.is_sorted());
                for &row in rows {
                    prop_assert_eq!(bits_of(hashes[row as usize], PARTITION_BITS), partition);
                }
            }
            prop_assert_eq!(starts.places(&(0..PARTITIONS)), 0..hashes.len());
        }
    }
}
