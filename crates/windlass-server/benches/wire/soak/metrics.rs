//! What the server's `/metrics` says.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::Context as _;

const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// Values by name and labels, as they stand in the text.
#[derive(Clone, Debug)]
pub(super) struct Metrics(BTreeMap<String, f64>);

impl Metrics {
    pub(super) fn ask(address: SocketAddr) -> anyhow::Result<Self> {
        let mut stream = TcpStream::connect_timeout(&address, ANSWERS_WITHIN)?;
        stream.set_read_timeout(Some(ANSWERS_WITHIN))?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("no answer of HTTP")?;
        anyhow::ensure!(head.contains(" 200 "), "{head}");
        let lines = body.lines().filter(|line| !line.starts_with('#'));
        let values = lines.filter_map(|line| {
            let (name, value) = line.rsplit_once(' ')?;
            Some((name.to_owned(), value.parse().ok()?))
        });
        Ok(Self(values.collect()))
    }

    pub(super) fn gauge(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or_default()
    }

    pub(super) fn connections(&self) -> f64 {
        self.gauge("windlass_connections")
    }

    /// Whether nothing runs, waits or holds memory, and only these connections are open.
    pub(super) fn is_idle(&self, connections: f64) -> bool {
        self.connections() <= connections
            && [
                "windlass_statements_running",
                "windlass_statements_waiting",
                "windlass_memory_bytes",
            ]
            .iter()
            .all(|name| self.gauge(name) == 0.0)
    }

    /// Number of statements that have ended, by outcome.
    pub(super) fn outcomes(&self) -> BTreeMap<String, u64> {
        let prefix = "windlass_statements_total{outcome=\"";
        let of = |(name, value): (&String, &f64)| {
            let outcome = name.strip_prefix(prefix)?.strip_suffix("\"}")?;
            Some((outcome.to_owned(), *value as u64))
        };
        self.0.iter().filter_map(of).collect()
    }

    /// Number of statements whose time was measured.
    pub(super) fn timed(&self) -> u64 {
        let counts = self
            .0
            .iter()
            .filter(|(name, _)| name.starts_with("windlass_statement_seconds_count"));
        counts.map(|(_, value)| *value as u64).sum()
    }
}
