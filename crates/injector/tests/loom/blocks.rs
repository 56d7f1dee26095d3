//! The end of a block, and its reuse.

use crate::{consumer, joined, model, producer, push, queue, take_rest};

#[test]
fn last_slot_of_a_block_against_the_take_that_frees_it() {
    model(
        "last_slot_of_a_block_against_the_take_that_frees_it",
        None,
        || {
            let queue = queue([1]);
            let consumer = consumer(&queue);
            push(&queue, [2, 3]);
            let first = consumer.join().unwrap();
            assert_eq!(joined(first, take_rest(&queue)), [1, 2, 3]);
        },
    );
}

#[test]
fn two_pushes_for_the_last_slot_against_the_take() {
    model("two_pushes_for_the_last_slot_against_the_take", Some(3), || {
        let queue = queue([1]);
        let (other, consumer) = (producer(&queue, [2]), consumer(&queue));
        push(&queue, [3]);
        other.join().unwrap();
        let mut all = joined(consumer.join().unwrap(), take_rest(&queue));
        all.sort_unstable();
        assert_eq!(all, [1, 2, 3]);
    });
}

#[test]
fn spare_block_against_the_push_that_uses_it() {
    model("spare_block_against_the_push_that_uses_it", None, || {
        let queue = queue([1, 2]);
        let consumer = consumer(&queue);
        push(&queue, [3, 4, 5]);
        let first = consumer.join().unwrap();
        assert_eq!(joined(first, take_rest(&queue)), [1, 2, 3, 4, 5]);
    });
}

#[test]
fn used_block_against_the_push_that_finds_it() {
    model("used_block_against_the_push_that_finds_it", Some(3), || {
        let queue = queue([1, 2, 3]);
        let (other, consumer) = (producer(&queue, [4]), consumer(&queue));
        push(&queue, [5]);
        other.join().unwrap();
        let mut all = joined(consumer.join().unwrap(), take_rest(&queue));
        assert_eq!(all[..3], [1, 2, 3]);
        all.sort_unstable();
        assert_eq!(all, [1, 2, 3, 4, 5]);
    });
}
