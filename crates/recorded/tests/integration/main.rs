//! Records of runs on threads: real ones pass, and tampered ones do not.

use std::thread;

use executor_core::{ExecutorConfig, TaskCtx};
use proptest::prelude::*;
use proptest::sample::Index;
use recorded::{Event, Record, RecordedHandle, Recording, Rejection, check_record, order_record, record};
use sim::{Oracle, WordName, write_chrome_trace};

fn run<C: TaskCtx<u32, u64>>(depth: u32, cx: &mut C) -> Option<u32> {
    *cx.scratch() += 1;
    let child = depth.checked_sub(1)?;
    match depth % 4 {
        0 | 2 => cx.spawn_local_all([child; 2]),
        1 => {
            cx.spawn_local(child);
            return Some(child);
        }
        _ => {
            cx.spawn_local(child);
            cx.spawn_global(child);
        }
    }
    None
}

fn recorded(workers: usize, body: impl FnOnce(&RecordedHandle<'_, u32>)) -> Record {
    let config = ExecutorConfig::new(workers);
    let run = record(&Recording::new(config), |_| 0, run, body);
    run.expect("threads can be started").record
}

fn small_record() -> Record {
    recorded(2, |handle| {
        handle.spawn(6).expect("it is open");
        assert!(handle.wait_idle());
        thread::scope(|threads| {
            let producer = handle.clone();
            threads.spawn(move || (0..20).for_each(|_| drop(producer.spawn_batch(vec![2; 3]))));
            (0..20).for_each(|_| {
                let _ = handle.spawn(3);
            });
            assert!(handle.wait_idle());
        });
        handle.close();
        assert!(handle.spawn(1).is_err());
    })
}

fn rejected(record: &Record) -> Box<Rejection> {
    check_record(record).expect_err("it was tampered with")
}

fn tampered(record: &Record, actor: usize, change: impl FnOnce(&mut Vec<Event>)) -> Record {
    let mut events: Vec<Event> = record.events(actor).collect();
    change(&mut events);
    record.clone().with_events(actor, events)
}

fn all(record: &Record, wanted: impl Fn(&Event) -> bool) -> Vec<(usize, usize)> {
    (0..record.parties())
        .flat_map(|actor| {
            let events = record.events(actor).enumerate();
            events.map(move |(at, event)| (actor, at, event))
        })
        .filter(|(_, _, event)| wanted(event))
        .map(|(actor, at, _)| (actor, at))
        .collect()
}

#[test]
fn real_runs_are_accepted_to_the_last_event() {
    for workers in [1, 2, 4] {
        let record = recorded(workers, |handle| {
            handle.spawn(8).expect("it is open");
            assert!(handle.wait_idle());
        });
        let checked = check_record(&record).unwrap_or_else(|rejection| panic!("{rejection}"));
        assert_eq!(checked.tasks, (1 << 9) - 1);
    }
    let record = small_record();
    let checked = check_record(&record).unwrap_or_else(|rejection| panic!("{rejection}"));
    let events: usize = (0..record.parties())
        .map(|actor| record.events(actor).count())
        .sum();
    assert_eq!(checked.events, events as u64);
}

#[test]
fn a_run_that_is_shut_down_hands_back_and_is_accepted() {
    let record = recorded(2, |handle| {
        handle.spawn(16).expect("it is open");
        handle.shutdown();
    });
    let checked = check_record(&record).unwrap_or_else(|rejection| panic!("{rejection}"));
    assert!(checked.tasks >= 1);
}

#[test]
fn an_order_is_drawn_as_a_simulated_run_is() {
    let ordered = order_record(&small_record()).unwrap_or_else(|rejection| panic!("{rejection}"));
    let mut out = Vec::new();
    write_chrome_trace(&mut out, &ordered.course, &[], &ordered.actors).expect("a vector takes it");
    let json: serde_json::Value = serde_json::from_slice(&out).expect("it is JSON");
    let rows = json["traceEvents"].as_array().expect("it has rows");
    assert_eq!(rows.len() as u64, ordered.events + ordered.actors.len() as u64);
    assert_eq!(rows[0]["args"]["name"], "worker 0");
}

#[test]
fn a_task_that_starts_twice_is_rejected_by_name() {
    let record = small_record();
    let (actor, at) = all(&record, |event| matches!(event, Event::Started { .. }))[0];
    let twice = tampered(&record, actor, |events| {
        events.insert(at + 1, events[at]);
        events.insert(at + 1, Event::Ended);
    });
    let rejection = rejected(&twice);
    // The task's previous place decides whether its moves or its runs are checked first.
    assert!(
        matches!(rejection.oracle, Oracle::ExactlyOnce | Oracle::Record),
        "{rejection}"
    );
    assert!(rejection.to_string().contains("the last ones before it"));
}

#[test]
fn a_change_without_its_cause_is_rejected_by_what_waits_for_it() {
    let record = small_record();
    // A change to the same value leaves no trace.
    let is_change = |event: &Event| matches!(event, Event::Changed { .. }) && !is_told_by_others(event);
    let changes = all(&record, is_change);
    // Which oracle notices it first depends on the run.
    let is_waited_for = |&(actor, at): &(usize, usize)| {
        let rejection = rejected(&tampered(&record, actor, |events| {
            events.remove(at);
        }));
        rejection.oracle == Oracle::Record && rejection.message.contains("no order explains")
    };
    assert!(changes.iter().take(40).any(is_waited_for));
}

fn is_take(event: &Event) -> bool {
    matches!(
        event,
        Event::Started { .. } | Event::TookInjected { .. } | Event::Stole { .. } | Event::OfRun { .. }
    )
}

/// The run is still valid without such an event: a look, a wake, an end that the next start or
/// hand-over implies, the source of a stolen task.
fn is_told_by_others(event: &Event) -> bool {
    match event {
        Event::InjectorEmpty | Event::Unparked { .. } | Event::Parked | Event::Awoke => true,
        Event::Read { .. } | Event::Idle | Event::Ended | Event::Stole { .. } | Event::HandedOver => true,
        Event::Changed { before, after, .. } => before == after,
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 150,
        // Each case is another run of threads, so its seed does not reproduce a failure.
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_record_without_one_of_its_events_is_rejected(nth: Index) {
        let record = small_record();
        let (actor, at) = *nth.get(&all(&record, |event| !is_told_by_others(event)));
        let without = tampered(&record, actor, |events| { events.remove(at); });
        let event = record.events(actor).nth(at);
        prop_assert!(check_record(&without).is_err(), "without event {at} of actor {actor}, {event:?}");
    }

    #[test]
    fn a_task_that_ends_before_it_starts_is_rejected(nth: Index) {
        let record = small_record();
        let (actor, at) = *nth.get(&all(&record, |event| matches!(event, Event::Started { .. })));
        let swapped = tampered(&record, actor, |events| {
            let end = (at..events.len()).find(|&end| events[end] == Event::Ended).expect("it ended");
            events.swap(at, end);
        });
        prop_assert!(check_record(&swapped).is_err());
    }

    #[test]
    fn two_changes_of_a_word_in_the_other_order_are_rejected(nth: Index) {
        let record = small_record();
        let (actor, at) = *nth.get(&all(&record, |event| matches!(event, Event::Changed { .. })));
        let Event::Changed { word: first, .. } = record.events(actor).nth(at).expect("it was found") else {
            unreachable!("it was looked for");
        };
        let later = record.events(actor).skip(at + 1).position(
            |event| matches!(event, Event::Changed { word, .. } if word == first),
        );
        if let Some(later) = later {
            let swapped = tampered(&record, actor, |events| events.swap(at, at + 1 + later));
            prop_assert!(check_record(&swapped).is_err());
        }
    }

    #[test]
    fn a_task_that_is_taken_twice_is_rejected(nth: Index) {
        let record = small_record();
        let (actor, at) = *nth.get(&all(&record, is_take));
        let twice = tampered(&record, actor, |events| events.insert(at, events[at]));
        prop_assert!(check_record(&twice).is_err());
    }

    /// A registration may have any newer stamp, so it is not altered.
    #[test]
    fn another_version_or_value_is_rejected(nth: Index, by in 1_u32..5, of_version: bool) {
        let record = small_record();
        let is_registration = |event: &Event| matches!(event, Event::Changed { word: WordName::Slot(_), before: 0, .. });
        let (actor, at) = *nth.get(&all(&record, |event| {
            matches!(event, Event::Changed { .. }) && (of_version || !is_registration(event))
        }));
        let altered = tampered(&record, actor, |events| {
            // A slot's last stamp is never read: there the value before is altered.
            if let Event::Changed { word, version, before, after } = &mut events[at] {
                let after = if matches!(word, WordName::Slot(_)) { before } else { after };
                if of_version { *version += by } else { *after += by }
            }
        });
        let altered_event = altered.events(actor).nth(at);
        prop_assert!(check_record(&altered).is_err(), "altered by {}: {:?}", by, altered_event);
    }

    #[test]
    fn a_value_that_no_change_has_left_is_rejected(nth: Index, by in 1_u32..5) {
        let record = small_record();
        let reads = all(&record, |event| matches!(event, Event::Read { .. }));
        if !reads.is_empty() {
            let (actor, at) = *nth.get(&reads);
            let altered = tampered(&record, actor, |events| {
                if let Event::Read { value, .. } = &mut events[at] { *value += by }
            });
            prop_assert!(check_record(&altered).is_err());
        }
    }
}
