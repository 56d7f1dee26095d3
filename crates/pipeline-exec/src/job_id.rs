//! Names for jobs: `pipe-` and sixteen hexadecimal digits, from a generator with a seed.
//!
//! The same program makes the same names in the same order, so that two runs can be compared line by line.

use std::sync::{LazyLock, Mutex, PoisonError};

use rand_core::{Rng, SeedableRng};
use rand_xorshift::XorShiftRng;

/// A source of job names.
///
/// ```
/// use pipeline_exec::{Job, JobIds};
///
/// let name = |seed| Job::builder("cities").id_from(&mut JobIds::seeded(seed)).build().id;
/// assert_eq!(name(7), name(7));
/// assert_ne!(name(7), name(8));
/// assert!(name(7).starts_with("pipe-"));
/// ```
#[derive(Clone, Debug)]
pub struct JobIds(XorShiftRng);

impl JobIds {
    /// The names that follow from `seed`.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(XorShiftRng::seed_from_u64(seed))
    }

    /// The next name.
    pub fn next_id(&mut self) -> String {
        format!("pipe-{:016x}", self.0.next_u64())
    }
}

/// The next name of the generator that all jobs of the process share.
pub(crate) fn next_id() -> String {
    static IDS: LazyLock<Mutex<JobIds>> = LazyLock::new(|| Mutex::new(JobIds::seeded(SEED)));
    IDS.lock().unwrap_or_else(PoisonError::into_inner).next_id()
}

const SEED: u64 = 0x853c_49e6_748f_ea9b;
