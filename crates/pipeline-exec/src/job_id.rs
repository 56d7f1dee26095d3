//! Names for jobs, from a generator with a seed, so that two runs can be compared line by line.

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

/// A job's name in messages and logs: `pipe-` and sixteen hexadecimal digits.
///
/// ```
/// use pipeline_exec::JobId;
///
/// let id = JobId::new(0xbeef);
/// assert_eq!(id, *"pipe-000000000000beef");
/// assert!(id.ends_with("beef"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId([u8; PREFIX.len() + DIGITS]);

const PREFIX: &[u8] = b"pipe-";
const DIGITS: usize = 16;

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
pub struct JobIds {
    state: u64,
}

impl JobId {
    /// Makes the name of a number.
    #[must_use]
    pub fn new(number: u64) -> Self {
        let mut text = [0; PREFIX.len() + DIGITS];
        text[..PREFIX.len()].copy_from_slice(PREFIX);
        let mut left = number;
        for digit in text[PREFIX.len()..].iter_mut().rev() {
            *digit = b"0123456789abcdef"[(left % 16) as usize];
            left /= 16;
        }
        Self(text)
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a name is made of ASCII")
    }
}

impl JobIds {
    /// Makes the source of the names that follow from `seed`.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns the next name.
    pub fn next_id(&mut self) -> JobId {
        self.state = self.state.wrapping_add(STEP);
        JobId::new(mixed(self.state))
    }
}

pub(crate) fn next_id() -> JobId {
    static STATE: AtomicU64 = AtomicU64::new(SEED);
    // Ordering: Relaxed. Names differ, whichever thread comes first.
    JobId::new(mixed(STATE.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP)))
}

const SEED: u64 = 0x853c_49e6_748f_ea9b;

/// An odd increment, so that every state occurs.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64.
fn mixed(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Deref for JobId {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for JobId {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq<str> for JobId {
    fn eq(&self, other: &str) -> bool {
        self.0 == *other.as_bytes()
    }
}

impl PartialEq<&str> for JobId {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_sixteen_digits_and_reads_as_text() {
        for (number, text) in [
            (0, "pipe-0000000000000000"),
            (0x1f, "pipe-000000000000001f"),
            (u64::MAX, "pipe-ffffffffffffffff"),
        ] {
            let id = JobId::new(number);
            assert_eq!((id.as_str(), format!("{id}").as_str()), (text, text));
            assert_eq!(format!("{id:?} {id:>23}"), format!("{text:?}   {text}"));
        }
    }

    /// The first numbers of the reference implementation of SplitMix64 for this seed.
    #[test]
    fn the_generator_is_splitmix64() {
        let mut ids = JobIds::seeded(1_234_567);
        let ids = [ids.next_id(), ids.next_id()];
        assert_eq!(
            ids,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973].map(JobId::new)
        );
    }
}
