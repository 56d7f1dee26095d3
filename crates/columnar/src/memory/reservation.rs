//! The bytes that one owner holds.

use std::sync::Arc;

use super::pool::{MemoryExceeded, MemoryPool};

/// Bytes that one owner holds of a memory pool, given back on drop. Without a pool it only counts.
///
/// ```
/// use std::sync::Arc;
/// use columnar::{Reservation, MemoryPool};
///
/// let pool = Arc::new(MemoryPool::new("q17", 1_000));
/// let mut reservation = Reservation::of(Some(Arc::clone(&pool)));
/// reservation.grow(300)?;
/// reservation.resize(200)?;
/// assert_eq!((reservation.bytes(), pool.used(), pool.peak()), (200, 200, 300));
/// drop(reservation);
/// assert_eq!(pool.used(), 0);
/// # Ok::<(), columnar::MemoryExceeded>(())
/// ```
#[derive(Debug, Default)]
pub struct Reservation {
    pool: Option<Arc<MemoryPool>>,
    bytes: usize,
}

impl Reservation {
    /// An empty reservation without a pool.
    pub const fn none() -> Self {
        Self { pool: None, bytes: 0 }
    }

    /// An empty reservation of `pool`.
    pub fn of(pool: Option<Arc<MemoryPool>>) -> Self {
        Self { pool, bytes: 0 }
    }

    /// The pool, if there is one.
    pub fn pool(&self) -> Option<&Arc<MemoryPool>> {
        self.pool.as_ref()
    }

    /// The bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Holds `bytes` more. Call it before allocating them.
    ///
    /// # Errors
    ///
    /// When they would pass the pool's limit. The reservation stays as it is.
    pub fn grow(&mut self, bytes: usize) -> Result<(), MemoryExceeded> {
        if let Some(pool) = &self.pool {
            pool.try_reserve(bytes)?;
        }
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }

    /// Holds `bytes` less. Call it after freeing them.
    ///
    /// # Panics
    ///
    /// If the reservation holds fewer.
    pub fn shrink(&mut self, bytes: usize) {
        assert!(
            bytes <= self.bytes,
            "{bytes} bytes are released, {} are held",
            self.bytes
        );
        self.bytes -= bytes;
        if let Some(pool) = &self.pool {
            pool.release(bytes);
        }
    }

    /// Adds the bytes of `other`, of the same pool.
    ///
    /// # Panics
    ///
    /// If `other` has another pool.
    pub fn absorb(&mut self, mut other: Self) {
        let pools = (
            self.pool.as_ref().map(Arc::as_ptr),
            other.pool.as_ref().map(Arc::as_ptr),
        );
        assert_eq!(pools.0, pools.1, "reservations of two pools are two reservations");
        self.bytes = self.bytes.saturating_add(std::mem::take(&mut other.bytes));
    }

    /// Sets the bytes held.
    ///
    /// # Errors
    ///
    /// When they grow past the pool's limit. The reservation stays as it is.
    pub fn resize(&mut self, bytes: usize) -> Result<(), MemoryExceeded> {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.grow(more),
            None => {
                self.shrink(self.bytes - bytes);
                Ok(())
            }
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(pool) = &self.pool {
            pool.release(self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn threads_never_hold_more_than_the_limit_together() {
        let pool = Arc::new(MemoryPool::new("q", 1_000));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..1_000 {
                        let mut reservation = Reservation::of(Some(Arc::clone(&pool)));
                        if reservation.grow(300 + round % 7).is_ok() {
                            assert!(pool.used() <= pool.limit());
                        }
                    }
                });
            }
        });
        assert_eq!(pool.used(), 0);
        assert!((300..=1_000).contains(&pool.peak()));
    }

    #[test]
    fn what_is_held_is_given_back_by_a_panic() {
        let pool = Arc::new(MemoryPool::new("q", 10));
        let of = Some(Arc::clone(&pool));
        let panicked = thread::spawn(move || {
            let mut reservation = Reservation::of(of);
            reservation.grow(10).unwrap();
            panic!("on purpose");
        });
        assert!(panicked.join().is_err());
        assert_eq!(pool.used(), 0);
    }

    #[test]
    #[should_panic(expected = "5 bytes are released, 4 are held")]
    fn giving_back_more_than_is_held_is_refused() {
        let mut reservation = Reservation::default();
        reservation.grow(4).unwrap();
        reservation.shrink(5);
    }
}
