//! A taker that panics owns the value that it was handed; all others stay.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use injector::{Injector, Next};

use crate::take_all;

#[test]
fn a_taker_that_panics_loses_its_own_value_and_no_other() {
    let alive = Arc::new(());
    let queue = Injector::new();
    (0..300).for_each(|n| queue.push((n, alive.clone())));
    let mut kept = Vec::new();
    // 126 and 127 are a block's last value and the next one's first.
    for bad in [3, 126, 127, 128, 299] {
        let run = panic::catch_unwind(AssertUnwindSafe(|| {
            queue.take(|(n, counted)| {
                assert!(n != bad, "planned");
                kept.push((n, counted));
                Next::More
            })
        }));
        run.unwrap_err();
        assert_eq!(queue.len(), 299 - bad);
    }
    assert!(queue.is_empty() && !queue.has_ready());
    assert_eq!((kept.len(), Arc::strong_count(&alive)), (295, 296));
    let gone = [3, 126, 127, 128, 299];
    let expected = (0..300).filter(|n| !gone.contains(n));
    assert!(kept.iter().map(|(n, _)| *n).eq(expected));
}

#[test]
fn after_a_panic_the_queue_goes_on() {
    let queue = Injector::new();
    queue.push(1);
    panic::catch_unwind(AssertUnwindSafe(|| queue.take(|_| panic!("planned")))).unwrap_err();
    queue.push(2);
    queue.push(3);
    assert_eq!(queue.try_take(|_| Next::Enough), Ok(1));
    assert!(queue.has_ready());
    assert_eq!(take_all(&queue), [3]);
}
