//! Whether other programs wanted our cores during a run.
//!
//! The kernel counts for each thread the time in which it could run and had no core.

use std::fs;
use std::time::Duration;

/// Sum over all threads of this process.
pub(crate) fn waited_for_cores() -> Option<Duration> {
    let tasks = fs::read_dir("/proc/self/task").ok()?;
    let waited = tasks.flatten().map(|task| {
        let statistics = fs::read_to_string(task.path().join("schedstat")).ok()?;
        waited_ns(&statistics)
    });
    waited.sum::<Option<u64>>().map(Duration::from_nanos)
}

/// The second of three numbers.
fn waited_ns(statistics: &str) -> Option<u64> {
    statistics.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_on_the_queue_is_the_second_number() {
        assert_eq!(waited_ns("1044271 26330 12\n"), Some(26_330));
        assert_eq!(waited_ns("1044271\n"), None);
        assert_eq!(waited_ns("1044271 x 12\n"), None);
    }
}
