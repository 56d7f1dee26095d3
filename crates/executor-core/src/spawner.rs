//! A worker's own side of the scheduler: how its tasks spawn, and what it holds between two steps.
//!
//! Everything here belongs to one worker and is plain memory; what is shared goes through the ports. Most operations
//! on [private tasks](crate::private) end in the few lines of [`Spawner::spawn_local`] and [`Spawner::pop_unseen`]. Now and
//! then the worker *looks*: at the clock, and at who is hungry.

mod rest;

use std::time::Duration;

use crate::credit::Credits;
use crate::lull::Lull;
use crate::metrics::WorkerMetricsLocal;
use crate::mutant;
use crate::ports::{Parking, RUN_MAX, Run, Steal, WorkerPorts};
use crate::private::{PopsLeft, PrivateTasks};
use crate::scheduler::Scheduler;
use crate::sleep::{Search, SleepWord};
use crate::step::Popped;
use crate::task_time::{Length, TaskTime};
use crate::victim::nth_victim;

/// Most private tasks that become public by way of the worker's own queue; more than that go to the injector.
const EXPOSED_MAX: usize = 32;

/// Fewer operations on private tasks than these are not worth a wake, however cheap.
const HOARD_MIN: u32 = 4;

/// Spawns on behalf of a running task, and holds what its worker has in hand.
#[derive(Debug)]
pub struct Spawner<T, P> {
    pub(crate) ports: P,
    pub(crate) worker: usize,
    private: PrivateTasks<T>,
    credits: Credits,
    time: TaskTime,
    /// There are fewer cores than workers: what a worker has to itself may wait for a whole time slice of another one, so it
    /// takes no more than it needs.
    crowded: bool,
    /// The sleep word at the last look.
    seen: SleepWord,
    /// How long the last wake for private tasks took, in nanoseconds.
    wake_ns: Option<u64>,
    /// Operations on private tasks since the worker last woke somebody for them, or had none.
    hoard: u32,
    /// Whether the worker is counted as a searcher.
    pub(crate) searching: bool,
    /// Found in the last look before parking, and not yet run.
    pub(crate) in_hand: Option<Popped<T>>,
    /// Tasks taken since the injector was last looked at first.
    since_injector: u32,
    /// How long to wait before a look at the injector, with nothing else to do.
    pub(crate) lull: Lull,
    /// Fruitless searches since the worker last had work.
    pub(crate) idle_rounds: u32,
    /// A waker chose this worker, and it has not found anything since.
    pub(crate) woken: bool,
    /// A task on this worker has panicked.
    pub(crate) panicked: bool,
    handed_back: Vec<T>,
    tally: Tally,
}

/// What was counted since the metrics were last brought up to date.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    spawned: u64,
    /// Own tasks that were taken without a look.
    ran_unseen: u64,
    exposed: u64,
    wakes: u64,
}

impl Tally {
    pub(crate) fn report(self, metrics: &mut WorkerMetricsLocal) {
        let Self {
            spawned,
            ran_unseen,
            exposed,
            wakes,
        } = self;
        metrics.spawned += spawned;
        metrics.executed_local += ran_unseen;
        metrics.exposed += exposed;
        metrics.wakes += wakes;
    }
}

