//! The machine and date of a measurement, and other load on the machine meanwhile.

use std::time::{Duration, Instant};

use chrono::Utc;
use cpu_time::ProcessTime;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

const LOCK: &str = include_str!("../../Cargo.lock");

/// The kernel counts in hundredths of a second, whatever its own clock.
const TICK: Duration = Duration::from_millis(10);

/// Today, as `2026-11-21`.
pub(crate) fn date() -> String {
    Utc::now().format("%Y-%m-%d").to_string()
}

pub(crate) fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let value = |key: &str| {
        let line = info.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    match (value("model name"), value("cpu family"), value("model\t")) {
        (Some(name), Some(family), Some(model)) => format!("{name} (family {family}, model {model})"),
        (Some(name), ..) => name,
        _ => "a processor that the system does not name".to_owned(),
    }
}

pub(crate) fn locked(packages: &[&str]) -> Vec<String> {
    let named = |package: &&str| format!("{package} {}", version(LOCK, package).unwrap_or("of no version"));
    packages.iter().map(named).collect()
}

fn version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| **line != name).skip(1);
    lines.next()?.strip_prefix("version = \"")?.strip_suffix('"')
}

/// The shortest time for which the load of others is told: thirty of the kernel's ticks of 10 ms.
const WATCHED_MIN: Duration = Duration::from_millis(300);

#[derive(Debug)]
pub(crate) struct Watch {
    busy: Option<Duration>,
    own: ProcessTime,
    children: Duration,
    since: Instant,
}

impl Watch {
    pub(crate) fn start() -> Self {
        Self {
            busy: busy(),
            own: ProcessTime::now(),
            children: children(),
            since: Instant::now(),
        }
    }

    /// Average number of cores busy with other processes than this one and its ended children. `None`
    /// for a time that the kernel's ticks are too coarse for.
    pub(crate) fn cores_of_others(&self) -> Option<f64> {
        if self.since.elapsed() < WATCHED_MIN {
            return None;
        }
        let busy = busy()?.checked_sub(self.busy?)?;
        let children = children().saturating_sub(self.children);
        let others = busy.saturating_sub(self.own.elapsed() + children);
        Some(others.as_secs_f64() / self.since.elapsed().as_secs_f64())
    }
}

fn children() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN);
    let cpu = usage.map_or(0, |usage| {
        (usage.user_time() + usage.system_time()).num_nanoseconds()
    });
    Duration::from_nanos(cpu.unsigned_abs())
}

fn busy() -> Option<Duration> {
    busy_ticks(&std::fs::read_to_string("/proc/stat").ok()?).map(|ticks| TICK * ticks)
}

/// Ticks without idle and waiting for disks (fields four and five), and without the guests' at the
/// end, which the first ones include.
fn busy_ticks(stat: &str) -> Option<u32> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    let ticks = fields.map_while(|field| field.parse::<u64>().ok()).enumerate();
    let busy = ticks.filter(|(index, _)| ![3, 4, 8, 9].contains(index));
    u32::try_from(busy.map(|(_, ticks)| ticks).sum::<u64>()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_lock_file() {
        let lock = "[[package]]\nname = \"a-b\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"a\"\nversion \
             = \"2.0.1\"\n";
        assert_eq!(version(lock, "a"), Some("2.0.1"));
        assert_eq!(version(lock, "c"), None);
        assert!(version(LOCK, "rayon").is_some());
    }

    #[test]
    fn idle_and_waiting_are_not_busy() {
        let stat = "cpu  1 2 3 1000 1000 4 5 6 1000 1000\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        assert_eq!(busy_ticks(stat), Some(21));
        assert_eq!(busy_ticks("intr 5"), None);
    }
}
