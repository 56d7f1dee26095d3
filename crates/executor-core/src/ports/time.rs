//! Time, for policies that cannot do without it.

/// A clock.
pub trait Clock {
    /// Nanoseconds since some fixed moment. It never goes backwards.
    fn now_ns(&self) -> u64;
}
