//! One thread, any operations: the queue does what a `VecDeque` does.

use std::collections::VecDeque;

use injector::{Injector, Next};
use proptest::prelude::*;

use crate::take_up_to;

#[derive(Debug, Clone)]
enum Operation {
    Push(usize),
    Take(usize),
    /// Takes that many and puts the next one back, changed.
    PutBack(usize),
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        (0..200_usize).prop_map(Operation::Push),
        (0..200_usize).prop_map(Operation::Take),
        (0..200_usize).prop_map(Operation::PutBack),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_operations_on_one_thread_do_what_they_do_to_a_deque(
        operations in prop::collection::vec(operation(), 0..40)
    ) {
        let (queue, mut model) = (Injector::new(), VecDeque::new());
        let mut values = 0_u64..;
        for operation in operations {
            match operation {
                Operation::Push(count) => {
                    for value in values.by_ref().take(count) {
                        queue.push(value);
                        model.push_back(value);
                    }
                }
                Operation::Take(most) => {
                    let expected: Vec<u64> = model.drain(..most.min(model.len())).collect();
                    prop_assert_eq!(take_up_to(&queue, most), expected);
                }
                Operation::PutBack(kept) => {
                    let mut own = Vec::new();
                    queue.take(|value| {
                        if own.len() == kept {
                            Next::PutBack(value + 1_000_000)
                        } else {
                            own.push(value);
                            Next::More
                        }
                    });
                    let expected: Vec<u64> = model.drain(..kept.min(model.len())).collect();
                    prop_assert_eq!(own, expected);
                    if let Some(first) = model.front_mut() {
                        *first += 1_000_000;
                    }
                }
            }
            prop_assert_eq!(queue.len(), model.len());
            prop_assert_eq!(queue.is_empty(), model.is_empty());
            prop_assert_eq!(queue.has_ready(), !model.is_empty());
        }
    }
}
