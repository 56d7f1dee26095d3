//! Memory of the machine, and what the process can still take of it.

use std::fs;
use std::path::Path;

/// Returns the bytes of the machine; `None` where they are unknown.
pub fn machine_memory() -> Option<u64> {
    of_machine(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")
}

/// Bytes that the machine and the process's control group have left.
pub(crate) fn available() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| of_machine(&text, "MemAvailable:"));
    let group = fs::read_to_string("/proc/self/cgroup")
        .ok()
        .and_then(|text| of_group(&text, Path::new("/sys/fs/cgroup")));
    match (machine, group) {
        (Some(machine), Some(group)) => Some(machine.min(group)),
        (machine, group) => machine.or(group),
    }
}

fn of_machine(meminfo: &str, field: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(field))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// The least that the group or one of its parents has left. Groups without a limit are skipped.
fn of_group(cgroup: &str, mount: &Path) -> Option<u64> {
    // Version 2 of control groups.
    let group = cgroup.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let number = |folder: &Path, name: &str| -> Option<u64> {
        fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok()
    };
    let folders = Path::new(group).ancestors().map(|group| mount.join(group));
    folders
        .filter_map(|folder| {
            let limit = number(&folder, "memory.max")?;
            Some(limit.saturating_sub(number(&folder, "memory.current")?))
        })
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_memory_is_what_linux_calls_available() {
        let meminfo = "MemTotal:       8000 kB\nMemFree:        100 kB\nMemAvailable:   4000 kB\n";
        assert_eq!(of_machine(meminfo, "MemAvailable:"), Some(4_000 << 10));
        assert_eq!(of_machine(meminfo, "MemTotal:"), Some(8_000 << 10));
        assert_eq!(of_machine("MemTotal: 1 kB\n", "MemAvailable:"), None);
    }

    #[test]
    fn the_tightest_group_counts() {
        let mount = tempfile::tempdir().unwrap();
        let inner = mount.path().join("outer/inner");
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("memory.max"), "max\n").unwrap();
        fs::write(inner.join("memory.current"), "10\n").unwrap();
        assert_eq!(of_group("0::/outer/inner\n", mount.path()), None);
        let outer = mount.path().join("outer");
        fs::write(outer.join("memory.max"), "1000\n").unwrap();
        fs::write(outer.join("memory.current"), "400\n").unwrap();
        assert_eq!(of_group("1:cpu:/\n0::/outer/inner\n", mount.path()), Some(600));
        assert_eq!(of_group("1:memory:/outer\n", mount.path()), None);
    }
}
