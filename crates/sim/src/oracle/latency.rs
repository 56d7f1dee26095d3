//! How long jobs take in virtual time: from when they were due to their end, between two services, from a cancel until they stand still.
//!
//! The oracle is told when a slot begins and when it has taken its time, by the clock of the party that runs it. From that alone, and not
//! from what the policy says about itself, it has
//!
//! - the *latency* of a job, from when it was due; late submission counts as waiting, since the arrivals are an open loop;
//! - the *wait* of a job: the longest time in which it had slots to claim and no worker was in one of its slots;
//! - the *share* of the workers' time that went into slots of each kind of job, inside a window;
//! - the time from a *cancel* until the job had ended, its last slot included;
//! - how many short jobs were *ahead* of a job, in flight when it was submitted.
//!
//! What bounds there are for these is the [scenario's](crate::Traffic) to say: they follow from the load.

use std::collections::HashMap;

use pipeline_exec::JobHandle;

use crate::scenario::Latency;

/// What a job is to the load that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// One of those whose latency matters.
    Short,
    /// One that keeps workers busy.
    Heavy,
    /// Neither the oldest nor the heaviest.
    Middle,
}

/// Follows the jobs of a load; of other jobs it knows nothing.
#[derive(Debug, Default)]
pub(crate) struct LatencyOracle {
    /// Begin and end of the window in which shares are counted.
    window: (u64, u64),
    /// What a party is about to submit, and since when that is due.
    calls: HashMap<usize, (Kind, u64)>,
    jobs: HashMap<usize, Record>,
    took: HashMap<Kind, Vec<u64>>,
    served: HashMap<Kind, u64>,
    waited: HashMap<Kind, u64>,
    /// The longest waits of those that had been served before.
    waited_again: HashMap<Kind, u64>,
    /// What each heavy or middle job waited until it was served or cancelled, and what each short one took.
    lines: Lines,
    /// Short jobs in flight.
    shorts: usize,
    stopped: Vec<u64>,
    last_end_ns: u64,
}

/// How long jobs stood in line, each with the number of short jobs ahead of it.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// Heavy and middle jobs, until they were served for the first time or cancelled.
    pub(crate) first_waits: Vec<Stood>,
    /// Short jobs that nobody cancelled, until their end.
    pub(crate) short: Vec<Stood>,
    /// The most short jobs that were in flight at a time.
    pub(crate) most_shorts: usize,
}

/// A job that stood in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stood {
    pub(crate) ns: u64,
    /// Short jobs in flight when it was submitted.
    pub(crate) ahead: usize,
}

#[derive(Debug)]
struct Record {
    kind: Kind,
    due_ns: u64,
    /// Short jobs in flight when it was submitted.
    ahead: usize,
    /// A slot of it has begun.
    served: bool,
    /// Slots that are being run.
    running: usize,
    /// Since when none is.
    idle_ns: u64,
    /// When somebody cancelled it first.
    cancelled_ns: Option<u64>,
}

impl LatencyOracle {
    /// Shares are counted from `begin_ns` to `end_ns`.
    pub(crate) fn window(&mut self, begin_ns: u64, end_ns: u64) {
        self.window = (begin_ns, end_ns);
    }

    /// `party` is about to submit a job that is due at `due_ns`.
    pub(crate) fn is_about_to_submit(&mut self, party: usize, kind: Kind, due_ns: u64) {
        self.calls.insert(party, (kind, due_ns));
    }

    /// `party` has submitted `job`.
    pub(crate) fn submitted(&mut self, job: JobHandle, party: usize, now_ns: u64) {
        if let Some((kind, due_ns)) = self.calls.remove(&party) {
            let record = Record {
                kind,
                due_ns,
                ahead: self.shorts,
                running: 0,
                served: false,
                idle_ns: now_ns,
                cancelled_ns: None,
            };
            self.jobs.insert(job.seq, record);
            if kind == Kind::Short {
                self.shorts += 1;
                self.lines.most_shorts = self.lines.most_shorts.max(self.shorts);
            }
        }
    }

