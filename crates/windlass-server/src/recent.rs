//! How long the statements took that ended lately: percentiles by class.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use windlass_datafusion::Class;

/// Time for which an ended statement counts.
pub(crate) const WINDOW: Duration = Duration::from_secs(60);

/// Number of ended statements that are kept. Beyond it, the oldest count no more.
const KEPT: usize = 8_192;

/// Statements that ended within the window, the latest last.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    ended: VecDeque<Ended>,
}

#[derive(Clone, Copy, Debug)]
struct Ended {
    at: Instant,
    class: Class,
    took: Duration,
}

/// Percentiles by class, in the order of [`Class::ALL`].
pub(crate) type Times = [ClassTimes; Class::ALL.len()];

/// How long the statements of a class took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClassTimes {
    /// Number of statements.
    pub(crate) count: usize,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

impl Recent {
    pub(crate) fn push(&mut self, at: Instant, class: Class, took: Duration) {
        while self.ended.len() >= KEPT || self.ended.front().is_some_and(|ended| ended.is_old(at)) {
            self.ended.pop_front();
        }
        self.ended.push_back(Ended { at, class, took });
    }

    pub(crate) fn times(&self, now: Instant) -> Times {
        Class::ALL.map(|class| {
            let counted = self
                .ended
                .iter()
                .filter(|ended| ended.class == class && !ended.is_old(now));
            let mut took: Vec<_> = counted.map(|ended| ended.took).collect();
            took.sort_unstable();
            ClassTimes {
                count: took.len(),
                p50: percentile(&took, 50),
                p99: percentile(&took, 99),
            }
        })
    }
}

impl Ended {
    fn is_old(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) > WINDOW
    }
}

/// The smallest value that `percent` of the sorted values do not exceed; zero of none.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100);
    let at = sorted.get(rank.saturating_sub(1));
    at.copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_each_class_and_of_the_last_minute() {
        let (mut recent, began) = (Recent::default(), Instant::now());
        let millis = Duration::from_millis;
        recent.push(began, Class::Batch, millis(5_000));
        for number in 1..=200 {
            recent.push(began + Duration::from_secs(50), Class::Normal, millis(number));
        }
        let [interactive, normal, batch] = recent.times(began + Duration::from_secs(60));
        assert_eq!(interactive, ClassTimes::default());
        let of_200 = ClassTimes {
            count: 200,
            p50: millis(100),
            p99: millis(198),
        };
        assert_eq!(normal, of_200);
        assert_eq!(
            (batch.count, batch.p50, batch.p99),
            (1, millis(5_000), millis(5_000))
        );
        let [_, normal, batch] = recent.times(began + Duration::from_secs(61));
        assert_eq!((normal.count, batch.count), (200, 0));
    }

    #[test]
    fn a_bounded_number_is_kept() {
        let (mut recent, began) = (Recent::default(), Instant::now());
        for _ in 0..KEPT + 10 {
            recent.push(began, Class::Normal, Duration::ZERO);
        }
        assert_eq!(recent.times(began)[1].count, KEPT);
        recent.push(began + Duration::from_secs(61), Class::Normal, Duration::ZERO);
        assert_eq!(recent.ended.len(), 1);
    }
}
