#![doc = include_str!("sleep/README.md")]

use std::sync::atomic::Ordering;

use crossbeam::utils::CachePadded;

use crate::ports::memory::{Fetch, Memory};
use crate::ports::parking::{Park, Parking, Unpark};

/// Largest number of workers of one sleep word.
pub const WORKERS_MAX: usize = FIELD_MAX;

const DONE: usize = 1;
const ABORT: usize = 1 << 1;
const FIELD_BITS: u32 = 15;
const FIELD_MAX: usize = (1 << FIELD_BITS) - 1;
const SLEEPER_SHIFT: u32 = 2;
const SEARCHER_SHIFT: u32 = SLEEPER_SHIFT + FIELD_BITS;
const SLEEPER: usize = 1 << SLEEPER_SHIFT;
const SEARCHER: usize = 1 << SEARCHER_SHIFT;

const AWAKE: usize = 0;

/// The searchers and sleepers of an executor, with the ABORT and DONE bits.
#[derive(Debug)]
pub struct Sleep<W> {
    word: CachePadded<W>,
    stamps: CachePadded<W>,
    slots: Box<[W]>,
    searchers_max: usize,
}

/// A value of the sleep word.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SleepWord(usize);

/// How a worker came out of [`Sleep::sleep`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slept<F> {
    /// Its last look found something; it owes the hand-on by [`Sleep::found_work`].
    Found(F),
    /// Its last look found something after a waker had chosen it, so it is a searcher.
    FoundAndWoken(F),
    /// A waker chose it: it is a searcher.
    Woken,
    /// The executor has ended.
    Over,
}

impl<W> Sleep<W> {
    /// The words of `workers` awake workers, of which at most `searchers_max` search at a time.
    ///
    /// # Panics
    ///
    /// If `workers` is 0 or more than [`WORKERS_MAX`].
    pub fn new(workers: usize, searchers_max: usize, mut word: impl FnMut(usize) -> W) -> Self {
        assert!(
            (1..=WORKERS_MAX).contains(&workers),
            "{workers} workers do not fit the sleep word"
        );
        Self {
            word: CachePadded::new(word(0)),
            stamps: CachePadded::new(word(AWAKE + 1)),
            slots: (0..workers).map(|_| word(AWAKE)).collect(),
            searchers_max,
        }
    }

    /// Reads the word.
    #[inline]
    pub fn peek<M: Memory<Word = W>>(&self, mem: &M) -> SleepWord {
        // Ordering: Relaxed. A worker acts on the bits only by stopping; what it must see then was
        // published by the state word (edge `state/release`) or is handed over when its thread is
        // joined.
        SleepWord(mem.load(&self.word, Ordering::Relaxed))
    }

