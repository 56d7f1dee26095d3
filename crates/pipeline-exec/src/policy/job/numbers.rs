//! Numbers of the parties that run slots: workers first, then one helper, then spare threads.
//!
//! ```text
//!    0 … workers - 1    workers    workers + 1 … workers + spares
//!    workers            a helper   spare threads
//! ```

pub(crate) fn lent_number(workers: usize) -> usize {
    workers
}

pub(crate) fn spare_number(workers: usize, spare: usize) -> usize {
    lent_number(workers) + 1 + spare
}

/// A spare thread has the place of the worker for which it stands in.
pub(crate) fn place_of(number: usize, workers: usize) -> usize {
    number.checked_sub(spare_number(workers, 0)).unwrap_or(number)
}
