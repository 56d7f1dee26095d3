//! Values of the sleep word, one operation at a time, on the machine's own atomics.

use std::cell::RefCell;

use super::*;
use crate::ports::{Native, NativeWord};

/// Ports that remember who was unparked, and never block.
#[derive(Default)]
struct Ports {
    unparked: RefCell<Vec<usize>>,
}

crate::delegate_memory!(impl[] Memory<NativeWord> for Ports, |_ports| Native);

impl Unpark for Ports {
    fn unpark(&self, worker: usize) {
        self.unparked.borrow_mut().push(worker);
    }

    fn signal_waiters(&self) {}
}

fn sleeping(workers: usize, asleep: impl IntoIterator<Item = usize>) -> (Sleep<NativeWord>, Ports) {
    let sleep = Sleep::new(workers, (workers / 2).max(1), NativeWord::new);
    for worker in asleep {
        sleep.register(&Native, worker, false);
    }
    (sleep, Ports::default())
}

fn counts(sleep: &Sleep<NativeWord>) -> (usize, usize) {
    let word = sleep.peek(&Native);
    (word.searchers(), word.sleepers())
}

#[test]
fn a_push_wakes_the_newest_sleeper_and_counts_it_as_a_searcher() {
    let (sleep, ports) = sleeping(8, [3, 1, 5]);
    assert_eq!(sleep.notify(&ports, 1), 1);
    assert_eq!(ports.unparked.take(), [5]);
    assert_eq!(counts(&sleep), (1, 2));
}

#[test]
fn a_push_wakes_nobody_while_somebody_searches() {
    let (sleep, ports) = sleeping(8, [0, 1]);
    assert!(sleep.begin_search(&Native));
    assert_eq!(sleep.notify(&ports, 1), 0);
    assert_eq!(counts(&sleep), (1, 2));
}

#[test]
fn a_batch_wakes_as_many_as_tasks_sleepers_and_searcher_bound_allow() {
    for (tasks, asleep, searchers, woken) in [
        (2, 6, 0, 2),
        (9, 6, 0, 4),
        (9, 3, 0, 3),
        (9, 6, 3, 1),
        (9, 6, 4, 0),
    ] {
        let (sleep, ports) = sleeping(8, 0..asleep);
        for _ in 0..searchers {
            assert!(sleep.begin_search(&Native));
        }
        assert_eq!(
            sleep.notify(&ports, tasks),
            woken,
            "{tasks} tasks, {asleep} asleep, {searchers} searching"
        );
        let newest_first: Vec<_> = (0..asleep).rev().take(woken).collect();
        assert_eq!(ports.unparked.take(), newest_first);
        assert_eq!(counts(&sleep), (searchers + woken, asleep - woken));
    }
}

#[test]
fn at_most_half_of_the_workers_search_and_always_at_least_one() {
    for (workers, bound) in [(1, 1), (2, 1), (3, 1), (4, 2), (65, 32)] {
        let (sleep, _) = sleeping(workers, []);
        let searchers = (0..workers).filter(|_| sleep.begin_search(&Native)).count();
        assert_eq!(searchers, bound, "{workers} workers");
    }
}

#[test]
fn the_last_searcher_that_finds_work_hands_on_and_others_only_with_surplus() {
    let (sleep, ports) = sleeping(8, [6, 7]);
    let found = |was, surplus, more| sleep.found_work(&ports, was, surplus, || more);
    assert!(sleep.begin_search(&Native) && sleep.begin_search(&Native));
    assert_eq!(found(Search::Yes, false, true), 0, "another one still searches");
    assert_eq!(found(Search::Yes, false, true), 1, "the last, and there is more");
    assert_eq!(found(Search::No, true, false), 0, "the woken one searches");
    assert_eq!(found(Search::Yes, true, false), 1, "the last, with surplus");
    assert_eq!(ports.unparked.take(), [7, 6]);
}

#[test]
fn nobody_is_woken_for_nothing_when_the_last_searcher_has_found_the_only_task() {
    let (sleep, ports) = sleeping(8, [6, 7]);
    assert!(sleep.begin_search(&Native));
    assert_eq!(sleep.found_work(&ports, Search::Yes, false, || false), 0);
    assert_eq!(sleep.found_work(&ports, Search::LastLook, false, || false), 0);
    assert_eq!(counts(&sleep), (0, 2));
    assert_eq!(sleep.found_work(&ports, Search::LastLook, false, || true), 1);
    assert_eq!(ports.unparked.take(), [7]);
}

#[test]
fn the_end_unparks_every_sleeper_of_a_crowd_beyond_one_machine_word() {
    let (sleep, ports) = sleeping(200, (0..200).filter(|w| w % 3 == 0));
    sleep.finish(&ports);
    let everybody: Vec<_> = (0..200).filter(|w| w % 3 == 0).collect();
    assert_eq!(ports.unparked.take(), everybody);
    assert!(sleep.peek(&Native).is_done());
}

#[test]
fn the_word_counts_the_largest_number_of_workers() {
    let (sleep, _) = sleeping(WORKERS_MAX, 0..WORKERS_MAX);
    assert_eq!(counts(&sleep), (0, WORKERS_MAX));
}

#[test]
#[should_panic(expected = "do not fit")]
fn one_worker_too_many_is_refused() {
    sleeping(WORKERS_MAX + 1, []);
}
