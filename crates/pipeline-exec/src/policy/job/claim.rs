#![doc = include_str!("claim/README.md")]

use std::ops::Range;
use std::sync::atomic::Ordering;

use executor_core::ports::{Fetch, Memory};

const SLOT_BITS: u32 = usize::BITS / 4 * 3;
const SLOT_MASK: usize = (1 << SLOT_BITS) - 1;
const RUN: usize = 1 << SLOT_BITS;
/// Bit of `next` in a closed job.
const CLOSED: usize = 1 << (usize::BITS - 1);
/// Bit of a row that has a run.
const THERE: usize = 1 << (usize::BITS - 1);

const SEALED: usize = usize::MAX;

pub const SLOTS_MAX: usize = SLOT_MASK;

pub const STAGES_MAX: usize = (THERE - 1) >> SLOT_BITS;

#[derive(Debug)]
pub struct Claims<W> {
    next: W,
    returned: W,
    open: W,
    /// Inline, because most small jobs have one stage.
    first: Row<W>,
    more: Box<[Row<W>]>,
}

#[derive(Debug)]
struct Row<W> {
    run: W,
    left: W,
    pending: W,
    /// Recent nanoseconds per slot; 0: unknown.
    slot_ns: W,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub stage: usize,
    /// Empty if the stage has no slots.
    pub slots: Range<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The caller accounts for each of these slots once, after it ran or was abandoned.
    Slots {
        piece: Piece,
        /// Whether the started stages have no other free slot. Then the caller reconciles the job
        /// before it runs these.
        last: bool,
    },
    /// The caller takes a returned piece from the ledger and reconciles the job.
    Returned,
    /// The started stages have no free slot.
    Exhausted,
    Closed,
}

/// The slots that the closer abandons and accounts for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "what is not accounted for keeps the job from ending"]
pub struct Unclaimed {
    pub stages: Vec<(usize, usize)>,
    /// Whether no slot was ever claimed.
    pub untouched: bool,
}

impl<W> Claims<W> {
    /// `before` counts the stages before each stage.
    ///
    /// # Panics
    ///
    /// If there is no stage, or more than [`STAGES_MAX`].
    pub fn new(before: impl ExactSizeIterator<Item = usize>, mut word: impl FnMut(usize) -> W) -> Self {
        assert!(
            (1..=STAGES_MAX).contains(&before.len()),
            "a job has 1 to {STAGES_MAX} stages, not {}",
            before.len()
        );
        let (next, returned, open) = (word(0), word(0), word(0));
        let mut rows = before.map(|before| Row {
            run: word(0),
            left: word(0),
            pending: word(before),
            slot_ns: word(0),
        });
        Self {
            next,
            returned,
            open,
            first: rows.next().expect("there is a stage"),
            more: rows.collect(),
        }
    }

    /// Starts a first stage, as run number `run`, before the job is shared.
    pub fn begin<M: Memory<Word = W>>(&self, mem: &M, run: usize, stage: usize, slots: usize) {
        // Ordering: Relaxed, all. The job is not shared yet; the table and the board publish it.
        mem.store(&self.at(stage).left, slots, Ordering::Relaxed);
        mem.store(&self.at(run).run, Run::word(stage, slots), Ordering::Relaxed);
        mem.store(&self.open, run + 1, Ordering::Relaxed);
    }

    /// Claims `wanted(stage, left)` slots, from one to `left`, of one stage. Returned pieces go
    /// first.
    pub fn claim<M: Memory<Word = W>>(&self, mem: &M, wanted: impl Fn(usize, usize) -> usize) -> Claim {
        loop {
            // Ordering: Relaxed. The exchange decides, and a run is acquired with its row. A worker
            // that reads a run's number but not yet its row finds nothing; the starter reconciles
            // the job.
            let word = mem.load(&self.next, Ordering::Relaxed);
            let at = ClaimWord(word);
            if at.is_closed() {
                return Claim::Closed;
            }
            if self.take_returned(mem) {
                return Claim::Returned;
            }
            let Some((number, run, slot)) = self.claimable(mem, at) else {
                return Claim::Exhausted;
            };
            let left = run.units() - slot;
            let taken = wanted(run.stage(), left).clamp(1, left);
            let taken_to = ClaimWord::at(number, slot + taken);
            // An observer of the last claim knows that claims have ended, because the read precedes
            // the exchange. The starter of a later run reconciles the job.
            let last = taken == left && self.run(mem, number + 1).is_none();
            // Ordering: Relaxed. One word decides, and a claim says nothing about completion.
            if mem
                .compare_exchange(&self.next, word, taken_to, Ordering::Relaxed)
                .is_ok()
            {
                let end = (slot + taken).min(run.slots());
                return Claim::Slots {
                    piece: Piece {
                        stage: run.stage(),
                        slots: slot.min(end)..end,
                    },
                    last,
                };
            }
        }
    }

