//! The numbering of a worker's victims: all other workers, each equally likely.

/// The `k`-th of the `workers − 1` victims of worker `me`.
///
/// ```
/// let victims: Vec<usize> = (0..3).map(|k| executor_core::nth_victim(1, k)).collect();
/// assert_eq!(victims, [0, 2, 3]);
/// ```
#[must_use]
#[inline]
pub fn nth_victim(me: usize, k: usize) -> usize {
    if k >= me { k + 1 } else { k }
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_other_worker_is_reached_once_and_oneself_never(workers in 1_usize..200, pick in any::<prop::sample::Index>()) {
            let me = pick.index(workers);
            let victims: Vec<_> = (0..workers - 1).map(|k| nth_victim(me, k)).collect();
            let expected: Vec<_> = (0..workers).filter(|&w| w != me).collect();
            prop_assert_eq!(victims, expected);
        }
    }
}
