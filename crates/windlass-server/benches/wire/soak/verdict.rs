//! What a soak has shown.

use super::Sample;
use super::actors::{Outcomes, UNKNOWN};
use super::metrics::Metrics;

/// Growth from the second third of the samples to the last that counts as none: the allocator's.
const GROWTH_MAX: f64 = 1.15;

#[derive(Debug, Default)]
pub(super) struct Verdict(Vec<(bool, String)>);

impl Verdict {
    fn check(&mut self, is_good: bool, what: String) {
        self.0.push((is_good, what));
    }

    pub(super) fn is_good(&self) -> bool {
        self.0.iter().all(|(is_good, _)| *is_good)
    }

    pub(super) fn print(&self) {
        for (is_good, what) in &self.0 {
            println!("- {what}: **{}**", if *is_good { "yes" } else { "no" });
        }
    }

    pub(super) fn memory(&mut self, samples: &[Sample]) {
        let third = samples.len() / 3;
        let mean = |part: &[Sample]| {
            part.iter().map(|sample| sample.held.resident_mib).sum::<f64>() / part.len().max(1) as f64
        };
        let (before, after) = (mean(&samples[third..2 * third]), mean(&samples[2 * third..]));
        let what = format!("memory is flat ({before:.0} MiB in the second third, {after:.0} in the last)");
        self.check(third > 0 && after <= before * GROWTH_MAX, what);
    }

    pub(super) fn left(&mut self, idle: &Sample, last: &Sample, spilled: usize) {
        let is_idle = last.metrics.is_idle(idle.metrics.connections());
        self.check(
            is_idle && last.queries == 0,
            "no statement, connection or reserved byte is left".to_owned(),
        );
        let (before, after) = (idle.held, last.held);
        let what = format!(
            "no file is left open ({} before, {} after)",
            before.files, after.files
        );
        self.check(after.files <= before.files, what);
        let what = format!(
            "no thread is left ({} before, {} after)",
            before.threads, after.threads
        );
        self.check(after.threads <= before.threads, what);
        self.check(
            spilled == 0,
            format!("no file is left in the spill folder ({spilled})"),
        );
    }

    pub(super) fn outcomes(&mut self, clients: &Outcomes, metrics: &Metrics) {
        let server = metrics.outcomes();
        let clients = clients.counts();
        let total: u64 = server.values().sum();
        let unknown = clients.get(UNKNOWN).copied().unwrap_or_default();
        let known: u64 = clients.values().sum::<u64>() - unknown;
        println!("outcomes, as clients saw them: {clients:?}");
        println!("outcomes, as the server counted: {server:?}\n");
        let what = format!(
            "each statement has one time ({total} ended, {} timed)",
            metrics.timed()
        );
        self.check(total == metrics.timed(), what);
        let what = format!(
            "each statement is counted once ({known} that clients know and up to {unknown} of clients that died, {total} counted)"
        );
        self.check((known..=known + unknown).contains(&total), what);
        let differ: Vec<_> = clients
            .iter()
            .filter(|(outcome, _)| outcome.as_str() != UNKNOWN)
            .filter(|(outcome, count)| {
                let counted = server.get(*outcome).copied().unwrap_or_default();
                !(**count..=**count + unknown).contains(&counted)
            })
            .map(|(outcome, _)| outcome.as_str())
            .collect();
        self.check(
            differ.is_empty(),
            format!("each outcome is counted as clients saw it {differ:?}"),
        );
    }
}
