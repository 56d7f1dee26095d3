//! A job's key, and the order of keys.

use std::cmp::Ordering;

/// The greatest key is the heaviest; of equally heavy ones, the one submitted first.
///
/// ```
/// use pipeline_exec::policy::JobHandle;
///
/// let heavy = JobHandle { rank: 9, seq: 7, index: 0 };
/// let light = JobHandle { rank: 2, seq: 1, index: 1 };
/// let light_and_later = JobHandle { rank: 2, seq: 3, index: 2 };
/// assert!(heavy > light && light > light_and_later);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JobHandle {
    /// The job's cost; in the orders of service and of deadlines, greater for what comes first.
    pub rank: u64,
    /// Number in the order of submission, unique within an executor.
    pub seq: usize,
    /// Place of the job's body in the table.
    pub index: usize,
}

impl Ord for JobHandle {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank
            .cmp(&other.rank)
            .then_with(|| other.seq.cmp(&self.seq))
            .then_with(|| other.index.cmp(&self.index))
    }
}

impl PartialOrd for JobHandle {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl JobHandle {
    /// In the order of service, the greatest key has the lowest `tag`.
    pub(crate) fn served(self, tag: usize) -> Self {
        Self {
            rank: u64::MAX - tag as u64,
            ..self
        }
    }

    /// In the order of deadlines, the greatest key is due first.
    pub(crate) fn due(self, deadline_ns: u64) -> Self {
        Self {
            rank: u64::MAX - deadline_ns,
            ..self
        }
    }

    #[must_use]
    pub fn tag(self) -> usize {
        (u64::MAX - self.rank) as usize
    }

    /// The bound before every key whose tag is at least `tag`.
    pub(crate) fn before_tag(tag: usize) -> Option<Self> {
        let rank = u64::MAX - tag.checked_sub(1)? as u64;
        Some(Self {
            rank,
            seq: usize::MAX,
            index: usize::MAX,
        })
    }

    /// A bound is where a search began, and no job's key.
    #[must_use]
    pub fn is_bound(self) -> bool {
        self.seq == usize::MAX
    }
}
