//! Cache lines: who has touched them last, so that the [costs](crate::Costs) know which operations have to fetch one.
//!
//! What caches do, without their size: a core that has read a line keeps it until another one writes it, and a core that has written
//! it and whose line nobody has read since can write it again for nothing.
//!
//! ```text
//!             read, by others                       write, by others
//!   mine ───────────────────────► everybody's who has read it ─────► the writer's
//! ```
//!
//! Words that lie side by side in memory share a line. A line that is wanted by several writers goes from one to the next, so
//! the last of them waits for all the others.

use std::collections::HashMap;

use crate::trace::{Object, Op};
use crate::word::WordName;

/// How a line is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    Read,
    Write,
}

/// Slots of sleepers that lie in one line: they are words of eight bytes in a row.
const SLOTS_A_LINE: u32 = 8;

/// What is in a line by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Name {
    Word(WordName),
    /// Where producers push and where consumers take: they do not disturb each other.
    InjectorTail,
    InjectorHead,
    /// Both ends of a worker's queue, which lie in one line.
    Queue(u32),
    Collection(u32),
}

/// All lines of a run.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// Lines that nearly every operation touches, by their place; the others are looked up.
    near: [Line; NEAR],
    queues: Vec<Line>,
    others: HashMap<Name, Line>,
    parties: u64,
}

const NEAR: usize = 4;

#[derive(Debug, Default)]
struct Line {
    /// Becomes another one with each write that takes it from others.
    version: u32,
    held: Held,
    /// The version that each party has in its cache, plus one; 0 for none.
    seen: Vec<u32>,
    /// Until when it is on its way to a writer.
    free_at_ps: u64,
}

/// In whose cache a line is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Held {
    /// In none. Then it comes from memory, once, and that is not counted.
    #[default]
    ByNobody,
    /// In this party's alone, which may write it.
    By(u32),
    /// In those of all who have seen its version.
    BySeveral,
}

/// What a touch comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fetched {
    /// How the line comes, if it does.
    pub(crate) comes: Option<Touch>,
    /// How long it is wanted by others before.
    pub(crate) wait_ps: u64,
}

impl Lines {
    /// `party`, one of so many, does `op` on `object` at its time `now_ps`; a line on its way to a writer takes `line_ps`.
    pub(crate) fn touch(
        &mut self,
        party: usize,
        op: Op,
        object: Object,
        now_ps: u64,
        line_ps: u64,
    ) -> Fetched {
        let Some((name, touch)) = touched(party, op, object) else {
            return Fetched::default();
        };
        let longest_ps = self.parties * line_ps;
        let line = self.line(name);
        if !line.comes(party, touch) {
            return Fetched::default();
        }
        let mut wait_ps = 0;
        if touch == Touch::Write {
            // Under a strategy that does not go by time others may be far ahead: then there is no telling.
            wait_ps = line.free_at_ps.saturating_sub(now_ps).min(longest_ps);
            line.free_at_ps = line.free_at_ps.max(now_ps + wait_ps + line_ps);
        }
        Fetched {
            comes: Some(touch),
            wait_ps,
        }
    }

    /// One more party.
    pub(crate) fn add_party(&mut self) {
        self.parties += 1;
    }

    fn line(&mut self, name: Name) -> &mut Line {
        match name {
            Name::Word(WordName::Sleep) => &mut self.near[0],
            Name::Word(WordName::State) => &mut self.near[1],
            Name::InjectorTail => &mut self.near[2],
            Name::InjectorHead => &mut self.near[3],
            Name::Queue(worker) => {
                let worker = worker as usize;
                if self.queues.len() <= worker {
                    self.queues.resize_with(worker + 1, Line::default);
                }
                &mut self.queues[worker]
            }
            Name::Word(_) | Name::Collection(_) => self.others.entry(name).or_default(),
        }
    }
}

impl Line {
    /// Whether `party` has to fetch it; from then on it has it.
    #[inline]
    fn comes(&mut self, party: usize, touch: Touch) -> bool {
        let before = self.held;
        if before == Held::By(party as u32) {
            return false;
        }
        match touch {
            Touch::Read => {
                if self.seen.get(party) == Some(&(self.version + 1)) {
                    return false;
                }
                self.held = match before {
                    Held::ByNobody => Held::By(party as u32),
                    Held::By(_) | Held::BySeveral => Held::BySeveral,
                };
            }
            Touch::Write => {
                self.version += 1;
                self.held = Held::By(party as u32);
            }
        }
        self.keep(party);
        before != Held::ByNobody
    }

    fn keep(&mut self, party: usize) {
        if self.seen.len() <= party {
            self.seen.resize(party + 1, 0);
        }
        self.seen[party] = self.version + 1;
    }
}

