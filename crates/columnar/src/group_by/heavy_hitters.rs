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
    /// Rows with a fixed-width key outside `heavy` are grouped later.
    PassThrough { heavy: Vec<u128> },
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
