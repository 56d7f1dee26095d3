//! Ranges of partitions for the merge.

use std::ops::Range;

use crate::partition::PARTITIONS;

/// Entries per range: their tables and states about fit a core's cache.
const ENTRIES_PER_RANGE: usize = 8_192;
/// Entries from which there is more than one range.
const ENTRIES_OF_MANY: usize = 2 * ENTRIES_PER_RANGE;
/// Ranges at least, if more than one.
const RANGES_MIN: usize = 16;

/// Ranges have about equal work. Without partitions there is one empty range.
pub(crate) fn cut(entries: &[usize]) -> Vec<Range<usize>> {
    let all: usize = entries.iter().sum();
    if all < ENTRIES_OF_MANY {
        return std::iter::once(0..entries.len()).collect();
    }
    let ranges = (all / ENTRIES_PER_RANGE)
        .next_power_of_two()
        .clamp(RANGES_MIN, PARTITIONS);
    let share = all.div_ceil(ranges);
    let mut cut = Vec::with_capacity(ranges);
    let (mut start, mut sum) = (0, 0);
    for (partition, &more) in entries.iter().enumerate() {
        // The cut goes to the nearer side of the share.
        if start < partition && (sum + more).saturating_sub(share) > share.saturating_sub(sum) {
            cut.push(start..partition);
            (start, sum) = (partition, 0);
        }
        sum += more;
    }
    cut.push(start..entries.len());
    cut
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn few_groups_are_one_range_and_many_are_16_to_256() {
        let one = |range| std::iter::once(range).collect::<Vec<Range<usize>>>();
        assert_eq!(cut(&[]), one(0..0));
        assert_eq!(cut(&[10; PARTITIONS]), one(0..PARTITIONS));
        assert_eq!(cut(&[100; PARTITIONS]).len(), 16);
        assert_eq!(cut(&[4_000; PARTITIONS]).len(), 128);
        assert_eq!(cut(&[100_000; PARTITIONS]).len(), PARTITIONS);
    }

    #[test]
    fn a_partition_with_more_than_its_share_is_alone() {
        let mut entries = [100; PARTITIONS];
        entries[77] = 1_000_000;
        assert!(cut(&entries).contains(&(77..78)), "{:?}", cut(&entries));
    }

    proptest! {
        #[test]
        fn ranges_are_all_partitions_one_after_another(
            entries in proptest::collection::vec(0usize..10_000, PARTITIONS),
        ) {
            let ranges = cut(&entries);
            prop_assert_eq!(ranges[0].start, 0);
            prop_assert_eq!(ranges[ranges.len() - 1].end, PARTITIONS);
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            prop_assert!(ranges.iter().all(|range| !range.is_empty()));
        }
    }
}
