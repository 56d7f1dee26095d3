//! Deals out cores, each at most once per process, so that two pinned executors never share one.
//!
//! A worker's thread holds its [`CoreLease`] until it ends. A thread inherits the mask of the
//! thread that starts it, so an executor that is built on a pinned worker shares that worker's
//! core.

use crate::home::Home;
use crate::lock;
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::sync::{Arc, Mutex, MutexGuard};

use core_affinity::CoreId;
use executor_core::Pin;

static TAKEN: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// Deals out cores, to executors and to other threads, each at most once per process at a time.
///
/// ```
/// use executor_threaded::affinity::CoreAssigner;
///
/// let assigner = CoreAssigner::new();
/// if let Some(lease) = assigner.next_core() {
///     // No other part of the process gets this core until the lease is dropped.
///     assert!(assigner.cores().contains(&lease.core()));
///     assert!(lease.pin_current_thread());
/// }
/// assert!(CoreAssigner::among([usize::MAX]).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreAssigner {
    /// In the order of dealing, each once.
    cores: Vec<usize>,
}

impl CoreAssigner {
    /// Deals out the cores that the calling thread may use, lowest number first.
    #[must_use]
    pub fn new() -> Self {
        Self {
            cores: allowed_cores(),
        }
    }

    /// Deals out these cores only, in this order.
    ///
    /// # Errors
    ///
    /// [`CoreError::NotAllowed`] for the first core that the calling thread may not use;
    /// [`CoreError::Empty`] without any core.
    pub fn among(cores: impl IntoIterator<Item = usize>) -> Result<Self, CoreError> {
        let allowed = allowed_cores();
        let mut chosen = Vec::new();
        for core in cores {
            if !allowed.contains(&core) {
                return Err(CoreError::NotAllowed { core, allowed });
            }
            if !chosen.contains(&core) {
                chosen.push(core);
            }
        }
        if chosen.is_empty() {
            return Err(CoreError::Empty);
        }
        Ok(Self { cores: chosen })
    }

    /// All cores that it deals out, taken or not.
    #[must_use]
    pub fn cores(&self) -> &[usize] {
        &self.cores
    }

    /// The number of free cores.
    #[must_use]
    pub fn free(&self) -> usize {
        let taken = taken();
        self.cores.iter().filter(|core| !taken.contains(core)).count()
    }

    /// Takes the first free core.
    #[must_use]
    pub fn next_core(&self) -> Option<CoreLease> {
        self.deal(1).ok()?.pop()
    }

    /// Takes the first `wanted` free cores, or none.
    ///
    /// # Errors
    ///
    /// [`CoreError::TooFew`], with the number of free cores.
    pub fn deal(&self, wanted: usize) -> Result<Vec<CoreLease>, CoreError> {
        let mut taken = taken();
        let free = self.cores.iter().copied().filter(|core| !taken.contains(core));
        let free: Vec<usize> = free.collect();
        if free.len() < wanted {
            let free = free.len();
            return Err(CoreError::TooFew { wanted, free });
        }
        let leases = free.into_iter().take(wanted);
        Ok(leases
            .map(|core| {
                taken.insert(core);
                CoreLease { core }
            })
            .collect())
    }
}

impl Default for CoreAssigner {
    fn default() -> Self {
        Self::new()
    }
}

/// A core that no other part of this process is given while the lease lives.
#[derive(Debug)]
pub struct CoreLease {
    core: usize,
}

impl CoreLease {
    /// The operating system's number of the core.
    #[must_use]
    pub fn core(&self) -> usize {
        self.core
    }

    /// Pins the current thread to the core. `false` if the operating system refused.
    #[must_use]
    pub fn pin_current_thread(&self) -> bool {
        core_affinity::set_for_current(CoreId { id: self.core })
    }
}

impl Drop for CoreLease {
    fn drop(&mut self) {
        taken().remove(&self.core);
    }
}

/// Why cores are not available.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CoreError {
    /// The set of cores is empty.
    Empty,
    /// The calling thread may not use this core.
    NotAllowed {
        /// The core.
        core: usize,
        /// The cores that it may use.
        allowed: Vec<usize>,
    },
    /// Too few cores are free.
    TooFew {
        /// The number of cores asked for.
        wanted: usize,
        /// The number of free cores.
        free: usize,
    },
}

impl fmt::Display for CoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a set of cores has to have at least one in it"),
            Self::NotAllowed { core, allowed } => {
                write!(
                    f,
                    "core {core} is not one that this thread may use, which are {allowed:?}"
                )
            }
            Self::TooFew { wanted, free } => {
                write!(f, "{wanted} cores were asked for, but only {free} are to be had")
            }
        }
    }
}

impl std::error::Error for CoreError {}

