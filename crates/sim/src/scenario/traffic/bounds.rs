//! The policy's promises for a load, as numbers, at 85 : 15.
//!
//! Each of these includes the time of scheduling:
//!
//! - *blocking*: a slot, after which a worker in an old job looks at the board;
//! - *visit*: a quantum and a slot, the most in a young job;
//! - *stay*: four quanta and a slot, the most in an old job;
//! - *youth*: a stay and a quantum; a job is young for four quanta, and charged at the end of a
//!   visit.
//!
//! | what | bound |
//! |---|---|
//! | cancel until stopped | the blocking |
//! | latency of a settled short job | alone + the blocking; on several workers twice its work more |
//! | latency of a short job | the *line*, and its time as an old job |
//! | wait of an old job | for each old job by main worker and 1 more: its lead over 15 %, and a stay with all young jobs that may follow one |
//! | the same where short jobs leave room | for each old job and each main worker its lead and a stay, and the work of the young jobs there, over what short jobs leave of the main workers' time |
//! | wait of a young heavy job | the line, and a short job for each visit in it if short jobs have one slot |
//! | share of heavy jobs while one is old | 15 % of all workers' time; of what main workers give to old jobs, the part by number |
//!
//! A job that is old from the beginning counts as one stay.
//!
//! A short job is *settled* if it stays young, and no heavy or middle job was young and no
//! allowance used up since a time without short jobs. Every worker takes it, or a short job before
//! it, at its next boundary, so each worker loses only the blocking. Let `V` be the rest of the
//! work of the short jobs before it. On several workers one begins with it after blocking + `V` /
//! workers; alone that takes `V` / workers − work at least, or `V` is less than workers · work.
//!
//! Other short jobs stand in *line* behind the work of the short jobs in flight and the youth of
//! the young heavy jobs. Only the main workers serve the line while a heavy job is young. Young
//! jobs receive 17 of 20 parts of the time, less a visit at the beginning and the end. A job of
//! four quanta or more grows old; then all old jobs receive as much as it does, and a stay more
//! before and behind it.

use pipeline_exec::policy::shared::{STAND_IN_QUANTA, STAY_QUANTA, YOUNG_QUANTA};

use super::Traffic;
use crate::oracle::{Lines, Stood};

const OVERHEAD_NS: u64 = 50_000;

pub(super) const OLD_PARTS: u64 = 3;
const YOUNG_PARTS: u64 = PARTS - OLD_PARTS;
pub(super) const PARTS: u64 = 20;

const ALLOWANCE_QUANTA: u64 = 10;

impl Traffic {
    /// Returns the longest possible slot plus the time of scheduling.
    #[must_use]
    pub fn blocking_ns(&self) -> u64 {
        self.blocking_by_slot_ns().max(self.long_slot_ns + OVERHEAD_NS)
    }

    fn blocking_by_slot_ns(&self) -> u64 {
        let short_ns = if self.shorts > 0 { self.short_slot_ns } else { 0 };
        let heavy_ns = if self.heavies + self.middles > 0 {
            self.heavy_slot_ns
        } else {
            0
        };
        short_ns.max(heavy_ns) + OVERHEAD_NS
    }

    fn lost_ns(&self) -> u64 {
        if self.spares == 0 {
            return self.blocking_ns();
        }
        let stood_in_ns = STAND_IN_QUANTA * self.quantum_ns + OVERHEAD_NS;
        self.blocking_by_slot_ns()
            .max(stood_in_ns)
            .min(self.blocking_ns())
    }

    /// Returns a quantum plus the blocking.
    #[must_use]
    pub fn visit_ns(&self) -> u64 {
        self.quantum_ns + self.blocking_ns()
    }

    /// Returns the longest wait of a served heavy or middle job beside short jobs that stay young.
    #[must_use]
    pub fn wait_bound_ns(&self, workers: usize) -> u64 {
        self.old_wait_ns(workers, self.heavy_and_middle(), self.stay_ns())
    }

    /// Returns the largest latency of a settled short job that takes at most `alone_ns` alone.
    #[must_use]
    pub fn settled_bound_ns(&self, workers: usize, alone_ns: u64) -> u64 {
        match workers {
            1 => alone_ns + self.blocking_ns(),
            _ => alone_ns + self.blocking_ns() + 2 * self.short_work_ns(),
        }
    }

    /// Returns the same beside long slots, with `ahead` short jobs in flight at submission.
    #[must_use]
    pub fn settled_beside_long_bound_ns(&self, ahead: usize) -> u64 {
        let visit_ns = self.short_work_ns().min(self.quantum_ns) + self.short_slot_ns + OVERHEAD_NS;
        self.lost_ns() + (ahead as u64 + 1) * (self.short_work_ns() + OVERHEAD_NS) + visit_ns
    }

    /// Returns this load with its short jobs alone.
    #[must_use]
    pub fn alone(&self) -> Self {
        Self {
            heavies: 0,
            middles: 0,
            cancels: 0,
            ..self.clone()
        }
    }

    pub(super) fn stay_ns(&self) -> u64 {
        STAY_QUANTA * self.quantum_ns + self.blocking_ns()
    }

    pub(super) fn youth_ns(&self) -> u64 {
        self.stay_ns() + self.quantum_ns
    }

