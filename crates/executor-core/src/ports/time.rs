//! Time, for policies that need it.

/// A clock.
pub trait Clock {
    /// Nanoseconds since a fixed moment. It never goes backwards.
    fn now_ns(&self) -> u64;
}