/// Whether [`Pin::Auto`] and [`Pin::WhileParked`] may pin on this machine: on Linux, when no affinity
/// mask and no container's share keeps the process from a core. Elsewhere pinning is a hint or does
/// harm.
#[must_use]
pub fn default_pin_threads() -> bool {
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

#[derive(Debug)]
pub(crate) enum Place {
    /// Wherever the thread that starts it may.
    Anywhere,
    Among(Arc<[usize]>),
    Core(CoreLease),
    /// On this core while it is parked, and otherwise among these, or anywhere.
    Home(CoreLease, Option<Arc<[usize]>>),
}

impl Place {
    /// Returns `false` if the operating system refused.
    pub(crate) fn take(&self) -> bool {
        match self {
            Self::Anywhere | Self::Home(_, None) => true,
            Self::Among(cores) | Self::Home(_, Some(cores)) => keep_current_thread_among(cores),
            Self::Core(lease) => lease.pin_current_thread(),
        }
    }

    pub(crate) fn cores(&self) -> Vec<usize> {
        match self {
            Self::Anywhere | Self::Home(_, None) => Vec::new(),
            Self::Among(cores) | Self::Home(_, Some(cores)) => cores.to_vec(),
            Self::Core(lease) => vec![lease.core()],
        }
    }

    pub(crate) fn home(&self) -> Option<Home> {
        match self {
            Self::Home(lease, _) => Home::of_current_thread(lease.core()),
            Self::Anywhere | Self::Among(_) | Self::Core(_) => None,
        }
    }
}

pub(crate) fn places(pin: Pin, workers: usize, cpus: Option<&[usize]>) -> Result<Vec<Place>, CoreError> {
    let assigner = match cpus {
        Some(cpus) => CoreAssigner::among(cpus.iter().copied())?,
        None => CoreAssigner::new(),
    };
    let leases = match pin {
        Pin::Never => None,
        // A user who names cores has decided that the rest of the machine is not this executor's.
        Pin::Auto | Pin::WhileParked if cpus.is_none() && !default_pin_threads() => None,
        // With all cores pinned, the producer's thread would have none.
        Pin::Auto if cpus.is_none() && workers >= assigner.cores.len() => None,
        Pin::Auto | Pin::WhileParked => assigner.deal(workers).ok(),
        Pin::Always => Some(assigner.deal(workers)?),
    };
    let among: Option<Arc<[usize]>> = cpus.map(|_| assigner.cores.into());
    if let Some(leases) = leases {
        let place = |lease| match pin {
            Pin::WhileParked => Place::Home(lease, among.clone()),
            Pin::Auto | Pin::Always | Pin::Never => Place::Core(lease),
        };
        return Ok(leases.into_iter().map(place).collect());
    }
    let place = || among.clone().map_or(Place::Anywhere, Place::Among);
    Ok((0..workers).map(|_| place()).collect())
}

#[cfg(target_os = "linux")]
fn keep_current_thread_among(cores: &[usize]) -> bool {
    use rustix::thread::{CpuSet, sched_setaffinity};

    let mut set = CpuSet::new();
    for &core in cores {
        if core >= CpuSet::MAX_CPU {
            return false;
        }
        set.set(core);
    }
    sched_setaffinity(None, &set).is_ok()
}

/// Only Linux has masks of several cores; elsewhere one core is possible.
#[cfg(not(target_os = "linux"))]
fn keep_current_thread_among(cores: &[usize]) -> bool {
    matches!(cores, &[id] if core_affinity::set_for_current(CoreId { id }))
}

fn taken() -> MutexGuard<'static, BTreeSet<usize>> {
    lock(&TAKEN)
}

fn allowed_cores() -> Vec<usize> {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    cores.into_iter().map(|core| core.id).collect()
}

/// Parses the kernel's notation of a set of cores, such as `0-3,8`.
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

    // Numbers that no machine has, so that other tests do not interfere.
    const CORES: [usize; 3] = [1_000_000, 1_000_001, 1_000_002];

    fn assigner() -> CoreAssigner {
        CoreAssigner {
            cores: CORES.to_vec(),
        }
    }

    #[test]
    fn a_core_is_dealt_out_once_and_comes_back_when_its_lease_is_dropped() {
        let cores = assigner();
        let first = cores.deal(2).expect("three are free");
        assert_eq!([first[0].core(), first[1].core()], [CORES[0], CORES[1]]);
        let too_few = |wanted, free| Err(CoreError::TooFew { wanted, free });
        assert_eq!(cores.deal(2).map(|_| ()), too_few(2, 1));
        let second = cores.next_core().expect("one is free");
        assert_eq!(second.core(), CORES[2]);
        assert_eq!((cores.free(), cores.next_core().is_none()), (0, true));
        drop(first);
        assert_eq!(cores.deal(3).map(|_| ()), too_few(3, 2));
        drop(second);
        assert_eq!(cores.deal(3).map(|leases| leases.len()), Ok(3));
        assert_eq!(cores.free(), 3);
    }

    #[test]
    fn a_set_of_cores_names_the_one_that_is_not_allowed() {
        let allowed = allowed_cores();
        let first = allowed[0];
        let error = CoreAssigner::among([first, CORES[0]]).expect_err("no machine has that one");
        assert_eq!(
            error,
            CoreError::NotAllowed {
                core: CORES[0],
                allowed
            }
        );
        assert!(error.to_string().contains("core 1000000"), "{error}");
        assert_eq!(CoreAssigner::among([]), Err(CoreError::Empty));
        let twice = CoreAssigner::among([first, first]).expect("it is allowed");
        assert_eq!(twice.cores(), [first]);
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
            default_pin_threads()
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
