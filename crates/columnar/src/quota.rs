//! How many bytes a query may hold at a time, counted before they are allocated.
//!
//! ```text
//!   list of slot 0 ─ Charge ─┐
//!   list of slot 1 ─ Charge ─┼─► Quota "q17": 38 MB of 64 MB in use, 41 MB at most
//!   table of groups ─ Charge ┘
//! ```
//!
//! One [`Quota`] stands for a whole job, whatever threads its slots run on. Who wants memory charges it first, so that a query over its limit
//! fails with an error that says so, instead of the process with none. A [`Charge`] gives back what its owner holds when the
//! owner is dropped, also on the way out of an error or a panic.
//!
//! It is not an allocator: what nobody charges is not counted. Charged is what grows with the rows of a query.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes that one query may hold, and those that it does.
///
/// ```
/// use columnar::Quota;
///
/// let quota = Quota::new("q17", 1_000);
/// quota.try_charge(600)?;
/// let refused = quota.try_charge(401).unwrap_err();
/// assert_eq!((refused.requested, refused.used, refused.limit), (401, 600, 1_000));
/// assert_eq!(
///     refused.to_string(),
///     "query q17 is over its memory quota: it asked for 401 bytes with 600 of 1000 in use",
/// );
/// quota.release(600);
/// assert_eq!((quota.used(), quota.peak()), (0, 600));
/// # Ok::<(), columnar::QuotaExceeded>(())
/// ```
#[derive(Debug)]
pub struct Quota {
    query: Arc<str>,
    limit: usize,
    used: AtomicUsize,
    peak: AtomicUsize,
}

impl Quota {
    /// `limit` bytes for the query that errors call `query`; `usize::MAX` refuses nothing and only counts.
    pub fn new(query: impl Into<Arc<str>>, limit: usize) -> Self {
        Self {
            query: query.into(),
            limit,
            used: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
        }
    }

    /// What errors call the query.
    pub fn query(&self) -> &str {
        &self.query
    }

    /// The most bytes that may be in use at a time.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The bytes in use. Others may change them at any time.
    pub fn used(&self) -> usize {
        // Ordering: Relaxed. A number for people.
        self.used.load(Ordering::Relaxed)
    }

    /// The most bytes that were in use at a time.
    pub fn peak(&self) -> usize {
        // Ordering: Relaxed. A number for people.
        self.peak.load(Ordering::Relaxed)
    }

    /// Counts `bytes` as in use, all of them or none. To be called before they are allocated; [`Charge`] also gives them back.
    ///
    /// # Errors
    ///
    /// When they would pass the limit. Nothing is counted then.
    pub fn try_charge(&self, bytes: usize) -> Result<(), QuotaExceeded> {
        let fitting = |used: usize| used.checked_add(bytes).filter(|&sum| sum <= self.limit);
        // Ordering: Relaxed. Accounting, not synchronisation: all that counts is that no two charges both take the last bytes, which
        // a read-modify-write of one word decides. The memory itself is its owner's alone.
        let charged = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fitting);
        match charged {
            Ok(used) => {
                // Ordering: Relaxed. A number for people.
                self.peak.fetch_max(used + bytes, Ordering::Relaxed);
                Ok(())
            }
            Err(used) => Err(QuotaExceeded {
                query: Arc::clone(&self.query),
                requested: bytes,
                used,
                limit: self.limit,
            }),
        }
    }

    /// Counts `bytes` as free again that were charged.
    ///
    /// # Panics
    ///
    /// If fewer are in use.
    pub fn release(&self, bytes: usize) {
        // Ordering: Relaxed. See `try_charge`.
        let used = self.used.fetch_sub(bytes, Ordering::Relaxed);
        assert!(used >= bytes, "{bytes} bytes are released, {used} were charged");
    }
}

/// Bytes that one owner holds of a quota, given back when it is dropped. Without a quota it only counts.
///
/// ```
/// use std::sync::Arc;
/// use columnar::{Charge, Quota};
///
/// let quota = Arc::new(Quota::new("q17", 1_000));
/// let mut charge = Charge::of(Some(Arc::clone(&quota)));
/// charge.grow(300)?;
/// charge.resize(200)?;
/// assert_eq!((charge.bytes(), quota.used(), quota.peak()), (200, 200, 300));
/// drop(charge);
/// assert_eq!(quota.used(), 0);
/// # Ok::<(), columnar::QuotaExceeded>(())
/// ```
#[derive(Debug, Default)]
pub struct Charge {
    quota: Option<Arc<Quota>>,
    bytes: usize,
}

