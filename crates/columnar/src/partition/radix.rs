//! Rows in the order of their radix partitions, so that a merge of a range of partitions reads one
//! run of memory.
//!
//! Slots always use the finest partitions. Ranges to merge are chosen when all slots are done: a
//! partition is the top bits of a hash, so neighbours form one range.

use std::ops::Range;
use std::sync::Arc;

use super::hash::bits_of;
use crate::memory::{MemoryExceeded, MemoryPool, ReservedVec};

/// As many as a byte has values.
pub(crate) const PARTITIONS: usize = 1 << u8::BITS;

/// The start of each partition, and the end of the last.
#[derive(Debug)]
pub(crate) struct Starts(ReservedVec<u32>);

impl Starts {
    pub(crate) fn places(&self, partitions: &Range<usize>) -> Range<usize> {
        self.0[partitions.start] as usize..self.0[partitions.end] as usize
    }
}

/// The partition of a key with this hash.
#[inline]
pub(crate) fn partition_of(hash: u64) -> u8 {
    bits_of(hash, u8::BITS) as u8
}

/// `rows` by their `partitions`, which all rows of a chunk have. Stable inside a partition.
pub(crate) fn partition_rows(
    rows: impl ExactSizeIterator<Item = u32> + Clone,
    partitions: &[u8],
    pool: Option<&Arc<MemoryPool>>,
) -> Result<(ReservedVec<u32>, Starts), MemoryExceeded> {
    let partition = |row: u32| usize::from(partitions[row as usize]);
    let mut starts = ReservedVec::new(pool);
    starts.resize(PARTITIONS + 1, 0u32)?;
    for row in rows.clone() {
        starts[partition(row) + 1] += 1;
    }
    for at in 0..PARTITIONS {
        starts[at + 1] += starts[at];
    }
    let mut next = starts.to_vec();
    let mut order = ReservedVec::new(pool);
    order.resize(rows.len(), 0u32)?;
    for row in rows {
        let place = &mut next[partition(row)];
        order[*place as usize] = row;
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
            all in proptest::collection::vec((any::<u8>(), any::<bool>()), 0..500),
        ) {
            let (partitions, are_taken): (Vec<u8>, Vec<bool>) = all.into_iter().unzip();
            let rows: Vec<u32> = (0..partitions.len() as u32).filter(|&row| are_taken[row as usize]).collect();
            let (order, starts) = partition_rows(rows.iter().copied(), &partitions, None).unwrap();
            let mut all = order.to_vec();
            all.sort_unstable();
            prop_assert_eq!(&all, &rows);
            for partition in 0..PARTITIONS {
                let own = &order[starts.places(&(partition..partition + 1))];
                prop_assert!(own.is_sorted());
                for &row in own {
                    prop_assert_eq!(usize::from(partitions[row as usize]), partition);
                }
            }
            prop_assert_eq!(starts.places(&(0..PARTITIONS)), 0..rows.len());
        }
    }
}
