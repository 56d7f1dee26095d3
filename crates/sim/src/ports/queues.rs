//! The injector and the workers' queues.
//!
//! A thief takes one task at a time, with steps in between, as the common lock-free LIFO deque
//! does; a stolen task is in no queue until it is pushed home. A run from the injector is taken at
//! once.

use executor_core::ports::{Inject, LocalQueue, Run, Steal, Stealing};

use super::SimPorts;
use crate::coverage::CoveragePoint;
use crate::oracle::{Oracle, Violation};
use crate::queues::Tracked;
use crate::trace::{Object, Op};

/// Tasks taken from a queue at once, at most.
const BATCH_MAX: usize = 32;

impl<T> Inject<Tracked<T>> for SimPorts<'_, T> {
    fn inject(&self, task: Tracked<T>) {
        self.handle.operate(|world, me| {
            world.queued(me, task.id, Op::Inject, None);
            self.queues.injector.borrow_mut().push_back(task);
        });
    }

    fn inject_batch(&self, batch: Vec<Tracked<T>>) {
        self.handle.operate(|world, me| {
            world.queues_batch(me);
            for (place, task) in batch.iter().enumerate() {
                // One push of any size; its tasks come in a row.
                if place == 0 {
                    world.queued(me, task.id, Op::Inject, None);
                } else {
                    let cost_ps = world.costs.inject_task_ps;
                    world.queued_for(me, task.id, Op::Inject, None, cost_ps);
                }
            }
            self.queues.injector.borrow_mut().extend(batch);
        });
    }
}

impl<T> LocalQueue<Tracked<T>> for SimPorts<'_, T> {
    fn push(&self, task: Tracked<T>) {
        self.handle.operate(|world, me| {
            world.queued(me, task.id, Op::Push, Some(me));
            self.queues.locals[me].borrow_mut().push_back(task);
        });
    }

    fn pop(&self) -> Option<Tracked<T>> {
        self.handle.operate(|world, me| {
            let Some(task) = self.queues.locals[me].borrow_mut().pop_back() else {
                world.did(me, Op::PopEmpty, Object::Worker(me as u32), 0);
                return None;
            };
            world.did(me, Op::Pop, Object::Task(task.id), task.id);
            world.popped(me, task.id);
            Some(task)
        })
    }

    fn is_empty(&self) -> bool {
        // The owner knows this itself, so no step.
        let worker = self.handle.actor();
        let empty = self.queues.locals[worker].borrow().is_empty();
        self.handle.with(|world| {
            if !empty {
                world.oracles.economy.saw_work(worker);
            }
            world.looked_home(empty);
        });
        empty
    }
}

impl<T> Stealing<Tracked<T>> for SimPorts<'_, T> {
    fn steal_injected(&self, most: usize, run: &mut Run<Tracked<T>>) -> Steal<()> {
        let worker = self.handle.actor();
        let taken = self.handle.operate(|world, me| {
            let verdict = world.oracles.count.between_tasks(me);
            world.judge(verdict);
            world.oracles.fairness.looked_at_injector(worker);
            let mut injector = self.queues.injector.borrow_mut();
            if injector.is_empty() {
                world.did(me, Op::TakeEmpty, Object::Injector, 0);
                world.oracles.reach.looked_at_injector(me);
                return Steal::Empty;
            }
            if world.is_contended(me) {
                world.coverage.hit(CoveragePoint::Retry);
                world.did(me, Op::Retry, Object::Injector, 0);
                return Steal::Retry;
            }
            let share = injector.len().min(most);
            let taken: Vec<_> = injector.drain(..share).collect();
            for task in &taken {
                world.left_injector(me, task.id);
            }
            world.did(me, Op::TakeInjected, Object::Injector, taken.len() as u64);
            if taken.len() > 1 {
                world.coverage.hit(CoveragePoint::RunTaken);
            }
            world.unpacked(me, taken.iter().map(|task| task.id));
            Steal::Task(taken)
        });
        match taken {
            Steal::Task(taken) => {
                run.extend(taken);
                Steal::Task(())
            }
            Steal::Empty => Steal::Empty,
            Steal::Retry => Steal::Retry,
        }
    }

    fn injector_is_empty(&self) -> bool {
        self.handle.operate(|world, me| {
            let empty = self.queues.injector.borrow().is_empty();
            world.did(me, Op::Peek, Object::Injector, u64::from(!empty));
            world.peeked(me, empty);
            empty
        })
    }

    fn victim_is_empty(&self, victim: usize) -> bool {
        self.handle.operate(|world, me| {
            let empty = self.queues.locals[victim].borrow().is_empty();
            world.did(me, Op::Peek, Object::Worker(victim as u32), u64::from(!empty));
            world.peeked(me, empty);
            empty
        })
    }

    fn steal_from(&self, victim: usize) -> Steal<Tracked<T>> {
        let worker = self.handle.actor();
        let Some(queue) = self.queues.locals.get(victim).filter(|_| victim != worker) else {
            self.handle.with(|world| {
                world.judge(Err(Violation::new(
                    Oracle::Victim,
                    format!("worker {worker} meant to steal from worker {victim}"),
                )));
            });
            return Steal::Empty;
        };
        let mut taken = Vec::new();
        let mut share = None;
        loop {
            let more = self.handle.operate(|world, me| {
                let mut queue = queue.borrow_mut();
                let share = *share.get_or_insert(queue.len().div_ceil(2).min(BATCH_MAX));
                let object = Object::Worker(victim as u32);
                if queue.is_empty() {
                    world.did(me, Op::TakeEmpty, object, 0);
                    world.oracles.reach.looked_at(me, victim);
                    if taken.len() < share {
                        world.coverage.hit(CoveragePoint::VictimDrained);
                    }
                    return Some(false);
                }
                if taken.is_empty() && world.is_contended(me) {
                    world.coverage.hit(CoveragePoint::Retry);
                    world.did(me, Op::Retry, object, 0);
                    return None;
                }
                let task = queue.pop_front().expect("it is not empty");
                world.did(me, Op::TakeFrom, object, task.id);
                world.stolen(me, victim, task.id);
                taken.push(task);
                Some(taken.len() < share)
            });
            match more {
                None => return Steal::Retry,
                Some(true) => {}
                Some(false) => break,
            }
        }
        if taken.len() > 1 {
            self.handle
                .with(|world| world.coverage.hit(CoveragePoint::BatchStolen));
        }
        self.bring_home(taken)
    }
}

impl<T> SimPorts<'_, T> {
    fn bring_home(&self, taken: Vec<Tracked<T>>) -> Steal<Tracked<T>> {
        let mut taken = taken.into_iter();
        let Some(first) = taken.next() else {
            return Steal::Empty;
        };
        self.handle
            .with(|world| world.in_hand(self.handle.actor(), first.id));
        if taken.len() > 0 {
            self.handle.operate(|world, me| {
                world.did(me, Op::BringHome, Object::Worker(me as u32), taken.len() as u64);
                taken
                    .as_slice()
                    .iter()
                    .for_each(|task| world.brought_home(me, task.id));
                self.queues.locals[me].borrow_mut().extend(taken);
            });
        }
        Steal::Task(first)
    }
}