impl Charge {
    /// Nothing, and of no quota.
    pub const fn none() -> Self {
        Self {
            quota: None,
            bytes: 0,
        }
    }

    /// Nothing yet, of `quota`.
    pub fn of(quota: Option<Arc<Quota>>) -> Self {
        Self { quota, bytes: 0 }
    }

    /// The quota, if there is one.
    pub fn quota(&self) -> Option<&Arc<Quota>> {
        self.quota.as_ref()
    }

    /// The bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Holds `bytes` more. To be called before they are allocated.
    ///
    /// # Errors
    ///
    /// When they would pass the quota's limit. It then holds what it held.
    pub fn grow(&mut self, bytes: usize) -> Result<(), QuotaExceeded> {
        if let Some(quota) = &self.quota {
            quota.try_charge(bytes)?;
        }
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }

    /// Holds `bytes` less. To be called after they were freed.
    ///
    /// # Panics
    ///
    /// If it holds fewer.
    pub fn shrink(&mut self, bytes: usize) {
        assert!(
            bytes <= self.bytes,
            "{bytes} bytes are released, {} are held",
            self.bytes
        );
        self.bytes -= bytes;
        if let Some(quota) = &self.quota {
            quota.release(bytes);
        }
    }

    /// Holds what `other` holds as well, of the same quota.
    ///
    /// # Panics
    ///
    /// If it is another quota.
    pub fn absorb(&mut self, mut other: Self) {
        let quotas = (
            self.quota.as_ref().map(Arc::as_ptr),
            other.quota.as_ref().map(Arc::as_ptr),
        );
        assert_eq!(quotas.0, quotas.1, "charges of two quotas are two charges");
        self.bytes = self.bytes.saturating_add(std::mem::take(&mut other.bytes));
    }

    /// Holds `bytes` from now on.
    ///
    /// # Errors
    ///
    /// When that is more than before, and would pass the quota's limit. It then holds what it held.
    pub fn resize(&mut self, bytes: usize) -> Result<(), QuotaExceeded> {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.grow(more),
            None => {
                self.shrink(self.bytes - bytes);
                Ok(())
            }
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if let Some(quota) = &self.quota {
            quota.release(self.bytes);
        }
    }
}

/// A query asked for more memory than its quota has left. It fails with this; nothing was allocated, and no partial result is given out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaExceeded {
    /// What the quota calls the query.
    pub query: Arc<str>,
    /// The bytes it asked for.
    pub requested: usize,
    /// The bytes that were in use.
    pub used: usize,
    /// The most bytes that may be in use at a time.
    pub limit: usize,
}

impl fmt::Display for QuotaExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            query,
            requested,
            used,
            limit,
        } = self;
        write!(
            f,
            "query {query} is over its memory quota: it asked for {requested} bytes with {used} of {limit} in use"
        )
    }
}

impl Error for QuotaExceeded {}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_charge_is_counted_whole_or_not_at_all() {
        let quota = Quota::new("q", 100);
        quota.try_charge(100).unwrap();
        assert!(quota.try_charge(1).is_err());
        assert!(quota.try_charge(usize::MAX).is_err(), "the sum would wrap");
        quota.try_charge(0).unwrap();
        assert_eq!(quota.used(), 100);
    }

    #[test]
    fn threads_never_hold_more_than_the_limit_together() {
        let quota = Arc::new(Quota::new("q", 1_000));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..1_000 {
                        let mut charge = Charge::of(Some(Arc::clone(&quota)));
                        if charge.grow(300 + round % 7).is_ok() {
                            assert!(quota.used() <= quota.limit());
                        }
                    }
                });
            }
        });
        assert_eq!(quota.used(), 0);
        assert!((300..=1_000).contains(&quota.peak()));
    }

    #[test]
    fn what_is_held_is_given_back_by_a_panic() {
        let quota = Arc::new(Quota::new("q", 10));
        let of = Some(Arc::clone(&quota));
        let panicked = thread::spawn(move || {
            let mut charge = Charge::of(of);
            charge.grow(10).unwrap();
            panic!("on purpose");
        });
        assert!(panicked.join().is_err());
        assert_eq!(quota.used(), 0);
    }

    #[test]
    #[should_panic(expected = "5 bytes are released, 4 are held")]
    fn giving_back_more_than_is_held_is_refused() {
        let mut charge = Charge::default();
        charge.grow(4).unwrap();
        charge.shrink(5);
    }
}
