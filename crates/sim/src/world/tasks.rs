//! The life of a task: reports from the ports while it is public, and from its worker while it is
//! private. Each goes to all oracles concerned.

use std::any::Any;

use executor_core::panic_message;
use executor_core::sleep::SleepWord;

use super::World;
use crate::coverage::CoveragePoint;
use crate::fault::{InjectedHookPanic, InjectedPanic};
use crate::fingerprint::Fingerprints;
use crate::oracle::{Came, Oracle, Origin, TaskId};
use crate::trace::{Object, Op};

impl World {
    pub(crate) fn number(&mut self, actor: usize, origin: Origin) -> TaskId {
        self.pushed_at.push(0);
        self.profiler.spawned(actor, self.costs.burden_ps());
        self.note(Fingerprints::number);
        self.oracles.tasks.number(origin)
    }

    pub(crate) fn refused(&mut self, task: TaskId) {
        let verdict = self.oracles.tasks.refused(task);
        self.judge(verdict);
    }

    pub(crate) fn queues_batch(&mut self, actor: usize) {
        if let Some(worker) = self.actors[actor].kind.worker() {
            self.oracles.order.exposes(worker);
        }
    }

    pub(crate) fn queued(&mut self, actor: usize, task: TaskId, op: Op, worker: Option<usize>) {
        let cost_ps = self.cost_ps(actor, op, Object::Task(task), task);
        self.queued_for(actor, task, op, worker, cost_ps);
    }

    pub(crate) fn queued_for(
        &mut self,
        actor: usize,
        task: TaskId,
        op: Op,
        worker: Option<usize>,
        cost_ps: u64,
    ) {
        self.did_for(actor, op, Object::Task(task), task, cost_ps);
        match self.oracles.tasks.queued(task, self.actors[actor].kind.worker()) {
            Ok(Came::New) => {
                let verdict = self.oracles.count.began(actor);
                self.judge(verdict);
            }
            // Counted when it became private.
            Ok(came @ (Came::Private { worker } | Came::OfRun { worker })) => {
                if op == Op::Inject {
                    self.coverage.hit(match came {
                        Came::OfRun { .. } => CoveragePoint::RunReturned,
                        Came::Private { .. } | Came::New => CoveragePoint::ExposedInjected,
                    });
                }
                let verdict = match came {
                    Came::OfRun { .. } => self.oracles.order.returned(task, worker),
                    Came::Private { .. } | Came::New => self.oracles.order.exposed(task, worker),
                };
                self.judge(verdict);
                self.exposures.pushed(worker, self.oracles.sleep.kept_by(worker));
                self.oracles.sleep.kept_no_longer(worker);
                self.oracles.demand.exposed(worker);
            }
            Err(violation) => self.judge(Err(violation)),
        }
        self.oracles.sleep.pushed(worker);
        self.oracles.order.pushed(task, worker);
        self.oracles.economy.pushed(actor, 1);
        self.pushed_at[task as usize] = self.actors[actor].clock_ps;
    }

    pub(crate) fn spawned(&mut self, worker: usize, task: TaskId) {
        if self.oracles.tasks.kept(task, worker) {
            self.did(worker, Op::Keep, Object::Task(task), task);
            self.coverage.hit(CoveragePoint::TaskKept);
            self.oracles.sleep.kept(worker);
            self.oracles.order.kept(task, worker);
            if self.oracles.sleep.kept_by(worker) > self.private_max {
                self.coverage.hit(CoveragePoint::InReserve);
            }
            let verdict = self.oracles.count.began(worker);
            self.judge(verdict);
            self.beside_idle_workers(worker);
        }
    }

    /// The task that ran last on `worker` has returned `task`.
    pub(crate) fn returned(&mut self, worker: usize, task: TaskId) {
        let verdict = self.oracles.tasks.returned_by(task, worker);
        self.judge(verdict);
    }

    pub(crate) fn publishes(&mut self, worker: usize) {
        self.exposures.publishing(worker, true);
    }

    pub(crate) fn published(&mut self, worker: usize) {
        self.exposures.publishing(worker, false);
        let verdict = self.oracles.sleep.keeps_nothing(worker, "has published");
        self.judge(verdict);
    }

