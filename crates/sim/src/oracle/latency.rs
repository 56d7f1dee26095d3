//! Times of jobs in virtual time: to their end, between services, from a cancel to the end.
//!
//! The oracle follows the beginning and end of each slot by its actor's clock, and knows
//!
//! - the *latency* of a job from its due time, late submission included;
//! - the *wait* of a job: the longest time with claimable slots and no worker in one;
//! - the *share* of the workers' time that each kind of job received in a window;
//! - the time from a *cancel* until the job ended;
//! - the short jobs *ahead* of a job: those in flight at its submission.
//!
//! The bounds are the [scenario's](crate::Traffic).

use std::collections::{HashMap, HashSet};

use pipeline_exec::policy::JobHandle;

use crate::scenario::Latency;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Short,
    Heavy,
    Middle,
}

#[derive(Debug, Default)]
pub(crate) struct LatencyOracle {
    window: (u64, u64),
    calls: HashMap<usize, (Kind, u64)>,
    jobs: HashMap<usize, Record>,
    took: HashMap<Kind, Vec<u64>>,
    served: HashMap<Kind, u64>,
    waited: HashMap<Kind, u64>,
    waited_again: HashMap<Kind, u64>,
    lines: Lines,
    shorts: usize,
    others: Vec<JobHandle>,
    old_since: Option<u64>,
    others_young: usize,
    used_up: usize,
    /// The strays are spare threads in heavy or middle jobs.
    spares: usize,
    strays: HashSet<usize>,
    /// The state when the first short job of the current overlapping row arrived.
    began: Unsettled,
    stopped: Vec<u64>,
    last_end_ns: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// Heavy and middle jobs, until their first service or cancel.
    pub(crate) first_waits: Vec<Stood>,
    /// The same, until their next service or cancel.
    pub(crate) waits_again: Vec<Stood>,
    pub(crate) short: Vec<Stood>,
    pub(crate) most_shorts: usize,
    /// The part of the window with an old heavy or middle job in flight.
    pub(crate) old_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stood {
    pub(crate) ns: u64,
    pub(crate) ahead: usize,
    pub(crate) is_young: bool,
    /// The workers' time that it received since it was last without workers, at the last one's
    /// leaving.
    pub(crate) lead_ns: u64,
    /// Heavy and middle jobs that were young meanwhile.
    pub(crate) young: usize,
    /// Since a time without short jobs no such job was young and no allowance used up, and some
    /// spare thread was in no such job.
    pub(crate) settled: bool,
}

/// Reasons for not serving a short job at once.
#[derive(Clone, Copy, Debug, Default)]
struct Unsettled {
    young: usize,
    others_young: usize,
    used_up: usize,
    is_used_up: bool,
    no_spare: bool,
}

#[derive(Debug)]
struct Record {
    kind: Kind,
    due_ns: u64,
    ahead: usize,
    /// The state at its submission, and at that of the first short job of its overlapping row.
    submitted: Unsettled,
    began: Unsettled,
    /// Workers inside it, and the time received since there was none, without theirs.
    inside: usize,
    had_ns: u64,
    lead_ns: u64,
    served: bool,
    running: usize,
    idle_ns: u64,
    cancelled_ns: Option<u64>,
}

impl LatencyOracle {
    pub(crate) fn window(&mut self, begin_ns: u64, end_ns: u64) {
        self.window = (begin_ns, end_ns);
    }

    pub(crate) fn aged(&mut self, now_ns: u64, is_young: impl Fn(JobHandle) -> bool) {
        let is_old = self.others.iter().any(|other| !is_young(*other));
        match (self.old_since, is_old) {
            (None, true) => self.old_since = Some(now_ns),
            (Some(since_ns), false) => {
                let (begin_ns, end_ns) = self.window;
                let old_ns = now_ns.min(end_ns).saturating_sub(since_ns.max(begin_ns));
                self.lines.old_ns += old_ns;
                self.old_since = None;
            }
            _ => {}
        }
    }

    pub(crate) fn spares(&mut self, spares: usize) {
        self.spares = spares;
    }

    pub(crate) fn spare_entered(&mut self, worker: usize, job: JobHandle) {
        let is_other = |record: &Record| record.kind != Kind::Short;
        if self.jobs.get(&job.seq).is_some_and(is_other) {
            self.strays.insert(worker);
        }
    }

    pub(crate) fn spare_left(&mut self, worker: usize) {
        self.strays.remove(&worker);
    }

