//! Which keys are met too often to pass their rows through, and whether rows are grouped at all.

use std::sync::{Arc, Mutex};

use pipeline_exec::lock;

use super::table::GroupTable;

/// From this part of the rows on that bring a new key, rows are passed through: a lookup in the
/// slot's table that finds the key in fewer than every fourth case does not pay.
const MOSTLY_NEW: f64 = 0.75;
/// Rows of which a heavy hitter has at least one.
const HEAVY_ONE_IN: usize = 64;
/// Rows of which at least one has a key that is no heavy hitter; with fewer, passing rows through
/// is not worth it.
const OTHERS_ONE_IN: usize = 8;
/// Each row is compared with every heavy hitter.
const HEAVY_MAX: usize = 8;
/// What slots know of the keys, from the last that looked.
#[derive(Debug, Default)]
pub(super) struct KeySample(Mutex<Option<Arc<Mode>>>);

/// What becomes of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// All are grouped.
    Grouped,
    /// Those with a fixed-width key that is not among these are passed through.
    PassThrough { heavy: Vec<u128> },
}

impl Mode {
    /// What a slot's first `rows` rows say, of which the last `count` are still looked up in
    /// `keys`.
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
            heavy: heavy
                .into_iter()
                .filter_map(|group| keys.fixed_key(group))
                .collect(),
        }
    }
}

impl KeySample {
    pub(super) fn known(&self) -> Option<Arc<Mode>> {
        lock(&self.0).clone()
    }

    pub(super) fn learn(&self, mode: Mode) -> Arc<Mode> {
        let mode = Arc::new(mode);
        *lock(&self.0) = Some(Arc::clone(&mode));
        mode
    }
}
