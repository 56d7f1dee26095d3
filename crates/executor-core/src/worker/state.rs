//! A worker's state: how its tasks spawn, and what it holds between two steps.
//!
//! Now and then the worker *ticks*: it samples the clock if due and publishes tasks for idle
//! workers.

mod fingerprint;

use std::time::Duration;

use super::backoff::Backoff;
use super::popped::Popped;
use super::private::PrivateTasks;
use super::task_time::{Length, TaskTime};
use super::victim::nth_victim;
use crate::metrics::WorkerMetricsLocal;
use crate::nanos::nanos;
use crate::ports::bundles::WorkerPorts;
use crate::ports::parking::Parking;
use crate::ports::queues::{RUN_MAX, Run, Steal};
use crate::words::credits::LocalCredits;
use crate::words::scheduler::Scheduler;
use crate::words::sleep::{Search, SleepWord};

/// Larger publications go through the injector.
const OWN_QUEUE_MAX: usize = 32;

const WAKE_THRESHOLD_MIN: u32 = 4;

/// All that the policy keeps for one worker.
#[derive(Debug)]
#[repr(C)] // The ports, which each push and pop reads, are near the private tasks.
pub struct WorkerState<T, P> {
    pub(crate) ports: P,
    pub(crate) worker: usize,
    private: PrivateTasks<T>,
    credits: LocalCredits,
    time: TaskTime,
    /// With fewer cores than workers, a private task may wait for another worker's whole time
    /// slice, so this worker takes no more than it needs.
    crowded: bool,
    word_at_tick: SleepWord,
    /// Duration of the last wake for private tasks.
    wake_ns: Option<u64>,
    pending: u32,
    pub(crate) searching: bool,
    pub(crate) in_hand: Option<Popped<T>>,
    /// Tasks taken since the injector was last tried first.
    since_injector: u32,
    pub(crate) backoff: Backoff,
    pub(crate) idle_rounds: u32,
    /// A waker chose this worker, which has found nothing since.
    pub(crate) woken: bool,
    pub(crate) panicked: bool,
    returned: Vec<T>,
    tally: Tally,
}

#[derive(Debug, Default)]
pub(crate) struct Tally {
    spawned: u64,
    ran_between_ticks: u64,
    published: u64,
    wakes: u64,
}

impl Tally {
    pub(crate) fn report(self, metrics: &mut WorkerMetricsLocal) {
        let Self {
            spawned,
            ran_between_ticks,
            published,
            wakes,
        } = self;
        metrics.spawned += spawned;
        metrics.executed_local += ran_between_ticks;
        metrics.published += published;
        metrics.wakes += wakes;
    }
}

