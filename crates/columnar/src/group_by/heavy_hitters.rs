//! The choice to group rows or pass them through.

use std::sync::{Arc, Mutex};

use pipeline_exec::lock;

use super::table::GroupTable;

/// Fraction of new keys from which rows pass through: a lookup that finds fewer than one key in
/// four does not pay.
const MOSTLY_NEW: f64 = 0.75;
/// Rows per row of a heavy hitter, at most.
const HEAVY_ONE_IN: usize = 64;
/// Rows per row of another key, at most, to pass rows through.
const OTHERS_ONE_IN: usize = 8;
/// Heavy hitters at most: each row is compared with all of them.
const HEAVY_MAX: usize = 8;
#[derive(Debug, Default)]
pub(super) struct KeySample(Mutex<Option<Arc<Mode>>>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// All rows are grouped.
    Grouped,
    /// Rows with a fixed-width key outside `heavy` are grouped later, to about `groups` groups.
    PassThrough { heavy: Vec<u128>, groups: usize },
}

impl Mode {
    /// Chooses from a slot's first `rows` rows; the last `count` are still looked up in `keys`.
    pub(super) fn of(keys: &GroupTable, rows: usize, count: usize) -> Self {
        let mut rows_of = vec![0usize; keys.len()];
        keys.groups()
            .iter()
            .for_each(|&group| rows_of[group as usize] += 1);
        let is_heavy = |rows: usize| rows > 1 && rows * HEAVY_ONE_IN >= count;
        let mut heavy: Vec<u32> = (0..rows_of.len() as u32)
            .filter(|&group| is_heavy(rows_of[group as usize]))
            .collect();
        heavy.sort_by_key(|&group| std::cmp::Reverse(rows_of[group as usize]));
        heavy.truncate(HEAVY_MAX);
        let heavy_rows: usize = heavy.iter().map(|&group| rows_of[group as usize]).sum();
        let others = rows - heavy_rows;
        let new = keys.len() - heavy.len();
        if others * OTHERS_ONE_IN < rows || (new as f64) < MOSTLY_NEW * others as f64 {
            return Self::Grouped;
        }
        Self::PassThrough {
            groups: groups_of(new, others),
            heavy: heavy
                .into_iter()
                .filter_map(|group| keys.fixed_key(group))
                .collect(),
        }
    }
}

/// The number `n` of all keys if a sample of `drawn` rows has `distinct` of them and all are equally
/// frequent: `distinct = n (1 - e^(-drawn / n))`, solved by bisection.
fn groups_of(distinct: usize, drawn: usize) -> usize {
    if distinct >= drawn {
        return usize::MAX;
    }
    let (distinct, drawn) = (distinct as f64, drawn as f64);
    let expected = |keys: f64| keys * (1.0 - (-drawn / keys).exp());
    let (mut few, mut many) = (distinct, drawn * drawn);
    for _step in 0..60 {
        let middle = (few + many) / 2.0;
        if expected(middle) < distinct {
            few = middle;
        } else {
            many = middle;
        }
    }
    many as usize
}

impl KeySample {
    pub(super) fn known(&self) -> Option<Arc<Mode>> {
        lock(&self.0).clone()
    }

    /// An estimate, from the last sample. `None` if rows were grouped at once.
    pub(super) fn groups(&self) -> Option<usize> {
        match lock(&self.0).as_deref() {
            Some(Mode::PassThrough { groups, .. }) => Some(*groups),
            _ => None,
        }
    }

    pub(super) fn learn(&self, mode: Mode) -> Arc<Mode> {
        let mode = Arc::new(mode);
        *lock(&self.0) = Some(Arc::clone(&mode));
        mode
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_keys_of_a_sample_tell_about_how_many_there_are() {
        for (keys, drawn) in [
            (200_000, 8_192),
            (200_000, 16_384),
            (50_000, 4_096),
            (1_500_000, 16_384),
        ] {
            let draw = |at: u64| {
                (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ at << 7).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
            };
            let mut distinct: Vec<u64> = (0..drawn).map(|at| draw(at) % keys).collect();
            distinct.sort_unstable();
            distinct.dedup();
            let found = groups_of(distinct.len(), drawn as usize);
            let (least, most) = (keys as usize / 2, keys as usize * 2);
            assert!((least..most).contains(&found), "{found} for {keys} of {drawn}");
        }
        assert_eq!(groups_of(100, 100), usize::MAX);
        assert!(groups_of(1, 100) <= 2);
    }
}
