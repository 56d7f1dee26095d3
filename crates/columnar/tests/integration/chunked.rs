//! A chunked list equals a `Vec` after any operations, and reserves what it holds.

use std::collections::HashSet;
use std::iter;
use std::sync::Arc;

use columnar::MemoryPool;
use columnar::chunked::{ChunkedVec, Growth, HEAD};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Operation {
    Push(u16),
    Extend(u16),
    /// By an iterator of unknown length.
    ExtendUnknown(u16),
    ExtendFromSlice(Vec<u16>),
    Set(usize, u16),
    AddToAll(u16),
    Clear,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let operation = prop_oneof![
        4 => any::<u16>().prop_map(Operation::Push),
        2 => (0..900u16).prop_map(Operation::Extend),
        2 => (0..900u16).prop_map(Operation::ExtendUnknown),
        2 => proptest::collection::vec(any::<u16>(), 0..900).prop_map(Operation::ExtendFromSlice),
        4 => (any::<usize>(), any::<u16>()).prop_map(|(at, value)| Operation::Set(at, value)),
        1 => any::<u16>().prop_map(Operation::AddToAll),
        1 => Just(Operation::Clear),
    ];
    proptest::collection::vec(operation, 0..30)
}

fn growths() -> impl Strategy<Value = Growth> {
    prop_oneof![
        2 => Just(Growth::Doubling),
        1 => (0..300usize).prop_map(Growth::Fixed),
    ]
}

/// Text, so that memory checkers notice a value lost or dropped twice.
fn text(number: u16) -> String {
    number.to_string()
}

proptest! {
    #[test]
    fn it_holds_what_a_vec_would(operations in operations(), growth in growths(), probes in proptest::collection::vec(any::<usize>(), 8)) {
        let pool = Arc::new(MemoryPool::new("property", usize::MAX));
        let mut list = ChunkedVec::with_growth(growth, Some(Arc::clone(&pool)));
        let mut vec = Vec::new();
        for operation in operations {
            match operation {
                Operation::Push(value) => {
                    list.push(text(value)).unwrap();
                    vec.push(text(value));
                }
                Operation::Extend(count) => {
                    list.extend((0..count).map(text)).unwrap();
                    vec.extend((0..count).map(text));
                }
                Operation::ExtendUnknown(count) => {
                    let mut next = 0..count;
                    list.extend(iter::from_fn(|| next.next().map(text))).unwrap();
                    vec.extend((0..count).map(text));
                }
                Operation::ExtendFromSlice(values) => {
                    let values: Vec<String> = values.into_iter().map(text).collect();
                    list.extend_from_slice(&values).unwrap();
                    vec.extend_from_slice(&values);
                }
                Operation::Set(at, value) if !vec.is_empty() => {
                    let at = at % vec.len();
                    list[at] = text(value);
                    vec[at] = text(value);
                }
                Operation::Set(at, _) => prop_assert!(list.get_mut(at).is_none()),
                Operation::AddToAll(value) => {
                    list.iter_mut().for_each(|known| known.push_str(&text(value)));
                    vec.iter_mut().for_each(|known| known.push_str(&text(value)));
                }
                Operation::Clear => {
                    list.clear();
                    vec.clear();
                    prop_assert_eq!(list.bytes(), 0);
                }
            }
            prop_assert_eq!(list.len(), vec.len());
            prop_assert_eq!(list.is_empty(), vec.is_empty());
            prop_assert_eq!(list.bytes(), pool.used());
        }
        prop_assert!(list.iter().eq(&vec));
        prop_assert!(list.iter().rev().eq(vec.iter().rev()));
        prop_assert_eq!(list.iter().len(), vec.len());
        prop_assert_eq!(list.chunks().flatten().collect::<Vec<_>>(), vec.iter().collect::<Vec<_>>());
        prop_assert!(list.chunks().all(|chunk| !chunk.is_empty()));
        for at in 0..vec.len() {
            prop_assert_eq!(&list[at], &vec[at]);
        }
        for probe in probes.into_iter().chain([vec.len(), vec.len() + 1, 2 * vec.len(), usize::MAX]) {
            prop_assert_eq!(list.get(probe), vec.get(probe));
        }
        prop_assert!(list.into_iter().eq(vec));
        prop_assert_eq!(pool.used(), 0);
    }

    #[test]
    fn its_iterators_go_from_both_ends(len in 0..1_500usize, growth in growths(), steps in proptest::collection::vec((any::<bool>(), 0..400usize), 0..12)) {
        let mut list = ChunkedVec::with_growth(growth, None);
        list.extend(0..len).unwrap();
        let (mut values, mut expected) = (list.iter(), 0..len);
        let mut owned = {
            let mut list = ChunkedVec::with_growth(growth, None);
            list.extend((0..len).map(Box::new)).unwrap();
            list.into_iter()
        };
        for (forward, count) in steps {
            for _ in 0..count {
                let (value, own, other) = if forward {
                    (values.next(), owned.next(), expected.next())
                } else {
                    (values.next_back(), owned.next_back(), expected.next_back())
                };
                prop_assert_eq!(value.copied(), other);
                prop_assert_eq!(own.as_deref().copied(), other);
            }
            prop_assert_eq!(values.len(), expected.len());
            prop_assert_eq!(owned.len(), expected.len());
        }
        prop_assert_eq!(values.clone().count(), expected.len());
        prop_assert_eq!(values.sum::<usize>(), expected.clone().sum());
        prop_assert_eq!(owned.fold(0, |sum, value| sum + *value), expected.sum());
    }

    #[test]
    fn a_quota_is_never_passed(limit in 0..40_000usize, growth in growths(), counts in proptest::collection::vec(0..700u32, 0..12)) {
        let pool = Arc::new(MemoryPool::new("property", limit));
        let mut list: ChunkedVec<u32> = ChunkedVec::with_growth(growth, Some(Arc::clone(&pool)));
        let mut vec: Vec<u32> = Vec::new();
        for count in counts {
            if let Err(refused) = list.extend(0..count) {
                prop_assert!(refused.used + refused.requested > limit);
                prop_assert_eq!(&*refused.query, "property");
                prop_assert!(list.len() >= vec.len());
                let added = list.len() - vec.len();
                vec.extend(0..added as u32);
                prop_assert!(list.push(0).is_err(), "still no room");
            } else {
                vec.extend(0..count);
            }
            prop_assert!(list.iter().eq(&vec));
            prop_assert!(pool.peak() <= limit);
            prop_assert_eq!(pool.used(), list.bytes());
        }
    }
}

