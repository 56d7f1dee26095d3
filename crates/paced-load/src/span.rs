//! The time in which a load is measured, and what lies inside of it.

use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start: Instant,
    pub(crate) end: Instant,
}

impl Span {
    /// The part of a query that lies inside: 1 for all of it.
    pub(crate) fn part_of(&self, began: Instant, ended: Instant) -> f64 {
        let inside = ended
            .min(self.end)
            .saturating_duration_since(began.max(self.start));
        inside.as_secs_f64() / (ended - began).as_secs_f64()
    }

    /// Number of queries that are due from `due` to the end, at this pace.
    pub(crate) fn left(&self, due: Instant, pace: Duration) -> usize {
        let left = self.end.saturating_duration_since(due).as_nanos();
        usize::try_from(left.div_ceil(pace.as_nanos())).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_across_a_boundary_counts_by_its_part() {
        let zero = Instant::now();
        let at = |seconds| zero + Duration::from_secs(seconds);
        let span = Span {
            start: at(2),
            end: at(10),
        };
        let parts =
            [(0, 4), (4, 8), (8, 16), (20, 30)].map(|(began, ended)| span.part_of(at(began), at(ended)));
        assert_eq!(parts, [0.5, 1.0, 0.25, 0.0]);
    }

    #[test]
    fn a_query_that_is_due_just_before_the_end_is_left() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let span = Span { start, end: at(100) };
        let left = [0, 50, 51, 99, 100, 150].map(|due| span.left(at(due), Duration::from_millis(50)));
        assert_eq!(left, [2, 1, 1, 1, 0, 0]);
    }
}
