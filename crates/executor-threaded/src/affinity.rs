//! Dealing out cores: each at most once per process, so that two pinned executors never share one.
//!
//! ```text
//!   cores this process may use  −  cores in somebody's hand  =  cores to be had
//! ```
//!
//! A core in hand is a [`CoreLease`], which the worker's thread holds for as long as it lives. Who drops it gives
//! the core back, on whatever path the thread ends.
//!
//! A thread inherits the mask of the thread that starts it, so an executor that is built on a pinned worker shares
//! that worker's core, whatever its own setting.
//!
//! What it refuses to do: choose among cores by their caches or sockets, and move a thread later.

use std::collections::BTreeSet;
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

use core_affinity::CoreId;
use executor_core::Pin;

use crate::error::BuildError;

/// Cores that leases are out for.
static TAKEN: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// A core that nobody else in this process pins a thread to while the lease lives.
#[derive(Debug)]
pub(crate) struct CoreLease {
    core: usize,
}

impl CoreLease {
    /// The operating system's number of the core.
    pub(crate) fn core(&self) -> usize {
        self.core
    }

    /// Pins the current thread to the core. `false` if the operating system refused.
    pub(crate) fn pin_current_thread(&self) -> bool {
        core_affinity::set_for_current(CoreId { id: self.core })
    }
}

impl Drop for CoreLease {
    fn drop(&mut self) {
        taken().remove(&self.core);
    }
}

/// A lease for each of `workers`, or none at all if they are not to be pinned.
pub(crate) fn deal(pin: Pin, workers: usize) -> Result<Vec<CoreLease>, BuildError> {
    if pin == Pin::Never || (pin == Pin::Auto && !may_use_the_whole_machine()) {
        return Ok(Vec::new());
    }
    match lease(&allowed_cores(), workers) {
        Ok(leases) => Ok(leases),
        Err(_) if pin == Pin::Auto => Ok(Vec::new()),
        Err(free) => Err(BuildError::Cores {
            wanted: workers,
            free,
        }),
    }
}

/// Takes the first `wanted` of `cores` that are not taken; if there are too few, takes none and says how many there are.
fn lease(cores: &[usize], wanted: usize) -> Result<Vec<CoreLease>, usize> {
    let mut taken = taken();
    let free: Vec<usize> = cores
        .iter()
        .copied()
        .filter(|core| !taken.contains(core))
        .collect();
    if free.len() < wanted {
        return Err(free.len());
    }
    let leases = free.into_iter().take(wanted);
    Ok(leases
        .map(|core| {
            taken.insert(core);
            CoreLease { core }
        })
        .collect())
}

fn taken() -> MutexGuard<'static, BTreeSet<usize>> {
    // Nothing that runs under the lock can leave the set half changed.
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Cores that the calling thread, and so the threads that it starts, may use.
fn allowed_cores() -> Vec<usize> {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    cores.into_iter().map(|core| core.id).collect()
}

/// Whether neither an affinity mask nor a container's share keeps this process from any core. Only Linux is asked:
/// elsewhere pinning is a hint or does harm.
fn may_use_the_whole_machine() -> bool {
    if !cfg!(target_os = "linux") {
        return false;
    }
    let Some(online) = fs::read_to_string("/sys/devices/system/cpu/online")
        .ok()
        .and_then(|list| parse_cpu_list(&list))
    else {
        return false;
    };
    allowed_cores() == online && num_cpus::get() >= online.len()
}

/// Reads the kernel's notation of a set of cores, such as `0-3,8`. `None` if it is not that.
fn parse_cpu_list(list: &str) -> Option<Vec<usize>> {
    let mut cores = BTreeSet::new();
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        cores.extend(first.parse::<usize>().ok()?..=last.parse::<usize>().ok()?);
    }
    Some(cores.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Numbers of cores that no machine has, so that executors of other tests do not interfere.
    const CORES: [usize; 3] = [1_000_000, 1_000_001, 1_000_002];

    #[test]
    fn a_core_is_dealt_out_once_and_comes_back_when_its_lease_is_dropped() {
        let first = lease(&CORES, 2).expect("three are free");
        assert_eq!([first[0].core(), first[1].core()], [CORES[0], CORES[1]]);
        assert_eq!(lease(&CORES, 2).map(|_| ()), Err(1));
        let second = lease(&CORES, 1).expect("one is free");
        assert_eq!(second[0].core(), CORES[2]);
        assert_eq!(lease(&CORES, 1).map(|_| ()), Err(0));
        drop(first);
        assert_eq!(lease(&CORES, 3).map(|_| ()), Err(2));
        drop(second);
        assert_eq!(lease(&CORES, 3).map(|leases| leases.len()), Ok(3));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn auto_leaves_a_process_with_a_restricted_mask_alone() {
        let machine = fs::read_to_string("/sys/devices/system/cpu/online").expect("Linux lists its cores");
        let machine = parse_cpu_list(&machine).expect("in its own notation");
        let restricted = std::thread::spawn(move || {
            let core = allowed_cores()[0];
            assert!(core_affinity::set_for_current(CoreId { id: core }));
            assert_eq!(allowed_cores(), [core]);
            may_use_the_whole_machine()
        });
        let whole = restricted.join().expect("nothing above fails");
        assert_eq!(whole, machine.len() == 1);
    }

    #[test]
    fn the_kernels_list_of_cores_is_read() {
        assert_eq!(parse_cpu_list("0-1\n"), Some(vec![0, 1]));
        assert_eq!(parse_cpu_list("0,2-4,7"), Some(vec![0, 2, 3, 4, 7]));
        assert_eq!(parse_cpu_list("0"), Some(vec![0]));
        assert_eq!(parse_cpu_list(""), None);
        assert_eq!(parse_cpu_list("0-x"), None);
    }
}
