//! The parties outside: who hands tasks over, who closes, and how long they wait before.

use std::hash::Hash;
use std::rc::Rc;

use executor_core::Rejected;
use executor_core::run_state::Refused;

use crate::fault::Fault;
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
        let began = ports.handle.with(|world| {
            world.oracles.count.begin_hand_over(ports.handle.party());
            world.outside_call(true);
            world.steps()
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
            let full = world.was_weighed_since(began);
            let open = scheduler.state().is_accepting(&Glass);
            let mark = match batch {
                _ if full && open => Mark::RefusedFull,
                0 => Mark::Refused,
                _ => Mark::BatchRefused,
            };
            if refused.is_some() {
                world.marks.hit(mark);
            }
            let may_refuse = full || !open;
            let verdict = judge_hand_over(world, ports, offered, refused.as_ref().map(Vec::len), may_refuse);
            world.judge(verdict);
            world.outside_call(false);
        });
        ports.take_back(refused.unwrap_or_default());
    }
}

/// All or nothing, and refused only by a closed gate or a count that has no room.
fn judge_hand_over<T>(
    world: &World,
    ports: &SimPorts<'_, T>,
    offered: usize,
    refused: Option<usize>,
    may_refuse: bool,
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
    if refused.is_some() && !may_refuse {
        return Err(Violation::new(Oracle::Gate, "a task was refused by an open gate"));
    }
    Ok(())
}

/// Tasks of a producer that has nobody to hand them over to: there is no executor.
pub(crate) fn keep_all<T>(ports: &SimPorts<'_, T>, tasks: Vec<T>) {
    let tasks = tasks.into_iter();
    ports.take_back(tasks.map(|task| ports.track(task, Origin::Outside)).collect());
}

/// The one who makes the executor, when a worker's thread could not be started: it lets go of it again.
pub(crate) fn give_up<T>(ports: &SimPorts<'_, T>) {
    ports.queues.scheduler.abort(ports);
}

/// Brings the count near its maximum, keeps it there for a while, and takes it down again.
pub(crate) fn weigh_down<T>(ports: &SimPorts<'_, T>) {
    let scheduler = Rc::clone(&ports.queues.scheduler);
    let state = scheduler.state();
    while ports.handle.with(|world| world.faults.left(Fault::Overflow)) > 0 {
        let room = ports.handle.with(|world| world.schedule.below(ROOM_MAX));
        let weight = state.count_max() - room - state.in_flight(&Glass);
        match state.accept(ports, weight) {
            Ok(()) => {}
            // Others have added to it in between.
            Err(Refused::CountOverflow) => continue,
            Err(Refused::GateClosed) => return,
        }
        ports.handle.with(|world| world.weighed(true));
        pause(&ports.handle);
        ports.handle.with(|world| world.outside_call(true));
        scheduler.settle(ports, weight);
        ports.handle.with(|world| {
            world.weighed(false);
            world.outside_call(false);
        });
    }
}

/// So many counts are left at most when it is near its maximum.
const ROOM_MAX: usize = 8;

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
            ports.handle.with(|world| world.answered(ports.handle.party()));
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
    handle.pause(World::some_steps);
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
