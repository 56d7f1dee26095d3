//! Values between producers and consumers.

use injector::Next;
use loom::thread;

use crate::{consumer, joined, model, producer, push, queue, take, take_rest};

#[test]
fn push_against_push() {
    model("push_against_push", None, || {
        let queue = queue([]);
        let other = producer(&queue, [10, 11]);
        push(&queue, [20]);
        other.join().unwrap();
        let all = take_rest(&queue);
        assert!(
            [[10, 11, 20], [10, 20, 11], [20, 10, 11]].contains(&[all[0], all[1], all[2]]),
            "{all:?}"
        );
        assert_eq!(all.len(), 3);
    });
}

#[test]
fn push_against_take() {
    model("push_against_take", None, || {
        let queue = queue([]);
        let consumer = consumer(&queue);
        push(&queue, [1, 2]);
        let first = consumer.join().unwrap();
        assert_eq!(joined(first, take_rest(&queue)), [1, 2]);
    });
}

#[test]
fn take_against_two_pushes_of_one_block() {
    model("take_against_two_pushes_of_one_block", None, || {
        let queue = queue([]);
        let (other, consumer) = (producer(&queue, [1]), consumer(&queue));
        push(&queue, [2]);
        other.join().unwrap();
        let mut all = joined(consumer.join().unwrap(), take_rest(&queue));
        all.sort_unstable();
        assert_eq!(all, [1, 2]);
    });
}

#[test]
fn take_against_take() {
    model("take_against_take", None, || {
        let queue = queue([1, 2, 3]);
        let other = consumer(&queue);
        let own = take(&queue);
        let other = other.join().unwrap();
        assert!(own.is_empty() || other.is_empty());
        assert_eq!(joined(own, other), [1, 2, 3]);
        assert!(queue.is_empty());
    });
}

#[test]
fn put_back_against_try_take() {
    model("put_back_against_try_take", None, || {
        let queue = queue([1, 2]);
        let other = thread::spawn({
            let queue = queue.clone();
            move || {
                let mut run = Vec::new();
                let hand = |value: Box<usize>| {
                    run.push(*value);
                    Next::Enough
                };
                assert_eq!(queue.try_take(hand).unwrap_or(0), run.len());
                run
            }
        });
        queue.take(|value| Next::PutBack(Box::new(*value + 10)));
        let other = other.join().unwrap();
        let rest = take_rest(&queue);
        let outcome = (other.as_slice(), rest.as_slice());
        assert!(
            [([].as_slice(), [11, 2].as_slice()), (&[1], &[12]), (&[11], &[2]),].contains(&outcome),
            "{outcome:?}"
        );
    });
}