    /// A slot of `job` begins that takes `slot_ns`.
    pub(crate) fn slot_began(&mut self, job: JobHandle, now_ns: u64, slot_ns: u64) {
        let Some(record) = self.jobs.get_mut(&job.seq) else {
            return;
        };
        let waited = record.waited(now_ns);
        let is_cancelled = record.cancelled_ns.is_some();
        record.running += 1;
        let kind = record.kind;
        let again = std::mem::replace(&mut record.served, true);
        let stood = Stood {
            ns: waited,
            ahead: record.ahead,
        };
        self.note_wait(kind, stood, again || is_cancelled);
        let (begin_ns, end_ns) = self.window;
        let inside = (now_ns + slot_ns)
            .min(end_ns)
            .saturating_sub(now_ns.max(begin_ns));
        *self.served.entry(kind).or_default() += inside;
    }

    /// A slot of `job` has taken its time.
    pub(crate) fn slot_ended(&mut self, job: JobHandle, now_ns: u64) {
        if let Some(record) = self.jobs.get_mut(&job.seq) {
            record.running -= 1;
            record.idle_ns = now_ns;
        }
    }

    /// Somebody is about to cancel `job`.
    pub(crate) fn is_being_cancelled(&mut self, job: JobHandle, now_ns: u64) {
        if let Some(record) = self.jobs.get_mut(&job.seq) {
            let stood = Stood {
                ns: record.waited(now_ns),
                ahead: record.ahead,
            };
            let (kind, again) = (record.kind, record.served || record.cancelled_ns.is_some());
            record.cancelled_ns.get_or_insert(now_ns);
            self.note_wait(kind, stood, again);
        }
    }

    /// `job` has ended.
    pub(crate) fn ended(&mut self, job: JobHandle, now_ns: u64) {
        let Some(record) = self.jobs.remove(&job.seq) else {
            return;
        };
        self.last_end_ns = self.last_end_ns.max(now_ns);
        if record.kind == Kind::Short {
            self.shorts -= 1;
        }
        match record.cancelled_ns {
            Some(cancelled_ns) => self.stopped.push(now_ns.saturating_sub(cancelled_ns)),
            None => {
                let ns = now_ns.saturating_sub(record.due_ns);
                self.took.entry(record.kind).or_default().push(ns);
                if record.kind == Kind::Short {
                    let ahead = record.ahead;
                    self.lines.short.push(Stood { ns, ahead });
                }
            }
        }
    }

    /// Whether `job` has been submitted and has not ended.
    pub(crate) fn is_in_flight(&self, job: JobHandle) -> bool {
        self.jobs.contains_key(&job.seq)
    }

    /// How long jobs of this kind took that nobody cancelled.
    pub(crate) fn latency(&self, kind: Kind) -> Latency {
        Latency::of(self.took.get(&kind).cloned().unwrap_or_default())
    }

    /// How long it took from cancels until the jobs had ended.
    pub(crate) fn stops(&self) -> Latency {
        Latency::of(self.stopped.clone())
    }

    /// The longest wait of a job of this kind.
    pub(crate) fn longest_wait_ns(&self, kind: Kind) -> u64 {
        self.waited.get(&kind).copied().unwrap_or(0)
    }

    /// The longest wait of a job of this kind that had been served before.
    pub(crate) fn longest_wait_again_ns(&self, kind: Kind) -> u64 {
        self.waited_again.get(&kind).copied().unwrap_or(0)
    }

    /// How long jobs stood in line. What is told from now on is apart.
    pub(crate) fn take_lines(&mut self) -> Lines {
        std::mem::take(&mut self.lines)
    }

    /// What part of the time of `workers` workers in the window went into slots of this kind.
    pub(crate) fn share(&self, kind: Kind, workers: usize) -> f64 {
        let (begin_ns, end_ns) = self.window;
        let all_ns = (end_ns - begin_ns).max(1) as f64 * workers as f64;
        self.served.get(&kind).copied().unwrap_or(0) as f64 / all_ns
    }

    /// When the last job ended.
    pub(crate) fn last_end_ns(&self) -> u64 {
        self.last_end_ns
    }

    fn note_wait(&mut self, kind: Kind, stood: Stood, again: bool) {
        let maps = [Some(&mut self.waited), again.then_some(&mut self.waited_again)];
        for waited in maps.into_iter().flatten() {
            let longest = waited.entry(kind).or_default();
            *longest = stood.ns.max(*longest);
        }
        if !again && kind != Kind::Short {
            self.lines.first_waits.push(stood);
        }
    }
}

