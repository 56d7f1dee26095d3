//! One load on one engine: heavy clients back to back, and a client with a short query at a fixed
//! pace.
//!
//! The loop is open: a query's latency counts from when it is due, however long earlier ones took.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;

use crate::span::Span;

/// What computes the queries.
pub trait Engine: Sync {
    /// Returns what asks a query and waits for its answer. Each thread has one of its own.
    ///
    /// # Errors
    ///
    /// If the engine cannot be reached.
    fn client(&self) -> anyhow::Result<impl FnMut(&'static str) -> anyhow::Result<()>>;

    /// Returns the CPU time that computing took so far.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    fn cpu(&self) -> anyhow::Result<Duration>;
}

/// What is asked, and when.
#[derive(Clone, Debug)]
pub struct Load {
    /// The query at a pace.
    pub short: &'static str,
    /// The kinds of heavy queries. Each client asks all of them in turn, the next client beginning
    /// with the next kind, so that engines with the same rate do the same work.
    pub heavies: &'static [&'static str],
    /// Number of heavy clients.
    pub clients: usize,
    /// Time from one short query to the next, more than 0.
    pub pace: Duration,
    /// Time of heavy queries before anything is measured.
    pub warm_up: Duration,
    /// Time that is measured.
    pub lasts: Duration,
}

/// The figures of one load on one engine.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Of the short query, ascending.
    pub latencies: Vec<Duration>,
    /// How late its client woke, which is part of each latency; ascending.
    pub wakes: Vec<Duration>,
    /// Short queries that were due but not asked by the end.
    pub unasked: usize,
    /// Heavy queries a second, by kind; a query across a boundary counts by its part.
    pub heavy_rates: Vec<f64>,
    /// CPU time over elapsed time.
    pub cpus: f64,
}

impl Load {
    /// All queries, the short one first.
    pub fn queries(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.short).chain(self.heavies.iter().copied())
    }

    /// Puts the load on the engine. Heavy clients go on until the last short query is answered.
    ///
    /// # Errors
    ///
    /// The first error of a client, or of the engine's CPU time.
    pub fn run(&self, engine: &impl Engine) -> anyhow::Result<Measured> {
        let start = Instant::now() + self.warm_up;
        let span = Span {
            start,
            end: start + self.lasts,
        };
        let over = &AtomicBool::new(false);
        thread::scope(|scope| {
            let heavies: Vec<_> = (0..self.clients)
                .map(|client| scope.spawn(move || self.heavy_client(engine, client, span, over)))
                .collect();
            let paced = scope.spawn(move || self.paced_client(engine, span));
            sleep_until(span.start);
            let cpu_before = engine.cpu();
            sleep_until(span.end);
            let cpu_after = engine.cpu();
            let took = span.start.elapsed();
            let paced = paced.join();
            // Ordering: Relaxed. It only requests a stop.
            over.store(true, Ordering::Relaxed);
            let mut heavy_rates = vec![0.0; self.heavies.len()];
            for heavy in heavies {
                let done = heavy.join().map_err(|_| anyhow!("a heavy client panicked"))??;
                for (rate, done) in heavy_rates.iter_mut().zip(done) {
                    *rate += done / self.lasts.as_secs_f64();
                }
            }
            let cpu = cpu_after?.saturating_sub(cpu_before?);
            Ok(Measured {
                heavy_rates,
                cpus: cpu.as_secs_f64() / took.as_secs_f64(),
                ..paced.map_err(|_| anyhow!("the paced client panicked"))??
            })
        })
    }

    fn paced_client(&self, engine: &impl Engine, span: Span) -> anyhow::Result<Measured> {
        let mut ask = engine.client()?;
        let mut measured = Measured::default();
        let mut due = span.start;
        while due < span.end && Instant::now() < span.end {
            let is_early = Instant::now() < due;
            sleep_until(due);
            if is_early {
                measured.wakes.push(due.elapsed());
            }
            ask(self.short)?;
            measured.latencies.push(due.elapsed());
            due += self.pace;
        }
        measured.unasked = span.left(due, self.pace);
        measured.latencies.sort_unstable();
        measured.wakes.sort_unstable();
        Ok(measured)
    }

    /// Returns the number of queries of each kind that it asked inside of the span.
    fn heavy_client(
        &self,
        engine: &impl Engine,
        client: usize,
        span: Span,
        over: &AtomicBool,
    ) -> anyhow::Result<Vec<f64>> {
        let mut ask = engine.client()?;
        let kinds = self.heavies.len();
        let mut done = vec![0.0; kinds];
        for kind in (0..kinds).cycle().skip(client % kinds) {
            // Ordering: Relaxed. As above.
            if over.load(Ordering::Relaxed) {
                break;
            }
            let began = Instant::now();
            ask(self.heavies[kind])?;
            done[kind] += span.part_of(began, Instant::now());
        }
        Ok(done)
    }
}

