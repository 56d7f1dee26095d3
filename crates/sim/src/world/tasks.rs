//! The life of a task, as the world hears of it: from the ports while it is public, and from its worker where no port
//! leads. Each step goes to all the oracles that it is for.

use std::any::Any;

use executor_core::sleep::SleepWord;

use super::World;
use crate::fault::{InjectedHookPanic, InjectedPanic};
use crate::history::History;
use crate::mark::Mark;
use crate::oracle::{Came, Oracle, Origin, TaskId};
use crate::party::panic_message;
use crate::trace::{Object, Op};

impl World {
    /// `party` makes a new task. Gives its number.
    pub(crate) fn number(&mut self, party: usize, origin: Origin) -> TaskId {
        self.pushed_at.push(0);
        self.profiler.spawned(party, self.costs.burden_ps());
        self.knows(History::number);
        self.oracles.tasks.number(origin)
    }

    /// The gate refused `task`.
    pub(crate) fn refused(&mut self, task: TaskId) {
        let verdict = self.oracles.tasks.refused(task);
        self.judge(verdict);
    }

    /// `party` is about to put several tasks into the injector.
    pub(crate) fn queues_batch(&mut self, party: usize) {
        if let Some(worker) = self.parties[party].side.worker() {
            self.oracles.order.exposes(worker);
        }
    }

    /// `party` puts `task` into the injector (`None`) or into a worker's queue.
    pub(crate) fn queued(&mut self, party: usize, task: TaskId, op: Op, worker: Option<usize>) {
        let cost_ps = self.cost_ps(party, op, Object::Task(task), task);
        self.queued_for(party, task, op, worker, cost_ps);
    }

    /// [`World::queued`], which takes so long.
    pub(crate) fn queued_for(
        &mut self,
        party: usize,
        task: TaskId,
        op: Op,
        worker: Option<usize>,
        cost_ps: u64,
    ) {
        self.did_for(party, op, Object::Task(task), task, cost_ps);
        match self.oracles.tasks.queued(task, self.parties[party].side.worker()) {
            Ok(Came::New) => {
                let verdict = self.oracles.count.began(party);
                self.judge(verdict);
            }
            // Its count was paid when it was kept.
            Ok(came @ (Came::Private { worker } | Came::OfRun { worker })) => {
                if op == Op::Inject {
                    self.marks.hit(match came {
                        Came::OfRun { .. } => Mark::RunReturned,
                        Came::Private { .. } | Came::New => Mark::ExposedInjected,
                    });
                }
                let verdict = match came {
                    Came::OfRun { .. } => self.oracles.order.returned(task, worker),
                    Came::Private { .. } | Came::New => self.oracles.order.exposed(task, worker),
                };
                self.judge(verdict);
                self.exposures.pushed(worker, self.oracles.sleep.kept_by(worker));
                self.oracles.sleep.kept_no_longer(worker);
                self.oracles.hunger.exposed(worker);
            }
            Err(violation) => self.judge(Err(violation)),
        }
        self.oracles.sleep.pushed(worker);
        self.oracles.order.pushed(task, worker);
        self.oracles.economy.pushed(party, 1);
        self.pushed_at[task as usize] = self.parties[party].clock_ps;
    }

    /// `worker` has spawned `task`. If no queue has seen it, the worker keeps it to itself.
    pub(crate) fn spawned(&mut self, worker: usize, task: TaskId) {
        if self.oracles.tasks.kept(task, worker) {
            self.did(worker, Op::Keep, Object::Task(task), task);
            self.marks.hit(Mark::TaskKept);
            self.oracles.sleep.kept(worker);
            self.oracles.order.kept(task, worker);
            if self.oracles.sleep.kept_by(worker) > self.private_max {
                self.marks.hit(Mark::InReserve);
            }
            let verdict = self.oracles.count.began(worker);
            self.judge(verdict);
            self.over_the_hungry(worker);
        }
    }

    /// `worker` makes all its tasks public.
    pub(crate) fn publishes(&mut self, worker: usize) {
        self.exposures.publishing(worker, true);
    }