    /// Makes the caller a searcher, unless enough others search.
    pub fn begin_search<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Relaxed. The bound is counted on one word; nothing else is read because of it.
        let mut word = mem.load(&self.word, Ordering::Relaxed);
        while SleepWord(word).searchers() < self.searchers_max {
            // Ordering: Relaxed. As above.
            match mem.compare_exchange(&self.word, word, word + SEARCHER, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Publisher: wakes workers for `tasks` new tasks in their queue, and returns the number woken.
    #[inline]
    pub fn notify<P: Memory<Word = W> + Unpark>(&self, ports: &P, tasks: usize) -> usize {
        // Ordering: SeqCst fence, step push-fence. Edge `sleep/publish`: pairs with the fence in
        // `sleep`. The side of the later fence sees the other's write: the task, or the
        // registration.
        ports.fence(Ordering::SeqCst);
        self.notify_of_injected(ports, tasks)
    }

    /// [`Sleep::notify`] for tasks in the injector, whose push is the push-fence itself.
    #[inline]
    pub fn notify_of_injected<P: Memory<Word = W> + Unpark>(&self, ports: &P, tasks: usize) -> usize {
        // Ordering: SeqCst, step read-word. Edge `sleep/claim`: comes after the injector's claim in
        // the order of sequentially consistent operations. After a fence, as in `notify`, Relaxed
        // would do; it costs the same.
        let word = ports.load(&self.word, Ordering::SeqCst);
        if SleepWord(word).sleepers() == 0 {
            0
        } else {
            self.wake(ports, word, tasks)
        }
    }

    /// Steps leave, leave-fence and look-for-more; a worker with a `surplus` needs no look. Returns
    /// the number of workers woken.
    #[inline]
    pub fn found_work<P: Memory<Word = W> + Unpark>(
        &self,
        ports: &P,
        was: Search,
        surplus: bool,
        more: impl FnOnce() -> bool,
    ) -> usize {
        let relied_on = match was {
            Search::No => false,
            Search::Yes => {
                // Ordering: Relaxed. The fence below orders the count, if it is reached.
                let before = ports.fetch(&self.word, Fetch::Sub(SEARCHER), Ordering::Relaxed);
                let last = SleepWord(before).searchers() == 1;
                if last && !surplus {
                    // Ordering: SeqCst fence, step leave-fence. Edge `sleep/publish`: pairs with
                    // the fence in `notify`. The side of the later fence sees the other's write:
                    // the task, or that no worker searches.
                    ports.fence(Ordering::SeqCst);
                }
                last
            }
            // Its fence was passed after registering.
            Search::LastLook => true,
        };
        if surplus || relied_on && more() {
            self.notify(ports, 1)
        } else {
            0
        }
    }

    /// Sleeper: registers `me`, calls `look` for the last look, and parks until chosen.
    ///
    /// `look` must look at every source of work and repeat contended attempts. It runs again after
    /// each timeout.
    pub fn sleep<P: Memory<Word = W> + Parking, F>(
        &self,
        ports: &P,
        me: usize,
        searching: bool,
        options: Park,
        mut look: impl FnMut() -> Option<F>,
    ) -> Slept<F> {
        let (stamp, before) = self.register(ports, me, searching);
        let mut over = before.is_done();
        let mut has_spun = false;
        loop {
            // Ordering: SeqCst fence, step sleep-fence. Edge `sleep/publish`: pairs with the fence
            // in `notify`. Edge `sleep/claim`: pairs with the claim of a place in the injector.
            ports.fence(Ordering::SeqCst);
            if over {
                return Slept::Over;
            }
            if let Some(found) = look() {
                let chosen = self.deregister(ports, me, stamp);
                return if chosen {
                    Slept::FoundAndWoken(found)
                } else {
                    Slept::Found(found)
                };
            }
            if !has_spun {
                ports.spin_before_park(options.spin_before);
                has_spun = true;
            }
            let mut timed_out = false;
            while !timed_out {
                ports.park(options.timeout);
                // Ordering: Acquire. Edge `sleep/slot`: pairs with the exchange in `choose`; the
                // chosen worker sees that it was counted as a searcher.
                if ports.load(&self.slots[me], Ordering::Acquire) == AWAKE {
                    return if self.peek(ports).is_done() {
                        Slept::Over
                    } else {
                        Slept::Woken
                    };
                }
                timed_out = options.timeout.is_some();
            }
            over = self.peek(ports).is_done();
        }
    }

    /// Sets DONE and wakes all workers.
    pub fn finish<P: Memory<Word = W> + Unpark>(&self, ports: &P) {
        // Ordering: AcqRel. Edge `sleep/ticket`: a registration before this one has made its slot
        // visible; a later one reads DONE.
        ports.fetch(&self.word, Fetch::Or(DONE), Ordering::AcqRel);
        for (worker, slot) in self.slots.iter().enumerate() {
            // By slots, not by tickets; see "The end" in the module's story.
            // Ordering: AcqRel. Edge `sleep/slot`: pairs with the Acquire in `sleep`.
            if ports.fetch(slot, Fetch::And(AWAKE), Ordering::AcqRel) != AWAKE {
                ports.unpark(worker);
            }
        }
    }

    /// Sets ABORT and wakes no worker: a sleeping worker has nothing to return.
    pub fn abort<M: Memory<Word = W>>(&self, mem: &M) {
        // Ordering: Relaxed. Workers read the bit before each task, and nothing else because of it.
        mem.fetch(&self.word, Fetch::Or(ABORT), Ordering::Relaxed);
    }

    #[cold]
    fn wake<P: Memory<Word = W> + Unpark>(&self, ports: &P, mut word: usize, tasks: usize) -> usize {
        loop {
            let now = SleepWord(word);
            let room = self.searchers_max.saturating_sub(now.searchers());
            let wanted = match tasks {
                1 if now.searchers() > 0 => 0,
                n => n.min(room).min(now.sleepers()),
            };
            if wanted == 0 {
                return 0;
            }
            match self.take_tickets(ports, word, wanted) {
                Ok(()) => {
                    self.choose(ports, wanted);
                    return wanted;
                }
                Err(other) => word = other,
            }
        }
    }

    /// Step ticket, if the word is still `word`.
    fn take_tickets<M: Memory<Word = W>>(&self, mem: &M, word: usize, n: usize) -> Result<(), usize> {
        // Ordering: AcqRel. Edge `sleep/ticket`: pairs with the registration, whose slot must be
        // visible to `choose`.
        mem.compare_exchange(
            &self.word,
            word,
            word - n * SLEEPER + n * SEARCHER,
            Ordering::AcqRel,
        )
        .map(|_| ())
    }

    /// Steps choose and unpark, for each ticket.
    fn choose<P: Memory<Word = W> + Unpark>(&self, ports: &P, tickets: usize) {
        for _ in 0..tickets {
            // This loop ends: each ticket has a registered slot, and a try misses only while other
            // wakers choose.
            let worker = loop {
                let newest = (0..self.slots.len())
                    // Ordering: Acquire. Edge `sleep/slot`: pairs with the exchange in `finish`, so
                    // that a waker that finds no slot because the executor has ended also finds
                    // DONE. The exchange below confirms the choice.
                    .map(|worker| (ports.load(&self.slots[worker], Ordering::Acquire), worker))
                    .filter(|&(stamp, _)| stamp != AWAKE)
                    .max();
                let Some((stamp, worker)) = newest else {
                    if self.peek(ports).is_done() {
                        return;
                    }
                    continue;
                };
                // Ordering: AcqRel. Edge `sleep/slot`: pairs with the Acquire in `sleep` and in
                // `deregister`.
                if ports
                    .compare_exchange(&self.slots[worker], stamp, AWAKE, Ordering::AcqRel)
                    .is_ok()
                {
                    break worker;
                }
            };
            ports.unpark(worker);
        }
    }

    /// Step register: returns the stamp and the word before.
    fn register<M: Memory<Word = W>>(&self, mem: &M, me: usize, searching: bool) -> (usize, SleepWord) {
        // Ordering: Relaxed. Stamps order sleepers by age to choose a warm one; correctness does
        // not depend on them.
        let stamp = mem.fetch(&self.stamps, Fetch::Add(1), Ordering::Relaxed);
        // Ordering: Relaxed. Published by the read-modify-write below.
        mem.store(&self.slots[me], stamp, Ordering::Relaxed);
        let change = if searching {
            SLEEPER.wrapping_sub(SEARCHER)
        } else {
            SLEEPER
        };
        // Ordering: AcqRel. Edge `sleep/ticket`: publishes the slot to the waker that takes a
        // ticket, and reads DONE.
        let before = mem.fetch(&self.word, Fetch::Add(change), Ordering::AcqRel);
        debug_assert!(
            !searching || SleepWord(before).searchers() > 0,
            "a worker left a search it was not in"
        );
        (stamp, SleepWord(before))
    }

    /// Step deregister: returns whether a waker was first.
    fn deregister<P: Memory<Word = W> + Parking>(&self, ports: &P, me: usize, stamp: usize) -> bool {
        loop {
            // Ordering: Relaxed. A guess that the exchange below confirms.
            let word = ports.load(&self.word, Ordering::Relaxed);
            if SleepWord(word).sleepers() > 0 {
                // Ordering: Relaxed. The ticket is this worker's own or goes back; no slot is read
                // because of it.
                if ports
                    .compare_exchange(&self.word, word, word - SLEEPER, Ordering::Relaxed)
                    .is_err()
                {
                    continue;
                }
                // Ordering: AcqRel. Edge `sleep/slot`: pairs with the exchange in `choose`, if a
                // waker was first.
                if ports
                    .compare_exchange(&self.slots[me], stamp, AWAKE, Ordering::AcqRel)
                    .is_ok()
                {
                    return false;
                }
                // Ordering: AcqRel. Edge `sleep/ticket`: the ticket was another sleeper's, and goes
                // back.
                ports.fetch(&self.word, Fetch::Add(SLEEPER), Ordering::AcqRel);
                return true;
            }
            // Ordering: Acquire. Edge `sleep/slot`: pairs with the exchange in `choose`.
            if ports.load(&self.slots[me], Ordering::Acquire) == AWAKE {
                return true;
            }
            // Other parties hold all tickets.
            ports.yield_now();
        }
    }
}

/// How a worker that found work had searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// Only its own queues and the injector.
    No,
    /// As a searcher.
    Yes,
    /// In its last look; the worker has deregistered itself.
    LastLook,
}

impl SleepWord {
    /// The word with this value.
    #[must_use]
    pub fn of(value: usize) -> Self {
        Self(value)
    }

