//! Work, times and threads of the maintenance pool, as plain data.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::time::{Duration, Instant};

use crate::moment::after;
use crate::snapshot::MaintenanceSnapshot;

#[derive(Default)]
pub(super) struct Schedule {
    closed: bool,
    queue: VecDeque<(Instant, Once)>,
    timers: BTreeMap<(Instant, u64), Timer>,
    /// `None` while the timer runs.
    due: HashMap<u64, Option<Instant>>,
    next_timer: u64,
    threads: usize,
    threads_in_all: usize,
    sleeping: usize,
    running: usize,
    ran: u64,
    panicked: u64,
}

type Once = Box<dyn FnOnce() + Send>;

pub(super) struct Timer {
    pub(super) call: Box<dyn FnMut() + Send>,
    number: u64,
    period: Option<Duration>,
    due: Instant,
}

pub(super) enum Task {
    Once(Once),
    Again(Timer),
}

pub(super) enum Next {
    Run(Task),
    /// `None` if no timer is set.
    Wait(Option<Duration>),
    Leave,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    Sleeper,
    NewThread,
}

/// User code, so it is dropped outside the lock.
pub(super) struct Forgotten {
    _queue: VecDeque<(Instant, Once)>,
    _timers: BTreeMap<(Instant, u64), Timer>,
}

impl Schedule {
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(super) fn wanted(&self, threads_max: usize) -> Wake {
        if self.queue.len() + 1 > self.sleeping && self.threads < threads_max {
            Wake::NewThread
        } else {
            Wake::Sleeper
        }
    }

    pub(super) fn push(&mut self, task: Once, now: Instant) {
        self.queue.push_back((now, task));
    }

    pub(super) fn repeat(&mut self, period: Duration, call: Box<dyn FnMut() + Send>, now: Instant) -> u64 {
        self.insert(after(now, period), Some(period), call)
    }

    pub(super) fn once(&mut self, due: Instant, call: Box<dyn FnMut() + Send>) -> u64 {
        self.insert(due, None, call)
    }

    fn insert(&mut self, due: Instant, period: Option<Duration>, call: Box<dyn FnMut() + Send>) -> u64 {
        let number = self.next_timer;
        self.next_timer += 1;
        let timer = Timer {
            call,
            number,
            period,
            due,
        };
        self.timers.insert((due, number), timer);
        self.due.insert(number, Some(due));
        number
    }

    /// Returns the timer, to be dropped outside the lock; a running timer ends its run.
    pub(super) fn cancel(&mut self, number: u64) -> Option<Timer> {
        let due = self.due.remove(&number)??;
        self.timers.remove(&(due, number))
    }

    /// Skips the runs that were due. Returns a cancelled timer.
    pub(super) fn put_back(&mut self, mut timer: Timer, now: Instant) -> Option<Timer> {
        if self.due.remove(&timer.number).is_none() || self.closed {
            return Some(timer);
        }
        let Some(period) = timer.period else {
            return Some(timer);
        };
        timer.due = after(timer.due, period).max(now);
        self.due.insert(timer.number, Some(timer.due));
        self.timers.insert((timer.due, timer.number), timer)
    }

    pub(super) fn next(&mut self, now: Instant) -> Next {
        if self.closed {
            return Next::Leave;
        }
        let first_due = self.timers.keys().next().map(|&(due, _)| due);
        let waits_since = self.queue.front().map(|&(since, _)| since);
        // The longest waiting goes first, so a late timer does not starve tasks.
        let is_timers_turn =
            first_due.is_some_and(|due| due <= now && waits_since.is_none_or(|since| due < since));
        if is_timers_turn && let Some((_, timer)) = self.timers.pop_first() {
            self.running += 1;
            self.due.insert(timer.number, None);
            return Next::Run(Task::Again(timer));
        }
        if let Some((_, task)) = self.queue.pop_front() {
            self.running += 1;
            return Next::Run(Task::Once(task));
        }
        Next::Wait(first_due.map(|due| due.saturating_duration_since(now)))
    }

    pub(super) fn lacks_thread(&self, threads_max: usize) -> bool {
        let is_more = !self.queue.is_empty() || !self.timers.is_empty();
        is_more && self.sleeping == 0 && self.threads < threads_max
    }

    pub(super) fn ran(&mut self, panicked: bool) {
        self.running -= 1;
        self.ran += 1;
        self.panicked += u64::from(panicked);
    }

    pub(super) fn sleeps(&mut self) {
        self.sleeping += 1;
    }

    pub(super) fn wakes(&mut self) {
        self.sleeping -= 1;
    }

    /// No timer is set, or another thread sleeps for it.
    pub(super) fn may_leave(&self) -> bool {
        self.queue.is_empty() && (self.timers.is_empty() || self.sleeping > 0)
    }

    pub(super) fn has_threads(&self) -> bool {
        self.threads > 0
    }

    pub(super) fn next_thread(&self) -> usize {
        self.threads_in_all
    }

    pub(super) fn thread_started(&mut self) {
        self.threads += 1;
        self.threads_in_all += 1;
    }

    pub(super) fn thread_ended(&mut self) {
        self.threads -= 1;
    }

    pub(super) fn running(&self) -> usize {
        self.running
    }

    pub(super) fn close(&mut self) -> Forgotten {
        self.closed = true;
        self.due.clear();
        Forgotten {
            _queue: std::mem::take(&mut self.queue),
            _timers: std::mem::take(&mut self.timers),
        }
    }

    pub(super) fn timers(&self) -> usize {
        self.due.len()
    }