    /// The first task is in hand, the others are private until `worker` queues them.
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

    pub(crate) fn stolen(&mut self, thief: usize, victim: usize, task: TaskId) {
        self.oracles.sleep.taken(Some(victim));
        let verdict = self.oracles.order.stolen(task, victim);
        self.judge(verdict);
        self.oracles.reach.looked_at(thief, victim);
        self.came_from(thief, task);
    }

    pub(crate) fn brought_home(&mut self, thief: usize, task: TaskId) {
        self.oracles.sleep.pushed(Some(thief));
        self.oracles.order.pushed(task, Some(thief));
        self.oracles.economy.pushed(thief, 1);
    }

    pub(crate) fn popped(&mut self, worker: usize, task: TaskId) {
        self.oracles.sleep.taken(Some(worker));
        let verdict = self.oracles.order.popped(task, worker);
        self.judge(verdict);
        self.in_hand(worker, task);
        let verdict = self.oracles.fairness.took_own(worker);
        self.judge(verdict);
    }

    pub(crate) fn left_injector(&mut self, worker: usize, task: TaskId) {
        self.oracles.sleep.taken(None);
        let verdict = self.oracles.order.left_injector(task);
        self.judge(verdict);
        self.came_from(worker, task);
    }

    pub(crate) fn searched_in_vain(&mut self, worker: usize, searching: bool) {
        let verdict = self.oracles.reach.in_vain(worker, searching);
        self.judge(verdict);
    }

    pub(crate) fn came_from(&mut self, actor: usize, task: TaskId) {
        self.not_before(actor, self.pushed_at[task as usize]);
    }

    pub(crate) fn in_hand(&mut self, actor: usize, task: TaskId) {
        let verdict = self.oracles.tasks.taken(task, actor);
        self.judge(verdict);
    }

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

    pub(crate) fn ran(&mut self, worker: usize, task: TaskId) {
        self.did(worker, Op::End, Object::Task(task), task);
        self.profiler.ended(worker, self.actors[worker].clock_ps);
        let verdict = self.oracles.tasks.ran(task, worker);
        self.judge(verdict);
        self.task_acted(worker);
        self.oracles.count.ended(worker);
    }