    pub(crate) fn is_about_to_submit(&mut self, actor: usize, kind: Kind, due_ns: u64) {
        self.calls.insert(actor, (kind, due_ns));
    }

    pub(crate) fn submitted(
        &mut self,
        job: JobHandle,
        actor: usize,
        now_ns: u64,
        is_young: impl Fn(JobHandle) -> bool,
        used_up: bool,
    ) {
        if let Some((kind, due_ns)) = self.calls.remove(&actor) {
            let young = self.others.iter().filter(|other| is_young(**other)).count();
            if kind != Kind::Short {
                self.others.push(job);
                self.others_young += usize::from(is_young(job));
            }
            let submitted = Unsettled {
                young,
                others_young: self.others_young,
                used_up: self.used_up,
                is_used_up: used_up,
                no_spare: self.spares > 0 && self.strays.len() == self.spares,
            };
            if self.shorts == 0 {
                self.began = submitted;
            }
            let record = Record {
                kind,
                due_ns,
                ahead: self.shorts,
                submitted,
                began: self.began,
                inside: 0,
                had_ns: 0,
                lead_ns: 0,
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

    pub(crate) fn entered(&mut self, job: JobHandle) {
        if let Some(record) = self.jobs.get_mut(&job.seq) {
            if record.inside == 0 {
                record.had_ns = 0;
            }
            record.inside += 1;
        }
    }

    pub(crate) fn left(&mut self, job: JobHandle, ns: u64) {
        if let Some(record) = self.jobs.get_mut(&job.seq) {
            record.inside -= 1;
            record.had_ns += ns;
            if record.inside == 0 && record.had_ns > 0 {
                record.lead_ns = record.had_ns;
            }
        }
    }

    pub(crate) fn slot_began(&mut self, job: JobHandle, is_young: bool, now_ns: u64, slot_ns: u64) {
        let Some(record) = self.jobs.get_mut(&job.seq) else {
            return;
        };
        let waited = record.waited(now_ns);
        let is_cancelled = record.cancelled_ns.is_some();
        record.running += 1;
        let kind = record.kind;
        let again = std::mem::replace(&mut record.served, true);
        let stood = record.stood(waited, is_young, self.others_young, self.used_up);
        self.note_wait(kind, stood, again || is_cancelled);
        let (begin_ns, end_ns) = self.window;
        let inside = (now_ns + slot_ns)
            .min(end_ns)
            .saturating_sub(now_ns.max(begin_ns));
        *self.served.entry(kind).or_default() += inside;
    }

    pub(crate) fn slot_ended(&mut self, job: JobHandle, now_ns: u64) {
        if let Some(record) = self.jobs.get_mut(&job.seq) {
            record.running -= 1;
            record.idle_ns = now_ns;
        }
    }

    pub(crate) fn is_being_cancelled(&mut self, job: JobHandle, is_young: bool, now_ns: u64) {
        if let Some(record) = self.jobs.get_mut(&job.seq) {
            let waited = record.waited(now_ns);
            let stood = record.stood(waited, is_young, self.others_young, self.used_up);
            let (kind, again) = (record.kind, record.served || record.cancelled_ns.is_some());
            record.cancelled_ns.get_or_insert(now_ns);
            self.note_wait(kind, stood, again);
        }
    }

    pub(crate) fn ended(&mut self, job: JobHandle, now_ns: u64) {
        let Some(record) = self.jobs.remove(&job.seq) else {
            return;
        };
        self.last_end_ns = self.last_end_ns.max(now_ns);
        if record.kind == Kind::Short {
            self.shorts -= 1;
        } else {
            self.others.retain(|other| other.seq != job.seq);
        }
        match record.cancelled_ns {
            Some(cancelled_ns) => self.stopped.push(now_ns.saturating_sub(cancelled_ns)),
            None => {
                let ns = now_ns.saturating_sub(record.due_ns);
                self.took.entry(record.kind).or_default().push(ns);
                if record.kind == Kind::Short {
                    let stood = record.stood(ns, false, self.others_young, self.used_up);
                    self.lines.short.push(stood);
                }
            }
        }
    }

    pub(crate) fn allowance_used_up(&mut self) {
        self.used_up += 1;
    }

    pub(crate) fn is_in_flight(&self, job: JobHandle) -> bool {
        self.jobs.contains_key(&job.seq)
    }

    pub(crate) fn latency(&self, kind: Kind) -> Latency {
        Latency::of(self.took.get(&kind).cloned().unwrap_or_default())
    }

    pub(crate) fn stops(&self) -> Latency {
        Latency::of(self.stopped.clone())
    }

    pub(crate) fn longest_wait_ns(&self, kind: Kind) -> u64 {
        self.waited.get(&kind).copied().unwrap_or(0)
    }

    pub(crate) fn longest_wait_again_ns(&self, kind: Kind) -> u64 {
        self.waited_again.get(&kind).copied().unwrap_or(0)
    }

    pub(crate) fn take_lines(&mut self) -> Lines {
        std::mem::take(&mut self.lines)
    }

    pub(crate) fn share(&self, kind: Kind, workers: usize) -> f64 {
        let (begin_ns, end_ns) = self.window;
        let all_ns = (end_ns - begin_ns).max(1) as f64 * workers as f64;
        self.served.get(&kind).copied().unwrap_or(0) as f64 / all_ns
    }

    pub(crate) fn last_end_ns(&self) -> u64 {
        self.last_end_ns
    }

    fn note_wait(&mut self, kind: Kind, stood: Stood, again: bool) {
        let maps = [Some(&mut self.waited), again.then_some(&mut self.waited_again)];
        for waited in maps.into_iter().flatten() {
            let longest = waited.entry(kind).or_default();
            *longest = stood.ns.max(*longest);
        }
        if kind != Kind::Short && stood.ns > 0 {
            let lines = &mut self.lines;
            let waits = if again {
                &mut lines.waits_again
            } else {
                &mut lines.first_waits
            };
            waits.push(stood);
        }
    }
}

impl Record {
    fn stood(&self, ns: u64, is_young: bool, others_young: usize, used_up: usize) -> Stood {
        let Self { submitted, began, .. } = self;
        let was_young = began.young + others_young - began.others_young > 0;
        let was_used_up = began.is_used_up || used_up > began.used_up;
        Stood {
            ns,
            ahead: self.ahead,
            is_young,
            lead_ns: self.lead_ns,
            young: submitted.young + others_young - submitted.others_young,
            settled: !was_young && !was_used_up && !began.no_spare,
        }
    }

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
        rank: 1,
        seq: 3,
        index: 0,
    };

    fn oracle(kind: Kind) -> LatencyOracle {
        let mut oracle = LatencyOracle::default();
        oracle.window(100, 200);
        oracle.is_about_to_submit(7, kind, 90);
        oracle.submitted(JOB, 7, 95, |_| false, false);
        oracle
    }

    #[test]
    fn a_job_takes_from_when_it_was_due_until_its_end() {
        let mut oracle = oracle(Kind::Short);
        oracle.slot_began(JOB, false, 110, 10);
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
        oracle.submitted(later, 7, 100, |_| false, false);
        oracle.slot_began(JOB, false, 110, 10);
        oracle.ended(JOB, 120);
        oracle.slot_began(later, false, 130, 10);
        oracle.slot_ended(later, 140);
        oracle.slot_began(later, false, 190, 10);
        let lines = oracle.take_lines();
        let stood = |ahead| Stood {
            ns: 30,
            ahead,
            is_young: false,
            lead_ns: 0,
            young: 0,
            settled: true,
        };
        assert_eq!((lines.first_waits, lines.short), (vec![stood(1)], vec![stood(0)]));
        assert_eq!(lines.most_shorts, 1);
    }

    #[test]
    fn young_heavy_jobs_that_are_there_or_come_and_used_up_allowances_are_told_of_a_short_job() {
        let short = |oracle: &mut LatencyOracle, is_young: bool, used_up: bool| {
            let short = JobHandle { seq: 4, ..JOB };
            oracle.is_about_to_submit(7, Kind::Short, 100);
            oracle.submitted(short, 7, 100, |job| is_young && job.seq == JOB.seq, used_up);
            short
        };
        let told = |oracle: &mut LatencyOracle, short| {
            oracle.ended(short, 120);
            let lines = oracle.take_lines();
            (lines.short[0].young, lines.short[0].settled)
        };
        let mut settled = oracle(Kind::Heavy);
        let job = short(&mut settled, false, false);
        assert_eq!(told(&mut settled, job), (0, true));
        let mut beside_young = oracle(Kind::Heavy);
        let job = short(&mut beside_young, true, false);
        beside_young.is_about_to_submit(7, Kind::Middle, 110);
        beside_young.submitted(JobHandle { seq: 5, ..JOB }, 7, 110, |_| true, false);
        assert_eq!(told(&mut beside_young, job), (2, false));
        let mut before = oracle(Kind::Heavy);
        let job = short(&mut before, false, true);
        assert_eq!(told(&mut before, job), (0, false));
        let mut meanwhile = oracle(Kind::Heavy);
        let job = short(&mut meanwhile, false, false);
        meanwhile.allowance_used_up();
        assert_eq!(told(&mut meanwhile, job), (0, false));
    }

    #[test]
    fn a_short_job_that_comes_while_one_is_in_flight_is_no_more_settled_than_that() {
        let mut oracle = oracle(Kind::Heavy);
        let submit = |oracle: &mut LatencyOracle, seq, used_up| {
            let short = JobHandle { seq, ..JOB };
            oracle.is_about_to_submit(7, Kind::Short, 100);
            oracle.submitted(short, 7, 100, |_| false, used_up);
            short
        };
        let shorts = [(4, true), (5, false)].map(|(seq, used_up)| submit(&mut oracle, seq, used_up));
        shorts.into_iter().for_each(|short| oracle.ended(short, 120));
        let last = submit(&mut oracle, 6, false);
        oracle.ended(last, 130);
        let settled: Vec<bool> = (oracle.take_lines().short.iter())
            .map(|stood| stood.settled)
            .collect();
        assert_eq!(settled, [false, false, true]);
    }

    #[test]
    fn a_job_that_waits_again_has_the_time_ahead_that_workers_have_spent_on_it_together() {
        let mut oracle = oracle(Kind::Heavy);
        let visit = |oracle: &mut LatencyOracle, ns| {
            oracle.entered(JOB);
            oracle.left(JOB, ns);
        };
        oracle.entered(JOB);
        oracle.slot_began(JOB, true, 95, 20);
        visit(&mut oracle, 7);
        oracle.slot_ended(JOB, 115);
        oracle.left(JOB, 20);
        visit(&mut oracle, 0);
        oracle.slot_began(JOB, false, 130, 20);
        let again = oracle.take_lines().waits_again;
        assert_eq!(again.len(), 1);
        assert_eq!(
            (again[0].ns, again[0].lead_ns, again[0].is_young),
            (15, 27, false)
        );
    }

    #[test]
    fn a_job_waits_only_while_no_worker_is_in_one_of_its_slots() {
        let mut oracle = oracle(Kind::Middle);
        oracle.slot_began(JOB, false, 100, 50);
        oracle.slot_began(JOB, false, 120, 50);
        oracle.slot_ended(JOB, 150);
        oracle.slot_ended(JOB, 170);
        oracle.slot_began(JOB, false, 190, 10);
        assert_eq!(oracle.longest_wait_ns(Kind::Middle), 20);
        oracle.slot_ended(JOB, 200);
        oracle.is_being_cancelled(JOB, false, 240);
        assert_eq!(oracle.longest_wait_ns(Kind::Middle), 40, "up to its cancel");
        oracle.slot_began(JOB, false, 300, 1);
        assert_eq!(
            oracle.longest_wait_ns(Kind::Middle),
            40,
            "it has no claim to more"
        );
    }

    #[test]
    fn only_what_lies_in_the_window_counts_for_shares() {
        let mut oracle = oracle(Kind::Heavy);
        oracle.slot_began(JOB, false, 90, 20);
        oracle.slot_ended(JOB, 110);
        oracle.slot_began(JOB, false, 195, 20);
        assert!((oracle.share(Kind::Heavy, 1) - 0.15).abs() < 1e-9);
        assert!((oracle.share(Kind::Heavy, 3) - 0.05).abs() < 1e-9);
    }

    #[test]
    fn the_time_in_which_a_heavy_job_is_old_counts_inside_the_window() {
        let mut oracle = oracle(Kind::Heavy);
        oracle.aged(95, |_| true);
        oracle.aged(97, |_| false);
        oracle.aged(120, |_| false);
        oracle.aged(130, |_| true);
        oracle.aged(190, |_| false);
        oracle.ended(JOB, 210);
        oracle.aged(210, |_| false);
        assert_eq!(oracle.take_lines().old_ns, 30 + 10);
    }

    #[test]
    fn a_cancelled_job_has_stopped_at_its_end() {
        let mut oracle = oracle(Kind::Heavy);
        oracle.slot_began(JOB, false, 100, 50);
        oracle.is_being_cancelled(JOB, false, 120);
        oracle.is_being_cancelled(JOB, false, 140);
        oracle.slot_ended(JOB, 150);
        oracle.ended(JOB, 151);
        assert_eq!((oracle.stops().count, oracle.stops().max_ns), (1, 31));
        assert_eq!(oracle.latency(Kind::Heavy).count, 0);
    }
}
