//! Cache lines: the core that touched each last, so that [costs](crate::Costs) include fetching it.
//!
//! The model has no capacity. A core keeps a line it has read until another core writes it, and
//! writes its own line for nothing while no other core has read it.
//!
//! ```text
//!             read, by others                       write, by others
//!   owned ──────────────────────► shared by all readers ───────────► owned by the writer
//! ```
//!
//! Neighbouring words share a line. Writers of one line queue up for it.

use std::collections::HashMap;

use crate::trace::{Object, Op};
use crate::word::WordName;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    Read,
    Write,
}

/// Sleeper slots per line, of eight bytes each.
const SLOTS_A_LINE: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Name {
    Word(WordName),
    /// The producers' end; consumers do not disturb it.
    InjectorTail,
    InjectorHead,
    Queue(u32),
    Collection(u32),
}

#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// Lines that nearly every operation touches, by index; the rest are looked up.
    near: [Line; NEAR],
    queues: Vec<Line>,
    others: HashMap<Name, Line>,
    actors: u64,
}

const NEAR: usize = 4;

#[derive(Debug, Default)]
struct Line {
    /// Changes with each write that takes the line from other cores.
    version: u32,
    held: Held,
    /// The version in each actor's cache, plus one; 0 for none.
    seen: Vec<u32>,
    /// When its way to the last writer ends.
    free_at_ps: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Held {
    /// No core: the first fetch from memory costs nothing.
    #[default]
    Nowhere,
    By(u32),
    BySeveral,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fetched {
    pub(crate) comes: Option<Touch>,
    pub(crate) wait_ps: u64,
}

impl Lines {
    /// Moving a line to a writer takes `line_ps`.
    pub(crate) fn touch(
        &mut self,
        actor: usize,
        op: Op,
        object: Object,
        now_ps: u64,
        line_ps: u64,
    ) -> Fetched {
        let Some((name, touch)) = touched(actor, op, object) else {
            return Fetched::default();
        };
        let longest_ps = self.actors * line_ps;
        let line = self.line(name);
        if !line.comes(actor, touch) {
            return Fetched::default();
        }
        let mut wait_ps = 0;
        if touch == Touch::Write {
            // Bounded, as strategies that ignore time let other actors' clocks run far ahead.
            wait_ps = line.free_at_ps.saturating_sub(now_ps).min(longest_ps);
            line.free_at_ps = line.free_at_ps.max(now_ps + wait_ps + line_ps);
        }
        Fetched {
            comes: Some(touch),
            wait_ps,
        }
    }

    pub(crate) fn add_actor(&mut self) {
        self.actors += 1;
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
    #[inline]
    fn comes(&mut self, actor: usize, touch: Touch) -> bool {
        let before = self.held;
        if before == Held::By(actor as u32) {
            return false;
        }
        match touch {
            Touch::Read => {
                if self.seen.get(actor) == Some(&(self.version + 1)) {
                    return false;
                }
                self.held = match before {
                    Held::Nowhere => Held::By(actor as u32),
                    Held::By(_) | Held::BySeveral => Held::BySeveral,
                };
            }
            Touch::Write => {
                self.version += 1;
                self.held = Held::By(actor as u32);
            }
        }
        self.keep(actor);
        before != Held::Nowhere
    }

    fn keep(&mut self, actor: usize) {
        if self.seen.len() <= actor {
            self.seen.resize(actor + 1, 0);
        }
        self.seen[actor] = self.version + 1;
    }
}

#[inline]
fn touched(actor: usize, op: Op, object: Object) -> Option<(Name, Touch)> {
    let name = match (op, object) {
        (Op::Push | Op::Pop | Op::PopEmpty | Op::BringHome, _) => Name::Queue(actor as u32),
        (Op::Inject, _) => Name::InjectorTail,
        (Op::TakeInjected, _) => Name::InjectorHead,
        // A look sees the tail, where tasks are pushed.
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

    fn lines(actors: usize) -> Lines {
        let mut lines = Lines::default();
        (0..actors).for_each(|_| lines.add_actor());
        lines
    }

    fn comes(lines: &mut Lines, actor: usize, op: Op, object: Object) -> Option<Touch> {
        lines.touch(actor, op, object, 0, 0).comes
    }

    #[test]
    fn what_one_actor_alone_touches_is_there() {
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
        let mut wait = |actor, now_ps| lines.touch(actor, Op::Fetch, STATE, now_ps, 10).wait_ps;
        assert_eq!([wait(0, 0), wait(1, 0), wait(2, 0), wait(0, 5)], [0, 0, 10, 15]);
        assert_eq!(wait(1, 1_000), 0);
        assert_eq!(wait(2, 0), 30, "the other is far ahead");
    }
}
