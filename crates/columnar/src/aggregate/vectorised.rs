//! Adding the rows of a chunk to their groups.
//!
//! With few groups, neighbouring rows often share one, and an addition that waits for the last one
//! is several times slower. So rows alternate between lanes, each with a sum per group. With many
//! groups and one heavy group, the heavy rows are added separately; the others are moved together
//! first, without a branch.

/// Groups at most for lanes.
const FEW: usize = 64;
const LANES: usize = 4;

/// Rows that move together.
const BLOCK: usize = 256;

/// Rows below which a heavy group is not searched.
const LOOKS_FROM: usize = 2_048;
const LOOKS: usize = 32;

fn heavy(groups: &[u32]) -> Option<u32> {
    if groups.len() < LOOKS_FROM {
        return None;
    }
    let step = groups.len() / LOOKS;
    let looks: [u32; LOOKS] = std::array::from_fn(|at| groups[at * step]);
    let rows_of = |group: u32| looks.iter().filter(|&&one| one == group).count();
    let (&heavy, rows) = looks
        .iter()
        .map(|group| (group, rows_of(*group)))
        .max_by_key(|(_, rows)| *rows)?;
    (rows >= LOOKS / 5).then_some(heavy)
}

/// The caller rules out overflow.
pub(super) fn add_all<N: Copy>(sums: &mut [i64], groups: &[u32], rows: &[N], what: impl Fn(N) -> i64) {
    if sums.len() > FEW {
        let Some(heavy) = heavy(groups) else {
            for (&group, &row) in groups.iter().zip(rows) {
                sums[group as usize] += what(row);
            }
            return;
        };
        let mut of_heavy = 0;
        let mut others = [(0u32, 0i64); BLOCK];
        for (groups, rows) in groups.chunks(BLOCK).zip(rows.chunks(BLOCK)) {
            let mut count = 0;
            for (&group, &row) in groups.iter().zip(rows) {
                let value = what(row);
                others[count % BLOCK] = (group, value);
                let is_heavy = group == heavy;
                count += usize::from(!is_heavy);
                of_heavy += if is_heavy { value } else { 0 };
            }
            for &(group, value) in &others[..count] {
                sums[group as usize] += value;
            }
        }
        sums[heavy as usize] += of_heavy;
        return;
    }
    let mut lanes = [[0i64; FEW]; LANES];
    let (groups, last_groups) = groups.as_chunks::<LANES>();
    let (rows, last_rows) = rows.as_chunks::<LANES>();
    for (groups, rows) in groups.iter().zip(rows) {
        for ((lane, &group), &row) in lanes.iter_mut().zip(groups).zip(rows) {
            lane[group as usize % FEW] += what(row);
        }
    }
    for (&group, &row) in last_groups.iter().zip(last_rows) {
        lanes[0][group as usize % FEW] += what(row);
    }
    for (group, sum) in sums.iter_mut().enumerate() {
        *sum += lanes.iter().map(|lane| lane[group]).sum::<i64>();
    }
}

pub(crate) fn count_all(counts: &mut [u32], groups: &[u32]) {
    if counts.len() > FEW {
        let Some(heavy) = heavy(groups) else {
            groups.iter().for_each(|&group| counts[group as usize] += 1);
            return;
        };
        let mut others = [0u32; BLOCK];
        for groups in groups.chunks(BLOCK) {
            let mut count = 0;
            for &group in groups {
                others[count % BLOCK] = group;
                count += usize::from(group != heavy);
            }
            others[..count]
                .iter()
                .for_each(|&group| counts[group as usize] += 1);
            counts[heavy as usize] += (groups.len() - count) as u32;
        }
        return;
    }
    let mut lanes = [[0u32; FEW]; LANES];
    let (groups, last) = groups.as_chunks::<LANES>();
    for groups in groups {
        for (lane, &group) in lanes.iter_mut().zip(groups) {
            lane[group as usize % FEW] += 1;
        }
    }
    last.iter().for_each(|&group| lanes[0][group as usize % FEW] += 1);
    for (group, count) in counts.iter_mut().enumerate() {
        *count += lanes.iter().map(|lane| lane[group]).sum::<u32>();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_row_is_in_the_sum_and_the_count_of_its_group(
            of in prop_oneof![Just(1u32), Just(FEW as u32), Just(FEW as u32 + 1)],
            rows in prop_oneof![
                proptest::collection::vec((any::<u32>(), -100i64..100), 0..700),
                proptest::collection::vec((any::<u32>(), -100i64..100), LOOKS_FROM..LOOKS_FROM + 500),
            ],
            hot_of_8 in 0u32..9,
        ) {
            let group = |row: &(u32, i64)| if row.0 >> 29 < hot_of_8 { of - 1 } else { row.0 % of };
            let groups: Vec<u32> = rows.iter().map(group).collect();
            let numbers: Vec<i64> = rows.iter().map(|row| row.1).collect();
            let mut expected = vec![(7i64, 3u32); of as usize];
            for (&group, number) in groups.iter().zip(&numbers) {
                expected[group as usize].0 += number;
                expected[group as usize].1 += 1;
            }
            let (mut sums, mut counts) = (vec![7; of as usize], vec![3; of as usize]);
            add_all(&mut sums, &groups, &numbers, |number| number);
            count_all(&mut counts, &groups);
            prop_assert!(sums.into_iter().zip(counts).eq(expected));
        }
    }
}