    /// Returns whether the caller is the last finisher of `stage`.
    pub fn account<M: Memory<Word = W>>(&self, mem: &M, stage: usize, slots: usize) -> bool {
        // Ordering: Release. Edge `slot/done`: pairs with the Acquire fence below, taken by the
        // last finisher. What these slots wrote comes before.
        let left = mem.fetch(&self.at(stage).left, Fetch::Sub(slots), Ordering::Release);
        debug_assert!(slots <= left, "more slots are done than there are");
        let last = left == slots;
        if last {
            // Ordering: Acquire fence. Edge `slot/done`: pairs with the Release subtractions of all
            // other slots.
            mem.fence(Ordering::Acquire);
        }
        last
    }

    /// A stage before `stage` is finished. Returns whether the caller starts `stage`.
    pub fn arrive<M: Memory<Word = W>>(&self, mem: &M, stage: usize) -> bool {
        // Ordering: Release. Edge `stage/pending`: pairs with the Acquire fence below. What this
        // stage's slots and its `finish` wrote comes before.
        let pending = mem.fetch(&self.at(stage).pending, Fetch::Sub(1), Ordering::Release);
        if pending != 1 {
            return false;
        }
        // Ordering: Acquire fence. Edge `stage/pending`: pairs with the Release subtractions of all
        // other stages before this one.
        mem.fence(Ordering::Acquire);
        true
    }

    /// Returns `false` if the job is closed.
    #[must_use]
    pub fn start<M: Memory<Word = W>>(&self, mem: &M, stage: usize, slots: usize) -> bool {
        // Ordering: Relaxed. The caller's own stage is still counted, so the count does not reach
        // 0.
        mem.fetch(&self.open, Fetch::Add(1), Ordering::Relaxed);
        // Ordering: Relaxed. Published by the exchange.
        mem.store(&self.at(stage).left, slots, Ordering::Relaxed);
        // Ordering: Relaxed. It only says where the search begins: every run before has started.
        let mut number = ClaimWord(mem.load(&self.next, Ordering::Relaxed)).run();
        while let Some(row) = self.row(number) {
            // Ordering: Release. Edge `claim/stage`: pairs with the Acquire in `run`.
            match mem.compare_exchange(&row.run, 0, Run::word(stage, slots), Ordering::Release) {
                Ok(_) => return true,
                Err(SEALED) => break,
                Err(_) => number += 1,
            }
        }
        // Ordering: Relaxed. As the addition.
        mem.fetch(&self.open, Fetch::Sub(1), Ordering::Relaxed);
        false
    }