/// Which line an operation touches, and how.
#[inline]
fn touched(party: usize, op: Op, object: Object) -> Option<(Name, Touch)> {
    let name = match (op, object) {
        (Op::Push | Op::Pop | Op::PopEmpty | Op::BringHome, _) => Name::Queue(party as u32),
        (Op::Inject, _) => Name::InjectorTail,
        (Op::TakeInjected, _) => Name::InjectorHead,
        // What is there is seen from where it was pushed.
        (_, Object::Injector) => Name::InjectorTail,
        (Op::TakeFrom | Op::TakeEmpty | Op::Retry | Op::Peek, Object::Worker(victim)) => Name::Queue(victim),
        (_, Object::Word(WordName::Slot(worker))) => Name::Word(WordName::Slot(worker / SLOTS_A_LINE)),
        (_, Object::Word(name)) => Name::Word(name),
        (_, Object::Collection(n)) => Name::Collection(n),
        _ => return None,
    };
    let touch = match op {
        Op::Load | Op::TakeEmpty | Op::Peek | Op::SetLast | Op::TableGet | Op::TableUsed | Op::FifoLen => {
            Touch::Read
        }
        _ => Touch::Write,
    };
    Some((name, touch))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATE: Object = Object::Word(WordName::State);

    fn lines(parties: usize) -> Lines {
        let mut lines = Lines::default();
        (0..parties).for_each(|_| lines.add_party());
        lines
    }

    fn comes(lines: &mut Lines, party: usize, op: Op, object: Object) -> Option<Touch> {
        lines.touch(party, op, object, 0, 0).comes
    }

    #[test]
    fn what_one_party_alone_touches_is_there() {
        let mut lines = lines(1);
        for op in [Op::Load, Op::Fetch, Op::Load, Op::Exchange, Op::Store] {
            assert_eq!(comes(&mut lines, 0, op, STATE), None, "{op:?}");
        }
    }

    #[test]
    fn who_reads_keeps_a_line_until_another_writes_it() {
        let mut lines = lines(2);
        assert_eq!(comes(&mut lines, 0, Op::Fetch, STATE), None);
        assert_eq!(comes(&mut lines, 1, Op::Load, STATE), Some(Touch::Read));
        assert_eq!(comes(&mut lines, 1, Op::Load, STATE), None);
        assert_eq!(
            comes(&mut lines, 0, Op::Fetch, STATE),
            Some(Touch::Write),
            "the other's copy goes"
        );
        assert_eq!(comes(&mut lines, 0, Op::Fetch, STATE), None);
        assert_eq!(comes(&mut lines, 1, Op::Load, STATE), Some(Touch::Read));
        assert_eq!(comes(&mut lines, 1, Op::Fetch, STATE), Some(Touch::Write));
        assert_eq!(comes(&mut lines, 0, Op::Load, STATE), Some(Touch::Read));
    }

    #[test]
    fn words_in_different_lines_do_not_disturb_each_other_and_neighbours_do() {
        let slot = |worker| Object::Word(WordName::Slot(worker));
        let mut lines = lines(2);
        assert_eq!(comes(&mut lines, 0, Op::Store, slot(0)), None);
        assert_eq!(comes(&mut lines, 1, Op::Store, slot(8)), None);
        assert_eq!(comes(&mut lines, 1, Op::Store, slot(7)), Some(Touch::Write));
    }

    #[test]
    fn a_thief_takes_the_line_from_the_owner() {
        let mut lines = lines(2);
        assert_eq!(comes(&mut lines, 0, Op::Push, Object::Task(1)), None);
        assert_eq!(
            comes(&mut lines, 1, Op::TakeFrom, Object::Worker(0)),
            Some(Touch::Write)
        );
        assert_eq!(comes(&mut lines, 1, Op::TakeFrom, Object::Worker(0)), None);
        assert_eq!(comes(&mut lines, 0, Op::Pop, Object::Task(2)), Some(Touch::Write));
        assert_eq!(
            comes(&mut lines, 1, Op::Peek, Object::Worker(0)),
            Some(Touch::Read)
        );
    }

    #[test]
    fn writers_of_one_line_wait_for_each_other_but_not_for_ever() {
        let mut lines = lines(3);
        let mut wait = |party, now_ps| lines.touch(party, Op::Fetch, STATE, now_ps, 10).wait_ps;
        assert_eq!([wait(0, 0), wait(1, 0), wait(2, 0), wait(0, 5)], [0, 0, 10, 15]);
        assert_eq!(wait(1, 1_000), 0);
        assert_eq!(wait(2, 0), 30, "the other is far ahead");
    }
}
