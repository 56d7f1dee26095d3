//! Sleeping, waking, waiting, chance, and panics.

use std::any::Any;
use std::panic::resume_unwind;
use std::time::Duration;

use executor_core::nanos;
use executor_core::ports::{Entropy, Faults, Parking, Unpark, Waiting};

use super::SimPorts;
use crate::actor::Teardown;
use crate::coverage::CoveragePoint;
use crate::handle::Handle;
use crate::trace::{Object, Op};

impl Unpark for Handle<'_> {
    fn unpark(&self, worker: usize) {
        self.operate(|world, me| {
            world.did(me, Op::Unpark, Object::Worker(worker as u32), 0);
            world.unpark(me, worker);
        });
    }

    fn signal_waiters(&self) {
        self.operate(|world, me| {
            world.did(me, Op::Signal, Object::None, world.signals());
            world.signal(me);
        });
    }
}

impl Parking for Handle<'_> {
    fn park(&self, timeout: Option<Duration>) {
        let timeout_ns = timeout.map(nanos);
        let blocked = self.operate(|world, me| {
            world.did(me, Op::Park, Object::None, timeout_ns.unwrap_or(0));
            world.park(me, timeout_ns)
        });
        if blocked {
            self.wait();
        }
        self.with(|world| {
            world.did(self.actor(), Op::Awake, Object::None, 0);
            world.awake(self.actor(), timeout.is_some());
        });
    }

    /// Not a step: only the time differs.
    fn spin_before_park(&self, spins: u32) {
        self.with(|world| world.spin_before_park(self.actor(), spins));
    }

    fn take_wake_delay(&self) -> Duration {
        Duration::from_nanos(self.with(|world| world.take_wake_delay(self.actor())))
    }

    fn spin(&self, times: u32) {
        self.operate(|world, me| world.did(me, Op::Spin, Object::None, times.into()));
    }

    fn yield_now(&self) {
        self.operate(|world, me| world.did(me, Op::Yield, Object::None, 0));
    }
}

impl Waiting for Handle<'_> {
    fn ticket(&self) -> u64 {
        self.operate(|world, me| {
            let ticket = world.signals();
            world.did(me, Op::Ticket, Object::None, ticket);
            ticket
        })
    }

    fn wait_past(&self, ticket: u64) {
        let blocked = self.operate(|world, me| {
            world.did(me, Op::Wait, Object::None, ticket);
            world.wait_past(me, ticket)
        });
        if blocked {
            self.with(|world| world.coverage.hit(CoveragePoint::WaitedForIdle));
            self.wait();
        }
    }
}

impl<T> Unpark for SimPorts<'_, T> {
    fn unpark(&self, worker: usize) {
        self.handle.unpark(worker);
    }

    fn signal_waiters(&self) {
        self.handle.signal_waiters();
    }
}

impl<T> Parking for SimPorts<'_, T> {
    fn park(&self, timeout: Option<Duration>) {
        self.handle.park(timeout);
    }

    fn spin_before_park(&self, spins: u32) {
        self.handle.spin_before_park(spins);
    }

    fn take_wake_delay(&self) -> Duration {
        self.handle.take_wake_delay()
    }

    fn spin(&self, times: u32) {
        self.handle.spin(times);
    }

    fn yield_now(&self) {
        self.handle.yield_now();
    }
}

impl<T> Waiting for SimPorts<'_, T> {
    fn ticket(&self) -> u64 {
        self.handle.ticket()
    }

    fn wait_past(&self, ticket: u64) {
        self.handle.wait_past(ticket);
    }
}

impl<T> Entropy for SimPorts<'_, T> {
    fn below(&self, bound: usize) -> usize {
        self.handle.with(|world| world.below(bound))
    }
}

impl<T> Faults for SimPorts<'_, T> {
    fn record_panic(&self, payload: Box<dyn Any + Send>) {
        // The run loop calls this outside its catch, so unwinding continues.
        if payload.is::<Teardown>() {
            resume_unwind(payload);
        }
        self.handle
            .with(|world| world.panicked(self.handle.actor(), &*payload));
    }
}
