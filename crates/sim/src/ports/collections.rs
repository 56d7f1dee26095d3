//! Ordered sets, tables and the clock, for policies above the executor.

use std::cell::RefCell;
use std::collections::BTreeSet;

use executor_core::ports::{Clock, OrderedSet, Table};

use crate::handle::Handle;
use crate::trace::{Object, Op};

/// An ordered set that simulated parties share.
#[derive(Debug)]
pub struct SimSet<K> {
    number: u32,
    keys: RefCell<BTreeSet<K>>,
}

/// A table that simulated parties share.
#[derive(Debug)]
pub struct SimTable<V> {
    number: u32,
    places: RefCell<Vec<Option<V>>>,
}

impl<K: Ord> SimSet<K> {
    /// An empty set, called by `number` in traces.
    #[must_use]
    pub fn new(number: u32) -> Self {
        Self {
            number,
            keys: RefCell::default(),
        }
    }

    /// What is in it, smallest first, without anybody noticing.
    pub fn keys(&self) -> Vec<K>
    where
        K: Copy,
    {
        self.keys.borrow().iter().copied().collect()
    }
}

impl<V> SimTable<V> {
    /// A table of `places` empty places, called by `number` in traces.
    #[must_use]
    pub fn new(number: u32, places: usize) -> Self {
        Self {
            number,
            places: RefCell::new((0..places).map(|_| None).collect()),
        }
    }
}

impl<K: Ord + Copy> OrderedSet<K> for Handle<'_> {
    type Set = SimSet<K>;

    fn insert(&self, set: &SimSet<K>, key: K) -> bool {
        self.operate(|world, me| {
            let new = set.keys.borrow_mut().insert(key);
            world.did(me, Op::SetInsert, Object::Collection(set.number), new.into());
            new
        })
    }

    fn remove(&self, set: &SimSet<K>, key: &K) -> bool {
        self.operate(|world, me| {
            let was_there = set.keys.borrow_mut().remove(key);
            world.did(
                me,
                Op::SetRemove,
                Object::Collection(set.number),
                was_there.into(),
            );
            was_there
        })
    }

    fn last(&self, set: &SimSet<K>, below: Option<&K>) -> Option<K> {
        self.operate(|world, me| {
            let keys = set.keys.borrow();
            let last = match below {
                Some(below) => keys.range(..below).next_back().copied(),
                None => keys.last().copied(),
            };
            world.did(
                me,
                Op::SetLast,
                Object::Collection(set.number),
                last.is_some().into(),
            );
            last
        })
    }
}

impl<V: Clone> Table<V> for Handle<'_> {
    type Places = SimTable<V>;

    fn put(&self, table: &SimTable<V>, value: V) -> Result<usize, V> {
        self.operate(|world, me| {
            let mut places = table.places.borrow_mut();
            let index = places.iter().position(Option::is_none);
            let object = Object::Collection(table.number);
            world.did(
                me,
                Op::TablePut,
                object,
                index.map_or(u64::MAX, |index| index as u64),
            );
            match index {
                Some(index) => {
                    places[index] = Some(value);
                    Ok(index)
                }
                None => Err(value),
            }
        })
    }

    fn get(&self, table: &SimTable<V>, index: usize) -> Option<V> {
        self.operate(|world, me| {
            world.did(me, Op::TableGet, Object::Collection(table.number), index as u64);
            table.places.borrow().get(index)?.clone()
        })
    }

    fn clear(&self, table: &SimTable<V>, index: usize) -> Option<V> {
        self.operate(|world, me| {
            world.did(me, Op::TableClear, Object::Collection(table.number), index as u64);
            table.places.borrow_mut().get_mut(index)?.take()
        })
    }
}

impl Clock for Handle<'_> {
    fn now_ns(&self) -> u64 {
        self.operate(|world, me| {
            let now = world.clock_ns(me);
            world.did(me, Op::Now, Object::None, now);
            now
        })
    }
}
