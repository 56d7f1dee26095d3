//! The parties outside: who hands tasks over, who closes, and how long they wait before.

use std::hash::Hash;
use std::rc::Rc;

use executor_core::Rejected;

use crate::handle::Handle;
use crate::mark::Mark;
use crate::oracle::{Oracle, Origin, Violation};
use crate::ports::SimPorts;
use crate::setup::Ending;
use crate::word::Glass;
use crate::world::World;

/// A producer: hands over its tasks, one by one or in batches, and keeps what the gate refuses.
pub(crate) fn produce<T>(ports: &SimPorts<'_, T>, tasks: Vec<T>, batch: usize) {
    let scheduler = Rc::clone(&ports.queues.scheduler);
    let mut tasks = tasks.into_iter();
    while tasks.len() > 0 {
        // It hands over the next one, whatever became of those before.
        ports
            .handle
            .with(|world| world.at_rest(|state| tasks.len().hash(state)));
        let offered = tasks.len().min(batch.max(1));
        ports.handle.with(|world| {
            world.oracles.count.begin_hand_over(ports.handle.party());
            world.outside_call(true);
        });
        let refused = if batch == 0 {
            let task = ports.track(tasks.next().expect("there is one"), Origin::Outside);
            let refused = scheduler.spawn_external(ports, task);
            refused.err().map(|Rejected(task)| vec![task])
        } else {
            let some = tasks.by_ref().take(batch);
            let some = some.map(|task| ports.track(task, Origin::Outside)).collect();
            let refused = scheduler.spawn_external_batch(ports, some);
            refused.err().map(|Rejected(tasks)| tasks)
        };
        ports.handle.with(|world| {
            let mark = if batch == 0 {
                Mark::Refused
            } else {
                Mark::BatchRefused
            };
            if refused.is_some() {
                world.marks.hit(mark);
            }
            let verdict = judge_hand_over(world, ports, offered, refused.as_ref().map(Vec::len));
            world.judge(verdict);
            world.outside_call(false);
        });
        ports.take_back(refused.unwrap_or_default());
    }
}

/// All or nothing, and refused only by a closed gate.
fn judge_hand_over<T>(
    world: &World,
    ports: &SimPorts<'_, T>,
    offered: usize,
    refused: Option<usize>,
) -> Result<(), Violation> {
    let me = ports.handle.party();
    world.oracles.count.outside_is_even(me)?;
    let queued = world.oracles.count.queued_by(me);
    let expected = if refused.is_some() { 0 } else { offered };
    if queued != expected as u64 || refused.is_some_and(|refused| refused != offered) {
        return Err(Violation::new(
            Oracle::ExactlyOnce,
            format!(
                "of {offered} tasks handed over at once, {queued} were queued and {} came back",
                refused.unwrap_or(0)
            ),
        ));
    }
    if refused.is_some() && ports.queues.scheduler.state().is_accepting(&Glass) {
        return Err(Violation::new(Oracle::Gate, "a task was refused by an open gate"));
    }
    Ok(())
}

/// The one who ends it.
pub(crate) fn end<T>(ports: &SimPorts<'_, T>, ending: Ending) {
    let scheduler = Rc::clone(&ports.queues.scheduler);
    let call = |what: &dyn Fn()| {
        ports.handle.with(|world| world.outside_call(true));
        what();
        ports.handle.with(|world| world.outside_call(false));
    };
    match ending {
        Ending::Join => {
            ports.handle.wait_for_producers();
            call(&|| scheduler.close(ports));
        }
        Ending::Idle => {
            ports.handle.wait_for_producers();
            scheduler.wait_idle(ports);
            call(&|| scheduler.close(ports));
        }
        Ending::Close => {
            pause(&ports.handle);
            call(&|| scheduler.close(ports));
        }
        Ending::Abort => {
            pause(&ports.handle);
            call(&|| scheduler.abort(ports));
        }
        Ending::CloseThenAbort => {
            pause(&ports.handle);
            call(&|| scheduler.close(ports));
            pause(&ports.handle);
            call(&|| scheduler.abort(ports));
        }
    }
}

/// Lets others go for some micro-steps.
pub(crate) fn pause(handle: &Handle<'_>) {
    handle.pause(World::length_of_pause);
}

/// Deals tasks out, one to each producer in turn.
pub(crate) fn deal<T>(tasks: impl IntoIterator<Item = T>, producers: usize) -> Vec<Vec<T>> {
    let mut hands: Vec<Vec<T>> = (0..producers).map(|_| Vec::new()).collect();
    for (n, task) in tasks.into_iter().enumerate() {
        assert!(producers > 0, "there are tasks and no producer to hand them over");
        hands[n % producers].push(task);
    }
    hands
}
