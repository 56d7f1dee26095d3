//! A worker's own side of the scheduler: how its tasks spawn, and what it holds between two steps.
//!
//! Everything here belongs to one worker and is plain memory; what is shared goes through the ports. A private
//! buffer of tasks that nobody else sees would live here, too: [`Spawner::spawn_local`] and
//! [`crate::pop_task`] are its only doors.

use crate::credit::Credits;
use crate::ports::WorkerPorts;
use crate::scheduler::Scheduler;
use crate::sleep::Search;
use crate::step::Popped;

/// Spawns on behalf of a running task, and holds what its worker has in hand.
#[derive(Debug)]
pub struct Spawner<T, P> {
    pub(crate) ports: P,
    pub(crate) worker: usize,
    credits: Credits,
    /// Whether the worker is counted as a searcher.
    pub(crate) searching: bool,
    /// Found in the last look before parking, and not yet run.
    pub(crate) in_hand: Option<Popped<T>>,
    /// Tasks run since the injector was last looked at first.
    pub(crate) since_injector: u32,
    /// Fruitless searches since the worker last had work.
    pub(crate) idle_rounds: u32,
    /// A waker chose this worker, and it has not found anything since.
    pub(crate) woken: bool,
    /// A task has been taken and is not over, so a panic is that task's.
    pub(crate) running: bool,
    /// A task on this worker has panicked.
    pub(crate) panicked: bool,
    handed_back: Vec<T>,
    spawned: u64,
    wakes: u64,
}

impl<T, P: WorkerPorts<T>> Spawner<T, P> {
    /// The side of worker number `worker`, with nothing in hand.
    pub fn new(worker: usize, ports: P) -> Self {
        let credits = Credits::new(ports.scheduler().config().credit_block);
        Self {
            ports,
            worker,
            credits,
            searching: false,
            in_hand: None,
            since_injector: 0,
            idle_rounds: 0,
            woken: false,
            running: false,
            panicked: false,
            handed_back: Vec::new(),
            spawned: 0,
            wakes: 0,
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

    /// Adds a task to this worker's own queue. It runs here next unless somebody steals it, whether the gate is
    /// open or closed. While the executor aborts it is handed back instead.
    #[inline]
    pub fn spawn_local(&mut self, task: T) {
        self.pay();
        self.ports.push(task);
        self.notify();
    }

    /// Adds a task to the end of the injector, so that it runs after what waits there.
    #[inline]
    pub fn spawn_global(&mut self, task: T) {
        self.pay();
        self.ports.inject(task);
        self.notify();
    }

    /// Makes every task of this worker visible to thieves, for a task that knows that it is about to take long.
    ///
    /// Tasks are visible as soon as they are spawned, so there is nothing left to do.
    #[inline]
    pub fn publish(&mut self) {}

    /// Tasks that were taken while aborting.
    pub fn take_handed_back(&mut self) -> Vec<T> {
        std::mem::take(&mut self.handed_back)
    }

    pub(crate) fn scheduler(&self) -> &Scheduler<P::Word> {
        self.ports.scheduler()
    }

    /// The task that was taken is over: its count goes into the purse.
    #[inline]
    pub(crate) fn complete(&mut self) {
        self.running = false;
        if let Some(surplus) = self.credits.take_in() {
            self.scheduler().settle(&self.ports, surplus);
        }
    }

    /// Puts every borrowed count back. Whatever this worker knows to be over is then over for everybody.
    pub(crate) fn return_credits(&mut self) {
        let held = self.credits.take_all();
        if held > 0 {
            self.scheduler().settle(&self.ports, held);
        }
    }

    pub(crate) fn hand_back(&mut self, task: T) {
        self.handed_back.push(task);
        self.complete();
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
        let surplus = !self.ports.is_empty();
        self.wakes += self.scheduler().sleep().found_work(&self.ports, search, surplus) as u64;
    }

    pub(crate) fn take_counters(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.spawned), std::mem::take(&mut self.wakes))
    }

    #[inline]
    fn pay(&mut self) {
        self.spawned += 1;
        if let Err(n) = self.credits.pay() {
            self.scheduler().state().borrow(&self.ports, n);
        }
    }

    #[inline]
    fn notify(&mut self) {
        self.wakes += self.scheduler().sleep().notify(&self.ports, 1) as u64;
    }
}