    pub(crate) const ALL_BUSY: Self = Self(0);

    pub(crate) const NEVER: Self = Self(usize::MAX);

    /// Number of workers that search.
    #[must_use]
    #[inline]
    pub fn searchers(self) -> usize {
        (self.0 >> SEARCHER_SHIFT) & FIELD_MAX
    }

    /// Number of registered workers that no waker has chosen.
    #[must_use]
    #[inline]
    pub fn sleepers(self) -> usize {
        (self.0 >> SLEEPER_SHIFT) & FIELD_MAX
    }

    /// Whether a worker searches or sleeps.
    #[must_use]
    #[inline]
    pub fn has_idle_workers(self) -> bool {
        self.searchers() + self.sleepers() > 0
    }

    /// Whether the executor has ended.
    #[must_use]
    #[inline]
    pub fn is_done(self) -> bool {
        self.0 & DONE != 0
    }

    /// Whether workers return tasks instead of running them.
    #[must_use]
    #[inline]
    pub fn is_aborting(self) -> bool {
        self.0 & ABORT != 0
    }
}

impl std::fmt::Debug for SleepWord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SleepWord")
            .field("searchers", &self.searchers())
            .field("sleepers", &self.sleepers())
            .field("aborting", &self.is_aborting())
            .field("done", &self.is_done())
            .finish()
    }
}

#[cfg(test)]
mod tests;
