//! The words of the [protocol of spare threads](mod@crate::policy::worker::stand_in).

use std::sync::atomic::Ordering;

use crossbeam::utils::CachePadded;
use executor_core::ports::{Fetch, Memory};

/// Value of `watched` while a party tells a spare thread to watch.
const TELLS: usize = 1;

#[derive(Debug)]
pub(crate) struct StandIns<W> {
    /// By worker, then spare thread, in nanoseconds plus one; 0: in no job.
    since: Box<[CachePadded<W>]>,
    awake: Box<[CachePadded<W>]>,
    watched: CachePadded<W>,
    looks_at: CachePadded<W>,
    workers: usize,
}

impl<W> StandIns<W> {
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

    #[inline]
    pub(crate) fn begins<M: Memory<Word = W>>(&self, mem: &M, worker: usize, now_ns: u64) {
        let now = usize::try_from(now_ns).unwrap_or(usize::MAX).saturating_add(1);
        self.note(mem, worker, now);
    }

    pub(crate) fn rests<M: Memory<Word = W>>(&self, mem: &M, worker: usize) {
        self.note(mem, worker, 0);
    }

    #[inline]
    fn note<M: Memory<Word = W>>(&self, mem: &M, worker: usize, value: usize) {
        // A helper, numbered behind the last worker, takes no work from others.
        let place = match worker.checked_sub(self.workers) {
            None => worker,
            Some(0) => return,
            Some(spare) => self.workers + spare - 1,
        };
        if let Some(word) = self.since.get(place) {
            // Ordering: Relaxed. A hint; a spare thread that reads it late stands in early or late.
            mem.store(word, value, Ordering::Relaxed);
        }
    }

    pub(crate) fn is_awake<M: Memory<Word = W>>(&self, mem: &M, spare: usize) -> bool {
        // Ordering: Acquire. Edge `stand-in/tell`: pairs with the read-modify-write in `tell`. A
        // thread that finds itself told finds its number in `watched`.
        mem.load(&self.awake[spare], Ordering::Acquire) != 0
    }

    /// Step rest.
    pub(crate) fn sleeps<M: Memory<Word = W>>(&self, mem: &M, spare: usize) {
        // Ordering: Relaxed. The fence behind it orders it. A store would do, but loom may order it
        // either way with a read-modify-write that did not read it.
        mem.fetch(&self.awake[spare], Fetch::And(0), Ordering::Relaxed);
    }

    pub(crate) fn watcher<M: Memory<Word = W>>(&self, mem: &M) -> Option<usize> {
        // Ordering: Relaxed. Step read-watched; the caller's fence orders it, edge `stand-in/rest`.
        mem.load(&self.watched, Ordering::Relaxed).checked_sub(TELLS + 1)
    }

    /// Steps watch and arm; with `None` the caller tells a thread. Returns `false` if a thread
    /// watches already.
    pub(crate) fn take_watch<M: Memory<Word = W>>(&self, mem: &M, spare: Option<usize>) -> bool {
        let value = spare.map_or(TELLS, |spare| TELLS + 1 + spare);
        // Ordering: Relaxed, both. One word decides; the caller's fence orders it, edge
        // `stand-in/rest`.
        mem.load(&self.watched, Ordering::Relaxed) == 0
            && mem
                .compare_exchange(&self.watched, 0, value, Ordering::Relaxed)
                .is_ok()
    }

    pub(crate) fn unwatch<M: Memory<Word = W>>(&self, mem: &M) {
        // Ordering: Relaxed. Ordered by the fence behind it where something depends on it.
        mem.store(&self.watched, 0, Ordering::Relaxed);
    }

    /// Step tell. The caller has the watch, and wakes the thread.
    pub(crate) fn tell<M: Memory<Word = W>>(&self, mem: &M) -> Option<usize> {
        (0..self.spares()).find(|&spare| {
            // A thread that wakes by itself may watch and rest again before it is woken. It is
            // named first, so its own write of `watched` is the later one.
            // Ordering: Relaxed. The release below orders it.
            mem.store(&self.watched, TELLS + 1 + spare, Ordering::Relaxed);
            // Ordering: Release. Edge `stand-in/tell`: pairs with the load in `is_awake`. What the
            // thread writes to `watched` comes after its name there.
            mem.fetch(&self.awake[spare], Fetch::Or(1), Ordering::Release) == 0
        })
    }

    pub(crate) fn is_one_parked<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Relaxed. Ordered by the caller's fence.
        let is_parked = |awake| mem.load(awake, Ordering::Relaxed) == 0;
        self.awake.iter().any(|awake| is_parked(awake))
    }

    pub(crate) fn sleeps_until<M: Memory<Word = W>>(&self, mem: &M, at_ns: u64) {
        // Ordering: Relaxed. A hint; if it is read late, the thread sleeps as long as planned.
        mem.store(
            &self.looks_at,
            usize::try_from(at_ns).unwrap_or(usize::MAX),
            Ordering::Relaxed,
        );
    }

    /// Returns whether the watcher wakes more than `slack_ns` after all slots and turns have run
    /// for `after_ns`.
    pub(crate) fn sleeps_too_long<M: Memory<Word = W>>(&self, mem: &M, after_ns: u64, slack_ns: u64) -> bool {
        // Ordering: Relaxed. As above.
        let looks_at = mem.load(&self.looks_at, Ordering::Relaxed) as u64;
        let soon_ns = looks_at.saturating_sub(slack_ns);
        self.since.iter().enumerate().all(|(party, word)| {
            // Ordering: Relaxed. As in `note`.
            match mem.load(word, Ordering::Relaxed) as u64 {
                0 => party >= self.workers,
                since => (since - 1).saturating_add(after_ns) < soon_ns,
            }
        })
    }

    /// `None` if a worker is in no job.
    pub(crate) fn latest<M: Memory<Word = W>>(&self, mem: &M) -> Option<u64> {
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