impl Record {
    /// How long it has had slots and no worker in one of them.
    fn waited(&self, now_ns: u64) -> u64 {
        if self.running > 0 || self.cancelled_ns.is_some() {
            return 0;
        }
        now_ns.saturating_sub(self.idle_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: JobHandle = JobHandle {
        cost: 1,
        seq: 3,
        index: 0,
    };

    fn oracle(kind: Kind) -> LatencyOracle {
        let mut oracle = LatencyOracle::default();
        oracle.window(100, 200);
        oracle.is_about_to_submit(7, kind, 90);
        oracle.submitted(JOB, 7, 95);
        oracle
    }

    #[test]
    fn a_job_takes_from_when_it_was_due_until_its_end() {
        let mut oracle = oracle(Kind::Short);
        oracle.slot_began(JOB, 110, 10);
        oracle.slot_ended(JOB, 120);
        oracle.ended(JOB, 121);
        assert_eq!(oracle.latency(Kind::Short).max_ns, 31);
        assert_eq!(oracle.longest_wait_ns(Kind::Short), 15);
        assert_eq!((oracle.last_end_ns(), oracle.is_in_flight(JOB)), (121, false));
    }

    #[test]
    fn a_job_stands_in_line_behind_the_short_ones_that_were_in_flight_when_it_came() {
        let mut oracle = oracle(Kind::Short);
        let later = JobHandle { seq: 4, ..JOB };
        oracle.is_about_to_submit(7, Kind::Heavy, 100);
        oracle.submitted(later, 7, 100);
        oracle.slot_began(JOB, 110, 10);
        oracle.ended(JOB, 120);
        oracle.slot_began(later, 130, 10);
        oracle.slot_ended(later, 140);
        oracle.slot_began(later, 190, 10);
        let lines = oracle.take_lines();
        assert_eq!(lines.first_waits, [Stood { ns: 30, ahead: 1 }]);
        assert_eq!(lines.short, [Stood { ns: 30, ahead: 0 }]);
        assert_eq!(lines.most_shorts, 1);
    }

    #[test]
    fn a_job_waits_only_while_nobody_is_in_one_of_its_slots() {
        let mut oracle = oracle(Kind::Middle);
        oracle.slot_began(JOB, 100, 50);
        oracle.slot_began(JOB, 120, 50);
        oracle.slot_ended(JOB, 150);
        oracle.slot_ended(JOB, 170);
        oracle.slot_began(JOB, 190, 10);
        assert_eq!(oracle.longest_wait_ns(Kind::Middle), 20);
        oracle.slot_ended(JOB, 200);
        oracle.is_being_cancelled(JOB, 240);
        assert_eq!(oracle.longest_wait_ns(Kind::Middle), 40, "up to its cancel");
        oracle.slot_began(JOB, 300, 1);
        assert_eq!(
            oracle.longest_wait_ns(Kind::Middle),
            40,
            "it has no claim to more"
        );
    }

    #[test]
    fn only_what_lies_in_the_window_counts_for_shares() {
        let mut oracle = oracle(Kind::Heavy);
        oracle.slot_began(JOB, 90, 20);
        oracle.slot_ended(JOB, 110);
        oracle.slot_began(JOB, 195, 20);
        assert!((oracle.share(Kind::Heavy, 1) - 0.15).abs() < 1e-9);
        assert!((oracle.share(Kind::Heavy, 3) - 0.05).abs() < 1e-9);
    }

    #[test]
    fn a_cancelled_job_has_stopped_at_its_end() {
        let mut oracle = oracle(Kind::Heavy);
        oracle.slot_began(JOB, 100, 50);
        oracle.is_being_cancelled(JOB, 120);
        oracle.is_being_cancelled(JOB, 140);
        oracle.slot_ended(JOB, 150);
        oracle.ended(JOB, 151);
        assert_eq!((oracle.stops().count, oracle.stops().max_ns), (1, 31));
        assert_eq!(oracle.latency(Kind::Heavy).count, 0);
    }
}
