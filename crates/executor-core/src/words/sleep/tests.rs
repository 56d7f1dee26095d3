//! Values of the sleep word, one operation at a time, on the machine's own atomics.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Duration;

use super::*;
use crate::ports::{Native, NativeWord};

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

struct Sleeper<'a> {
    sleep: &'a Sleep<NativeWord>,
    script: RefCell<VecDeque<Meanwhile>>,
    pauses: RefCell<Vec<Pause>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meanwhile {
    /// It returns spuriously, or by its timeout.
    Nothing,
    Publish,
    End,
    /// DONE is set, but no slot is woken yet.
    DoneIsSet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pause {
    Spin(u32),
    Park(Option<Duration>),
}

crate::delegate_memory!(impl['a] Memory<NativeWord> for Sleeper<'a>, |_ports| Native);

impl Parking for Sleeper<'_> {
    fn park(&self, timeout: Option<Duration>) {
        self.pauses.borrow_mut().push(Pause::Park(timeout));
        let meanwhile = self.script.borrow_mut().pop_front();
        self.happen(meanwhile.expect("it sleeps for ever"));
    }

    fn spin_before_park(&self, spins: u32) {
        self.pauses.borrow_mut().push(Pause::Spin(spins));
    }

    fn spin(&self, _times: u32) {}

    fn yield_now(&self) {
        panic!("no waker is about to choose it");
    }
}

impl<'a> Sleeper<'a> {
    fn of(sleep: &'a Sleep<NativeWord>, script: &[Meanwhile]) -> Self {
        Self {
            sleep,
            script: RefCell::new(script.iter().copied().collect()),
            pauses: RefCell::default(),
        }
    }

    fn happen(&self, meanwhile: Meanwhile) {
        let others = Ports::default();
        match meanwhile {
            Meanwhile::Nothing => {}
            Meanwhile::Publish => assert_eq!(self.sleep.notify(&others, 1), 1),
            Meanwhile::End => self.sleep.finish(&others),
            Meanwhile::DoneIsSet => drop(Native.fetch(&self.sleep.word, Fetch::Or(DONE), Ordering::Relaxed)),
        }
    }

    fn sleep<F>(&self, me: usize, options: Park, look: impl FnMut() -> Option<F>) -> Slept<F> {
        self.sleep.sleep(self, me, false, options, look)
    }
}

const NO_SPIN: Park = Park {
    spin_before: 0,
    timeout: None,
};

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
fn a_push_wakes_no_worker_while_another_searches() {
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
fn no_worker_is_woken_for_nothing_when_the_last_searcher_has_found_the_only_task() {
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

/// Every port promises 32 bits.
#[test]
fn the_word_needs_thirty_two_bits() {
    let (sleep, _) = sleeping(WORKERS_MAX, 0..WORKERS_MAX);
    while sleep.begin_search(&Native) {}
    sleep.abort(&Native);
    sleep.finish(&Ports::default());
    let word = sleep.peek(&Native);
    assert!(u32::try_from(word.0).is_ok(), "{:x}", word.0);
    assert_eq!(
        (word.searchers(), word.sleepers()),
        (WORKERS_MAX / 2, WORKERS_MAX)
    );
    assert!(word.is_aborting() && word.is_done());
}

#[test]
fn aborting_is_neither_the_end_nor_hunger() {
    let (sleep, _) = sleeping(2, []);
    sleep.abort(&Native);
    let word = sleep.peek(&Native);
    assert!(word.is_aborting() && !word.is_done() && !word.has_idle_workers());
}

#[test]
fn a_sleeper_that_was_not_chosen_parks_again_and_one_that_was_chosen_is_a_searcher() {
    use Meanwhile::{Nothing, Publish};
    let (sleep, _) = sleeping(4, []);
    let sleeper = Sleeper::of(&sleep, &[Nothing, Nothing, Publish]);
    let looks = Cell::new(0);
    let slept = sleeper.sleep(2, NO_SPIN, || {
        looks.set(looks.get() + 1);
        None::<()>
    });
    assert_eq!(slept, Slept::Woken);
    assert_eq!(looks.get(), 1, "without a timeout a return means nothing");
    assert_eq!(counts(&sleep), (1, 0));
}

#[test]
fn it_dozes_once_and_then_parks_for_as_long_as_it_was_told() {
    let options = Park {
        spin_before: 70,
        timeout: Some(Duration::from_millis(3)),
    };
    let (sleep, _) = sleeping(4, []);
    let sleeper = Sleeper::of(&sleep, &[Meanwhile::Nothing, Meanwhile::Publish]);
    assert_eq!(sleeper.sleep(2, options, || None::<()>), Slept::Woken);
    let parked = Pause::Park(options.timeout);
    assert_eq!(sleeper.pauses.take(), [Pause::Spin(70), parked, parked]);
}

#[test]
fn after_each_timeout_it_looks_again_and_what_it_finds_deregisters_it() {
    let options = Park {
        spin_before: 0,
        timeout: Some(Duration::from_millis(3)),
    };
    let (sleep, _) = sleeping(4, []);
    let sleeper = Sleeper::of(&sleep, &[Meanwhile::Nothing; 2]);
    let mut sources = [None, None, Some('t')].into_iter();
    assert_eq!(
        sleeper.sleep(2, options, || sources.next().flatten()),
        Slept::Found('t')
    );
    assert_eq!((counts(&sleep), sources.next()), ((0, 0), None));
}

#[test]
fn who_finds_something_after_it_was_chosen_is_a_searcher_and_leaves_the_others_their_tickets() {
    for others in [vec![], vec![0, 3]] {
        let asleep = others.len();
        let (sleep, _) = sleeping(4, others);
        let sleeper = Sleeper::of(&sleep, &[]);
        let slept = sleeper.sleep(2, NO_SPIN, || {
            sleeper.happen(Meanwhile::Publish);
            Some('t')
        });
        assert_eq!(slept, Slept::FoundAndWoken('t'));
        assert_eq!(counts(&sleep), (1, asleep));
    }
}

#[test]
fn a_worker_that_finds_something_before_it_was_chosen_takes_its_own_ticket_back() {
    let (sleep, ports) = sleeping(4, [0, 3]);
    let sleeper = Sleeper::of(&sleep, &[]);
    assert_eq!(sleeper.sleep(2, NO_SPIN, || Some('t')), Slept::Found('t'));
    assert_eq!(counts(&sleep), (0, 2));
    assert_eq!(sleep.notify(&ports, 2), 2);
    assert_eq!(ports.unparked.take(), [3, 0], "and will not be chosen");
}

#[test]
fn the_end_is_noticed_before_parking_while_parked_and_after_a_timeout() {
    use Meanwhile::{DoneIsSet, End};
    let options = Park {
        spin_before: 0,
        timeout: Some(Duration::from_millis(3)),
    };
    for (before, script, looks_before) in [
        (true, vec![], 0),
        (false, vec![End], 1),
        (false, vec![DoneIsSet], 1),
    ] {
        let (sleep, ports) = sleeping(4, []);
        if before {
            sleep.finish(&ports);
        }
        let sleeper = Sleeper::of(&sleep, &script);
        let looks = Cell::new(0);
        let slept = sleeper.sleep(2, options, || {
            looks.set(looks.get() + 1);
            None::<()>
        });
        assert_eq!((slept, looks.get()), (Slept::Over, looks_before), "{script:?}");
    }
}

#[test]
fn a_waker_that_holds_a_ticket_at_the_end_finds_no_sleeper() {
    let (sleep, ports) = sleeping(4, [1, 2]);
    let word = sleep.peek(&Native).0;
    sleep.take_tickets(&Native, word, 1).unwrap();
    sleep.finish(&ports);
    assert_eq!(ports.unparked.take(), [1, 2]);
    sleep.choose(&ports, 1);
    assert_eq!(ports.unparked.take(), [0; 0]);
}

#[test]
fn its_debug_form_says_what_it_counts() {
    let (sleep, _) = sleeping(8, [3, 4]);
    assert!(sleep.begin_search(&Native));
    assert_eq!(
        format!("{:?}", sleep.peek(&Native)),
        "SleepWord { searchers: 1, sleepers: 2, aborting: false, done: false }"
    );
}
