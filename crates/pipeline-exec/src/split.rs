//! How threads are split into main and reserve.

use std::num::NonZeroUsize;

/// Splits `total` threads into (main, reserve). Main gets 85 %, rounded up. From two threads on,
/// each role has at least one.
///
/// | total | 1 | 2 | 4 | 8 | 16 | 32 | 100 |
/// |---|---|---|---|---|---|---|---|
/// | main | 1 | 1 | 3 | 7 | 14 | 28 | 85 |
/// | reserve | 0 | 1 | 1 | 1 | 2 | 4 | 15 |
///
/// A single worker alternates between both roles.
///
/// ```
/// use std::num::NonZeroUsize;
///
/// let eight = NonZeroUsize::new(8).unwrap();
/// assert_eq!(pipeline_exec::split_threads(eight), (7, 1));
/// ```
#[must_use]
pub fn split_threads(total: NonZeroUsize) -> (usize, usize) {
    let total = total.get();
    if total == 1 {
        return (1, 0);
    }
    // 85 % rounded up is the whole without 15 % rounded down; this form cannot overflow.
    let reserve = total / 100 * 15 + total % 100 * 15 / 100;
    let reserve = reserve.max(1);
    (total - reserve, reserve)
}