    /// `worker` has made all its tasks public.
    pub(crate) fn published(&mut self, worker: usize) {
        self.exposures.publishing(worker, false);
        let verdict = self.oracles.sleep.keeps_nothing(worker, "has published");
        self.judge(verdict);
    }

    /// `worker` has taken `tasks` together: the first is in its hand, and it alone sees the others until it queues them.
    pub(crate) fn unpacked(&mut self, worker: usize, tasks: impl Iterator<Item = TaskId>) {
        for (i, task) in tasks.enumerate() {
            if i == 0 {
                self.in_hand(worker, task);
            } else {
                let verdict = self.oracles.tasks.unpacked(task, worker);
                self.judge(verdict);
                self.oracles.sleep.kept(worker);
                self.oracles.order.arrived(task, worker);
            }
        }
    }

    /// `thief` took `task` from the public queue of `victim`.
    pub(crate) fn stolen(&mut self, thief: usize, victim: usize, task: TaskId) {
        self.oracles.sleep.taken(Some(victim));
        let verdict = self.oracles.order.stolen(task, victim);
        self.judge(verdict);
        self.oracles.reach.looked_at(thief, victim);
        self.came_from(thief, task);
    }

    /// `thief` puts `task`, which it has stolen together with another one, into its own queue.
    pub(crate) fn brought_home(&mut self, thief: usize, task: TaskId) {
        self.oracles.sleep.pushed(Some(thief));
        self.oracles.order.pushed(task, Some(thief));
        self.oracles.economy.pushed(thief, 1);
    }

    /// `worker` took `task` from its own public queue.
    pub(crate) fn popped(&mut self, worker: usize, task: TaskId) {
        self.oracles.sleep.taken(Some(worker));
        let verdict = self.oracles.order.popped(task, worker);
        self.judge(verdict);
        self.in_hand(worker, task);
        let verdict = self.oracles.fairness.took_own(worker);
        self.judge(verdict);
    }

    /// `worker` took `task` from the injector.
    pub(crate) fn left_injector(&mut self, worker: usize, task: TaskId) {
        self.oracles.sleep.taken(None);
        let verdict = self.oracles.order.left_injector(task);
        self.judge(verdict);
        self.came_from(worker, task);
    }

    /// A look of `worker` at its nearest sources has found nothing, and if it searches, a look everywhere.
    pub(crate) fn searched_in_vain(&mut self, worker: usize, searching: bool) {
        let verdict = self.oracles.reach.in_vain(worker, searching);
        self.judge(verdict);
    }

    /// `party` took `task` from where somebody else had put it: it was pushed before.
    pub(crate) fn came_from(&mut self, party: usize, task: TaskId) {
        self.not_before(party, self.pushed_at[task as usize]);
    }

    /// `party` has `task` in hand.
    pub(crate) fn in_hand(&mut self, party: usize, task: TaskId) {
        let verdict = self.oracles.tasks.taken(task, party);
        self.judge(verdict);
    }

    /// `worker` starts `task`.
    pub(crate) fn started(&mut self, worker: usize, task: TaskId) {
        self.reached(worker, task);
        self.maybe_tie(worker);
        self.oracles.reach.has_work(worker);
        self.profiler.started(worker, task);
        self.did(worker, Op::Start, Object::Task(task), task);
        let verdict = self.oracles.tasks.started(task, worker);
        self.judge(verdict);
        let verdict = self.oracles.protocol.starts(worker);
        self.judge(verdict);
    }

    /// `task` came to its end on `worker`.
    pub(crate) fn ran(&mut self, worker: usize, task: TaskId) {
        self.did(worker, Op::End, Object::Task(task), task);
        self.profiler.ended(worker, self.parties[worker].clock_ps);
        let verdict = self.oracles.tasks.ran(task, worker);
        self.judge(verdict);
        self.task_acted(worker);
        self.oracles.count.ended(worker);
    }

