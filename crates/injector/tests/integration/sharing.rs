//! Several producers and consumers: no value is lost or doubled, and each producer's values stay in
//! order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use injector::{Injector, Next};

/// Values of each producer; few enough for valgrind, whose threads take turns.
const EACH: usize = 20_000;

type Value = (usize, usize);

fn share(producers: usize, consumers: usize, most: usize) -> Vec<Vec<Value>> {
    let queue = Injector::new();
    let taken = AtomicUsize::new(0);
    let all = producers * EACH;
    thread::scope(|scope| {
        for producer in 0..producers {
            let queue = &queue;
            scope.spawn(move || (0..EACH).for_each(|n| queue.push((producer, n))));
        }
        let consume = |consumer: usize| {
            let (queue, taken) = (&queue, &taken);
            move || {
                let mut own = Vec::new();
                while taken.load(Ordering::Relaxed) < all {
                    let mut left = most;
                    let hand = |value| {
                        own.push(value);
                        left -= 1;
                        if left > 0 { Next::More } else { Next::Enough }
                    };
                    let run = if consumer.is_multiple_of(2) {
                        queue.take(hand)
                    } else {
                        queue.try_take(hand).unwrap_or(0)
                    };
                    taken.fetch_add(run, Ordering::Relaxed);
                    if run == 0 {
                        thread::yield_now();
                    }
                }
                own
            }
        };
        let consumers: Vec<_> = (0..consumers)
            .map(|consumer| scope.spawn(consume(consumer)))
            .collect();
        consumers
            .into_iter()
            .map(|consumer| consumer.join().unwrap())
            .collect()
    })
}

fn check(producers: usize, taken: &[Vec<Value>]) {
    for own in taken {
        let mut next = vec![0; producers];
        for (producer, n) in own {
            assert!(*n >= next[*producer], "producer {producer}: {n} came late");
            next[*producer] = n + 1;
        }
    }
    let mut all = taken.concat();
    all.sort_unstable();
    let expected = (0..producers).flat_map(|producer| (0..EACH).map(move |n| (producer, n)));
    assert!(all.into_iter().eq(expected), "something is lost or doubled");
}

#[test]
fn one_producer_and_one_consumer_share_a_queue() {
    check(1, &share(1, 1, 32));
}

#[test]
fn many_producers_and_one_consumer_share_a_queue() {
    check(4, &share(4, 1, usize::MAX));
}

#[test]
fn many_producers_and_many_consumers_share_a_queue() {
    check(3, &share(3, 3, 32));
}

#[test]
fn consumers_that_take_one_value_at_a_time_share_a_queue() {
    check(2, &share(2, 2, 1));
}

#[test]
fn batches_that_are_put_back_are_shared_out_once() {
    let queue = Injector::new();
    let all = 2_000 * 10;
    let taken = AtomicUsize::new(0);
    let sum = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| (0..2_000).for_each(|n| queue.push(n * 10..(n + 1) * 10)));
        for _ in 0..2 {
            scope.spawn(|| {
                while taken.load(Ordering::Relaxed) < all {
                    let mut part = 0..0;
                    queue.take(|batch| {
                        let middle = batch.end.min(batch.start + 3);
                        part = batch.start..middle;
                        if middle < batch.end {
                            Next::PutBack(middle..batch.end)
                        } else {
                            Next::Enough
                        }
                    });
                    taken.fetch_add(part.len(), Ordering::Relaxed);
                    sum.fetch_add(part.sum(), Ordering::Relaxed);
                    thread::yield_now();
                }
            });
        }
    });
    assert_eq!(taken.into_inner(), all);
    assert_eq!(sum.into_inner(), (0..all).sum());
    assert!(queue.is_empty());
}

#[test]
fn each_value_is_dropped_once_when_threads_leave_a_part_of_them() {
    let alive = Arc::new(());
    let queue = Injector::new();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..EACH).for_each(|_| queue.push(alive.clone())));
        }
        scope.spawn(|| {
            let mut left = EACH / 2;
            while left > 0 {
                queue.take(|value| {
                    drop(value);
                    left -= 1;
                    if left > 0 { Next::More } else { Next::Enough }
                });
                thread::yield_now();
            }
        });
    });
    assert_eq!(queue.len(), 2 * EACH - EACH / 2);
    assert_eq!(Arc::strong_count(&alive), 1 + queue.len());
    drop(queue);
    assert_eq!(Arc::strong_count(&alive), 1);
}

#[test]
fn the_length_is_never_more_than_what_was_pushed() {
    let queue = Injector::new();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..EACH {
                queue.push(n);
                if n.is_multiple_of(7) {
                    queue.take(|_| Next::More);
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        while !done.load(Ordering::Relaxed) {
            assert!(queue.len() <= EACH);
        }
    });
}