    pub(super) fn snapshot(&self) -> MaintenanceSnapshot {
        MaintenanceSnapshot {
            threads: self.threads,
            running: self.running,
            queued: self.queue.len(),
            repeating: self.timers(),
            ran: self.ran,
            panicked: self.panicked,
        }
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schedule")
            .field("closed", &self.closed)
            .field("now", &self.snapshot())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(schedule: &mut Schedule, now: Instant) -> Option<Timer> {
        match schedule.next(now) {
            Next::Run(Task::Again(timer)) => Some(timer),
            _ => None,
        }
    }

    #[test]
    fn a_timer_is_due_after_each_period_and_leaves_out_what_it_was_late_for() {
        let (mut schedule, start) = (Schedule::default(), Instant::now());
        let period = Duration::from_millis(10);
        schedule.repeat(period, Box::new(|| {}), start);
        assert!(runs(&mut schedule, start).is_none());
        let timer = runs(&mut schedule, start + period).expect("one period is over");
        assert!(schedule.put_back(timer, start + period * 7 / 2).is_none());
        let timer = runs(&mut schedule, start + period * 7 / 2).expect("the one of 20 ms is late");
        assert!(schedule.put_back(timer, start + period * 18 / 5).is_none());
        assert!(
            runs(&mut schedule, start + period * 37 / 10).is_none(),
            "no others are made up for"
        );
        assert!(runs(&mut schedule, start + period * 9 / 2).is_some());
    }

    #[test]
    fn a_timer_that_is_cancelled_while_it_runs_does_not_come_again() {
        let (mut schedule, start) = (Schedule::default(), Instant::now());
        let number = schedule.repeat(Duration::ZERO, Box::new(|| {}), start);
        let timer = runs(&mut schedule, start).expect("it is due");
        assert!(schedule.cancel(number).is_none(), "it is not here");
        assert!(
            schedule.put_back(timer, start).is_some(),
            "it is given back to be dropped"
        );
        assert!(runs(&mut schedule, start + Duration::from_secs(1)).is_none());
    }

    #[test]
    fn a_timer_for_one_run_is_given_back_after_it() {
        let (mut schedule, start) = (Schedule::default(), Instant::now());
        let delay = Duration::from_millis(10);
        schedule.once(start + delay, Box::new(|| {}));
        assert!(runs(&mut schedule, start).is_none());
        let timer = runs(&mut schedule, start + delay).expect("the delay is over");
        assert!(schedule.put_back(timer, start + delay).is_some());
        assert!(runs(&mut schedule, start + delay * 100).is_none());
        assert_eq!(schedule.snapshot().repeating, 0);
    }

    #[test]
    fn a_thread_is_started_for_each_task_that_no_sleeper_can_take_up_to_the_limit() {
        let mut schedule = Schedule::default();
        assert_eq!(schedule.wanted(2), Wake::NewThread);
        schedule.thread_started();
        schedule.sleeps();
        assert_eq!(schedule.wanted(2), Wake::Sleeper);
        schedule.push(Box::new(|| {}), Instant::now());
        assert_eq!(
            schedule.wanted(2),
            Wake::NewThread,
            "the sleeper has something to do"
        );
        schedule.thread_started();
        schedule.push(Box::new(|| {}), Instant::now());
        assert_eq!(schedule.wanted(2), Wake::Sleeper, "there are as many as may be");
    }

    #[test]
    fn a_timer_that_is_always_late_leaves_turns_to_tasks() {
        let (mut schedule, start) = (Schedule::default(), Instant::now());
        schedule.repeat(Duration::ZERO, Box::new(|| {}), start);
        let timer = runs(&mut schedule, start).expect("it is due");
        schedule.push(Box::new(|| {}), start + Duration::from_millis(1));
        assert!(
            schedule
                .put_back(timer, start + Duration::from_millis(2))
                .is_none()
        );
        assert!(
            runs(&mut schedule, start + Duration::from_millis(3)).is_none(),
            "the task waits for longer"
        );
        assert!(runs(&mut schedule, start + Duration::from_millis(3)).is_some());
    }

    #[test]
    fn a_period_that_no_clock_reaches_is_never_over() {
        let (mut schedule, start) = (Schedule::default(), Instant::now());
        schedule.repeat(Duration::MAX, Box::new(|| {}), start);
        assert!(runs(&mut schedule, start + Duration::from_secs(1 << 30)).is_none());
    }

    #[test]
    fn a_busy_worker_leaves_another_to_what_is_due_meanwhile() {
        let mut schedule = Schedule::default();
        schedule.thread_started();
        assert!(!schedule.lacks_thread(2), "there is nothing");
        schedule.repeat(Duration::from_secs(1), Box::new(|| {}), Instant::now());
        assert!(schedule.lacks_thread(2));
        assert!(!schedule.lacks_thread(1), "there are as many as may be");
        schedule.thread_started();
        schedule.sleeps();
        assert!(!schedule.lacks_thread(3), "another sleeps");
    }

    #[test]
    fn the_last_thread_stays_while_a_timer_is_to_come() {
        let mut schedule = Schedule::default();
        schedule.thread_started();
        assert!(schedule.may_leave());
        let number = schedule.repeat(Duration::from_secs(1), Box::new(|| {}), Instant::now());
        assert!(!schedule.may_leave());
        schedule.thread_started();
        schedule.sleeps();
        assert!(schedule.may_leave(), "another sleeps");
        schedule.wakes();
        assert!(schedule.cancel(number).is_some());
        assert!(schedule.may_leave());
    }
}
