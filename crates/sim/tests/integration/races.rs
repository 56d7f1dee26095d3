//! The races that `crates/executor-core/src/sleep/README.md` names, one test each.
//!
//! Each runs a scene under thousands of schedules with the oracles watching, and shows from the trace that the race
//! came about: that the operations of the parties fell between each other as the name says.

use sim::{Ending, Event, Mark, Object, Op, Simulation, WordName};

use crate::scenes::{
    changes_sleep_word, explore, explore_with_children, find, party, searchers, sleepers, sleepy,
};

/// Look, nothing; push; register: the look between registering and parking must find it.
#[test]
fn push_between_looking_and_sleeping() {
    let scene = |simulation: Simulation| simulation.config(sleepy(1));
    explore(scene, 1, |report| {
        let events = &report.course.events;
        let (worker, producer) = (
            party(&report.course, "worker 0"),
            party(&report.course, "producer 0"),
        );
        let looked = |event: &Event| event.party == worker && event.op == Op::TakeEmpty;
        let Some(push) = find(events, 0, |event| {
            event.party == producer && event.op == Op::Inject
        }) else {
            return false;
        };
        let Some(look) = (0..push).rev().find(|&at| looked(&events[at])) else {
            return false;
        };
        // The worker registers after the push, and has not looked again in between.
        let registers = find(events, look + 1, |event| {
            event.party == worker && changes_sleep_word(event)
        });
        let looks = find(events, look + 1, |event| {
            event.party == worker && matches!(event.op, Op::TakeEmpty | Op::TakeInjected)
        });
        registers.is_some_and(|at| at > push && looks.is_none_or(|next| next > at))
            && report.course.marks.count(Mark::FoundInLastLook) > 0
    });
}

/// A push relies on a searcher that has already looked: it wakes nobody, and the searcher must look once more after it
/// has left the search.
#[test]
fn leaving_search_before_last_look() {
    let scene = |simulation: Simulation| simulation.config(sleepy(2));
    explore(scene, 1, |report| {
        let events = &report.course.events;
        let producer = party(&report.course, "producer 0");
        let relied = |event: &Event| {
            event.party == producer
                && event.op == Op::Load
                && event.object == Object::Word(WordName::Sleep)
                && searchers(event.value) > 0
                && sleepers(event.value) > 0
        };
        let woke = |event: &Event| event.party == producer && event.op == Op::Unpark;
        let last_look = report.course.marks.count(Mark::FoundInLastLook) > 0;
        last_look && events.iter().any(relied) && !events.iter().any(woke)
    });
}

/// The last searcher has found a task and leaves the search, behind a fence; it sees that there is more, and wakes the next
/// one, because another push has relied on it.
#[test]
fn last_searcher_hands_on() {
    let scene = |simulation: Simulation| simulation.config(sleepy(3)).producers(2);
    explore(scene, 4, |report| {
        let events = &report.course.events;
        (0..3).any(|worker| {
            let own: Vec<&Event> = events.iter().filter(|event| event.party == worker).collect();
            // Leaving with work in hand is a change of the sleep word right after a task was taken, not after a
            // stamp was stored.
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

/// Two pushes find the same searcher searching and wake nobody. It takes one of the tasks; both must run.
#[test]
fn two_pushes_one_searcher() {
    let scene = |simulation: Simulation| simulation.config(sleepy(2)).producers(2);
    explore(scene, 2, |report| {
        let events = &report.course.events;
        let relied = |name: &str| {
            let producer = party(&report.course, name);
            events.iter().any(|event| {
                event.party == producer
                    && event.op == Op::Load
                    && event.object == Object::Word(WordName::Sleep)
                    && searchers(event.value) == 1
                    && sleepers(event.value) == 1
            }) && !events
                .iter()
                .any(|event| event.party == producer && event.op == Op::Unpark)
        };
        relied("producer 0") && relied("producer 1")
    });
}

/// Tasks that a thief carries from its victim's queue to its own are in neither. Somebody else looks everywhere in that
/// moment and goes to sleep; whoever carries them must announce them.
#[test]
fn batch_in_transit_is_announced() {
    let scene = |simulation: Simulation| simulation.config(sleepy(3));
    explore_with_children(scene, 1, 6, |report| {
        let events = &report.course.events;
        let by = |party: u32, op: Op| move |event: &Event| event.party == party && event.op == op;
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

/// A worker finds work in its last look while a waker chooses it. It owns that wake, and gives back the ticket that
/// it took for itself.
#[test]
fn deregistering_worker_owns_the_wake_that_was_first() {
    let scene = |simulation: Simulation| simulation.config(sleepy(2)).producers(2);
    explore(scene, 3, |report| report.course.marks.count(Mark::OwnedWake) > 0);
}

/// Two parties hold a ticket each and go for the newest sleeper.
#[test]
fn two_wakers_choose_the_same_sleeper() {
    let scene = |simulation: Simulation| simulation.config(sleepy(4)).producers(3);
    explore(scene, 6, |report| {
        report.course.marks.count(Mark::SleeperContended) > 0
    });
}

/// A producer was let in and has not pushed when the executor is aborted. The end waits for its task, which is
/// handed back.
#[test]
fn abort_waits_for_an_accepted_spawn_that_has_not_pushed() {
    let scene = |simulation: Simulation| simulation.config(sleepy(1)).producers(2).ending(Ending::Abort);
    explore(scene, 4, |report| {
        report.course.marks.count(Mark::ClosedOverAccepted) > 0 && !report.handed_back.is_empty()
    });
}

/// Somebody waits for idleness: it has read that a task is in flight, and the task ends before it blocks.
#[test]
fn wait_idle_against_the_last_completion() {
    let scene = |simulation: Simulation| simulation.config(sleepy(1)).ending(Ending::Idle);
    explore(scene, 1, |report| {
        report.course.marks.count(Mark::SignalledBeforeWaiting) > 0
    });
}
