#![doc = include_str!("stand_in/README.md")]
//!
//! This file is that protocol.

use std::sync::atomic::Ordering;

use crossbeam::utils::CachePadded;
use executor_core::ports::{Fetch, Memory};

use super::lend::lent_number;
use super::ports::PipelinePorts;
use super::role::{Search, stops, young_waits};
use crate::mutant;
use crate::step_cx::Role;

/// Quanta for which every worker must have been in what it runs now before a spare thread stands in.
pub const STAND_IN_QUANTA: u64 = 2;

/// What spare threads go by.
#[derive(Debug)]
pub(crate) struct StandIns<W> {
    /// By worker, and behind the workers by spare thread: when it began what it runs now, in nanoseconds plus
    /// one; 0: it is between two slots or turns, or in no job. Empty if there are no spare threads.
    since: Box<[CachePadded<W>]>,
    /// By spare thread: 1 from the moment at which it is told to watch until it parks.
    awake: Box<[CachePadded<W>]>,
    /// The number, plus one, of the spare thread that watches or is told to; 0: none is.
    watched: CachePadded<W>,
    workers: usize,
}

/// What a spare thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// Takes young work.
    Work,
    /// Looks again at this time.
    Later(u64),
    /// Parks.
    Nothing,
}

impl<W> StandIns<W> {
    /// For `spares` spare threads beside `workers` workers.
    pub(crate) fn new(workers: usize, spares: usize, mut word: impl FnMut(usize) -> W) -> Self {
        let parties = if spares == 0 { 0 } else { workers + spares };
        Self {
            since: (0..parties).map(|_| CachePadded::new(word(0))).collect(),
            awake: (0..spares).map(|_| CachePadded::new(word(0))).collect(),
            watched: CachePadded::new(word(0)),
            workers,
        }
    }

    pub(crate) fn spares(&self) -> usize {
        self.awake.len()
    }

    /// The party with this worker's number has begun something at `now_ns`. Only that party calls it.
    #[inline]
    pub(crate) fn begins<M: Memory<Word = W>>(&self, mem: &M, worker: usize, now_ns: u64) {
        let now = usize::try_from(now_ns).unwrap_or(usize::MAX).saturating_add(1);
        self.note(mem, worker, now);
    }

    /// The party with this worker's number is in no job. Only that party calls it.
    pub(crate) fn rests<M: Memory<Word = W>>(&self, mem: &M, worker: usize) {
        self.note(mem, worker, 0);
    }

    #[inline]
    fn note<M: Memory<Word = W>>(&self, mem: &M, worker: usize, value: usize) {
        // The number behind the last worker's is that of lent threads, which take no work from others.
        let place = match worker.checked_sub(self.workers) {
            None => worker,
            Some(0) => return,
            Some(spare) => self.workers + spare - 1,
        };
        if let Some(word) = self.since.get(place) {
            // Ordering: Relaxed. A hint about time; a spare thread that reads it late stands in early or late.
            mem.store(word, value, Ordering::Relaxed);
        }
    }

    /// Whether spare thread number `spare` was told to watch, and has not parked since.
    pub(crate) fn is_awake<M: Memory<Word = W>>(&self, mem: &M, spare: usize) -> bool {
        // Ordering: Relaxed. It parks by a parker that orders the wake; what it reads afterwards are hints, or
        // ordered by the fence of its own rest.
        mem.load(&self.awake[spare], Ordering::Relaxed) != 0
    }

    /// The spare thread that watches.
    fn watcher<M: Memory<Word = W>>(&self, mem: &M) -> Option<usize> {
        // Ordering: Relaxed. Step read-watched; the caller's fence orders it, edge `stand-in/rest`.
        mem.load(&self.watched, Ordering::Relaxed).checked_sub(1)
    }

    /// Step watch: from now on spare thread number `spare` watches. `false` if another one does.
    fn watch<M: Memory<Word = W>>(&self, mem: &M, spare: usize) -> bool {
        // Ordering: Relaxed. One word decides; what the thread reads afterwards are hints.
        mem.compare_exchange(&self.watched, 0, spare + 1, Ordering::Relaxed)
            .is_ok()
    }

    /// None watches any more.
    fn unwatch<M: Memory<Word = W>>(&self, mem: &M) {
        // Ordering: Relaxed. Ordered by the fence behind it where something hangs on it.
        mem.store(&self.watched, 0, Ordering::Relaxed);
    }

    /// When all that run began what they run now, at the latest; `None` if a worker is at a boundary.
    fn latest<M: Memory<Word = W>>(&self, mem: &M) -> Option<u64> {
        let mut latest = 0;
        for (party, word) in self.since.iter().enumerate() {
            // Ordering: Relaxed. As in `note`.
            match mem.load(word, Ordering::Relaxed) as u64 {
                0 if party < self.workers => return None,
                since => latest = latest.max(since),
            }
        }
        Some(latest.saturating_sub(1))
    }
}

