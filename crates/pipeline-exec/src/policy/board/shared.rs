//! The state that all parties of an executor share.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crossbeam::utils::CachePadded;
use executor_core::ports::{Fetch, Memory};
use executor_core::{RunState, nanos};

use super::allowance::Allowances;
use super::looks::Looks;
use super::need::Experience;
use super::orders::JobBoard;
use super::stand_ins::StandIns;
use crate::policy::job::numbers::spare_number;

/// Quanta of expected work above which a new job is old.
pub const EXPECTED_QUANTA_MAX: u64 = 8;

/// Quanta of service below which a job is young.
pub const YOUNG_QUANTA: u64 = 4;

/// Quanta that a visit of an old job lasts while no young job waits.
pub const STAY_QUANTA: u64 = 4;

/// Quanta that every worker must spend in its slot or turn before a spare thread stands in.
pub const STAND_IN_QUANTA: u64 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineConfig {
    pub main: usize,
    pub reserve: usize,
    /// Time in a young job between looks at the board.
    pub quantum: Duration,
    /// Largest number of jobs that wait or run at once.
    pub capacity: usize,
}

#[derive(Debug)]
pub struct PipelineShared<W, B, Q, T> {
    pub(crate) config: PipelineConfig,
    pub(crate) board: JobBoard<B, Q>,
    pub(crate) jobs: T,
    pub(crate) admission: RunState<W>,
    pub(crate) looks: Looks<W>,
    pub(crate) experience: Experience<W>,
    seqs: CachePadded<W>,
    pub(crate) allowances: Allowances<W>,
    pub(crate) stand_ins: StandIns<W>,
    service_floor: CachePadded<W>,
    stopping: CachePadded<W>,
    deadlines: CachePadded<W>,
    turns: [W; 2],
    young_arrivals: CachePadded<W>,
}

impl<W, B, Q, T> PipelineShared<W, B, Q, T> {
    /// `board` and `jobs` are empty; `jobs` has at least `config.capacity` places.
    ///
    /// # Panics
    ///
    /// If the capacity is 0 or there is no worker.
    pub fn new(
        config: PipelineConfig,
        board: JobBoard<B, Q>,
        jobs: T,
        mut word: impl FnMut(usize) -> W,
    ) -> Self {
        assert!(config.capacity > 0, "a pipeline executor must admit a job");
        let workers = config.main + config.reserve;
        assert!(workers > 0, "a pipeline executor must have a worker");
        // The rest of the gate's range is headroom.
        let headroom = usize::MAX / executor_core::COUNT_UNIT - config.capacity;
        Self {
            board,
            jobs,
            admission: RunState::new(headroom, &mut word),
            looks: Looks::new(workers, &mut word),
            experience: Experience::new(&mut word),
            allowances: Allowances::new(workers, nanos(config.quantum), &mut word),
            stand_ins: StandIns::new(workers, 0, &mut word),
            seqs: CachePadded::new(word(0)),
            service_floor: CachePadded::new(word(0)),
            stopping: CachePadded::new(word(0)),
            deadlines: CachePadded::new(word(0)),
            turns: [word(0), word(0)],
            young_arrivals: CachePadded::new(word(0)),
            config,
        }
    }

    /// Adds `spares` [spare threads](mod@crate::policy::worker::stand_in) before the first
    /// submission; none if the quantum is too short for a young job.
    ///
    /// # Panics
    ///
    /// If there are more spare threads than workers.
    #[must_use]
    pub fn with_spares(mut self, spares: usize, mut word: impl FnMut(usize) -> W) -> Self {
        let workers = self.workers();
        assert!(spares <= workers, "a spare thread stands in for a worker");
        if spares > 0 && self.young_tag() > 0 {
            self.stand_ins = StandIns::new(workers, spares, &mut word);
            let numbers = spare_number(workers, spares);
            self.allowances = Allowances::new(numbers, self.quantum_ns(), word);
        }
        self
    }

    pub fn spares(&self) -> usize {
        self.stand_ins.spares()
    }

    pub(crate) fn spare_number(&self, spare: usize) -> usize {
        spare_number(self.workers(), spare)
    }

    pub fn stand_in_ns(&self) -> u64 {
        self.quantum_ns().saturating_mul(STAND_IN_QUANTA)
    }

    pub fn spare_is_awake<M: Memory<Word = W>>(&self, mem: &M, spare: usize) -> bool {
        self.stand_ins.is_awake(mem, spare)
    }