/// Blocks the thread until this moment.
pub fn sleep_until(at: Instant) {
    thread::sleep(at.saturating_duration_since(Instant::now()));
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Answers after a while, or not at all.
    struct Fake {
        asked: Mutex<Vec<&'static str>>,
        takes: Duration,
        refuses: Option<&'static str>,
    }

    impl Default for Fake {
        fn default() -> Self {
            Self {
                asked: Mutex::default(),
                takes: Duration::from_millis(1),
                refuses: None,
            }
        }
    }

    impl Engine for Fake {
        fn client(&self) -> anyhow::Result<impl FnMut(&'static str) -> anyhow::Result<()>> {
            Ok(|sql| {
                anyhow::ensure!(self.refuses != Some(sql), "{sql} is refused");
                self.asked.lock().unwrap().push(sql);
                thread::sleep(self.takes);
                Ok(())
            })
        }

        fn cpu(&self) -> anyhow::Result<Duration> {
            Ok(Duration::ZERO)
        }
    }

    fn load() -> Load {
        Load {
            short: "short",
            heavies: &["long", "longer"],
            clients: 3,
            pace: Duration::from_millis(10),
            warm_up: Duration::from_millis(5),
            lasts: Duration::from_millis(55),
        }
    }

    #[test]
    fn each_short_query_is_asked_or_counted_as_not_asked() {
        let engine = Fake::default();
        let measured = load().run(&engine).unwrap();
        // Due after 0, 10, 20, 30, 40 and 50 ms.
        assert_eq!(measured.latencies.len() + measured.unasked, 6);
        assert!(measured.latencies.is_sorted());
        let asked = engine.asked.into_inner().unwrap();
        let shorts = asked.iter().filter(|sql| **sql == "short").count();
        assert_eq!(shorts, measured.latencies.len());
        assert_eq!(measured.heavy_rates.len(), 2);
        assert_eq!(measured.cpus, 0.0);
    }

    #[test]
    fn each_heavy_client_asks_all_kinds_in_turn() {
        let engine = Fake::default();
        let one = Load { clients: 1, ..load() };
        one.run(&engine).unwrap();
        let asked = engine.asked.into_inner().unwrap();
        let heavies: Vec<_> = asked.iter().filter(|sql| **sql != "short").collect();
        assert_eq!(heavies[..4], [&"long", &"longer", &"long", &"longer"]);
    }

    #[test]
    fn short_queries_behind_one_that_takes_all_the_time_are_not_asked() {
        let engine = Fake {
            takes: Duration::from_millis(60),
            ..Fake::default()
        };
        let measured = load().run(&engine).unwrap();
        assert_eq!(measured.latencies.len() + measured.unasked, 6);
        assert!(measured.unasked >= 5, "{measured:?}");
    }

    #[test]
    fn the_error_of_any_client_ends_the_load() {
        for refuses in ["short", "longer"] {
            let engine = Fake {
                refuses: Some(refuses),
                ..Fake::default()
            };
            let error = load().run(&engine).unwrap_err();
            assert_eq!(error.to_string(), format!("{refuses} is refused"));
        }
    }
}
