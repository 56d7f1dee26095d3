//! Which statement each worker ran in the last seconds, while a page looks.
//!
//! ```text
//!   worker 0  ▏ 7 ▏ 7 ▏ 12 ▏ 7 ▏      a ring for each worker, behind a lock of its own;
//!   worker 1  ▏ 12 ▏ 12 ▏   ▏ 7 ▏     turns of one statement in a row are one
//! ```
//!
//! Nothing is noted if no page has asked for three seconds: a poll then costs two loads.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pipeline_exec::lock;
use windlass_datafusion::pools::TurnObserver;

/// Time after a look in which turns are noted.
const WATCHED_FOR: Duration = Duration::from_secs(3);

/// Number of turns that a worker's ring has.
const KEPT: usize = 8_192;

/// Number of turns of all workers that one look gives.
const GIVEN: usize = 16_384;

/// Microseconds between two turns of one statement that are drawn as one.
const JOINED_US: u64 = 100;

/// The turns of all workers. The last ring is that of threads which stand in for workers.
pub(crate) struct Turns {
    epoch: Instant,
    /// Microseconds since the epoch up to which turns are noted; 0 if no page looks.
    watched_until_us: AtomicU64,
    lanes: Box<[Mutex<Lane>]>,
}

#[derive(Debug, Default)]
struct Lane {
    over: VecDeque<Turn>,
    /// Polls that go on; more than one in the lane of threads that stand in.
    begun: Vec<Begun>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Begun {
    worker: usize,
    statement: u64,
    from_us: u64,
}

/// A time in which a worker ran one statement, in microseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) statement: u64,
    pub(crate) from_us: u64,
    pub(crate) to_us: u64,
}

/// What one look gives: turns with the number of their lane, by lane and time.
#[derive(Debug)]
pub(crate) struct Look {
    pub(crate) now_us: u64,
    pub(crate) turns: Vec<(usize, Turn)>,
}

/// Notes the turns of one statement.
struct OfStatement {
    turns: Arc<Turns>,
    statement: u64,
}

impl Turns {
    pub(crate) fn new(workers: usize) -> Arc<Self> {
        Arc::new(Self {
            epoch: Instant::now(),
            watched_until_us: AtomicU64::new(0),
            lanes: (0..=workers).map(|_| Mutex::default()).collect(),
        })
    }

    /// Number of workers; one lane more is that of other threads.
    pub(crate) fn workers(&self) -> usize {
        self.lanes.len() - 1
    }

    pub(crate) fn of(self: &Arc<Self>, statement: u64) -> Arc<dyn TurnObserver> {
        Arc::new(OfStatement {
            turns: Arc::clone(self),
            statement,
        })
    }

    /// Gives the turns that go on or ended after `since_us`, and has turns noted for some seconds
    /// more. A turn that goes on is given again, with the same beginning.
    pub(crate) fn look(&self, since_us: u64) -> Look {
        self.look_at(self.us(Instant::now()), since_us)
    }

    fn look_at(&self, now_us: u64, since_us: u64) -> Look {
        let until = now_us + WATCHED_FOR.as_micros() as u64;
        // Ordering: Relaxed. The rings have locks; a poll that reads the value before notes
        // nothing.
        if self.watched_until_us.swap(until, Ordering::Relaxed) < now_us {
            // What is there was noted for an earlier page.
            self.lanes.iter().for_each(|lane| lock(lane).clear());
        }
        let each = GIVEN / self.lanes.len();
        let mut turns = Vec::new();
        for (number, lane) in self.lanes.iter().enumerate() {
            let lane = lock(lane);
            let first = lane.over.partition_point(|turn| turn.to_us <= since_us);
            let first = first.max(lane.over.len().saturating_sub(each));
            let over = lane.over.range(first..).copied();
            let go_on = lane.begun.iter().map(|begun| lane.so_far(begun, now_us));
            // Polls begin and end after the clock was read; the next look gives the rest of them.
            let until_now = over.chain(go_on).filter(|turn| turn.from_us <= now_us);
            turns.extend(until_now.map(|turn| {
                let to_us = turn.to_us.min(now_us);
                (number, Turn { to_us, ..turn })
            }));
        }
        Look { now_us, turns }
    }

