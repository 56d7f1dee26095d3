//! How long a worker's tasks take, by samples.
//!
//! A clock read costs more than a short task, so a sample spans many tasks. Its time is bounded, so
//! a sample soon follows a long task.

/// Longest time between two searches of the injector.
const INJECTOR_NS: u64 = 200_000;

/// Tasks of a first sample; fewer suffice if they take as long as this many at the limit.
const FIRST_SAMPLE: u32 = 16;

/// Time between two ticks while a worker searches; a tick costs some ten nanoseconds.
const SEARCH_TICK_NS: u64 = 2_000;

/// The same in operations.
const SEARCH_TICKS: std::ops::RangeInclusive<u64> = 8..=SEARCH_TICK_MAX as u64;

/// Most operations on private tasks between two ticks while a worker searches.
pub const SEARCH_TICK_MAX: u32 = 128;

/// Largest factor by which samples become rarer while tasks stay short.
const RELAXED_MAX: u32 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Length {
    Unknown,
    /// The last sample's mean was below the limit.
    Short,
    Long,
}

#[derive(Debug, Hash)]
pub(crate) struct TaskTime {
    length: Length,
    since_ns: Option<u64>,
    /// End of the last busy time, and the idle time after it.
    until_ns: u64,
    idle_ns: u64,
    busy_ns: u64,
    tasks: u32,
    sample_every: u32,
    relaxed: u32,
    interval: u32,
    /// `interval`, shortened for long tasks.
    injector_every: u32,
    /// Operations between two ticks while a worker searches.
    search_tick_every: u32,
    mean_ns: u64,
}

impl TaskTime {
    pub(crate) fn new(interval: u32) -> Self {
        Self {
            length: Length::Unknown,
            since_ns: None,
            until_ns: 0,
            idle_ns: 0,
            busy_ns: 0,
            tasks: 0,
            sample_every: interval.min(FIRST_SAMPLE),
            relaxed: 1,
            interval,
            injector_every: interval,
            search_tick_every: *SEARCH_TICKS.start() as u32,
            mean_ns: 0,
        }
    }

    #[inline]
    pub(crate) fn length(&self) -> Length {
        self.length
    }

    #[inline]
    pub(crate) fn count(&mut self, tasks: u32) {
        self.tasks = self.tasks.saturating_add(tasks);
    }

    #[inline]
    pub(crate) fn is_running(&self) -> bool {
        self.since_ns.is_some()
    }

    pub(crate) fn begin(&mut self, now_ns: u64) {
        self.since_ns = Some(now_ns);
        self.idle_ns = now_ns.saturating_sub(self.until_ns);
    }

    pub(crate) fn idle_ns(&self) -> u64 {
        self.idle_ns
    }