    /// Step through. Returns whether the caller ends the job.
    pub fn finished<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Release. Edge `job/open`: pairs with the Acquire fence below. What was written
        // in this stage comes before.
        if mem.fetch(&self.open, Fetch::Sub(1), Ordering::Release) != 1 {
            return false;
        }
        // Ordering: Acquire fence. Edge `job/open`: pairs with the Release subtractions of all
        // other stages.
        mem.fence(Ordering::Acquire);
        true
    }

    /// Makes `pieces` pieces of the ledger claimable.
    pub fn give_back<M: Memory<Word = W>>(&self, mem: &M, pieces: usize) {
        // Ordering: Release. Edge `claim/returned`: pairs with the Acquire in `take_returned`. The
        // piece is in the ledger, and what the giver knew of its stage goes with it.
        mem.fetch(&self.returned, Fetch::Add(pieces), Ordering::Release);
    }

    /// Returns the unclaimed slots, without returned pieces, to the one caller that closed the job.
    pub fn close<M: Memory<Word = W>>(&self, mem: &M) -> Option<Unclaimed> {
        // Ordering: Relaxed. The walk seals each row that looks empty; that exchange finds a run
        // that came first.
        let at = ClaimWord(mem.fetch(&self.next, Fetch::Or(CLOSED), Ordering::Relaxed));
        if at.is_closed() {
            return None;
        }
        let mut unclaimed = Unclaimed {
            stages: Vec::new(),
            untouched: at.0 == 0,
        };
        let mut slot = at.slot();
        for number in at.run()..self.stages() {
            if self.run(mem, number).is_none() {
                // Ordering: Relaxed. A seal publishes nothing; a run that is found instead is read
                // again.
                if mem
                    .compare_exchange(&self.at(number).run, 0, SEALED, Ordering::Relaxed)
                    .is_ok()
                {
                    break;
                }
            }
            let Some(run) = self.run(mem, number) else { break };
            if slot < run.units() {
                unclaimed.stages.push((run.stage(), run.slots() - slot));
            }
            slot = 0;
        }
        Some(unclaimed)
    }

    /// Accounts for abandoned slots. Returns what [`finished`](Claims::finished) does.
    pub fn give_up<M: Memory<Word = W>>(&self, mem: &M, stages: &[(usize, usize)]) -> bool {
        let over = |&(stage, slots): &(usize, usize)| self.account(mem, stage, slots) && self.finished(mem);
        // Every stage is accounted for, even after a `true`.
        stages.iter().filter(|left| over(left)).count() > 0
    }

    pub fn is_claimable<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Relaxed. As in `claim`.
        let at = ClaimWord(mem.load(&self.next, Ordering::Relaxed));
        !at.is_closed() && (self.claimable(mem, at).is_some() || self.pieces(mem) > 0)
    }

    pub fn is_closed<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Acquire. Edge `stop/close`: a worker that stops because a shutdown closed the
        // job goes into no other one.
        ClaimWord(mem.load(&self.next, Ordering::Acquire)).is_closed()
    }

    /// Of the next claim; else the last stage and its slots.
    pub fn next_free_slot<M: Memory<Word = W>>(&self, mem: &M) -> (usize, usize) {
        // Ordering: Relaxed. As in `claim`.
        let at = ClaimWord(mem.load(&self.next, Ordering::Relaxed));
        match self.claimable(mem, at) {
            Some((_, run, slot)) => (run.stage(), slot),
            None => (self.run(mem, at.run()).map_or(0, Run::stage), at.slot()),
        }
    }

    /// Without returned slots.
    pub fn unclaimed_slots<M: Memory<Word = W>>(&self, mem: &M) -> usize {
        // Ordering: Relaxed. As in `claim`.
        let at = ClaimWord(mem.load(&self.next, Ordering::Relaxed));
        let slots = self.runs(mem, at.run()).map(Run::units).sum::<usize>();
        slots.saturating_sub(at.slot())
    }

    pub fn started<'a, M: Memory<Word = W>>(
        &'a self,
        mem: &'a M,
    ) -> impl Iterator<Item = (usize, usize)> + 'a {
        self.runs(mem, 0).map(|run| (run.stage(), run.slots()))
    }

    pub fn progress<M: Memory<Word = W>>(&self, mem: &M) -> (usize, usize) {
        let each = self.runs(mem, 0).map(|run| {
            // Ordering: Acquire. Edge `slot/done`: pairs with the Release subtractions. A party
            // that reads that a slot is done sees what it wrote.
            let left = mem.load(&self.at(run.stage()).left, Ordering::Acquire);
            (run.slots() - left, run.slots())
        });
        each.fold((0, 0), |(done, total), (more, slots)| {
            (done + more, total + slots)
        })
    }

    pub fn left<M: Memory<Word = W>>(&self, mem: &M, stage: usize) -> usize {
        // Ordering: Relaxed. A statistic.
        mem.load(&self.at(stage).left, Ordering::Relaxed)
    }

    pub fn slot_ns<M: Memory<Word = W>>(&self, mem: &M, stage: usize) -> Option<u64> {
        // Ordering: Relaxed. An estimate, on which no result depends.
        match mem.load(&self.at(stage).slot_ns, Ordering::Relaxed) {
            0 => None,
            ns => Some(ns as u64),
        }
    }

    pub fn learn<M: Memory<Word = W>>(&self, mem: &M, stage: usize, slot_ns: u64) {
        let slot_ns = slot_ns.max(1);
        let known = match self.slot_ns(mem, stage) {
            None => slot_ns,
            Some(before) => before.midpoint(slot_ns).max(1),
        };
        let known = usize::try_from(known).unwrap_or(usize::MAX);
        // Ordering: Relaxed. An estimate; of two concurrent updates one may be lost.
        mem.store(&self.at(stage).slot_ns, known, Ordering::Relaxed);
    }

    /// An estimate for all slots of the started stages.
    pub fn worked_ns<M: Memory<Word = W>>(&self, mem: &M) -> u64 {
        let each = self.runs(mem, 0).map(|run| {
            let slot_ns = self.slot_ns(mem, run.stage()).unwrap_or(0);
            slot_ns.saturating_mul(run.units() as u64)
        });
        each.fold(0, u64::saturating_add)
    }

    fn take_returned<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        let mut pieces = self.pieces(mem);
        while pieces > 0 {
            // Ordering: Acquire. Edge `claim/returned`: pairs with the Release in `give_back`.
            match mem.compare_exchange(&self.returned, pieces, pieces - 1, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => pieces = now,
            }
        }
        false
    }

    fn pieces<M: Memory<Word = W>>(&self, mem: &M) -> usize {
        // Ordering: Relaxed. The exchange takes; the membership word orders a caller that only
        // asks.
        mem.load(&self.returned, Ordering::Relaxed)
    }

    fn claimable<M: Memory<Word = W>>(&self, mem: &M, at: ClaimWord) -> Option<(usize, Run, usize)> {
        let (number, slot) = (at.run(), at.slot());
        let run = self.run(mem, number)?;
        if slot < run.units() {
            return Some((number, run, slot));
        }
        let next = self.run(mem, number + 1)?;
        Some((number + 1, next, 0))
    }

    fn stages(&self) -> usize {
        1 + self.more.len()
    }

    fn at(&self, number: usize) -> &Row<W> {
        match number {
            0 => &self.first,
            _ => &self.more[number - 1],
        }
    }

    fn row(&self, number: usize) -> Option<&Row<W>> {
        (number < self.stages()).then(|| self.at(number))
    }

    fn run<M: Memory<Word = W>>(&self, mem: &M, number: usize) -> Option<Run> {
        let row = self.row(number)?;
        // Ordering: Acquire. Edge `claim/stage`: pairs with the Release in `start`. A party that
        // reads a run sees all that the stages before it wrote.
        match mem.load(&row.run, Ordering::Acquire) {
            0 | SEALED => None,
            run => Some(Run(run)),
        }
    }

    fn runs<'a, M: Memory<Word = W>>(&'a self, mem: &'a M, from: usize) -> impl Iterator<Item = Run> + 'a {
        (from..self.stages()).map_while(|number| self.run(mem, number))
    }
}

#[derive(Clone, Copy, Debug)]
struct Run(usize);

impl Run {
    fn word(stage: usize, slots: usize) -> usize {
        THERE | (stage * RUN + slots)
    }

    fn stage(self) -> usize {
        (self.0 & !THERE) >> SLOT_BITS
    }

    fn slots(self) -> usize {
        self.0 & SLOT_MASK
    }

    /// A stage without slots is one unit, because it finishes too.
    fn units(self) -> usize {
        self.slots().max(1)
    }
}

#[derive(Clone, Copy, Debug)]
struct ClaimWord(usize);

impl ClaimWord {
    fn at(run: usize, slot: usize) -> usize {
        run * RUN + slot
    }

    fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    fn run(self) -> usize {
        (self.0 & !CLOSED) >> SLOT_BITS
    }

    fn slot(self) -> usize {
        self.0 & SLOT_MASK
    }
}
