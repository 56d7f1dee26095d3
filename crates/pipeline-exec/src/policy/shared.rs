//! What all parties of a pipeline executor share.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crossbeam::utils::CachePadded;
use executor_core::RunState;
use executor_core::ports::{Fetch, Memory};

use super::allowance::Allowances;
use super::board::JobBoard;
use super::lend::lent_number;
use super::look::Looks;
use super::need::Experience;
use super::stand_in::{STAND_IN_QUANTA, StandIns};
use crate::mutant;

/// A job that is expected to take more quanta than this is old from the beginning.
pub const EXPECTED_QUANTA_MAX: u64 = 8;

/// Quanta of service below which a job is young.
pub const YOUNG_QUANTA: u64 = 4;

/// Quanta for which a visit of an old job lasts while no young job waits.
pub const STAY_QUANTA: u64 = 4;

/// What can be set about a pipeline executor: plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineConfig {
    /// Workers that look for short work first.
    pub main: usize,
    /// Workers that look for heavy work first.
    pub reserve: usize,
    /// How long a worker stays with a young job before it looks at the board again.
    pub quantum: Duration,
    /// Jobs that may wait or run at the same time.
    pub capacity: usize,
}

/// Board, table, and the words beside them.
#[derive(Debug)]
pub struct PipelineShared<W, B, Q, T> {
    pub(crate) config: PipelineConfig,
    pub(crate) board: JobBoard<B, Q>,
    /// Bodies of the jobs that were let in and have not ended.
    pub(crate) jobs: T,
    /// The gate, and how many jobs are in flight.
    pub(crate) admission: RunState<W>,
    pub(crate) looks: Looks<W>,
    pub(crate) experience: Experience<W>,
    /// The next job's number.
    seqs: CachePadded<W>,
    /// How much of its time each worker may give to young jobs.
    pub(crate) allowances: Allowances<W>,
    /// Spare threads, and what they go by.
    pub(crate) stand_ins: StandIns<W>,
    /// Service that the least served old job had when one was last taken: where jobs that grow old
    /// go on.
    service_floor: CachePadded<W>,
    /// Not 0 once the executor is being shut down.
    stopping: CachePadded<W>,
    /// How many jobs stand in the order of deadlines, or are about to.
    deadlines: CachePadded<W>,
    /// Turns of a single worker, which has both roles: those that it took while its allowance for
    /// young jobs was not used up, and those while it was.
    turns: [W; 2],
    /// Publications of something to claim in a young job, wrapping around.
    young_arrivals: CachePadded<W>,
}

impl<W, B, Q, T> PipelineShared<W, B, Q, T> {
    /// An executor without jobs, on an empty board and an empty table with at least
    /// `config.capacity` places; words are made by `word`.
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
        // The gate counts up to its capacity and keeps the rest of its range back.
        let admitted = config.capacity + usize::from(mutant::m48_one_job_too_many());
        let headroom = usize::MAX / executor_core::COUNT_UNIT - admitted;
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

    /// The same with `spares` spare threads, at most one for each worker: see
    /// [`stand_in`](mod@super::stand_in). Before any job is submitted. None if the quantum is so
    /// short that no job is young: there is nothing for them.
    ///
    /// # Panics
    ///
    /// If there are more than workers.
    #[must_use]
    pub fn with_spares(mut self, spares: usize, mut word: impl FnMut(usize) -> W) -> Self {
        let workers = self.workers();
        assert!(spares <= workers, "a spare thread stands in for a worker");
        if spares > 0 && self.young_tag() > 0 {
            self.stand_ins = StandIns::new(workers, spares, &mut word);
            let numbers = workers + 1 + spares;
            self.allowances = Allowances::new(numbers, self.quantum_ns(), word);
        }
        self
    }

    /// Number of the spare threads.
    pub fn spares(&self) -> usize {
        self.stand_ins.spares()
    }

    /// The worker's number that a spare thread has: behind the workers' and that of lent threads.
    pub(crate) fn spare_number(&self, spare: usize) -> usize {
        lent_number(self.workers()) + 1 + spare
    }

    /// Nanoseconds for which all workers must have been in one turn each before a spare thread
    /// stands in.
    pub fn stand_in_ns(&self) -> u64 {
        self.quantum_ns().saturating_mul(STAND_IN_QUANTA)
    }

    /// Whether spare thread number `spare` was told to watch, and has not parked since.
    pub fn spare_is_awake<M: Memory<Word = W>>(&self, mem: &M, spare: usize) -> bool {
        self.stand_ins.is_awake(mem, spare)
    }

    /// What was set.
    pub fn config(&self) -> &PipelineConfig {
        &self.config
    }

    /// The board.
    pub fn board(&self) -> &JobBoard<B, Q> {
        &self.board
    }

    /// The bodies of all jobs.
    pub fn jobs(&self) -> &T {
        &self.jobs
    }

    /// The gate, and how many jobs are in flight.
    pub fn admission(&self) -> &RunState<W> {
        &self.admission
    }