impl<T, P: WorkerPorts<T>> WorkerState<T, P> {
    /// A worker without tasks.
    pub fn new(worker: usize, ports: P) -> Self {
        let config = ports.scheduler().config();
        let credits = LocalCredits::new(config.tuning.credit_block);
        let private = PrivateTasks::new(config.tuning.private_tasks);
        let time = TaskTime::new(config.tuning.fairness_interval);
        let crowded = config.is_crowded();
        Self {
            ports,
            worker,
            private,
            credits,
            time,
            crowded,
            word_at_tick: SleepWord::ALL_BUSY,
            wake_ns: None,
            pending: 0,
            searching: false,
            in_hand: None,
            since_injector: 0,
            backoff: Backoff::new(),
            idle_rounds: 0,
            woken: false,
            panicked: false,
            returned: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// The worker's number, from 0.
    #[inline]
    pub fn worker_id(&self) -> usize {
        self.worker
    }

    /// The worker's ports.
    #[inline]
    pub fn ports(&self) -> &P {
        &self.ports
    }

    /// Adds a task to this worker's own tasks, which runs next unless stolen or returned by an
    /// abort.
    #[inline]
    pub fn spawn_local(&mut self, task: T) {
        if self.private.has_room(1, self.sleep_word()) {
            self.private.push(task);
        } else {
            self.spawn_with_tick(task);
        }
    }

    /// Adds tasks as [`WorkerState::spawn_local`] does, in their order, so the last one runs next.
    /// If no tick is due, one look at the idle workers serves for all of them. `after_each` follows
    /// each task.
    #[inline]
    pub fn spawn_local_all<const N: usize>(&mut self, tasks: [T; N], mut after_each: impl FnMut(&P)) {
        if self.private.has_room(N, self.sleep_word()) {
            for task in tasks {
                self.private.push(task);
                after_each(&self.ports);
            }
        } else {
            for task in tasks {
                self.spawn_with_a_look(task);
                after_each(&self.ports);
            }
        }
    }

    // A call, so that the short way of `spawn_local_all` needs no memory for its tasks.
    #[cold]
    #[inline(never)]
    fn spawn_with_a_look(&mut self, task: T) {
        self.spawn_local(task);
    }

    /// Adds a task to the end of the injector.
    #[inline]
    pub fn spawn_global(&mut self, task: T) {
        self.transfer_one();
        self.ports.inject(task);
        self.notify_of_injected();
    }

    /// Makes all tasks of this worker visible to thieves.
    pub fn publish(&mut self) {
        self.count_operations();
        self.publish_oldest(self.private.len());
    }

    /// Publishes all tasks and yields the core until `ready` returns `true`. Returns `false` if the
    /// executor aborts first.
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

    /// Whether some worker searches or sleeps.
    #[inline]
    pub fn has_idle_workers(&self) -> bool {
        self.sleep_word().has_idle_workers()
    }

    /// Takes the tasks that the abort returned.
    pub fn take_returned(&mut self) -> Vec<T> {
        std::mem::take(&mut self.returned)
    }

    pub(crate) fn scheduler(&self) -> &Scheduler<P::Word> {
        self.ports.scheduler()
    }

    #[inline]
    pub(crate) fn sleep_word(&self) -> SleepWord {
        self.ports.scheduler().sleep().peek(&self.ports)
    }

    /// Returns no task during an abort.
    #[inline]
    pub(crate) fn pop_between_ticks(&mut self) -> Option<T> {
        self.private.pop_between_ticks(self.sleep_word())
    }

    /// Whether a task runs without passing through this worker's tasks, which counts as a pop.
    #[inline]
    pub(crate) fn may_run_next(&mut self) -> bool {
        self.private.count_pop(self.sleep_word())
    }

    pub(crate) fn pop_public_between_ticks(&mut self) -> Option<T> {
        let idle = self.searching || self.in_hand.is_some();
        if idle || self.private.len() > 0 || !self.private.may_pop_between_ticks(self.sleep_word()) {
            return None;
        }
        if self.word_at_tick.sleepers() > 0 {
            self.count_operations();
            self.pending = 0;
        }
        let task = self.ports.pop()?;
        self.private.count_public_pop();
        self.receive();
        self.release_surplus();
        Some(task)
    }

    pub(crate) fn pop_private(&mut self) -> Option<T> {
        let task = self.private.pop();
        if task.is_some() {
            self.time.count(1);
            self.since_injector = self.since_injector.saturating_add(1);
            self.pending = self.pending.saturating_add(1);
        } else {
            self.pending = 0;
        }
        task
    }

    pub(crate) fn took_public(&mut self) {
        if !self.time.is_running() {
            self.time.begin(self.ports.now_ns());
        }
        self.time.count(1);
        self.since_injector = self.since_injector.saturating_add(1);
        self.receive();
        self.release_surplus();
    }

    fn receive(&mut self) {
        self.credits.receive();
    }

    /// Returns the first task of a run; the others are private and run next.
    pub(crate) fn take_injected(&mut self) -> Option<T> {
        let in_runs = self.time.length() == Length::Short && self.private.are_allowed() && !self.crowded;
        let most = if in_runs { RUN_MAX } else { 1 };
        let mut run = Run::new();
        retry_while_contended(&self.ports, || self.ports.steal_injected(most, &mut run))?;
        let taken = run.len();
        let first = run.pop_at(0);
        self.private.push_batch(&mut run);
        (1..taken).for_each(|_| self.receive());
        if in_runs {
            self.backoff.found(taken, self.idle_rounds);
        } else {
            self.backoff.reset();
        }
        first
    }

    pub(crate) fn injector_is_due(&self) -> bool {
        self.since_injector >= self.time.injector_every() - 1 && !self.private.hold_a_batch()
    }

    pub(crate) fn looked_at_injector(&mut self) {
        self.since_injector = 0;
    }

    /// Follows a failed search.
    pub(crate) fn release_credits(&mut self) {
        if self.time.is_running() {
            self.time.pause(self.ports.now_ns(), self.short_ns());
        }
        let spare = self.credits.release_spare(self.private.len());
        self.limit_room();
        if spare > 0 {
            self.scheduler().release(&self.ports, spare);
        }
    }

    /// The idle time without the delay of a wake, which spinning would have avoided.
    pub(crate) fn idle_time(&self) -> Duration {
        Duration::from_nanos(self.time.idle_ns()).saturating_sub(self.ports.take_wake_delay())
    }

    pub(crate) fn return_task(&mut self, task: T) {
        self.returned.push(task);
    }

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

    pub(crate) fn take_tally(&mut self) -> Tally {
        self.count_operations();
        std::mem::take(&mut self.tally)
    }

    pub(crate) fn tick(&mut self, popping: bool) {
        self.count_operations();
        let word = self.sleep_word();
        let changed = word != self.word_at_tick;
        if !self.word_at_tick.has_idle_workers() {
            self.pending = 0;
        }
        self.word_at_tick = word;
        let any_idle = word.has_idle_workers();
        // An idle worker finds nothing here, perhaps because the last task took long.
        let suspicious =
            any_idle && self.private.len() > 0 && (changed || word.searchers() == 0 && self.ports.is_empty());
        if suspicious || self.time.is_due() {
            let now_ns = self.ports.now_ns();
            self.time.sample(now_ns, self.short_ns());
        }
        let operations = match self.time.length() {
            Length::Short if any_idle => self.publish_for_idle(word),
            Length::Short => u32::MAX,
            Length::Unknown | Length::Long => {
                self.publish_oldest(self.private.len());
                u32::MAX
            }
        };
        self.set_countdowns(operations, popping);
    }

    /// Returns the operations until the next tick.
    fn publish_for_idle(&mut self, word: SleepWord) -> u32 {
        let threshold = self.wake_threshold();
        let searched = word.searchers() > 0;
        let half = match self.private.len() / 2 {
            half if self.crowded => half.min(OWN_QUEUE_MAX),
            half => half,
        };
        let lacking = half > 0 && self.ports.is_empty() && self.ports.injector_is_empty();
        if lacking && !searched && self.pending < threshold {
            // Too few for a wake. Each tick reads the clock, so one or two notice longer tasks.
            return self.pending.min(threshold - self.pending).max(1);
        }
        if lacking {
            self.publish_oldest(half);
        }
        self.pending = 0;
        if searched {
            self.time.search_tick_every()
        } else {
            threshold
        }
    }

    /// As many operations on private tasks as the last wake took, up to the configured number.
    fn wake_threshold(&self) -> u32 {
        let most = self.scheduler().config().tuning.wake_threshold;
        let Some(wake_ns) = self.wake_ns else {
            return most;
        };
        let fit = wake_ns / self.time.mean_ns().max(1);
        u32::try_from(fit)
            .unwrap_or(u32::MAX)
            .max(WAKE_THRESHOLD_MIN)
            .min(most)
    }

    fn set_countdowns(&mut self, operations: u32, popping: bool) {
        let word = self.word_at_tick;
        let quiet = if word.is_aborting() || word.is_done() {
            SleepWord::NEVER
        } else {
            word
        };
        // This pop takes from the injector next.
        let since_injector = if popping && self.injector_is_due() {
            0
        } else {
            self.since_injector
        };
        let before_injector = (self.time.injector_every() - 1).saturating_sub(since_injector);
        let pops = before_injector.min(self.time.until_due()).min(operations);
        let room = match self.time.length() {
            // A task that the credits do not cover needs a tick.
            Length::Short => (self.private.len())
                .saturating_add(operations as usize)
                .min(self.credits.held().saturating_sub(1)),
            Length::Unknown | Length::Long => 0,
        };
        self.private.set_countdowns(quiet, popping, pops, room);
    }

    /// A tick is due, or the task must be public.
    #[cold]
    #[inline(never)]
    fn spawn_with_tick(&mut self, task: T) {
        if self.time.length() == Length::Short && self.private.are_allowed() {
            // Acquired before the tick, which then makes room for this task and a block of others.
            self.acquire(1 + self.private.len() + 1);
        }
        self.tick(false);
        if self.time.length() == Length::Short && self.private.are_allowed() {
            self.acquire(1 + self.private.len() + 1);
            self.private.push_or_overflow(task);
        } else {
            self.transfer_one();
            self.ports.push(task);
            self.notify();
        }
    }

    /// The caller has called [`WorkerState::count_operations`].
    fn publish_oldest(&mut self, n: usize) {
        if n == 0 {
            return;
        }
        self.credits.transfer(n);
        self.limit_room();
        // Why: "Publish" and "A batch" in the README of `private`.
        let to_injector = n > OWN_QUEUE_MAX || self.private.hold_a_batch();
        let oldest = self.private.take_oldest(n);
        if to_injector {
            self.ports.inject_batch(oldest.collect());
        } else {
            oldest.for_each(|task| self.ports.push(task));
        }
        self.tally.published += n as u64;
        let wakes = self.word_at_tick.searchers() == 0 && self.word_at_tick.sleepers() > 0;
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

    fn count_operations(&mut self) {
        let counts = self.private.take_counts();
        self.tally.spawned += u64::from(counts.pushed);
        self.tally.ran_between_ticks += u64::from(counts.popped);
        self.time.count(counts.popped);
        self.since_injector = self.since_injector.saturating_add(counts.popped);
        self.pending = self
            .pending
            .saturating_add(counts.pushed)
            .saturating_add(counts.popped);
        self.release_surplus();
    }

    fn release_surplus(&mut self) {
        if let Some(surplus) = self.credits.release_surplus(1 + self.private.len()) {
            self.limit_room();
            self.scheduler().release(&self.ports, surplus);
        }
    }

    fn transfer_one(&mut self) {
        self.tally.spawned += 1;
        if let Some(n) = self.credits.transfer_one(1 + self.private.len()) {
            self.scheduler().state().acquire(&self.ports, n);
        }
        self.limit_room();
    }

    fn limit_room(&mut self) {
        self.private.limit_room(self.credits.held().saturating_sub(1));
    }

    fn acquire(&mut self, needed: usize) {
        if let Some(n) = self.credits.acquire(needed) {
            self.scheduler().state().acquire(&self.ports, n);
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
        nanos(self.scheduler().config().tuning.short_task)
    }
}

/// Attempts with only a spin between them, while another party contends or its push has begun and
/// not ended. Later attempts, without a bound, yield: the other party may need the core.
const SPINNING_ATTEMPTS: u32 = 100;

#[inline]
pub(crate) fn retry_while_contended<F, P: Parking>(
    ports: &P,
    mut take: impl FnMut() -> Steal<F>,
) -> Option<F> {
    let mut attempts = 0;
    loop {
        match take() {
            Steal::Empty => return None,
            Steal::Task(task) => return Some(task),
            Steal::Retry if attempts < SPINNING_ATTEMPTS => {
                attempts += 1;
                ports.spin(1);
            }
            Steal::Retry => ports.yield_now(),
        }
    }
}
