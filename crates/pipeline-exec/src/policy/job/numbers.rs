//! Numbers of the parties that run slots: workers first, then one helper, then spare threads.

pub(crate) fn lent_number(workers: usize) -> usize {
    workers
}

pub(crate) fn spare_number(workers: usize, spare: usize) -> usize {
    lent_number(workers) + 1 + spare
}

/// In a report, a spare thread counts for the worker that it stands in for.
pub(crate) fn place_of(number: usize, workers: usize) -> usize {
    number.checked_sub(spare_number(workers, 0)).unwrap_or(number)
}