    /// The longest wait of an old job, whatever short jobs do.
    pub(super) fn old_wait_ns(&self, workers: usize, jobs: u64, lead_ns: u64) -> u64 {
        let of_old = |ns: u64| ns * PARTS / OLD_PARTS;
        let and_young = self.stay_ns() + ALLOWANCE_QUANTA * self.quantum_ns + self.visit_ns();
        let each_ns = of_old(lead_ns) + and_young.min(of_old(self.stay_ns()));
        self.in_reserve_turns(workers, (jobs.div_ceil(self.main(workers)) + 1) * each_ns)
    }

    /// The same if short jobs leave room, with at most `beside_ns` of young work at a time; else
    /// `u64::MAX`.
    pub(super) fn old_wait_with_room_ns(
        &self,
        workers: usize,
        jobs: u64,
        lead_ns: u64,
        beside_ns: u64,
    ) -> u64 {
        let main = self.main(workers);
        let old_ns = self.in_reserve_turns(workers, (jobs + main) * (lead_ns + self.stay_ns()));
        // In a wait of `t`: main * t <= old_ns + beside_ns + (t / every + 2) * work.
        let (every_ns, work_ns) = match self.shorts {
            0 => (1, 0),
            _ => (self.short_every_ns, self.short_work_ns()),
        };
        let Some(left_ns) = (main * every_ns)
            .checked_sub(work_ns)
            .filter(|&left_ns| left_ns > 0)
        else {
            return u64::MAX;
        };
        let ns = u128::from(old_ns + beside_ns + 2 * work_ns) * u128::from(every_ns) / u128::from(left_ns);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// A single worker has reserve turns in between.
    fn in_reserve_turns(&self, workers: usize, ns: u64) -> u64 {
        if workers == 1 {
            ns * PARTS / YOUNG_PARTS
        } else {
            ns
        }
    }

    pub(super) fn line_ns(&self, workers: usize, stood: &Stood) -> u64 {
        let workers = if stood.young > 0 {
            self.main(workers)
        } else {
            workers as u64
        };
        let each_ns = self.short_work_ns() + OVERHEAD_NS;
        let shorts_ns = ((stood.ahead as u64).div_ceil(workers) + 1) * each_ns;
        let heavies_ns = (self.youth_ns() * stood.young as u64).div_ceil(workers);
        self.beside_old_ns(shorts_ns + heavies_ns) + 2 * self.visit_ns()
    }

    /// A visit longer than the full allowance is not made up for, so that bounds the saving.
    fn beside_old_ns(&self, ns: u64) -> u64 {
        if self.long_slot_ns == 0 {
            return ns * PARTS / YOUNG_PARTS;
        }
        let allowance_ns = ALLOWANCE_QUANTA * self.quantum_ns;
        let owed_ns = allowance_ns * OLD_PARTS / YOUNG_PARTS;
        ns + (ns / allowance_ns.max(1) + 1) * owed_ns.max(self.visit_ns())
    }

    /// One-slot jobs alternate with visits of young jobs, which last for the rest of the quantum,
    /// and at least a slot.
    pub(super) fn singles_between_ns(&self, workers: usize, stood: &Stood) -> u64 {
        if self.shorts == 0 || self.short_slots != 1 {
            return 0;
        }
        let least_ns = self
            .quantum_ns
            .saturating_sub(self.short_slot_ns)
            .max(self.heavy_slot_ns);
        let visits = (YOUNG_QUANTA * self.quantum_ns).div_ceil(least_ns.max(1)) + 1;
        let singles = (stood.young as u64 * visits).div_ceil(self.main(workers)) + 1;
        singles * (self.short_work_ns() + OVERHEAD_NS) * PARTS / YOUNG_PARTS
    }

    pub(super) fn as_old_ns(&self, workers: usize, jobs: u64) -> u64 {
        if !self.grow_old() {
            return 0;
        }
        let rest_ns = self.short_work_ns() - YOUNG_QUANTA * self.quantum_ns + self.stay_ns();
        let others_ns = jobs.div_ceil(self.main(workers)) * (rest_ns + self.stay_ns());
        (rest_ns + others_ns) * PARTS / OLD_PARTS
    }

    pub(super) fn old_jobs(&self, lines: &Lines) -> u64 {
        let short = if self.grow_old() { lines.most_shorts } else { 0 };
        self.heavy_and_middle() + short as u64
    }

    pub(super) fn heavy_and_middle(&self) -> u64 {
        let of_a_client = match (self.length_ns.checked_div(self.heavy_every_ns), self.heavy_jobs) {
            (None, _) => 1,
            (Some(jobs), 0) => jobs + 1,
            (Some(jobs), most) => (jobs + 1).min(u64::from(most)),
        };
        u64::from(self.heavies) * of_a_client + u64::from(self.middles)
    }

    fn main(&self, workers: usize) -> u64 {
        (workers - self.reserve) as u64
    }

    pub(super) fn short_work_ns(&self) -> u64 {
        u64::from(self.short_slots) * self.short_slot_ns
    }

    pub(super) fn grow_old(&self) -> bool {
        self.short_work_ns() >= YOUNG_QUANTA * self.quantum_ns
    }
}
