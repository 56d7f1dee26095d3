//! Words and fences. Memory is sequentially consistent: a fence is only a step.

use std::sync::atomic::Ordering;

use executor_core::ports::{Fetch, Memory};
use executor_core::{ACCEPTING_BIT, in_flight, is_accepting};

use super::SimPorts;
use crate::coverage::CoveragePoint;
use crate::handle::Handle;
use crate::trace::{Object, Op};
use crate::word::{SimWord, WordName};
use crate::world::World;

impl Memory for Handle<'_> {
    type Word = SimWord;

    fn load(&self, word: &SimWord, _order: Ordering) -> usize {
        self.operate(|world, me| {
            let value = word.value.get();
            world.did(me, Op::Load, Object::Word(word.name), value as u64);
            if word.name == WordName::Sleep {
                world.read_sleep_word(me, value);
            }
            value
        })
    }

    fn store(&self, word: &SimWord, value: usize, _order: Ordering) {
        self.operate(|world, me| {
            let before = word.value.replace(value);
            world.did(me, Op::Store, Object::Word(word.name), value as u64);
            world.word_changed(me, word.name, before, value);
        });
    }

    fn fetch(&self, word: &SimWord, fetch: Fetch, _order: Ordering) -> usize {
        self.operate(|world, me| {
            let before = word.value.get();
            let after = fetch.apply(before);
            word.value.set(after);
            world.did(me, Op::Fetch, Object::Word(word.name), before as u64);
            note_state_change(world, me, word.name, before, after);
            world.word_changed(me, word.name, before, after);
            before
        })
    }

    fn compare_exchange(
        &self,
        word: &SimWord,
        current: usize,
        new: usize,
        _order: Ordering,
    ) -> Result<usize, usize> {
        self.operate(|world, me| {
            let before = word.value.get();
            if before == current {
                word.value.set(new);
                world.did(me, Op::Exchange, Object::Word(word.name), before as u64);
                world.word_changed(me, word.name, before, new);
                Ok(before)
            } else {
                world.did(me, Op::ExchangeFailed, Object::Word(word.name), before as u64);
                match word.name {
                    WordName::State => world.coverage.hit(CoveragePoint::StateWordContended),
                    WordName::Sleep => world.coverage.hit(CoveragePoint::SleepWordContended),
                    WordName::Slot(worker) if worker as usize == me => {
                        world.coverage.hit(CoveragePoint::OwnedWake)
                    }
                    WordName::Slot(_) => world.coverage.hit(CoveragePoint::SleeperContended),
                    _ => {}
                }
                Err(before)
            }
        })
    }

    fn fence(&self, _order: Ordering) {
        self.operate(|world, me| {
            world.did(me, Op::Fence, Object::None, 0);
            world.fenced(me);
        });
    }
}

fn note_state_change(world: &mut World, me: usize, name: WordName, before: usize, after: usize) {
    if name != WordName::State {
        return;
    }
    if after > before {
        if !is_accepting(before) {
            world.coverage.hit(CoveragePoint::BorrowedWhileClosed);
        }
        if world.is_beyond_max(in_flight(after)) {
            world.coverage.hit(CoveragePoint::BorrowedBeyondMax);
        }
    }
    if before & !after & ACCEPTING_BIT != 0 && in_flight(before) > 0 {
        world.closed_over_work(me);
    }
}

impl<T> Memory for SimPorts<'_, T> {
    type Word = SimWord;

    fn load(&self, word: &SimWord, order: Ordering) -> usize {
        self.handle.load(word, order)
    }

    fn store(&self, word: &SimWord, value: usize, order: Ordering) {
        self.handle.store(word, value, order);
    }

    fn fetch(&self, word: &SimWord, fetch: Fetch, order: Ordering) -> usize {
        self.handle.fetch(word, fetch, order)
    }

    fn compare_exchange(
        &self,
        word: &SimWord,
        current: usize,
        new: usize,
        order: Ordering,
    ) -> Result<usize, usize> {
        self.handle.compare_exchange(word, current, new, order)
    }

    fn fence(&self, order: Ordering) {
        self.handle.fence(order);
    }
}