    pub fn config(&self) -> &PipelineConfig {
        &self.config
    }

    pub fn board(&self) -> &JobBoard<B, Q> {
        &self.board
    }

    pub fn jobs(&self) -> &T {
        &self.jobs
    }

    pub fn admission(&self) -> &RunState<W> {
        &self.admission
    }

    pub fn looks(&self) -> &Looks<W> {
        &self.looks
    }

    pub(crate) fn workers(&self) -> usize {
        self.config.main + self.config.reserve
    }

    pub(crate) fn quantum_ns(&self) -> u64 {
        nanos(self.config.quantum)
    }

    pub fn stay_ns(&self) -> u64 {
        self.quantum_ns().saturating_mul(STAY_QUANTA)
    }

    pub fn young_tag(&self) -> usize {
        usize::try_from(self.quantum_ns().saturating_mul(YOUNG_QUANTA) / 1_000).unwrap_or(usize::MAX)
    }

    pub(crate) fn young_arrived<M: Memory<Word = W>>(&self, mem: &M) {
        // Ordering: Relaxed. The caller's fence orders it, edge `young/arrival`.
        mem.fetch(&self.young_arrivals, Fetch::Add(1), Ordering::Relaxed);
    }

    /// The count wraps around.
    pub fn young_arrivals<M: Memory<Word = W>>(&self, mem: &M) -> usize {
        // Ordering: Acquire. Edge `young/arrival`: pairs with the fence in `publish`. A worker that
        // reads of an arrival finds the job, unless other workers have claimed everything.
        mem.load(&self.young_arrivals, Ordering::Acquire)
    }

    /// Then the worker prefers old jobs, and does not leave one for a young one.
    pub fn is_allowance_used_up<M: Memory<Word = W>>(&self, mem: &M, worker: usize) -> bool {
        self.allowances.is_used_up(mem, worker)
    }

    pub(crate) fn is_long(&self, work_ns: u64) -> bool {
        work_ns > self.quantum_ns().saturating_mul(EXPECTED_QUANTA_MAX)
    }

    pub(crate) fn next_seq<M: Memory<Word = W>>(&self, mem: &M) -> usize {
        // Ordering: Relaxed. Only submissions of one thread have an order.
        mem.fetch(&self.seqs, Fetch::Add(1), Ordering::Relaxed)
    }

    pub(crate) fn submitted<M: Memory<Word = W>>(&self, mem: &M) -> usize {
        // Ordering: Relaxed. A statistic.
        mem.load(&self.seqs, Ordering::Relaxed)
    }

    pub(crate) fn next_turn<M: Memory<Word = W>>(&self, mem: &M, old_first: bool) -> usize {
        // Ordering: Relaxed. Only the single worker counts here.
        mem.fetch(
            &self.turns[usize::from(old_first)],
            Fetch::Add(1),
            Ordering::Relaxed,
        )
    }

    /// Weighted microseconds of service at which a job that grows old continues.
    pub fn service_floor<M: Memory<Word = W>>(&self, mem: &M) -> usize {
        // Ordering: Relaxed. A hint for the choice of a job.
        mem.load(&self.service_floor, Ordering::Relaxed)
    }

    pub(crate) fn raise_service_floor<M: Memory<Word = W>>(&self, mem: &M, service: usize) {
        // Ordering: Relaxed, both. A hint; a race may lower it for a moment.
        if mem.load(&self.service_floor, Ordering::Relaxed) < service {
            mem.store(&self.service_floor, service, Ordering::Relaxed);
        }
    }

    pub(crate) fn count_deadlines<M: Memory<Word = W>>(&self, mem: &M, change: Fetch) {
        // Ordering: Relaxed. A hint; a look that does not see it comes again.
        mem.fetch(&self.deadlines, change, Ordering::Relaxed);
    }

    pub(crate) fn has_deadlines<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Relaxed. As above.
        mem.load(&self.deadlines, Ordering::Relaxed) != 0
    }

    /// Keeps workers out of jobs. A party that puts a job on the board closes it.
    pub(crate) fn set_stopping<M: Memory<Word = W>>(&self, mem: &M) {
        // Ordering: Relaxed. Ordered by the fence in `stop`.
        mem.store(&self.stopping, 1, Ordering::Relaxed);
    }

    pub(crate) fn is_stopping<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Relaxed. Ordered by the fences in `publish` and `meet_shutdown`, or by the load
        // that found a job closed.
        mem.load(&self.stopping, Ordering::Relaxed) != 0
    }
}
