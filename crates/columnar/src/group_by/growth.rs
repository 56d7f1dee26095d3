//! An estimate of all groups, from the first part of the work.
//!
//! A table of known size moves each group half as often as one that doubles. The estimate watches
//! two equal parts: if the second brings `q` times the new groups of the first, each later part
//! brings about `q` times those of the one before. This is exact for evenly drawn keys and for
//! distinct keys (`q` = 1).

/// Parts of all entries; the first two are watched.
const PARTS: usize = 8;

#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    entries: usize,
    seen: usize,
    /// Entries of the first part, and groups after it.
    first: Option<(usize, usize)>,
    is_over: bool,
}

impl Growth {
    pub(super) fn new(entries: usize) -> Self {
        Self {
            entries,
            seen: 0,
            first: None,
            is_over: false,
        }
    }

    /// Counts `more` merged entries, after which there are `groups`. After two parts it returns,
    /// once, an estimate of all groups.
    pub(super) fn note(&mut self, more: usize, groups: usize) -> Option<usize> {
        self.seen += more;
        if self.is_over {
            return None;
        }
        let Some((part, groups_of_first)) = self.first else {
            if self.seen > 0 && self.seen * PARTS >= self.entries {
                self.first = Some((self.seen, groups));
            }
            return None;
        };
        if self.seen < 2 * part {
            return None;
        }
        self.is_over = true;
        let first = groups_of_first as f64 / part as f64;
        let second = (groups - groups_of_first) as f64 / (self.seen - part) as f64;
        let parts = self.entries as f64 / part as f64;
        let q = (second / first).min(1.0);
        let sum = if q > 0.999 {
            parts
        } else {
            (1.0 - q.powf(parts)) / (1.0 - q)
        };
        // A table that is too small by one doubles.
        let expected = (groups_of_first as f64 * sum * 1.02) as usize;
        Some(expected.clamp(groups, self.entries.max(groups)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn expected(keys: impl Iterator<Item = u64>) -> (usize, usize) {
        let keys: Vec<u64> = keys.collect();
        let mut growth = Growth::new(keys.len());
        let mut known: HashSet<u64> = HashSet::new();
        let mut told = Vec::new();
        for piece in keys.chunks(100) {
            known.extend(piece);
            told.extend(growth.note(piece.len(), known.len()));
        }
        assert_eq!(told.len(), 1, "it is told once");
        (told[0], known.len())
    }

    fn drawn(rows: usize, keys: u64) -> impl Iterator<Item = u64> {
        let mut state = 1u64;
        (0..rows).map(move |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % keys
        })
    }

    #[test]
    fn keys_that_are_drawn_evenly_are_foreseen_within_a_tenth() {
        for (rows, keys) in [
            (8_000, 1_000_000_000),
            (8_000, 8_000),
            (8_000, 2_000),
            (8_000, 100),
        ] {
            let (expected, known) = expected(drawn(rows, keys));
            let is_close = expected * 10 >= known * 9 && expected * 10 <= known * 11;
            assert!(is_close, "{expected} for {known} of {rows}");
        }
    }

    #[test]
    fn of_different_keys_all_are_expected_and_no_more() {
        assert_eq!(expected(0..8_000), (8_000, 8_000));
        assert_eq!(expected(std::iter::repeat_n(1, 8_000)), (1, 1));
    }

    #[test]
    fn a_table_that_is_filled_at_once_is_told_nothing() {
        let mut growth = Growth::new(100);
        assert_eq!(growth.note(100, 80), None);
        assert_eq!(Growth::new(0).note(0, 0), None);
    }
}
