//! How long a node waits for another before it takes it for dead.

use std::time::Duration;

/// Bounds on waiting for other nodes. Together they find a worker that died, stopped or never
/// answers within five seconds.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct NodePatience {
    /// Time to connect, with TLS.
    pub connect: Duration,
    /// Time between two pings on a connection.
    pub ping_every: Duration,
    /// Time for the answer to a ping.
    pub ping: Duration,
    /// Time between two probes of a worker that failed.
    pub probe_every: Duration,
    /// Time after which a worker pings its coordinator, and as long for the answer.
    pub coordinator: Duration,
}

impl Default for NodePatience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(2),
            ping_every: Duration::from_secs(1),
            ping: Duration::from_secs(3),
            probe_every: Duration::from_secs(1),
            coordinator: Duration::from_secs(5),
        }
    }
}
