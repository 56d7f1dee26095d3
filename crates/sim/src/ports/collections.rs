//! Ordered sets, tables, exclusive places and the clock, for policies above the executor.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use executor_core::ports::{Clock, Exclusive, Fifo, OrderedSet, Table};

use super::SimPorts;
use crate::handle::Handle;
use crate::trace::{Object, Op};

/// An ordered set of simulated actors.
#[derive(Debug)]
pub struct SimSet<K> {
    number: u32,
    keys: Rc<RefCell<BTreeSet<K>>>,
}

/// A queue of simulated actors.
#[derive(Debug)]
pub struct SimFifo<V> {
    number: u32,
    values: RefCell<VecDeque<V>>,
}

/// A table of simulated actors.
#[derive(Debug)]
pub struct SimTable<V> {
    number: u32,
    places: RefCell<Vec<Option<V>>>,
    free: RefCell<BTreeSet<usize>>,
    used: Cell<usize>,
}

/// A place that one simulated actor at a time touches.
#[derive(Debug)]
pub struct SimPlace<V> {
    number: u32,
    value: RefCell<V>,
}

impl<V> SimPlace<V> {
    /// A place that holds `value`, with `number` for a name in traces.
    #[must_use]
    pub fn new(number: u32, value: V) -> Self {
        Self {
            number,
            value: RefCell::new(value),
        }
    }
}

impl<K: Ord> SimSet<K> {
    /// An empty set, with `number` for a name in traces.
    #[must_use]
    pub fn new(number: u32) -> Self {
        Self {
            number,
            keys: Rc::default(),
        }
    }

    pub(crate) fn twin(&self) -> Self {
        Self {
            number: self.number,
            keys: Rc::clone(&self.keys),
        }
    }

    pub(crate) fn peek(&self, key: &K) -> Option<K>
    where
        K: Copy,
    {
        self.keys.borrow().get(key).copied()
    }

    pub(crate) fn peek_last(&self, below: Option<&K>) -> Option<K>
    where
        K: Copy,
    {
        let keys = self.keys.borrow();
        match below {
            Some(below) => keys.range(..below).next_back().copied(),
            None => keys.last().copied(),
        }
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }
}

impl<V> SimFifo<V> {
    /// An empty queue, with `number` for a name in traces.
    #[must_use]
    pub fn new(number: u32) -> Self {
        Self {
            number,
            values: RefCell::default(),
        }
    }
}

impl<V> SimTable<V> {
    /// A table of `places` empty places, with `number` for a name in traces.
    #[must_use]
    pub fn new(number: u32, places: usize) -> Self {
        Self {
            number,
            places: RefCell::new((0..places).map(|_| None).collect()),
            free: RefCell::new((0..places).collect()),
            used: Cell::new(0),
        }
    }

    pub(crate) fn peek(&self, index: usize) -> Option<V>
    where
        V: Clone,
    {
        self.places.borrow().get(index)?.clone()
    }

    pub(crate) fn taken(&self) -> usize {
        self.places.borrow().len() - self.free.borrow().len()
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
            let last = set.peek_last(below);
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

impl<V> Fifo<V> for Handle<'_> {
    type Queue = SimFifo<V>;

    fn push(&self, queue: &SimFifo<V>, value: V) {
        self.operate(|world, me| {
            let mut values = queue.values.borrow_mut();
            values.push_back(value);
            world.did(
                me,
                Op::FifoPush,
                Object::Collection(queue.number),
                values.len() as u64,
            );
        });
    }

    fn pop(&self, queue: &SimFifo<V>) -> Option<V> {
        self.operate(|world, me| {
            let first = queue.values.borrow_mut().pop_front();
            world.did(
                me,
                Op::FifoPop,
                Object::Collection(queue.number),
                first.is_some().into(),
            );
            first
        })
    }

    fn len(&self, queue: &SimFifo<V>) -> usize {
        self.operate(|world, me| {
            let len = queue.values.borrow().len();
            world.did(me, Op::FifoLen, Object::Collection(queue.number), len as u64);
            len
        })
    }
}

impl<V: Clone> Table<V> for Handle<'_> {
    type Places = SimTable<V>;

    fn put(&self, table: &SimTable<V>, value: V) -> Result<usize, V> {
        self.operate(|world, me| {
            let mut places = table.places.borrow_mut();
            let index = table.free.borrow_mut().pop_first();
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
                    table.used.set(table.used.get().max(index + 1));
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

    fn used(&self, table: &SimTable<V>) -> usize {
        self.operate(|world, me| {
            let used = table.used.get();
            world.did(me, Op::TableUsed, Object::Collection(table.number), used as u64);
            used
        })
    }

    fn clear(&self, table: &SimTable<V>, index: usize) -> Option<V> {
        self.operate(|world, me| {
            world.did(me, Op::TableClear, Object::Collection(table.number), index as u64);
            let value = table.places.borrow_mut().get_mut(index)?.take()?;
            table.free.borrow_mut().insert(index);
            Some(value)
        })
    }
}

impl<V> Exclusive<V> for Handle<'_> {
    type Place = SimPlace<V>;

    fn change<R>(&self, place: &SimPlace<V>, change: impl FnOnce(&mut V) -> R) -> R {
        self.operate(|world, me| {
            world.did(me, Op::Change, Object::Collection(place.number), 0);
        });
        change(&mut place.value.borrow_mut())
    }
}

impl Clock for Handle<'_> {
    fn now_ns(&self) -> u64 {
        self.operate(|world, me| {
            let now = world.read_time(me);
            world.did(me, Op::Now, Object::None, now);
            now
        })
    }
}

/// Reading it is no step, so measuring tasks leaves the schedule unchanged.
impl<T> Clock for SimPorts<'_, T> {
    fn now_ns(&self) -> u64 {
        let worker = self.handle.actor();
        self.handle.with(|world| {
            world.read_clock(worker);
            world.spend(worker, world.costs.clock_ps);
            world.read_time(worker)
        })
    }
}