    /// How many looks are out.
    pub fn looks(&self) -> &Looks<W> {
        &self.looks
    }

    pub(crate) fn workers(&self) -> usize {
        self.config.main + self.config.reserve
    }

    pub(crate) fn quantum_ns(&self) -> u64 {
        nanos(self.config.quantum)
    }

    /// Nanoseconds for which a visit of an old job lasts while no young job waits.
    pub fn stay_ns(&self) -> u64 {
        self.quantum_ns().saturating_mul(STAY_QUANTA)
    }

    /// A job that has received less service than this, [`YOUNG_QUANTA`] quanta in microseconds, is
    /// young.
    pub fn young_tag(&self) -> usize {
        usize::try_from(self.quantum_ns().saturating_mul(YOUNG_QUANTA) / 1_000).unwrap_or(usize::MAX)
    }

    /// Something can be claimed in a young job that could not be before. The caller has published
    /// it, and has passed a sequentially consistent fence.
    pub(crate) fn young_arrived<M: Memory<Word = W>>(&self, mem: &M) {
        // Ordering: Relaxed. The caller's fence orders it, edge `young/arrival`.
        mem.fetch(&self.young_arrivals, Fetch::Add(1), Ordering::Relaxed);
    }

    /// How often that has happened. It may change at once.
    pub fn young_arrivals<M: Memory<Word = W>>(&self, mem: &M) -> usize {
        // Ordering: Acquire. Edge `young/arrival`: pairs with the fence in `publish`. A worker that
        // reads of an arrival finds the job, unless other workers have claimed what there was.
        mem.load(&self.young_arrivals, Ordering::Acquire)
    }

    /// Whether the allowance of `worker` for young jobs is used up: it takes an old job first, and
    /// does not leave that for a young one.
    pub fn is_allowance_used_up<M: Memory<Word = W>>(&self, mem: &M, worker: usize) -> bool {
        self.allowances.is_used_up(mem, worker)
    }

    /// Whether a job that is expected to take `work_ns` is old from the beginning.
    pub(crate) fn is_long(&self, work_ns: u64) -> bool {
        work_ns > self.quantum_ns().saturating_mul(EXPECTED_QUANTA_MAX)
    }

    pub(crate) fn next_seq<M: Memory<Word = W>>(&self, mem: &M) -> usize {
        // Ordering: Relaxed. Submissions of one thread are numbered in their order; of several
        // there is none.
        mem.fetch(&self.seqs, Fetch::Add(1), Ordering::Relaxed)
    }

    /// Jobs that were let in so far.
    pub(crate) fn submitted<M: Memory<Word = W>>(&self, mem: &M) -> usize {
        // Ordering: Relaxed. A number for people.
        mem.load(&self.seqs, Ordering::Relaxed)
    }

    /// How many turns a single worker has taken before this one on a used-up allowance, or on one
    /// that was not.
    pub(crate) fn next_turn<M: Memory<Word = W>>(&self, mem: &M, old_first: bool) -> usize {
        // Ordering: Relaxed. Only the single worker counts here.
        mem.fetch(
            &self.turns[usize::from(old_first)],
            Fetch::Add(1),
            Ordering::Relaxed,
        )
    }

    /// Where a job's service goes on when it grows old.
    pub fn service_floor<M: Memory<Word = W>>(&self, mem: &M) -> usize {
        // Ordering: Relaxed. A hint for the choice of a job.
        mem.load(&self.service_floor, Ordering::Relaxed)
    }

    /// The least served old job had `service` when it was taken.
    pub(crate) fn raise_service_floor<M: Memory<Word = W>>(&self, mem: &M, service: usize) {
        // Ordering: Relaxed, both. A hint; that a race may lower it again for a moment does no
        // harm.
        if mem.load(&self.service_floor, Ordering::Relaxed) < service {
            mem.store(&self.service_floor, service, Ordering::Relaxed);
        }
    }

    /// So many jobs with a deadline more are there, or less.
    pub(crate) fn count_deadlines<M: Memory<Word = W>>(&self, mem: &M, change: Fetch) {
        // Ordering: Relaxed. A hint; a look that does not see it comes again.
        mem.fetch(&self.deadlines, change, Ordering::Relaxed);
    }

    /// Whether there are jobs with a deadline.
    pub(crate) fn has_deadlines<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Relaxed. As above.
        mem.load(&self.deadlines, Ordering::Relaxed) != 0
    }

    /// From now on no worker goes into a job, and the party that puts one on the board closes it
    /// again.
    pub(crate) fn set_stopping<M: Memory<Word = W>>(&self, mem: &M) {
        // Ordering: Relaxed. Ordered by the fence in `stop`.
        mem.store(&self.stopping, 1, Ordering::Relaxed);
    }

    pub(crate) fn is_stopping<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Relaxed. Ordered by the fences in `publish` and `close_if_stopping`, or by the
        // load that found a job closed.
        mem.load(&self.stopping, Ordering::Relaxed) != 0
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