    /// What `worker` runs has panicked, unless it runs nothing.
    pub(crate) fn panicked(&mut self, worker: usize, payload: &(dyn Any + Send)) {
        if payload.is::<InjectedHookPanic>() {
            self.marks.hit(Mark::HookPanicked);
            return;
        }
        let message = panic_message(payload);
        let Some(task) = self.oracles.tasks.panicked(worker) else {
            let message = format!("worker {worker} panicked outside of any task: {message}");
            self.fail(Oracle::PolicyPanic, message);
            return;
        };
        self.did(worker, Op::Panic, Object::Task(task), task);
        self.profiler.ended(worker, self.parties[worker].clock_ps);
        self.marks.hit(Mark::TaskPanicked);
        self.task_acted(worker);
        if self.oracles.sleep.kept_by(worker) > 0 {
            self.marks.hit(Mark::PanickedOverPrivate);
        }
        self.oracles.count.ended(worker);
        if payload.is::<InjectedPanic>() {
            return;
        }
        if self.panics_allowed {
            self.panics.push(message);
        } else {
            self.fail(Oracle::TaskPanic, format!("task {task} panicked: {message}"));
        }
    }

    /// A hook of `worker` panics that was told that `task` is about to start: the task goes with it.
    pub(crate) fn dropped(&mut self, worker: usize, task: TaskId) {
        self.reached(worker, task);
        self.did(worker, Op::Panic, Object::Task(task), task);
        self.marks.hit(Mark::HookDroppedTask);
        let verdict = self.oracles.tasks.dropped(task, worker);
        self.judge(verdict);
        self.oracles.count.ended(worker);
    }

    /// `worker` hands `task` back.
    pub(crate) fn handed_back(&mut self, worker: usize, task: TaskId) {
        if self.oracles.tasks.is_private_to(task, worker) {
            self.marks.hit(Mark::PrivateHandedBack);
        }
        self.reached(worker, task);
        self.marks.hit(Mark::HandedBack);
        self.did(worker, Op::HandBack, Object::Task(task), task);
        let verdict = self.oracles.tasks.handed_back(task, worker);
        self.judge(verdict);
        let verdict = self.oracles.protocol.hands_back(worker);
        self.judge(verdict);
        self.oracles.count.ended(worker);
    }

    /// `party` read the `value` of the sleep word.
    #[inline(never)] // Else a load of any word, the commonest operation of all, becomes a twentieth slower.
    pub(crate) fn read_sleep_word(&mut self, party: usize, value: usize) {
        self.oracles.economy.read(party);
        if self.oracles.hunger.read(party, value) {
            let word = SleepWord::of_value(value);
            self.oracles.hunger.learns(party, word);
            self.oracles.protocol.learns(party, word);
        }
    }

    /// `worker` read its clock.
    pub(crate) fn read_clock(&mut self, worker: usize) {
        if self.oracles.hunger.saw_change(worker) && self.oracles.sleep.kept_by(worker) > 0 {
            self.marks.hit(Mark::ChangeExamined);
        }
    }

    /// `party` came to a fence.
    #[inline]
    pub(crate) fn fenced(&mut self, party: usize) {
        if self.exposures.is_any_open()
            && let Some(worker) = self.parties[party].side.worker()
            && let Some(mark) = (self.exposures).fenced(worker, self.oracles.hunger.is_searched(worker))
        {
            self.marks.hit(mark);
        }
    }

    /// `party` looked whether a queue is empty.
    pub(crate) fn peeked(&mut self, party: usize, empty: bool) {
        if !empty {
            self.oracles.economy.saw_work(party);
        }
    }

    /// `worker` comes with `task`. If it had kept it to itself, this is the first that anybody sees of its being taken.
    fn reached(&mut self, worker: usize, task: TaskId) {
        if self.oracles.tasks.is_private_to(task, worker) {
            self.oracles.sleep.kept_no_longer(worker);
            let verdict = self.oracles.order.reached(task, worker);
            self.judge(verdict);
            // What came from the injector bypasses nobody there.
            let bypasses = !self.oracles.tasks.is_of_run(task, worker);
            self.in_hand(worker, task);
            if bypasses {
                let verdict = self.oracles.fairness.took_own(worker);
                self.judge(verdict);
            }
            self.over_the_hungry(worker);
        }
    }

