//! Keys in the order of their partitions, so that a merge of a range reads one run of them.

use std::ops::Range;
use std::sync::Arc;

use super::fixed_keys::{FixedKey, FixedKeys};
use super::keys::KeyEncoding;
use super::long_keys::LongKeys;
use crate::memory::{MemoryExceeded, MemoryPool, Reservation, ReservedVec};
use crate::partition::{Starts, partition_of, partition_rows};

/// Keys by partition, then as they came.
pub(crate) struct PartitionedKeys {
    /// Meaningless for a key without a fixed width, and empty if no key has one.
    fixed_keys: FixedKeys,
    starts: Starts,
    /// In the order of their places.
    long: LongKeys,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum KeyAt {
    Fixed(u128),
    /// The number among the keys without a fixed width.
    Long(usize),
}

impl PartitionedKeys {
    /// Takes the keys of `rows`. `partitions` has all rows, and those of `long`, whose places are rows,
    /// are written to it. `fixed_keys` has all rows, or is empty. The second list is the row at each
    /// place.
    pub(super) fn new<K: FixedKey>(
        encoding: &KeyEncoding,
        fixed_keys: &[K],
        rows: impl ExactSizeIterator<Item = u32> + Clone,
        partitions: &mut [u8],
        mut long: LongKeys,
        pool: Option<&Arc<MemoryPool>>,
    ) -> Result<(Self, ReservedVec<u32>), MemoryExceeded> {
        long.seal();
        let mut decoding = Reservation::of(pool.cloned());
        match encoding.shard_key() {
            Some(shard_key) if long.len() > 0 => {
                // The columns, and the encoding and partitions of some.
                decoding.grow(3 * long.size())?;
                let own = encoding.partitions_of(shard_key, long.iter());
                for (key, partition) in long.all().iter().zip(own) {
                    partitions[key.place as usize] = partition;
                }
            }
            _ => {
                for key in long.all() {
                    partitions[key.place as usize] = partition_of(key.hash);
                }
            }
        }
        drop(decoding);
        let (order, starts) = partition_rows(rows, partitions, pool)?;
        let fixed_keys = FixedKeys::in_order(fixed_keys, &order, pool)?;
        long.arrange(&order, partitions.len())?;
        let keys = Self {
            fixed_keys,
            starts,
            long,
        };
        Ok((keys, order))
    }

    /// Takes the keys of `groups`. The first of them are `fixed_keys`, except those of `long`.
    pub(super) fn of_groups<K: FixedKey>(
        encoding: &KeyEncoding,
        mut fixed_keys: ReservedVec<K>,
        groups: usize,
        long: LongKeys,
        pool: Option<&Arc<MemoryPool>>,
    ) -> Result<(Self, ReservedVec<u32>), MemoryExceeded> {
        if !fixed_keys.is_empty() {
            fixed_keys.resize(groups, K::default())?;
        }
        let partitions = fixed_keys.iter().map(|&key| encoding.partition(key.into()));
        let mut partitions = ReservedVec::collect(pool, partitions)?;
        partitions.resize(groups, 0)?;
        Self::new(
            encoding,
            &fixed_keys,
            0..groups as u32,
            &mut partitions,
            long,
            pool,
        )
    }

    pub(crate) fn places(&self, partitions: &Range<usize>) -> Range<usize> {
        self.starts.places(partitions)
    }

    /// The keys at `places`.
    pub(super) fn at(&self, places: Range<usize>) -> impl Iterator<Item = KeyAt> {
        let mut within = self.long.within(&places).peekable();
        places.map(move |place| {
            let is_here = |&number: &usize| self.long.all()[number].place as usize == place;
            match within.next_if(is_here) {
                Some(number) => KeyAt::Long(number),
                None => KeyAt::Fixed(self.fixed_keys.at(place)),
            }
        })
    }

    pub(super) fn fixed_keys(&self) -> &FixedKeys {
        &self.fixed_keys
    }

    pub(super) fn long(&self) -> &LongKeys {
        &self.long
    }
}
