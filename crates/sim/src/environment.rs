//! The environment's actors: producers, closers, waiters, and their pauses.

use std::hash::Hash;
use std::rc::Rc;

use executor_core::Rejected;
use executor_core::run_state::Refused;

use crate::coverage::CoveragePoint;
use crate::fault::Fault;
use crate::handle::Handle;
use crate::oracle::{Oracle, Origin, Violation};
use crate::ports::SimPorts;
use crate::setup::Ending;
use crate::word::Glass;
use crate::world::World;

pub(crate) fn produce<T>(ports: &SimPorts<'_, T>, tasks: Vec<T>, batch: usize) {
    let scheduler = Rc::clone(&ports.queues.scheduler);
    let mut tasks = tasks.into_iter();
    while tasks.len() > 0 {
        ports
            .handle
            .with(|world| world.at_rest(|state| tasks.len().hash(state)));
        let offered = tasks.len().min(batch.max(1));
        let began = ports.handle.with(|world| {
            world.oracles.count.begin_hand_over(ports.handle.actor());
            world.environment_call(true);
            world.steps()
        });
        let refused = if batch == 0 {
            let task = ports.track(tasks.next().expect("there is one"), Origin::External);
            let refused = scheduler.spawn_external(ports, task);
            refused.err().map(|Rejected(task)| vec![task])
        } else {
            let some = tasks.by_ref().take(batch);
            let some = some.map(|task| ports.track(task, Origin::External)).collect();
            let refused = scheduler.spawn_external_batch(ports, some);
            refused.err().map(|Rejected(tasks)| tasks)
        };
        ports.handle.with(|world| {
            let full = world.was_weighed_since(began);
            let open = scheduler.state().is_accepting(&Glass);
            let point = match batch {
                _ if full && open => CoveragePoint::RefusedFull,
                0 => CoveragePoint::Refused,
                _ => CoveragePoint::BatchRefused,
            };
            if refused.is_some() {
                world.coverage.hit(point);
            }
            let may_refuse = full || !open;
            let verdict = judge_hand_over(world, ports, offered, refused.as_ref().map(Vec::len), may_refuse);
            world.judge(verdict);
            world.environment_call(false);
        });
        ports.take_back(refused.unwrap_or_default());
    }
}

/// Only a closed gate or a full count refuses a hand-over, as a whole.
fn judge_hand_over<T>(
    world: &World,
    ports: &SimPorts<'_, T>,
    offered: usize,
    refused: Option<usize>,
    may_refuse: bool,
) -> Result<(), Violation> {
    let me = ports.handle.actor();
    world.oracles.count.environment_is_even(me)?;
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

/// A producer's tasks without an executor.
pub(crate) fn keep_all<T>(ports: &SimPorts<'_, T>, tasks: Vec<T>) {
    let tasks = tasks.into_iter();
    ports.take_back(tasks.map(|task| ports.track(task, Origin::External)).collect());
}

pub(crate) fn give_up<T>(ports: &SimPorts<'_, T>) {
    ports.queues.scheduler.abort(ports);
}

/// Brings the count near its maximum for a while.
pub(crate) fn weigh_down<T>(ports: &SimPorts<'_, T>) {
    let scheduler = Rc::clone(&ports.queues.scheduler);
    let state = scheduler.state();
    while ports.handle.with(|world| world.faults.left(Fault::Overflow)) > 0 {
        let room = ports.handle.with(|world| world.schedule.below(ROOM_MAX));
        let weight = state.count_max() - room - state.in_flight(&Glass);
        match state.accept(ports, weight) {
            Ok(()) => {}
            Err(Refused::CountOverflow) => continue,
            Err(Refused::Closed) => return,
        }
        ports.handle.with(|world| world.weighed(true));
        pause(&ports.handle);
        ports.handle.with(|world| world.environment_call(true));
        scheduler.release(ports, weight);
        ports.handle.with(|world| {
            world.weighed(false);
            world.environment_call(false);
        });
    }
}

const ROOM_MAX: usize = 8;

pub(crate) fn end<T>(ports: &SimPorts<'_, T>, ending: Ending) {
    let scheduler = Rc::clone(&ports.queues.scheduler);
    let call = |what: &dyn Fn()| {
        ports.handle.with(|world| world.environment_call(true));
        what();
        ports.handle.with(|world| world.environment_call(false));
    };
    match ending {
        Ending::Join => {
            ports.handle.wait_for_producers();
            call(&|| scheduler.close(ports));
        }
        Ending::Idle => {
            ports.handle.wait_for_producers();
            scheduler.wait_idle(ports);
            ports.handle.with(|world| world.answered(ports.handle.actor()));
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

pub(crate) fn pause(handle: &Handle<'_>) {
    handle.pause(World::some_steps);
}

pub(crate) fn deal<T>(tasks: impl IntoIterator<Item = T>, producers: usize) -> Vec<Vec<T>> {
    let mut hands: Vec<Vec<T>> = (0..producers).map(|_| Vec::new()).collect();
    for (n, task) in tasks.into_iter().enumerate() {
        assert!(producers > 0, "there are tasks and no producer to hand them over");
        hands[n % producers].push(task);
    }
    hands
}