    /// Whether a page looks, at a time.
    fn is_watched(&self, us: u64) -> bool {
        // Ordering: Relaxed. As in `look_at`.
        let until = self.watched_until_us.load(Ordering::Relaxed);
        if us > until && until > 0 {
            // Ordering: Relaxed. As in `look_at`, which may have prolonged the time meanwhile.
            let _ = self
                .watched_until_us
                .compare_exchange(until, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
        us <= until
    }

    fn begin(&self, begun: Begun) {
        if self.is_watched(begun.from_us) {
            lock(self.lane(begun.worker)).begun.push(begun);
        }
    }

    fn end(&self, begun: Begun, to_us: u64) {
        if self.is_watched(to_us) {
            lock(self.lane(begun.worker)).end(begun, to_us);
        }
    }

    fn lane(&self, worker: usize) -> &Mutex<Lane> {
        &self.lanes[worker.min(self.workers())]
    }

    fn us(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.epoch).as_micros() as u64
    }
}

impl Lane {
    fn clear(&mut self) {
        self.over.clear();
        self.begun.clear();
    }

    fn end(&mut self, begun: Begun, to_us: u64) {
        self.begun.retain(|other| *other != begun);
        let turn = self.so_far(&begun, to_us);
        match self.over.back_mut() {
            Some(last) if last.is_begin_of(&turn) => last.to_us = last.to_us.max(to_us),
            _ => {
                if self.over.len() >= KEPT {
                    self.over.pop_front();
                }
                self.over.push_back(turn);
            }
        }
    }

    /// The turn of a poll up to a time, with the one before if they are drawn as one.
    fn so_far(&self, begun: &Begun, to_us: u64) -> Turn {
        let Begun {
            statement, from_us, ..
        } = *begun;
        let before = self
            .over
            .back()
            .filter(|last| last.statement == statement && from_us.saturating_sub(last.to_us) <= JOINED_US);
        Turn {
            statement,
            from_us: before.map_or(from_us, |before| before.from_us),
            to_us,
        }
    }
}

impl Turn {
    fn is_begin_of(&self, other: &Self) -> bool {
        (self.statement, self.from_us) == (other.statement, other.from_us)
    }
}

impl OfStatement {
    fn begun(&self, worker: usize, at: Instant) -> Begun {
        Begun {
            worker,
            statement: self.statement,
            from_us: self.turns.us(at),
        }
    }
}

impl TurnObserver for OfStatement {
    fn polls(&self, worker: usize, began: Instant) {
        // Ordering: Relaxed. As in `look_at`; no arithmetic while no page looks.
        if self.turns.watched_until_us.load(Ordering::Relaxed) > 0 {
            self.turns.begin(self.begun(worker, began));
        }
    }

    fn polled(&self, worker: usize, began: Instant, ended: Instant) {
        // Ordering: Relaxed. As in `polls`.
        if self.turns.watched_until_us.load(Ordering::Relaxed) > 0 {
            self.turns.end(self.begun(worker, began), self.turns.us(ended));
        }
    }
}

impl fmt::Debug for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turns")
            .field("workers", &self.workers())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(worker: usize, statement: u64, from_us: u64) -> Begun {
        Begun {
            worker,
            statement,
            from_us,
        }
    }

    fn note(turns: &Turns, worker: usize, statement: u64, us: std::ops::Range<u64>) {
        turns.begin(begun(worker, statement, us.start));
        turns.end(begun(worker, statement, us.start), us.end);
    }

