//! Ranges of partitions for the merge.

use std::ops::Range;

use crate::partition::PARTITIONS;

/// Groups per range: their tables and states about fit a core's cache.
const GROUPS_PER_RANGE: usize = 8_192;
/// Rows of a piece per range, on average at least: each piece costs a merge some hundred
/// nanoseconds.
const ROWS_OF_A_PIECE: usize = 64;
/// Work from which there is more than one range.
const WORK_OF_MANY: usize = 2 * GROUPS_PER_RANGE;
/// Ranges at least, if more than one.
const RANGES_MIN: usize = 16;

/// Ranges have about equal work, of `work` in each partition. Without partitions there is one empty
/// range. With fewer `groups` than work, and many `pieces`, the ranges are wider, so that a merge reads
/// longer pieces.
pub(crate) fn cut(work: &[usize], pieces: usize, groups: usize) -> Vec<Range<usize>> {
    let all: usize = work.iter().sum();
    if all < WORK_OF_MANY {
        return std::iter::once(0..work.len()).collect();
    }
    let ranges = (groups.min(all) / GROUPS_PER_RANGE)
        .next_power_of_two()
        .min(all / ROWS_OF_A_PIECE / pieces.max(1))
        .clamp(RANGES_MIN, PARTITIONS);
    let share = all.div_ceil(ranges);
    let mut cut = Vec::with_capacity(ranges);
    let (mut start, mut sum) = (0, 0);
    for (partition, &more) in work.iter().enumerate() {
        // The cut goes to the nearer side of the share.
        if start < partition && (sum + more).saturating_sub(share) > share.saturating_sub(sum) {
            cut.push(start..partition);
            (start, sum) = (partition, 0);
        }
        sum += more;
    }
    cut.push(start..work.len());
    cut
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn few_groups_are_one_range_and_many_are_16_to_256() {
        let one = |range| std::iter::once(range).collect::<Vec<Range<usize>>>();
        assert_eq!(cut(&[], 0, usize::MAX), one(0..0));
        assert_eq!(cut(&[10; PARTITIONS], 0, usize::MAX), one(0..PARTITIONS));
        assert_eq!(cut(&[100; PARTITIONS], 0, usize::MAX).len(), 16);
        assert_eq!(cut(&[4_000; PARTITIONS], 0, usize::MAX).len(), 128);
        assert_eq!(cut(&[100_000; PARTITIONS], 0, usize::MAX).len(), PARTITIONS);
        assert_eq!(cut(&[100_000; PARTITIONS], 366, 200_000).len(), 32);
        assert_eq!(cut(&[100; PARTITIONS], 0, usize::MAX).len(), 16);
        assert_eq!(cut(&[4_000; PARTITIONS], 500, usize::MAX).len(), 32);
    }

    #[test]
    fn a_partition_with_more_than_its_share_is_alone() {
        let mut entries = [100; PARTITIONS];
        entries[77] = 1_000_000;
        assert!(
            cut(&entries, 0, usize::MAX).contains(&(77..78)),
            "{:?}",
            cut(&entries, 0, usize::MAX)
        );
    }

    proptest! {
        #[test]
        fn ranges_are_all_partitions_one_after_another(
            entries in proptest::collection::vec(0usize..10_000, PARTITIONS),
        ) {
            let ranges = cut(&entries, 0, usize::MAX);
            prop_assert_eq!(ranges[0].start, 0);
            prop_assert_eq!(ranges[ranges.len() - 1].end, PARTITIONS);
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            prop_assert!(ranges.iter().all(|range| !range.is_empty()));
        }
    }
}
