//! How threads are split into main and reserve.

use std::num::NonZeroUsize;

use pipeline_exec::split_threads;
use proptest::prelude::*;

#[test]
fn the_table_of_the_specification_holds() {
    let split = |total| split_threads(NonZeroUsize::new(total).unwrap());
    let expected = [
        (1, (1, 0)),
        (2, (1, 1)),
        (4, (3, 1)),
        (8, (7, 1)),
        (16, (14, 2)),
        (32, (28, 4)),
        (100, (85, 15)),
    ];
    for (total, sides) in expected {
        assert_eq!(split(total), sides, "{total} threads");
    }
}

proptest! {
    #[test]
    fn both_sides_sum_to_the_whole_and_have_one_thread_from_two_on(total in 1_usize..) {
        let (main, reserve) = split_threads(NonZeroUsize::new(total).unwrap());
        prop_assert_eq!(main.checked_add(reserve), Some(total));
        prop_assert!(main >= 1);
        prop_assert_eq!(reserve >= 1, total >= 2);
    }

    #[test]
    fn main_is_85_percent_rounded_up_from_seven_threads_on(total in 7_usize..1_000_000) {
        let (main, _) = split_threads(NonZeroUsize::new(total).unwrap());
        prop_assert_eq!(main, (total * 85).div_ceil(100));
    }
}
