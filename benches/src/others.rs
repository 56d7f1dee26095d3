//! What else the machine was doing: figures taken beside other people's work are worth little, and should say so.

use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

/// The kernel counts in hundredths of a second, whatever its own clock ticks.
const TICK: Duration = Duration::from_millis(10);

/// A stretch of time in which the machine is watched.
#[derive(Debug)]
pub(crate) struct Watch {
    busy: Option<Duration>,
    own: ProcessTime,
    since: Instant,
}

impl Watch {
    pub(crate) fn start() -> Self {
        Self {
            busy: busy(),
            own: ProcessTime::now(),
            since: Instant::now(),
        }
    }

    /// Cores that others kept busy since then, on average. `None` where the system does not tell.
    pub(crate) fn cores_of_others(&self) -> Option<f64> {
        let busy = busy()?.checked_sub(self.busy?)?;
        let others = busy.saturating_sub(self.own.elapsed());
        Some(others.as_secs_f64() / self.since.elapsed().as_secs_f64())
    }
}

/// Time that all cores together have been busy since the machine started.
fn busy() -> Option<Duration> {
    busy_ticks(&std::fs::read_to_string("/proc/stat").ok()?).map(|ticks| TICK * ticks)
}

/// The sum of the first line's fields but idle and waiting for disks, which are the fourth and fifth, and the guests' at the
/// end, which are in the first ones already.
fn busy_ticks(stat: &str) -> Option<u32> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
    let busy: u64 = ticks
        .iter()
        .enumerate()
        .filter(|(index, _)| ![3, 4, 8, 9].contains(index))
        .map(|(_, ticks)| ticks)
        .sum();
    u32::try_from(busy).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_and_waiting_are_not_busy() {
        let stat = "cpu  1 2 3 1000 1000 4 5 6 1000 1000\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        assert_eq!(busy_ticks(stat), Some(21));
        assert_eq!(busy_ticks("intr 5"), None);
    }
}
