//! Runs, what is put back, and values of all sizes.

use injector::{Contended, Injector, Next};

use crate::{take_all, take_up_to};

#[test]
fn a_new_queue_is_empty() {
    let queue = Injector::<u32>::default();
    assert!(queue.is_empty() && !queue.has_ready());
    assert_eq!((queue.len(), take_all(&queue)), (0, vec![]));
    assert_eq!(queue.try_take(|_| Next::More), Ok(0));
}

#[test]
fn values_come_in_the_order_in_which_they_were_pushed() {
    let queue = Injector::new();
    (0..1_000).for_each(|n| queue.push(n));
    assert_eq!(queue.len(), 1_000);
    assert_eq!(take_up_to(&queue, 300), (0..300).collect::<Vec<_>>());
    assert_eq!(queue.len(), 700);
    assert_eq!(take_all(&queue), (300..1_000).collect::<Vec<_>>());
    assert!(queue.is_empty());
}

#[test]
fn a_run_ends_where_the_taker_has_enough() {
    let queue = Injector::new();
    (0..10).for_each(|n| queue.push(n));
    assert_eq!(queue.take(|n| if n < 3 { Next::More } else { Next::Enough }), 4);
    assert_eq!(queue.try_take(|_| Next::Enough), Ok(1));
    assert_eq!(take_all(&queue), [5, 6, 7, 8, 9]);
}

#[test]
fn what_was_put_back_stays_first_and_counts() {
    let queue = Injector::new();
    queue.push(vec![1, 2, 3]);
    queue.push(vec![4]);
    for (first, left) in [(1, 2), (2, 2)] {
        let taken = queue.take(|mut batch| {
            assert_eq!(batch.remove(0), first);
            Next::PutBack(batch)
        });
        assert_eq!((taken, queue.len()), (1, left));
        assert!(!queue.is_empty() && queue.has_ready());
    }
    assert_eq!(take_all(&queue), [vec![3], vec![4]]);
    assert!(queue.is_empty());
}

#[test]
fn the_last_value_may_be_put_back_wherever_it_was() {
    let queue = Injector::new();
    for n in 0..300 {
        queue.push(n);
        assert_eq!(queue.take(|n| Next::PutBack(n + 1_000)), 1);
        assert_eq!(
            (queue.len(), queue.is_empty(), queue.has_ready()),
            (1, false, true)
        );
        assert_eq!(take_all(&queue), [n + 1_000]);
        assert!(queue.is_empty() && !queue.has_ready());
    }
}

#[test]
fn a_value_is_put_back_after_others_of_its_run_were_kept() {
    let queue = Injector::new();
    (0..200).for_each(|n| queue.push(n));
    let mut kept = Vec::new();
    let taken = queue.take(|n| {
        if n == 150 {
            return Next::PutBack(n);
        }
        kept.push(n);
        Next::More
    });
    assert_eq!((taken, kept.len(), queue.len()), (151, 150, 50));
    assert_eq!(take_all(&queue), (150..200).collect::<Vec<_>>());
}

#[test]
fn a_taker_may_push_and_ask_while_it_takes() {
    let queue = Injector::new();
    queue.push(400);
    let mut run = Vec::new();
    queue.take(|n: u32| {
        run.push(n);
        assert_eq!(queue.try_take(|_| Next::More), Err(Contended));
        if n > 0 {
            queue.push(n - 1);
        }
        Next::More
    });
    assert_eq!(run, (0..=400).rev().collect::<Vec<_>>());
    assert!(queue.is_empty());
}

#[test]
fn a_backlog_is_drained_and_filled_again_and_again() {
    // More blocks than are kept.
    let queue = Injector::new();
    for round in 0..3 {
        (0..40_000).for_each(|n| queue.push(Box::new((round, n))));
        assert_eq!(queue.len(), 40_000);
        let all = take_all(&queue);
        assert!(
            all.into_iter()
                .map(|value| *value)
                .eq((0..40_000).map(|n| (round, n)))
        );
    }
}

#[test]
fn values_without_a_size_are_counted() {
    let queue = Injector::new();
    (0..500).for_each(|_| queue.push(()));
    assert_eq!(queue.len(), 500);
    assert_eq!(take_up_to(&queue, 200).len(), 200);
    assert_eq!(take_all(&queue).len(), 300);
    assert!(queue.is_empty());
}

#[test]
fn huge_values_arrive_whole_and_need_no_stack_of_a_blocks_size() {
    // A block of these has eight megabytes, a test's stack two.
    let queue = Injector::new();
    for n in 0..130_u8 {
        queue.push([n; 64 << 10]);
    }
    let mut expected = 0;
    let taken = queue.take(|value| {
        assert!(value.iter().all(|byte| *byte == expected));
        expected += 1;
        Next::More
    });
    assert_eq!(taken, 130);
}

#[derive(Debug, PartialEq)]
#[repr(align(4096))]
struct Aligned(u8);

#[test]
fn values_keep_their_alignment() {
    let queue = Injector::new();
    (0..200).for_each(|n| queue.push(Box::new(Aligned(n))));
    (0..200).for_each(|n| assert_eq!(*take_up_to(&queue, 1)[0], Aligned(n)));
    let queue = Injector::new();
    (0..200).for_each(|n| queue.push(Aligned(n)));
    assert_eq!(take_all(&queue), (0..200).map(Aligned).collect::<Vec<_>>());
}
