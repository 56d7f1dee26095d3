//! Each value is dropped once, whether it was taken or not.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use injector::{Injector, Next};

use crate::take_up_to;

#[test]
fn values_that_are_left_are_dropped_with_the_queue() {
    for (pushed, taken) in [
        (0, 0),
        (1, 0),
        (5, 5),
        (127, 127),
        (128, 0),
        (1_000, 400),
        (1_000, 1_000),
    ] {
        let alive = Arc::new(());
        let queue = Injector::new();
        (0..pushed).for_each(|_| queue.push(alive.clone()));
        drop(take_up_to(&queue, taken));
        assert_eq!(Arc::strong_count(&alive), 1 + pushed - taken);
        drop(queue);
        assert_eq!(Arc::strong_count(&alive), 1, "{pushed} pushed, {taken} taken");
    }
}

#[test]
fn what_was_put_back_is_dropped_with_the_queue() {
    let alive = Arc::new(());
    let queue = Injector::new();
    (0..127).for_each(|_| queue.push(alive.clone()));
    drop(take_up_to(&queue, 126));
    queue.take(Next::PutBack);
    assert_eq!(Arc::strong_count(&alive), 2);
    drop(queue);
    assert_eq!(Arc::strong_count(&alive), 1);
}

#[test]
fn a_million_values_are_dropped_without_recursion() {
    let queue = Injector::new();
    (0..1_000_000).for_each(|n| queue.push(n));
    drop(queue);
}

struct Fragile(#[expect(dead_code, reason = "counts itself")] Arc<()>, bool);

impl Drop for Fragile {
    fn drop(&mut self) {
        assert!(!self.1, "planned");
    }
}

#[test]
fn a_value_that_panics_while_it_is_dropped_does_not_keep_the_others() {
    let alive = Arc::new(());
    let queue = Injector::new();
    for n in 0..300 {
        queue.push(Fragile(alive.clone(), n == 100));
    }
    panic::catch_unwind(AssertUnwindSafe(|| drop(queue))).unwrap_err();
    assert_eq!(Arc::strong_count(&alive), 1);
}