    /// `worker` has kept a private task or taken one. Does somebody wait for it?
    #[inline]
    fn over_the_hungry(&mut self, worker: usize) {
        if !self.oracles.hunger.is_hungry(worker) {
            return;
        }
        let (private, public) = (
            self.oracles.sleep.kept_by(worker),
            self.oracles.sleep.offered_by(worker),
        );
        let verdict = self.oracles.hunger.operated(worker, private, public);
        self.judge(verdict);
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use executor_core::{ACCEPTING_BIT, COUNT_UNIT, ExecutorConfig};

    use super::*;
    use crate::fault::{FaultBudget, Faults};
    use crate::party::Side;
    use crate::schedule::{Schedule, StrategyKind};
    use crate::trace::Trace;
    use crate::word::{SimWord, WordName};

    /// Two workers, of which the first has borrowed `counts` counts.
    fn world(counts: usize) -> World {
        let schedule = Schedule::new(StrategyKind::RoundRobin.build(0));
        let mut world = World::new(
            schedule,
            FaultBudget::new(Faults::NONE),
            1_000,
            false,
            Trace::new(true),
        );
        world.watch(Rc::new(SimWord::scheduler(ExecutorConfig {
            workers: 2,
            ..ExecutorConfig::default()
        })));
        world.join(Side::Worker(0));
        world.join(Side::Worker(1));
        // One from outside is in flight, or nobody could borrow.
        let before = ACCEPTING_BIT + COUNT_UNIT;
        world.word_changed(0, WordName::State, before, before + counts * COUNT_UNIT);
        world
    }

    /// Who spoke.
    fn said(mut world: World) -> Option<Oracle> {
        world.take_violation().map(|violation| violation.oracle)
    }

    /// A task that worker 0 keeps to itself.
    fn kept(world: &mut World) -> TaskId {
        let task = world.number(0, Origin::Task);
        world.spawned(0, task);
        task
    }

    #[test]
    fn a_task_that_is_kept_without_having_been_counted_is_noticed_there() {
        let mut world = world(1);
        kept(&mut world);
        assert_eq!(world.violation, None);
        kept(&mut world);
        assert_eq!(said(world), Some(Oracle::Count));
    }

    #[test]
    fn what_is_exposed_later_is_not_counted_again() {
        let mut world = world(2);
        let (exposed, runs) = (kept(&mut world), kept(&mut world));
        world.queued(0, exposed, Op::Push, Some(0));
        world.published(1);
        world.started(0, runs);
        world.ran(0, runs);
        assert_eq!(world.oracles.sleep.keeps_nothing(0, "parks"), Ok(()));
        assert!(world.oracles.count.parked(0, 0).is_err(), "one count came back");
        assert_eq!(said(world), None);
    }

    #[test]
    fn a_worker_that_parks_on_a_private_task_is_noticed() {
        let mut world = world(1);
        kept(&mut world);
        world.park(0, None);
        assert_eq!(said(world), Some(Oracle::HiddenWork));
    }

    #[test]
    fn a_worker_that_leaves_a_private_task_behind_is_noticed() {
        let mut world = world(1);
        kept(&mut world);
        world.finish(0);
        assert_eq!(said(world), Some(Oracle::HiddenWork));
    }

    #[test]
    fn a_worker_that_has_published_keeps_nothing() {
        let mut world = world(1);
        kept(&mut world);
        world.published(0);
        assert_eq!(said(world), Some(Oracle::HiddenWork));
    }

    #[test]
    fn a_worker_that_runs_what_another_keeps_is_noticed() {
        let mut world = world(1);
        let task = kept(&mut world);
        world.started(1, task);
        assert_eq!(said(world), Some(Oracle::ExactlyOnce));
    }

    #[test]
    fn private_tasks_count_for_the_bypass_of_the_injector() {
        let interval = ExecutorConfig::default().fairness_interval as usize;
        let mut world = world(interval + 1);
        for _ in 0..interval {
            let task = kept(&mut world);
            world.started(0, task);
            world.ran(0, task);
        }
        assert_eq!(world.violation, None);
        let task = kept(&mut world);
        world.started(0, task);
        assert_eq!(said(world), Some(Oracle::InjectorBypass));
    }
}