    #[test]
    fn a_look_gives_turns_up_to_its_time_and_the_next_look_the_rest() {
        let turns = Turns::new(1);
        turns.look_at(10, 0);
        note(&turns, 0, 1, 10..30);
        note(&turns, 0, 2, 40..50);
        turns.begin(begun(0, 3, 60));
        let given = |now_us, since_us| {
            let look = turns.look_at(now_us, since_us).turns.into_iter();
            let parts = look.map(|(_, turn)| (turn.statement, turn.from_us, turn.to_us));
            parts.collect::<Vec<_>>()
        };
        assert_eq!(given(20, 0), [(1, 10, 20)]);
        assert_eq!(given(45, 20), [(1, 10, 30), (2, 40, 45)]);
        assert_eq!(given(70, 45), [(2, 40, 50), (3, 60, 70)]);
    }

    #[test]
    fn nothing_is_noted_before_a_page_looks_and_some_seconds_after() {
        let turns = Turns::new(2);
        note(&turns, 0, 1, 0..10);
        assert_eq!(turns.look_at(10, 0).turns, []);
        note(&turns, 0, 1, 0..10);
        assert_eq!(turns.look_at(10, 0).turns.len(), 1);
        let late = 2 * WATCHED_FOR.as_micros() as u64;
        note(&turns, 0, 1, late..late + 10);
        note(&turns, 0, 2, 20..30);
        assert_eq!(turns.look_at(10, 0).turns, [], "the page had gone");
    }

    #[test]
    fn a_row_of_turns_is_one_and_is_given_again_when_it_has_grown() {
        let turns = Turns::new(2);
        turns.look_at(10, 0);
        note(&turns, 1, 7, 1_000..1_400);
        let first = turns.look_at(1_400, 0).turns;
        note(&turns, 1, 7, 1_450..1_900);
        note(&turns, 1, 8, 1_910..2_000);
        note(&turns, 1, 7, 2_010..2_400);
        note(&turns, 9, 7, 2_010..2_400);
        let turn = |statement, from_us, to_us| Turn {
            statement,
            from_us,
            to_us,
        };
        assert_eq!(first, [(1, turn(7, 1_000, 1_400))]);
        let then = [
            (1, turn(7, 1_000, 1_900)),
            (1, turn(8, 1_910, 2_000)),
            (1, turn(7, 2_010, 2_400)),
            (2, turn(7, 2_010, 2_400)),
        ];
        assert_eq!(turns.look_at(2_400, 1_400).turns, then);
        assert_eq!(turns.look_at(2_400, 2_000).turns, then[2..]);
    }

    #[test]
    fn a_turn_that_goes_on_is_given_up_to_now_and_then_with_its_end() {
        let turns = Turns::new(1);
        turns.look_at(10, 0);
        turns.begin(begun(0, 7, 1_000));
        turns.begin(begun(4, 7, 1_000));
        turns.begin(begun(5, 8, 1_500));
        let given = |now_us, since_us| {
            let look = turns.look_at(now_us, since_us).turns.into_iter();
            let parts = look.map(|(lane, turn)| (lane, turn.statement, turn.from_us, turn.to_us));
            parts.collect::<Vec<_>>()
        };
        assert_eq!(
            given(2_000, 0),
            [(0, 7, 1_000, 2_000), (1, 7, 1_000, 2_000), (1, 8, 1_500, 2_000)]
        );
        turns.end(begun(0, 7, 1_000), 2_500);
        turns.end(begun(4, 7, 1_000), 2_500);
        turns.begin(begun(0, 7, 2_550));
        assert_eq!(
            given(3_000, 2_500),
            [(0, 7, 1_000, 3_000), (1, 8, 1_500, 3_000)],
            "one in a row with its forerunner has the same beginning"
        );
    }

    #[test]
    fn a_ring_and_a_look_are_bounded() {
        let turns = Turns::new(7);
        turns.look_at(10, 0);
        for number in 0..2 * KEPT as u64 {
            for worker in 0..8 {
                note(&turns, worker, number, number * 10..number * 10 + 5);
            }
        }
        assert_eq!(lock(&turns.lanes[3]).over.len(), KEPT);
        let look = turns.look_at(20 * KEPT as u64, 0);
        assert_eq!(look.turns.len(), GIVEN);
        let last = look.turns.last().map(|(_, turn)| turn.statement);
        assert_eq!(last, Some(2 * KEPT as u64 - 1), "the newest are given");
    }
}
