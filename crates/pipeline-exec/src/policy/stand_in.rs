#![doc = include_str!("stand_in/README.md")]
//!
//! This file is that protocol.

use std::sync::atomic::Ordering;

use crossbeam::utils::CachePadded;
use executor_core::ports::{Fetch, Memory};

use super::lend::lent_number;
use super::look::call_up;
use super::ports::PipelinePorts;
use super::role::{Search, has_work, stops, young_waits};
use crate::mutant;
use crate::step_cx::Role;

/// Quanta for which every worker must have been in what it runs now before a spare thread stands
/// in.
pub const STAND_IN_QUANTA: u64 = 2;

/// In `watched`: a party is about to tell a spare thread to watch.
const TELLS: usize = 1;

/// What spare threads go by.
#[derive(Debug)]
pub(crate) struct StandIns<W> {
    /// By worker, and behind the workers by spare thread: when it began what it runs now, in
    /// nanoseconds plus one; 0: it is in no job. Empty if there are no spare threads.
    since: Box<[CachePadded<W>]>,
    /// By spare thread: 1 from the moment at which it is told to watch until it parks.
    awake: Box<[CachePadded<W>]>,
    /// The number, plus two, of the spare thread that watches or is told to; [`TELLS`]; 0: none is.
    watched: CachePadded<W>,
    /// Until when the spare thread that watches sleeps.
    looks_at: CachePadded<W>,
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
            looks_at: CachePadded::new(word(0)),
            workers,
        }
    }

    pub(crate) fn spares(&self) -> usize {
        self.awake.len()
    }

    /// The party with this worker's number has begun something at `now_ns`. Only that party calls
    /// it.
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
        // The number behind the last worker's is that of lent threads, which take no work from
        // others.
        let place = match worker.checked_sub(self.workers) {
            None => worker,
            Some(0) => return,
            Some(spare) => self.workers + spare - 1,
        };
        if let Some(word) = self.since.get(place) {
            // Ordering: Relaxed. A hint about time; a spare thread that reads it late stands in
            // early or late.
            mem.store(word, value, Ordering::Relaxed);
        }
    }

    /// Whether spare thread number `spare` was told to watch, and has not parked since.
    pub(crate) fn is_awake<M: Memory<Word = W>>(&self, mem: &M, spare: usize) -> bool {
        // Ordering: Acquire. Edge `stand-in/tell`: pairs with the read-modify-write in `tell`. A
        // thread that finds itself told finds its number in `watched`, also when it was not woken.
        mem.load(&self.awake[spare], Ordering::Acquire) != 0
    }

    /// The spare thread that watches, if one does.
    fn watcher<M: Memory<Word = W>>(&self, mem: &M) -> Option<usize> {
        // Ordering: Relaxed. Step read-watched; the caller's fence orders it, edge `stand-in/rest`.
        mem.load(&self.watched, Ordering::Relaxed).checked_sub(TELLS + 1)
    }

    /// Steps watch and arm: from now on spare thread number `spare` watches, or, given none, the
    /// caller tells one. `false` if one watches or is told already.
    fn take_watch<M: Memory<Word = W>>(&self, mem: &M, spare: Option<usize>) -> bool {
        let value = spare.map_or(TELLS, |spare| TELLS + 1 + spare);
        // Ordering: Relaxed, both. One word decides; the caller's fence orders it, edge
        // `stand-in/rest`.
        mem.load(&self.watched, Ordering::Relaxed) == 0
            && mem
                .compare_exchange(&self.watched, 0, value, Ordering::Relaxed)
                .is_ok()
    }

    /// None watches any more.
    fn unwatch<M: Memory<Word = W>>(&self, mem: &M) {
        // Ordering: Relaxed. Ordered by the fence behind it where something hangs on it.
        mem.store(&self.watched, 0, Ordering::Relaxed);
    }

    /// Step tell: makes a parked spare thread watch, if there is one. The caller has taken the
    /// watch, and wakes it.
    fn tell<M: Memory<Word = W>>(&self, mem: &M) -> Option<usize> {
        (0..self.spares()).find(|&spare| {
            let name = || {
                // Ordering: Relaxed. The release below orders it.
                mem.store(&self.watched, TELLS + 1 + spare, Ordering::Relaxed);
            };
            // A thread that wakes by itself may watch, and rest again, before it is woken. So it is
            // named before it is told: its own write of `watched` is to be the later one.
            if !mutant::m129_told_before_it_is_named() {
                name();
            }
            // Ordering: Release. Edge `stand-in/tell`: pairs with the load in `is_awake`. What the
            // thread writes to `watched` comes after its name there.
            let was_parked = mem.fetch(&self.awake[spare], Fetch::Or(1), Ordering::Release) == 0;
            if was_parked && mutant::m129_told_before_it_is_named() {
                name();
            }
            was_parked
        })
    }

    /// Whether a spare thread is parked, or about to be.
    fn is_one_parked<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Relaxed. Ordered by the caller's fence.
        let is_parked = |awake| mem.load(awake, Ordering::Relaxed) == 0;
        self.awake.iter().any(|awake| is_parked(awake))
    }

    /// The one that watches sleeps until `at_ns`.
    fn sleeps_until<M: Memory<Word = W>>(&self, mem: &M, at_ns: u64) {
        // Ordering: Relaxed. A hint; one that reads it late lets the thread sleep for as long as it
        // has thought it would.
        mem.store(
            &self.looks_at,
            usize::try_from(at_ns).unwrap_or(usize::MAX),
            Ordering::Relaxed,
        );
    }

    /// Whether the one that watches sleeps for `slack_ns` longer than it would if it looked now:
    /// all that run will have been in their turns for `after_ns` by then.
    fn sleeps_too_long<M: Memory<Word = W>>(&self, mem: &M, after_ns: u64, slack_ns: u64) -> bool {
        // Ordering: Relaxed. As above.
        let looks_at = mem.load(&self.looks_at, Ordering::Relaxed) as u64;
        let soon_ns = looks_at.saturating_sub(slack_ns);
        // Most of the time the first one is not.
        self.since.iter().enumerate().all(|(party, word)| {
            // Ordering: Relaxed. As in `note`.
            match mem.load(word, Ordering::Relaxed) as u64 {
                0 => party >= self.workers,
                since => (since - 1).saturating_add(after_ns) < soon_ns,
            }
        })
    }

    /// When all that run began what they run now, at the latest; `None` if a worker is in no job.
    fn latest<M: Memory<Word = W>>(&self, mem: &M) -> Option<u64> {
        if mutant::m121_stands_in_for_one_long_turn() {
            // Ordering: Relaxed. As in `note`.
            let begun = self
                .since
                .iter()
                .map(|word| mem.load(word, Ordering::Relaxed) as u64);
            return begun.filter(|since| *since > 0).min().map(|since| since - 1);
        }
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

/// Step arm: young work was published, or left waiting, while every look is out. Sees to it that a
/// spare thread watches, and that it sleeps no longer than it has to. The caller has passed a
/// sequentially consistent fence since.
pub(crate) fn arm<E: PipelinePorts>(env: &E) {
    let stand_ins = &env.shared().stand_ins;
    if stand_ins.spares() == 0 || mutant::m120_no_spare_is_told() {
        return;
    }
    while stand_ins.take_watch(env, None) {
        if let Some(spare) = stand_ins.tell(env) {
            return env.wake_spare(spare);
        }
        // All stand in, and each looks again when it leaves its job.
        stand_ins.unwatch(env);
        // Ordering: SeqCst fence, step arm-fence. Edge `stand-in/rest`: pairs with the fence in
        // `rest`. Whichever comes second, its side sees the other's write: that none watches, or
        // that a spare thread is parked.
        env.fence(Ordering::SeqCst);
        if !stand_ins.is_one_parked(env) || mutant::m126_arms_once() {
            return;
        }
    }
    // It may sleep on account of a turn that is over.
    if let Some(spare) = stand_ins.watcher(env)
        && stand_ins.sleeps_too_long(env, env.shared().stand_in_ns(), env.shared().quantum_ns() / 2)
    {
        env.wake_spare(spare);
    }
}

/// Step go-in: a party in `role` has gone into a job. If it leaves young work waiting and every
/// look is out, a spare thread is to watch.
pub(crate) fn goes_in<E: PipelinePorts>(env: &E, role: Role) {
    let shared = env.shared();
    let may_wait = match role {
        Role::Main | Role::Reserve => shared.spares() > 0 && shared.looks.out(env) >= shared.workers(),
        Role::Spare => true,
        Role::Lent => false,
    };
    if !may_wait || mutant::m125_young_work_left_unwatched() {
        return;
    }
    // Ordering: SeqCst fence, step go-in-fence. Edge `stand-in/rest`: pairs with the fence in
    // `publish`. Whichever comes second, its side sees the other's write: the young job, or that no
    // thread watches, or, of a worker, that its look is out.
    env.fence(Ordering::SeqCst);
    if young_waits(env) {
        arm(env);
    }
}

/// The life of spare thread number `spare`. `sleep` blocks: until the time that it is given, or,
/// given none, until the thread [is awake](PipelinePorts::wake_spare); it may return early, and
/// does when the thread is woken. It gives `false` when the executor ends.
pub fn run_spare<E: PipelinePorts>(env: &E, spare: usize, mut sleep: impl FnMut(Option<u64>) -> bool) {
    while sleep(None) {
        if env.shared().stand_ins.is_awake(env, spare) && !stay_awake(env, spare, &mut sleep) {
            return;
        }
    }
}

/// From step tell to step rest. `false` when the executor ends.
fn stay_awake<E: PipelinePorts>(env: &E, spare: usize, sleep: &mut impl FnMut(Option<u64>) -> bool) -> bool {
    let stand_ins = &env.shared().stand_ins;
    // It was told to.
    let mut watches = true;
    loop {
        match next(env) {
            Next::Work => {
                if std::mem::take(&mut watches) {
                    stand_ins.unwatch(env);
                }
                stand_in(env, spare);
            }
            Next::Later(at_ns) if watches || stand_ins.take_watch(env, Some(spare)) => {
                watches = true;
                stand_ins.sleeps_until(env, at_ns);
                if !sleep(Some(at_ns)) {
                    return false;
                }
            }
            Next::Later(_) | Next::Nothing => {
                rest(env, spare, watches);
                return true;
            }
        }
    }
}

/// When a spare thread is to stand in: all that are in turns now will have been for long enough.
/// `None` if a worker is in no job.
fn ready_ns<E: PipelinePorts>(env: &E) -> Option<u64> {
    let since_ns = env.shared().stand_ins.latest(env)?;
    Some(since_ns.saturating_add(env.shared().stand_in_ns()))
}

/// The place in a table of workers and a lent thread of the party with number `number`: a spare
/// thread counts as the worker for which it stands in.
pub(crate) fn place_of(number: usize, workers: usize) -> usize {
    number.checked_sub(lent_number(workers) + 1).unwrap_or(number)
}

/// What a spare thread that is awake does next.
fn next<E: PipelinePorts>(env: &E) -> Next {
    if stops(env) || !young_waits(env) {
        return Next::Nothing;
    }
    let now_ns = env.now_ns();
    // A worker that is in no job has a look, or there is nothing for it.
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
    leave(env);
}

/// Steps leave-fence, hand-on: a spare thread holds no look, so what it leaves open is to be a
/// worker's.
fn leave<E: PipelinePorts>(env: &E) {
    // Ordering: SeqCst fence, step leave-fence. Edge `look/publish`: pairs with the fence in
    // `lay_down`. Whichever comes second, its side sees the other's write: what can be claimed, or
    // one look fewer.
    env.fence(Ordering::SeqCst);
    if has_work(env) && !mutant::m124_spare_hands_on_nothing() {
        call_up(env, 1);
    }
}

/// Foreign code panicked out of a visit of spare thread number `spare`: it is in no job, and parks.
/// It did not watch: no thread does that is in a job.
pub(crate) fn recover<E: PipelinePorts>(env: &E, spare: usize) {
    let shared = env.shared();
    shared.stand_ins.rests(env, shared.spare_number(spare));
    leave(env);
    rest(env, spare, false);
}

/// Steps rest, rest-fence, look-again.
fn rest<E: PipelinePorts>(env: &E, spare: usize, watches: bool) {
    let stand_ins = &env.shared().stand_ins;
    if watches {
        stand_ins.unwatch(env);
    }
    // Ordering: Relaxed. Step rest; ordered by the fence. A store would do; but loom takes one, and
    // a read-modify-write of another party beside it, in either order, also where the latter did
    // not read it.
    env.fetch(&stand_ins.awake[spare], Fetch::And(0), Ordering::Relaxed);
    // Ordering: SeqCst fence, step rest-fence. Edge `stand-in/rest`: pairs with the fences in
    // `publish`, `goes_in` and `arm`. Whichever comes second, its side sees the other's write: the
    // young job, or that none watches and this one is parked.
    env.fence(Ordering::SeqCst);
    if !stops(env) && young_waits(env) && !mutant::m122_spare_parks_without_a_second_look() {
        arm(env);
    }
}