#[test]
fn what_is_written_never_moves() {
    let mut list = ChunkedVec::new();
    let mut addresses = Vec::new();
    for value in 0..10_000u64 {
        list.push(value).unwrap();
        addresses.push(std::ptr::from_ref(&list[value as usize]));
    }
    let now: Vec<_> = list.iter().map(std::ptr::from_ref).collect();
    assert_eq!(now, addresses);
    assert_eq!(now.iter().collect::<HashSet<_>>().len(), 10_000);
}

#[test]
fn values_without_a_size_are_counted() {
    let mut list = ChunkedVec::new();
    list.extend(iter::repeat_n((), 1_000)).unwrap();
    assert_eq!((list.len(), list.iter().count()), (1_000, 1_000));
    assert_eq!((list.get(999), list.get(1_000)), (Some(&()), None));
}

#[test]
fn a_source_that_panics_leaves_what_it_gave() {
    let pool = Arc::new(MemoryPool::new("panics", usize::MAX));
    let mut list = ChunkedVec::with_pool(Arc::clone(&pool));
    let source = (0..1_000).inspect(|&value| assert!(value < 500, "on purpose"));
    let extend = std::panic::AssertUnwindSafe(|| list.extend(source));
    assert!(std::panic::catch_unwind(extend).is_err());
    assert!(list.iter().copied().eq(0..500));
    list.push(500).unwrap();
    assert_eq!(list[500], 500);
    assert_eq!(pool.used(), list.bytes());
}

#[test]
fn a_head_is_all_that_few_values_take() {
    let pool = Arc::new(MemoryPool::new("heads", usize::MAX));
    let mut lists: Vec<ChunkedVec<u64>> = (0..32)
        .map(|_| ChunkedVec::with_pool(Arc::clone(&pool)))
        .collect();
    assert_eq!(pool.used(), 0);
    for list in &mut lists {
        list.extend(0..100).unwrap();
    }
    assert_eq!(pool.used(), 32 * HEAD * size_of::<u64>());
}
