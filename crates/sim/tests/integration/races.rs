//! The races named in `crates/executor-core/src/words/sleep/README.md`, one test each.
//!
//! Each explores thousands of schedules under the oracles, and shows from a trace that the
//! operations interleaved as the name says.

use sim::{CoveragePoint, Ending, Event, Object, Op, Simulation, WordName};

use crate::explored::{
    actor, changes_sleep_word, explore, explore_with_children, find, searchers, sleepers, sleepy,
};

#[test]
fn push_between_looking_and_sleeping() {
    let set_up = |simulation: Simulation| simulation.config(sleepy(1));
    explore(set_up, 1, |report| {
        let events = &report.course.events;
        let (worker, producer) = (
            actor(&report.course, "worker 0"),
            actor(&report.course, "producer 0"),
        );
        let looked = |event: &Event| event.actor == worker && event.op == Op::TakeEmpty;
        let Some(push) = find(events, 0, |event| {
            event.actor == producer && event.op == Op::Inject
        }) else {
            return false;
        };
        let Some(look) = (0..push).rev().find(|&at| looked(&events[at])) else {
            return false;
        };
        let registers = find(events, look + 1, |event| {
            event.actor == worker && changes_sleep_word(event)
        });
        let looks = find(events, look + 1, |event| {
            event.actor == worker && matches!(event.op, Op::TakeEmpty | Op::TakeInjected)
        });
        registers.is_some_and(|at| at > push && looks.is_none_or(|next| next > at))
            && report.course.coverage.count(CoveragePoint::FoundInLastLook) > 0
    });
}

#[test]
fn leaving_search_before_last_look() {
    let set_up = |simulation: Simulation| simulation.config(sleepy(2));
    explore(set_up, 1, |report| {
        let events = &report.course.events;
        let producer = actor(&report.course, "producer 0");
        let relied = |event: &Event| {
            event.actor == producer
                && event.op == Op::Load
                && event.object == Object::Word(WordName::Sleep)
                && searchers(event.value) > 0
                && sleepers(event.value) > 0
        };
        let woke = |event: &Event| event.actor == producer && event.op == Op::Unpark;
        let last_look = report.course.coverage.count(CoveragePoint::FoundInLastLook) > 0;
        last_look && events.iter().any(relied) && !events.iter().any(woke)
    });
}

#[test]
fn last_searcher_hands_on() {
    let set_up = |simulation: Simulation| simulation.config(sleepy(3)).producers(2);
    explore(set_up, 4, |report| {
        let events = &report.course.events;
        (0..3).any(|worker| {
            let own: Vec<&Event> = events.iter().filter(|event| event.actor == worker).collect();
            // The sleep word changes right after a take, not after a stamp.
            own.windows(6).any(|six| {
                matches!(six[0].op, Op::TakeFrom | Op::TakeInjected)
                    && changes_sleep_word(six[1])
                    && searchers(six[1].value) == 1
                    && six[2].op == Op::Fence
                    && (six[3].op, six[3].value) == (Op::Peek, 1)
                    && six[4].op == Op::Fence
                    && sleepers(six[5].value) > 0
            }) && own.iter().any(|event| event.op == Op::Unpark)
        })
    });
}

#[test]
fn two_pushes_one_searcher() {
    let set_up = |simulation: Simulation| simulation.config(sleepy(2)).producers(2);
    explore(set_up, 2, |report| {
        let events = &report.course.events;
        let relied = |name: &str| {
            let producer = actor(&report.course, name);
            events.iter().any(|event| {
                event.actor == producer
                    && event.op == Op::Load
                    && event.object == Object::Word(WordName::Sleep)
                    && searchers(event.value) == 1
                    && sleepers(event.value) == 1
            }) && !events
                .iter()
                .any(|event| event.actor == producer && event.op == Op::Unpark)
        };
        relied("producer 0") && relied("producer 1")
    });
}

#[test]
fn batch_in_transit_is_announced() {
    let set_up = |simulation: Simulation| simulation.config(sleepy(3));
    explore_with_children(set_up, 1, 6, |report| {
        let events = &report.course.events;
        let by = |actor: u32, op: Op| move |event: &Event| event.actor == actor && event.op == op;
        (0..3).any(|thief| {
            let Some(home) = find(events, 0, by(thief, Op::BringHome)) else {
                return false;
            };
            let Some(take) = events[..home].iter().position(by(thief, Op::TakeFrom)) else {
                return false;
            };
            (0..3).filter(|&other| other != thief).any(|other| {
                let looked = events[take..home]
                    .iter()
                    .any(|event| by(other, Op::TakeEmpty)(event) && event.object == Object::Worker(thief));
                let woken = find(events, home, |event| {
                    by(thief, Op::Unpark)(event) && event.object == Object::Worker(other)
                });
                looked && woken.is_some()
            })
        })
    });
}

/// The worker owns that wake, and returns the ticket that it took for itself.
#[test]
fn deregistering_worker_owns_the_wake_that_was_first() {
    let set_up = |simulation: Simulation| simulation.config(sleepy(2)).producers(2);
    explore(set_up, 3, |report| {
        report.course.coverage.count(CoveragePoint::OwnedWake) > 0
    });
}

#[test]
fn two_wakers_choose_the_same_sleeper() {
    let set_up = |simulation: Simulation| simulation.config(sleepy(4)).producers(3);
    explore(set_up, 6, |report| {
        report.course.coverage.count(CoveragePoint::SleeperContended) > 0
    });
}

#[test]
fn abort_waits_for_an_accepted_spawn_that_has_not_pushed() {
    let set_up = |simulation: Simulation| simulation.config(sleepy(1)).producers(2).ending(Ending::Abort);
    explore(set_up, 4, |report| {
        report.course.coverage.count(CoveragePoint::ClosedOverAccepted) > 0 && !report.handed_back.is_empty()
    });
}

#[test]
fn wait_idle_against_the_last_completion() {
    let set_up = |simulation: Simulation| simulation.config(sleepy(1)).ending(Ending::Idle);
    explore(set_up, 1, |report| {
        report
            .course
            .coverage
            .count(CoveragePoint::SignalledBeforeWaiting)
            > 0
    });
}