/// Step arm: young work was published, or left waiting, and every look is out. Sees to it that a spare thread watches, and that it
/// looks at once if the time to stand in has come. The caller has passed a sequentially consistent fence since.
pub(crate) fn arm<E: PipelinePorts>(env: &E) {
    let stand_ins = &env.shared().stand_ins;
    if stand_ins.spares() == 0 || mutant::m120_no_spare_is_told() {
        return;
    }
    if let Some(spare) = stand_ins.watcher(env) {
        if ready_ns(env).is_some_and(|ready_ns| env.now_ns() >= ready_ns) {
            env.wake_spare(spare);
        }
        return;
    }
    let parked = (0..stand_ins.spares()).find(|&spare| {
        // Ordering: Relaxed. It decides which one; the wake orders what the spare thread reads.
        env.fetch(&stand_ins.awake[spare], Fetch::Or(1), Ordering::Relaxed) == 0
    });
    // If all stand in, each looks again when it leaves its job.
    if let Some(spare) = parked {
        env.wake_spare(spare);
    }
}

/// The life of spare thread number `spare`. `sleep` blocks: until the time that it is given, or, given none, until the
/// thread [is awake](PipelinePorts::wake_spare); it may return early, and does when the thread is woken. It gives `false` when the
/// executor ends.
pub fn run_spare<E: PipelinePorts>(env: &E, spare: usize, mut sleep: impl FnMut(Option<u64>) -> bool) {
    let stand_ins = &env.shared().stand_ins;
    while sleep(None) {
        if !stand_ins.is_awake(env, spare) {
            continue;
        }
        let mut watches = stand_ins.watch(env, spare);
        while watches {
            match next(env) {
                Next::Later(at_ns) => {
                    if !sleep(Some(at_ns)) {
                        return;
                    }
                }
                Next::Nothing => break,
                Next::Work => {
                    stand_ins.unwatch(env);
                    stand_in(env, spare);
                    watches = stand_ins.watch(env, spare);
                }
            }
        }
        rest(env, spare, watches);
    }
}

/// When a spare thread is to stand in: all workers are in turns by then that have lasted long enough. `None` if a worker
/// is at a boundary.
fn ready_ns<E: PipelinePorts>(env: &E) -> Option<u64> {
    let since_ns = env.shared().stand_ins.latest(env)?;
    Some(since_ns.saturating_add(env.shared().stand_in_ns()))
}

/// The place in a table of workers and a lent thread of the party with number `number`: a spare thread counts as the worker
/// for which it stands in.
pub(crate) fn place_of(number: usize, workers: usize) -> usize {
    number.checked_sub(lent_number(workers) + 1).unwrap_or(number)
}

/// What the thread that watches does next.
fn next<E: PipelinePorts>(env: &E) -> Next {
    if stops(env) || !young_waits(env) {
        return Next::Nothing;
    }
    let now_ns = env.now_ns();
    // A worker at a boundary looks at the board itself.
    let ready_ns = ready_ns(env).unwrap_or_else(|| now_ns.saturating_add(env.shared().stand_in_ns()));
    if now_ns >= ready_ns {
        Next::Work
    } else {
        Next::Later(ready_ns)
    }
}

/// One visit of a young job.
fn stand_in<E: PipelinePorts>(env: &E, spare: usize) {
    let shared = env.shared();
    let now_ns = env.now_ns();
    let until_ns = now_ns.saturating_add(shared.quantum_ns());
    let worker = shared.spare_number(spare);
    Search::begin(env, worker, Role::Spare, now_ns, until_ns).take_young(true);
}

/// Foreign code panicked out of a visit of spare thread number `spare`: it is in no job, and parks. If it stood in or
/// watched, does not matter.
pub(crate) fn recover<E: PipelinePorts>(env: &E, spare: usize) {
    let shared = env.shared();
    shared.stand_ins.rests(env, shared.spare_number(spare));
    rest(env, spare, false);
}

/// Steps rest, rest-fence, look-again.
fn rest<E: PipelinePorts>(env: &E, spare: usize, watches: bool) {
    let stand_ins = &env.shared().stand_ins;
    if watches {
        stand_ins.unwatch(env);
    }
    // Ordering: Relaxed. Step rest; ordered by the fence.
    env.store(&stand_ins.awake[spare], 0, Ordering::Relaxed);
    // Ordering: SeqCst fence, step rest-fence. Edge `stand-in/rest`: pairs with the fence in `publish`. Whichever comes
    // second, its side sees the other's write: the young job, or that none watches.
    env.fence(Ordering::SeqCst);
    if !stops(env) && young_waits(env) {
        arm(env);
    }
}