    pub(crate) fn panicked(&mut self, worker: usize, payload: &(dyn Any + Send)) {
        if payload.is::<InjectedHookPanic>() {
            self.coverage.hit(CoveragePoint::HookPanicked);
            return;
        }
        let message = panic_message(payload);
        let Some(task) = self.oracles.tasks.panicked(worker) else {
            let message = format!("worker {worker} panicked outside of any task: {message}");
            self.fail(Oracle::PolicyPanic, message);
            return;
        };
        self.did(worker, Op::Panic, Object::Task(task), task);
        self.profiler.ended(worker, self.actors[worker].clock_ps);
        self.coverage.hit(CoveragePoint::TaskPanicked);
        self.task_acted(worker);
        if self.oracles.sleep.kept_by(worker) > 0 {
            self.coverage.hit(CoveragePoint::PanickedOverPrivate);
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

    pub(crate) fn dropped(&mut self, worker: usize, task: TaskId) {
        self.reached(worker, task);
        self.did(worker, Op::Panic, Object::Task(task), task);
        self.coverage.hit(CoveragePoint::HookDroppedTask);
        let verdict = self.oracles.tasks.dropped(task, worker);
        self.judge(verdict);
        self.oracles.count.ended(worker);
    }

    pub(crate) fn handed_back(&mut self, worker: usize, task: TaskId) {
        if self.oracles.tasks.is_private_to(task, worker) {
            self.coverage.hit(CoveragePoint::PrivateHandedBack);
        }
        self.reached(worker, task);
        self.coverage.hit(CoveragePoint::HandedBack);
        self.did(worker, Op::HandBack, Object::Task(task), task);
        let verdict = self.oracles.tasks.handed_back(task, worker);
        self.judge(verdict);
        let verdict = self.oracles.protocol.hands_back(worker);
        self.judge(verdict);
        self.oracles.count.ended(worker);
    }

    #[inline(never)] // Else a load of any word, the commonest operation of all, becomes a twentieth slower.
    pub(crate) fn read_sleep_word(&mut self, actor: usize, value: usize) {
        self.oracles.economy.read(actor);
        if self.oracles.demand.read(actor, value) {
            let word = SleepWord::of(value);
            self.oracles.demand.learns(actor, word);
            self.oracles.protocol.learns(actor, word);
        }
    }

    pub(crate) fn read_clock(&mut self, worker: usize) {
        if self.oracles.demand.saw_change(worker) && self.oracles.sleep.kept_by(worker) > 0 {
            self.coverage.hit(CoveragePoint::ChangeExamined);
        }
    }

    #[inline]
    pub(crate) fn fenced(&mut self, actor: usize) {
        if self.exposures.is_any_open()
            && let Some(worker) = self.actors[actor].kind.worker()
            && let Some(point) = (self.exposures).fenced(worker, self.oracles.demand.is_searched(worker))
        {
            self.coverage.hit(point);
        }
    }

    pub(crate) fn peeked(&mut self, actor: usize, empty: bool) {
        if !empty {
            self.oracles.economy.saw_work(actor);
        }
    }

    /// The take of a private task becomes visible here, and that a returned task runs next.
    fn reached(&mut self, worker: usize, task: TaskId) {
        if self.oracles.tasks.is_next_of(task, worker) {
            self.coverage.hit(CoveragePoint::RanNext);
            let verdict = self.oracles.count.began(worker);
            self.judge(verdict);
        } else if self.oracles.tasks.is_private_to(task, worker) {
            self.oracles.sleep.kept_no_longer(worker);
            let verdict = self.oracles.order.reached(task, worker);
            self.judge(verdict);
        } else {
            return;
        }
        // A task from the injector bypasses nothing there.
        let bypasses = !self.oracles.tasks.is_of_run(task, worker);
        self.in_hand(worker, task);
        if bypasses {
            let verdict = self.oracles.fairness.took_own(worker);
            self.judge(verdict);
        }
        self.beside_idle_workers(worker);
    }

    #[inline]
    fn beside_idle_workers(&mut self, worker: usize) {
        if !self.oracles.demand.has_idle_workers(worker) {
            return;
        }
        let (private, public) = (
            self.oracles.sleep.kept_by(worker),
            self.oracles.sleep.offered_by(worker),
        );
        let verdict = self.oracles.demand.operated(worker, private, public);
        self.judge(verdict);
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use executor_core::{ACCEPTING_BIT, COUNT_UNIT, ExecutorConfig};

    use super::*;
    use crate::actor::ActorKind;
    use crate::fault::{FaultBudget, Faults};
    use crate::schedule::{Schedule, StrategyKind};
    use crate::trace::Trace;
    use crate::word::{SimWord, WordName};

    fn world(counts: usize) -> World {
        let schedule = Schedule::new(StrategyKind::RoundRobin.build(0));
        let mut world = World::new(
            schedule,
            FaultBudget::new(Faults::NONE),
            1_000,
            false,
            Trace::new(true),
        );
        world.watch(Rc::new(SimWord::scheduler(ExecutorConfig::new(2))));
        world.join(ActorKind::Worker(0));
        world.join(ActorKind::Worker(1));
        // One external task is in flight, or no worker could acquire.
        let before = ACCEPTING_BIT + COUNT_UNIT;
        world.word_changed(0, WordName::State, before, before + counts * COUNT_UNIT);
        world
    }

    fn said(mut world: World) -> Option<Oracle> {
        world.take_violation().map(|violation| violation.oracle)
    }

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
    fn a_worker_that_runs_what_a_task_of_another_returned_is_noticed() {
        let mut world = world(1);
        let task = world.number(0, Origin::Task);
        world.returned(0, task);
        world.started(1, task);
        assert_eq!(said(world), Some(Oracle::ExactlyOnce));
    }

    #[test]
    fn a_returned_task_that_runs_without_having_been_counted_is_noticed() {
        let mut world = world(0);
        let task = world.number(0, Origin::Task);
        world.returned(0, task);
        world.started(0, task);
        assert_eq!(said(world), Some(Oracle::Count));
    }

    #[test]
    fn private_tasks_count_for_the_bypass_of_the_injector() {
        let interval = ExecutorConfig::default().tuning.fairness_interval as usize;
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