    /// The sample goes on after the idle time, so that a few tasks at a time add up.
    pub(crate) fn pause(&mut self, now_ns: u64, short_ns: u64) {
        self.add_up(now_ns);
        self.since_ns = None;
        self.until_ns = now_ns;
        if self.is_due() {
            self.judge(short_ns);
        }
    }

    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.tasks >= self.sample_every
    }

    #[inline]
    pub(crate) fn until_due(&self) -> u32 {
        self.sample_every.saturating_sub(self.tasks)
    }

    pub(crate) fn sample(&mut self, now_ns: u64, short_ns: u64) {
        self.add_up(now_ns);
        self.since_ns = Some(now_ns);
        let is_enough =
            self.is_due() || self.tasks >= FIRST_SAMPLE || self.busy_ns >= u64::from(FIRST_SAMPLE) * short_ns;
        if self.tasks > 0 && is_enough {
            self.judge(short_ns);
        }
    }

    fn add_up(&mut self, now_ns: u64) {
        if let Some(since_ns) = self.since_ns {
            self.busy_ns = self.busy_ns.saturating_add(now_ns.saturating_sub(since_ns));
        }
    }

    fn judge(&mut self, short_ns: u64) {
        let mean_ns = self.busy_ns / u64::from(self.tasks.max(1));
        let length = if mean_ns < short_ns {
            Length::Short
        } else {
            Length::Long
        };
        self.relaxed = if (length, self.length) == (Length::Short, Length::Short) {
            (2 * self.relaxed).min(RELAXED_MAX)
        } else {
            1
        };
        self.sample_every = self.interval.saturating_mul(self.relaxed);
        let fit = INJECTOR_NS / mean_ns.max(1);
        self.injector_every = u32::try_from(fit).unwrap_or(u32::MAX).clamp(1, self.interval);
        let fit = SEARCH_TICK_NS / mean_ns.max(1);
        self.search_tick_every = fit.clamp(*SEARCH_TICKS.start(), *SEARCH_TICKS.end()) as u32;
        self.length = length;
        self.mean_ns = mean_ns;
        (self.busy_ns, self.tasks) = (0, 0);
    }

    #[inline]
    pub(crate) fn injector_every(&self) -> u32 {
        self.injector_every
    }

    pub(crate) fn mean_ns(&self) -> u64 {
        self.mean_ns
    }

    pub(crate) fn search_tick_every(&self) -> u32 {
        self.search_tick_every
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(samples: &[(u32, u64)]) -> TaskTime {
        let mut time = TaskTime::new(61);
        let mut now = 1_000;
        time.begin(now);
        for &(tasks, each_ns) in samples {
            time.count(tasks);
            now += u64::from(tasks) * each_ns;
            time.sample(now, 1_000);
        }
        time
    }

    #[test]
    fn nothing_is_known_before_a_task_was_measured() {
        let mut time = TaskTime::new(61);
        assert!(!time.is_running(), "a first clock read is wanted");
        time.begin(5);
        time.sample(7, 1_000);
        assert_eq!(time.length(), Length::Unknown, "no task, no judgement");
        time.sample(1_000_000_000, 1_000);
        assert_eq!(time.length(), Length::Unknown, "however long it took");
        time.count(1);
        assert_eq!((time.is_due(), time.length()), (false, Length::Unknown));
    }

    #[test]
    fn the_mean_decides() {
        assert_eq!(after(&[(16, 999)]).length(), Length::Short);
        assert_eq!(after(&[(16, 1_000)]).length(), Length::Long);
        assert_eq!(after(&[(16, 5), (1, 1_000_000)]).length(), Length::Long);
        assert_eq!(after(&[(1, 1_000_000), (61, 5)]).length(), Length::Short);
    }

    #[test]
    fn a_few_tasks_that_took_a_little_longer_are_not_enough_to_go_by() {
        assert_eq!(after(&[(16, 5), (1, 5_000)]).length(), Length::Short);
        assert_eq!(
            after(&[(16, 5), (1, 5_000), (1, 5_000), (2, 5_000)]).length(),
            Length::Long
        );
        assert_eq!(after(&[(16, 5), (1, 16_000)]).length(), Length::Long);
    }

    #[test]
    fn long_tasks_bring_the_next_look_nearer() {
        assert_eq!(after(&[(16, 5)]).injector_every(), 61);
        assert_eq!(after(&[(16, 20_000)]).injector_every(), 10);
        assert_eq!(after(&[(1, 5_000_000)]).injector_every(), 1);
    }

    #[test]
    fn while_a_worker_searches_a_tick_comes_about_every_two_microseconds() {
        for (each_ns, injector_every) in [(1, 128), (15, 128), (16, 125), (100, 20), (250, 8), (900, 8)] {
            assert_eq!(
                after(&[(16, each_ns)]).search_tick_every(),
                injector_every,
                "{each_ns} ns"
            );
        }
    }

    #[test]
    fn samples_become_rarer_while_tasks_stay_short_and_frequent_again_after_a_long_one() {
        let due_after = |samples: &[(u32, u64)]| {
            let mut time = after(samples);
            (1..10_000).find(|_| {
                time.count(1);
                time.is_due()
            })
        };
        assert_eq!(due_after(&[]), Some(16));
        assert_eq!(due_after(&[(16, 5)]), Some(61));
        assert_eq!(due_after(&[(16, 5); 2]), Some(122));
        assert_eq!(due_after(&[(16, 5); 9]), Some(244));
        assert_eq!(due_after(&[(16, 5), (16, 5), (1, 90_000), (16, 5)]), Some(61));
    }

    #[test]
    fn a_few_tasks_at_a_time_add_up_to_a_sample_without_the_idle_time_between() {
        let mut time = TaskTime::new(61);
        for episode in 0..4 {
            assert_eq!(time.length(), Length::Unknown, "after {episode} episodes");
            let start = episode * 1_000_000_000;
            time.begin(start);
            assert_eq!(time.idle_ns(), if episode == 0 { 0 } else { 999_999_600 });
            time.count(4);
            time.pause(start + 400, 1_000);
            assert!(!time.is_running());
        }
        assert_eq!(time.length(), Length::Short);
    }
}
