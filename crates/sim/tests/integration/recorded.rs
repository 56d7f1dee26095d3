//! Records of runs on threads: a real one is accepted, and one that was tampered with is not.

use std::thread;

use executor_core::record::{Event, Record, WordName};
use executor_core::{ExecutorConfig, TaskCtx};
use executor_threaded::recording::{RecordedHandle, Recording, record};
use proptest::prelude::*;
use proptest::sample::Index;
use sim::{Oracle, Rejection, check_record, order_record, write_chrome_trace};

/// A tree, some of which goes through the injector.
fn run<C: TaskCtx<u32, u64>>(depth: u32, cx: &mut C) {
    *cx.scratch() += 1;
    for child in 0..2 {
        if depth > 0 && (depth + child).is_multiple_of(4) {
            cx.spawn_global(depth - 1);
        } else if depth > 0 {
            cx.spawn_local(depth - 1);
        }
    }
}

fn recorded(workers: usize, body: impl FnOnce(&RecordedHandle<'_, u32>)) -> Record {
    let config = ExecutorConfig {
        workers,
        ..ExecutorConfig::default()
    };
    let run = record(&Recording::new(config), |_| 0, run, body);
    run.expect("threads can be started").record
}

/// Two producers, batches, waits, and a gate that closes while somebody still produces.
fn scene() -> Record {
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

/// `record`, with one party's events changed.
fn tampered(record: &Record, party: usize, change: impl FnOnce(&mut Vec<Event>)) -> Record {
    let mut events: Vec<Event> = record.events(party).collect();
    change(&mut events);
    record.clone().with_events(party, events)
}

/// Every event that is `wanted`: its party, and its place there.
fn all(record: &Record, wanted: impl Fn(&Event) -> bool) -> Vec<(usize, usize)> {
    (0..record.parties())
        .flat_map(|party| {
            let events = record.events(party).enumerate();
            events.map(move |(at, event)| (party, at, event))
        })
        .filter(|(_, _, event)| wanted(event))
        .map(|(party, at, _)| (party, at))
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
    let record = scene();
    let checked = check_record(&record).unwrap_or_else(|rejection| panic!("{rejection}"));
    let events: usize = (0..record.parties())
        .map(|party| record.events(party).count())
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
    let ordered = order_record(&scene()).unwrap_or_else(|rejection| panic!("{rejection}"));
    let mut out = Vec::new();
    write_chrome_trace(&mut out, &ordered.course, &[], &ordered.parties).expect("a vector takes it");
    let json: serde_json::Value = serde_json::from_slice(&out).expect("it is JSON");
    let rows = json["traceEvents"].as_array().expect("it has rows");
    assert_eq!(rows.len() as u64, ordered.events + ordered.parties.len() as u64);
    assert_eq!(rows[0]["args"]["name"], "worker 0");
}

#[test]
fn a_task_that_starts_twice_is_rejected_by_name() {
    let record = scene();
    let (party, at) = all(&record, |event| matches!(event, Event::Started { .. }))[0];
    let twice = tampered(&record, party, |events| {
        events.insert(at + 1, events[at]);
        events.insert(at + 1, Event::Ended);
    });
    let rejection = rejected(&twice);
    // Whether the task's moves or its runs are told first depends on how it had come there.
    assert!(
        matches!(rejection.oracle, Oracle::ExactlyOnce | Oracle::Record),
        "{rejection}"
    );
    assert!(rejection.to_string().contains("the last ones before it"));
}

#[test]
fn a_change_that_nobody_made_is_rejected_by_what_waits_for_it() {
    let record = scene();
    // One that leaves the word as it was is missed by nobody.
    let is_change = |event: &Event| matches!(event, Event::Changed { .. }) && !is_told_by_others(event);
    let changes = all(&record, is_change);
    // Who notices it first, whoever waits for the change or an oracle that counts, is up to the run.
    let is_waited_for = |&(party, at): &(usize, usize)| {
        let rejection = rejected(&tampered(&record, party, |events| {
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

/// Events without which the run is a run as well: that somebody looked, woke or was awake; that a task ended, which the start of the
/// next one says, too; where a task was stolen, for a theft may have brought it home before; that a hand-over was over, which the next
/// one says; and that an empty slot was emptied.
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
        // Each case is another run of threads: what failed once does not fail from its seed.
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Drop an event: whatever it was, unless a run without it is a run as well.
    #[test]
    fn a_record_without_one_of_its_events_is_rejected(nth: Index) {
        let record = scene();
        let (party, at) = *nth.get(&all(&record, |event| !is_told_by_others(event)));
        let without = tampered(&record, party, |events| { events.remove(at); });
        let event = record.events(party).nth(at);
        prop_assert!(check_record(&without).is_err(), "without event {at} of party {party}, {event:?}");
    }

    /// Swap the start of a task with its end.
    #[test]
    fn a_task_that_ends_before_it_starts_is_rejected(nth: Index) {
        let record = scene();
        let (party, at) = *nth.get(&all(&record, |event| matches!(event, Event::Started { .. })));
        let swapped = tampered(&record, party, |events| {
            let end = (at..events.len()).find(|&end| events[end] == Event::Ended).expect("it ended");
            events.swap(at, end);
        });
        prop_assert!(check_record(&swapped).is_err());
    }

    /// Swap two changes of one word by one party.
    #[test]
    fn two_changes_of_a_word_in_the_other_order_are_rejected(nth: Index) {
        let record = scene();
        let (party, at) = *nth.get(&all(&record, |event| matches!(event, Event::Changed { .. })));
        let Event::Changed { word: first, .. } = record.events(party).nth(at).expect("it was found") else {
            unreachable!("it was looked for");
        };
        let later = record.events(party).skip(at + 1).position(
            |event| matches!(event, Event::Changed { word, .. } if word == first),
        );
        if let Some(later) = later {
            let swapped = tampered(&record, party, |events| events.swap(at, at + 1 + later));
            prop_assert!(check_record(&swapped).is_err());
        }
    }

    /// Duplicate a take.
    #[test]
    fn a_task_that_is_taken_twice_is_rejected(nth: Index) {
        let record = scene();
        let (party, at) = *nth.get(&all(&record, is_take));
        let twice = tampered(&record, party, |events| events.insert(at, events[at]));
        prop_assert!(check_record(&twice).is_err());
    }

    /// Alter the version of a change, or the value that it left. A registration may have any stamp that is newer.
    #[test]
    fn another_version_or_value_is_rejected(nth: Index, by in 1_u32..5, of_version: bool) {
        let record = scene();
        let is_registration = |event: &Event| matches!(event, Event::Changed { word: WordName::Slot(_), before: 0, .. });
        let (party, at) = *nth.get(&all(&record, |event| {
            matches!(event, Event::Changed { .. }) && (of_version || !is_registration(event))
        }));
        let altered = tampered(&record, party, |events| {
            // A slot's last stamp is nobody's business any more: there, what was before.
            if let Event::Changed { word, version, before, after } = &mut events[at] {
                let after = if matches!(word, WordName::Slot(_)) { before } else { after };
                if of_version { *version += by } else { *after += by }
            }
        });
        let altered_event = altered.events(party).nth(at);
        prop_assert!(check_record(&altered).is_err(), "altered by {}: {:?}", by, altered_event);
    }

    /// Alter what was read.
    #[test]
    fn a_value_that_no_change_has_left_is_rejected(nth: Index, by in 1_u32..5) {
        let record = scene();
        let reads = all(&record, |event| matches!(event, Event::Read { .. }));
        if !reads.is_empty() {
            let (party, at) = *nth.get(&reads);
            let altered = tampered(&record, party, |events| {
                if let Event::Read { value, .. } = &mut events[at] { *value += by }
            });
            prop_assert!(check_record(&altered).is_err());
        }
    }
}
