//! Retries of a request and the pauses between them.

use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::{Duration, Instant};

use crate::patience::Patience;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(15);

/// Pauses grow with decorrelated jitter: each lies between [`FIRST`] and twice the one before, so
/// clients that failed together do not return together.
#[derive(Debug)]
pub(super) struct Retries {
    patience: Patience,
    made: usize,
    next: Duration,
    started: Instant,
}

impl Retries {
    pub(super) fn new(patience: Patience) -> Self {
        Self {
            patience,
            made: 0,
            next: FIRST,
            started: Instant::now(),
        }
    }

    /// `None` after the last retry.
    pub(super) fn pause(&mut self) -> Option<Duration> {
        if self.made >= self.patience.retries || self.started.elapsed() > self.patience.retry_for {
            return None;
        }
        self.made += 1;
        let after = jittered(self.next, draw());
        Some(std::mem::replace(&mut self.next, after))
    }
}

impl fmt::Display for Retries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.made {
            0 => Ok(()),
            made => write!(f, ", after {made} retries in {:.1?}", self.started.elapsed()),
        }
    }
}

fn jittered(pause: Duration, drawn: u64) -> Duration {
    let span = (2 * pause).saturating_sub(FIRST);
    let part = (drawn >> 32) as f64 / f64::from(u32::MAX);
    (FIRST + span.mul_f64(part)).min(LONGEST)
}

fn draw() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patience(retries: usize, retry_for: Duration) -> Patience {
        Patience {
            silence: Duration::from_secs(1),
            retries,
            retry_for,
        }
    }

    #[test]
    fn the_retries_are_as_many_as_allowed_and_the_first_pause_is_short() {
        let mut retries = Retries::new(patience(3, Duration::from_secs(60)));
        assert_eq!(retries.to_string(), "");
        assert_eq!(retries.pause(), Some(FIRST));
        for _ in 0..2 {
            let pause = retries.pause().unwrap();
            assert!((FIRST..=4 * FIRST).contains(&pause), "{pause:?}");
        }
        assert_eq!(retries.pause(), None);
        assert!(retries.to_string().starts_with(", after 3 retries in "));
    }

    #[test]
    fn none_is_made_behind_the_time_for_them() {
        let mut retries = Retries::new(patience(3, Duration::ZERO));
        std::thread::sleep(Duration::from_millis(1));
        assert_eq!(retries.pause(), None);
    }

    #[test]
    fn pauses_grow_at_most_twofold_and_end_at_the_longest() {
        assert_eq!(jittered(FIRST, 0), FIRST);
        assert_eq!(jittered(FIRST, u64::MAX), 2 * FIRST);
        assert_eq!(jittered(LONGEST, u64::MAX), LONGEST);
    }
}