impl<T, P: WorkerPorts<T>> Spawner<T, P> {
    /// The side of worker number `worker`, with nothing in hand.
    pub fn new(worker: usize, ports: P) -> Self {
        let config = ports.scheduler().config();
        let credits = Credits::new(config.credit_block);
        let private = PrivateTasks::new(config.private_tasks);
        let time = TaskTime::new(config.fairness_interval);
        let crowded = config.is_crowded();
        Self {
            ports,
            worker,
            private,
            credits,
            time,
            crowded,
            seen: SleepWord::NOBODY,
            wake_ns: None,
            hoard: 0,
            searching: false,
            in_hand: None,
            since_injector: 0,
            lull: Lull::new(),
            idle_rounds: 0,
            woken: false,
            panicked: false,
            handed_back: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// Number of the worker, from 0.
    #[inline]
    pub fn worker_id(&self) -> usize {
        self.worker
    }

    /// The ports of this worker.
    #[inline]
    pub fn ports(&self) -> &P {
        &self.ports
    }

    /// Adds a task to this worker's own tasks. It runs here next unless somebody steals it, whether the gate is
    /// open or closed. While the executor aborts it is handed back instead.
    #[inline]
    pub fn spawn_local(&mut self, task: T) {
        // A load, and two comparisons.
        if self.private.has_room(self.sleep_word()) {
            self.private.push(task);
        } else {
            self.spawn_looking(task);
        }
    }

    /// Adds a task to the end of the injector, so that it runs after what waits there.
    #[inline]
    pub fn spawn_global(&mut self, task: T) {
        self.pay();
        self.ports.inject(task);
        self.notify_of_injected();
    }

    /// Makes every task of this worker visible to thieves, for a task that knows that it is about to take long.
    pub fn publish(&mut self) {
        self.account();
        assert!(
            !mutant::m42_publish_takes_for_granted() || self.private.len() > 0,
            "a task published nothing"
        );
        self.expose(self.private.len());
    }

    /// Makes every task of this worker visible to thieves, and yields the core until `ready` says yes, which gives `true`, or
    /// until the executor aborts.
    pub fn wait_until(&mut self, mut ready: impl FnMut() -> bool) -> bool {
        self.publish();
        loop {
            if ready() {
                return true;
            }
            if self.sleep_word().is_aborting() {
                return false;
            }
            self.ports.yield_now();
        }
    }

    /// Whether some worker looks for work or sleeps. A read of one word that everybody reads, and advice: a moment later it may
    /// be otherwise.
    #[inline]
    pub fn somebody_is_hungry(&self) -> bool {
        self.sleep_word().is_hungry()
    }

    /// Tasks that were taken while aborting.
    pub fn take_handed_back(&mut self) -> Vec<T> {
        if mutant::m47_handed_back_less_one() {
            self.handed_back.pop();
        }
        std::mem::take(&mut self.handed_back)
    }

    pub(crate) fn scheduler(&self) -> &Scheduler<P::Word> {
        self.ports.scheduler()
    }

    #[inline]
    pub(crate) fn sleep_word(&self) -> SleepWord {
        self.ports.scheduler().sleep().peek(&self.ports)
    }

    /// The newest private task, unless a look is due or there is something to do about those who are hungry. Nothing
    /// aborts, then.
    #[inline]
    pub(crate) fn pop_unseen(&mut self, left: &mut PopsLeft) -> Option<T> {
        self.private.pop_unseen(self.sleep_word(), left)
    }

    /// The countdown for [`Spawner::pop_unseen`], after anything else than that.
    pub(crate) fn pops_left(&self) -> PopsLeft {
        self.private.pops_left()
    }

    /// The newest task of the own public queue, with its count, under the same conditions, and if there is no private one.
    pub(crate) fn pop_public_unseen(&mut self) -> Option<T> {
        let idle = self.searching || self.in_hand.is_some();
        if idle || self.private.len() > 0 || !self.private.pops_unseen(self.sleep_word()) {
            return None;
        }
        if self.seen.sleepers() > 0 {
            // The private tasks have run out.
            self.account();
            self.hoard = 0;
        }
        let task = self.ports.pop()?;
        self.private.passed();
        self.take_in();
        self.settle_surplus();
        Some(task)
    }

    /// The newest private task, after a look.
    pub(crate) fn pop_private(&mut self) -> Option<T> {
        let task = self.private.pop();
        if task.is_some() {
            self.time.count(1);
            self.since_injector = self.since_injector.saturating_add(1);
            self.hoard = self.hoard.saturating_add(1);
        } else {
            self.hoard = 0;
        }
        task
    }

    /// A task was taken from a queue, and its count with it.
    pub(crate) fn took_public(&mut self) {
        if !self.time.is_running() {
            self.time.begin(self.ports.now_ns());
        }
        self.time.count(1);
        self.since_injector = self.since_injector.saturating_add(1);
        self.take_in();
        self.settle_surplus();
    }

    /// The count of a task that was taken from a queue comes into the purse with it.
    fn take_in(&mut self) {
        if mutant::m08_count_dropped_before_run() {
            self.scheduler().settle(&self.ports, 1);
            return;
        }
        if mutant::m07_completion_counted_twice() {
            self.credits.take_in();
        }
        self.credits.take_in();
    }

    /// The task that has panicked is over: its count is in the purse, as if it had returned.
    pub(crate) fn panicked_task_is_over(&mut self) {
        if mutant::m09_panic_not_counted() {
            self.credits.give(1);
        }
    }

    /// Takes from the injector, a run of tasks if they are short, else one. The first is returned, with its count; the others
    /// are private, and next.
    pub(crate) fn take_injected(&mut self) -> Option<T> {
        let in_runs = self.time.length() == Length::Short && self.private.are_allowed() && !self.crowded;
        let most = if in_runs { RUN_MAX } else { 1 };
        let mut run = Run::new();
        insist(&self.ports, || self.ports.steal_injected(most, &mut run))?;
        let taken = run.len();
        let first = run.pop_at(0);
        self.private.arrive(&mut run);
        (1..taken).for_each(|_| self.take_in());
        if in_runs {
            self.lull.found(taken, self.idle_rounds);
        } else {
            self.lull.forget();
        }
        first
    }

    /// Whether it is time to look at the injector first.
    pub(crate) fn injector_is_due(&self) -> bool {
        self.since_injector >= self.time.looks_every() - 1
            && !self.private.are_arriving()
            && !mutant::m22_injector_never_first()
    }

    pub(crate) fn looked_at_injector(&mut self) {
        self.since_injector = 0;
    }

    /// The worker found nothing: no count but the private tasks' may hold up the end, and what passes now is no task's
    /// time.
    pub(crate) fn return_credits(&mut self) {
        if self.time.is_running() {
            self.time.pause(self.ports.now_ns(), self.short_ns());
        }
        if mutant::m27_credits_kept_asleep() {
            return;
        }
        let spare = self.credits.take_spare(self.private.len());
        self.narrow();
        if spare > 0 {
            self.scheduler().settle(&self.ports, spare);
        }
    }

    /// How long the worker was idle before what it does now, until there was something to do. What a wake took after that would
    /// not have passed had it not slept.
    pub(crate) fn idle_time(&self) -> Duration {
        Duration::from_nanos(self.time.idle_ns()).saturating_sub(self.ports.take_wake_delay())
    }

    pub(crate) fn hand_back(&mut self, task: T) {
        self.handed_back.push(task);
    }

    /// The worker has something to run: it leaves the search and wakes whoever should go on with it.
    pub(crate) fn found_work(&mut self, last_look: bool) {
        let search = match (self.searching, last_look) {
            (true, _) => Search::Yes,
            (false, true) => Search::LastLook,
            (false, false) => Search::No,
        };
        self.searching = false;
        self.woken = false;
        let (ports, me) = (&self.ports, self.worker);
        let surplus = !ports.is_empty();
        let more = || {
            let others = ports.scheduler().config().workers - 1;
            !ports.injector_is_empty() || (0..others).any(|k| !ports.victim_is_empty(nth_victim(me, k)))
        };
        let sleep = ports.scheduler().sleep();
        self.tally.wakes += sleep.found_work(ports, search, surplus, more) as u64;
    }

    /// What has been counted since the last time.
    pub(crate) fn take_tally(&mut self) -> Tally {
        self.account();
        std::mem::take(&mut self.tally)
    }

    /// The look: at the clock if a sample is due, and at who is hungry. Private tasks become public if that is what
    /// it takes, and the countdowns to the next look are set.
    pub(crate) fn look(&mut self, popping: bool) {
        self.account();
        let word = self.sleep_word();
        let changed = word != self.seen;
        if !self.seen.is_hungry() {
            // Nobody has been waiting for what was done until now.
            self.hoard = 0;
        }
        self.seen = word;
        let hungry = word.is_hungry();
        // Somebody hungry finds nothing here, perhaps because this worker's last task took long.
        let suspicious =
            hungry && self.private.len() > 0 && (changed || word.searchers() == 0 && self.ports.is_empty());
        if suspicious || self.time.is_due() {
            let now_ns = self.ports.now_ns();
            self.time.sample(now_ns, self.short_ns());
        }
        let operations = match self.time.length() {
            Length::Short if hungry && !mutant::m28_private_work_hidden() => self.feed(word),
            Length::Short => u32::MAX,
            Length::Unknown | Length::Long => {
                self.expose(self.private.len());
                u32::MAX
            }
        };
        self.rest(operations, popping);
    }

    /// Somebody is hungry, and tasks are short: it is given the older half if there is nothing else that it could take.
    /// Gives the number of operations until the next look.
    fn feed(&mut self, word: SleepWord) -> u32 {
        let threshold = self.worth_a_wake();
        let searched = word.searchers() > 0;
        let half = match self.private.len() / 2 {
            half if self.crowded => half.min(EXPOSED_MAX),
            half => half,
        };
        let lacking = half > 0 && self.ports.is_empty() && self.ports.injector_is_empty();
        if lacking && !searched && self.hoard < threshold {
            // Not yet worth a wake. The looks until then double their distance, each with a clock read: should the
            // tasks have become long, it is known after one or two of them and not after all that the threshold asks for.
            return self.hoard.min(threshold - self.hoard).max(1);
        }
        if lacking {
            self.expose(half);
        }
        self.hoard = 0;
        if searched {
            self.time.searched_looks_every()
        } else {
            threshold
        }
    }

    /// Operations on private tasks that are worth waking somebody for: as many as take as long as the last wake took the waker,
    /// which is little if the sleeper dozes, but not more than was configured.
    fn worth_a_wake(&self) -> u32 {
        let most = self.scheduler().config().hoard_threshold;
        let Some(wake_ns) = self.wake_ns else {
            return most;
        };
        let fit = wake_ns / self.time.mean_ns().max(1);
        u32::try_from(fit).unwrap_or(u32::MAX).max(HOARD_MIN).min(most)
    }

    /// Sets the countdowns: the next look is due after so many operations, or earlier.
    fn rest(&mut self, operations: u32, popping: bool) {
        let word = self.seen;
        let quiet = if word.is_aborting() || word.is_done() {
            SleepWord::NEVER
        } else {
            word
        };
        // A pop that is due to look at the injector does so next.
        let since_injector = if popping && self.injector_is_due() {
            0
        } else {
            self.since_injector
        };
        let before_injector = (self.time.looks_every() - 1).saturating_sub(since_injector);
        let pops = before_injector.min(self.time.until_due()).min(operations);
        let room = match self.time.length() {
            // A task that the purse does not cover, beside the running one, needs a look.
            Length::Short => (self.private.len())
                .saturating_add(operations as usize)
                .min(self.credits.held().saturating_sub(1)),
            Length::Unknown | Length::Long => 0,
        };
        self.private.rest(quiet, popping, pops, room);
    }

    /// The rest of [`Spawner::spawn_local`]: a look is due, or the task must not be private.
    #[cold]
    #[inline(never)]
    fn spawn_looking(&mut self, task: T) {
        if self.time.length() == Length::Short && self.private.are_allowed() {
            // Covered before the look, so that the look makes room for it and for a block of others.
            self.cover(1 + self.private.len() + 1);
        }
        self.look(false);
        if self.time.length() == Length::Short && self.private.are_allowed() {
            self.cover(1 + self.private.len() + 1);
            self.private.keep(task);
        } else {
            self.pay();
            self.ports.push(task);
            self.notify();
        }
    }

    /// Makes the oldest `n` private tasks public, and wakes somebody for them. There was an [`Spawner::account`] before.
    fn expose(&mut self, n: usize) {
        if n == 0 {
            return;
        }
        // Each takes its own count with it.
        self.credits.give(n);
        self.narrow();
        // Thieves take from a queue one by one, from the injector many at once. And what came from there goes back there: in
        // the worker's queue it would wait for as long as the worker brings forth tasks of its own.
        let to_injector = n > EXPOSED_MAX || self.private.are_arriving();
        let oldest = self.private.take_oldest(n);
        if to_injector {
            self.ports.inject_batch(oldest.collect());
        } else {
            oldest.for_each(|task| self.ports.push(task));
        }
        self.tally.exposed += n as u64;
        if mutant::m35_exposed_without_wake() {
            return;
        }
        let wakes = self.seen.searchers() == 0 && self.seen.sleepers() > 0;
        let before_ns = wakes.then(|| self.ports.now_ns());
        if to_injector {
            self.notify_of_injected();
        } else {
            self.notify();
        }
        if let Some(before_ns) = before_ns {
            self.wake_ns = Some(self.ports.now_ns().saturating_sub(before_ns));
        }
    }

    /// Counts what has happened to the private tasks since the last time.
    fn account(&mut self) {
        let since = self.private.since();
        self.tally.spawned += u64::from(since.pushed);
        self.tally.ran_unseen += u64::from(since.popped);
        self.time.count(since.popped);
        self.since_injector = self.since_injector.saturating_add(since.popped);
        self.hoard = self
            .hoard
            .saturating_add(since.pushed)
            .saturating_add(since.popped);
        self.settle_surplus();
    }

    fn settle_surplus(&mut self) {
        if mutant::m44_purse_without_a_bound() {
            return;
        }
        if let Some(surplus) = self.credits.surplus(1 + self.private.len()) {
            self.narrow();
            self.scheduler().settle(&self.ports, surplus);
        }
    }

    /// The running task brings forth a public one.
    fn pay(&mut self) {
        self.tally.spawned += 1;
        if let Some(n) = self.credits.pay(1 + self.private.len()) {
            self.scheduler().state().borrow(&self.ports, n);
        }
        self.narrow();
    }

    /// The purse has become smaller: what it no longer covers beside the running task needs a look.
    fn narrow(&mut self) {
        self.private.narrow(self.credits.held().saturating_sub(1));
    }

    fn cover(&mut self, needed: usize) {
        if mutant::m33_private_not_covered() {
            return;
        }
        if let Some(n) = self.credits.cover(needed) {
            self.scheduler().state().borrow(&self.ports, n);
        }
    }

    fn notify(&mut self) {
        self.tally.wakes += self.scheduler().sleep().notify(&self.ports, 1) as u64;
    }

    fn notify_of_injected(&mut self) {
        let sleep = self.scheduler().sleep();
        self.tally.wakes += sleep.notify_of_injected(&self.ports, 1) as u64;
    }

    fn short_ns(&self) -> u64 {
        u64::try_from(self.scheduler().config().short_task.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Attempts between which a worker only spins. After that, whoever it waits for may need its core.
const SPINNING_ATTEMPTS: u32 = 100;

/// Takes, and takes again as long as somebody else was only quicker, or is not done yet.
#[inline]
pub(crate) fn insist<F, P: Parking>(ports: &P, mut take: impl FnMut() -> Steal<F>) -> Option<F> {
    let mut attempts = 0;
    loop {
        match take() {
            Steal::Empty => return None,
            Steal::Task(task) => return Some(task),
            Steal::Retry if mutant::m13_retry_is_empty() => return None,
            Steal::Retry if attempts < SPINNING_ATTEMPTS => {
                attempts += 1;
                ports.spin(1);
            }
            Steal::Retry => ports.yield_now(),
        }
    }
}
