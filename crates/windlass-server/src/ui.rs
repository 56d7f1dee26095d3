//! The server seen in a browser: what runs, what each core did, and a box for SQL.
//!
//! ```text
//!   accept ─► TLS? ─► Host, Origin ─► a file of the page
//!                                  ─► login ─► a session's cookie
//!                                  ─► cookie ─► live: statements, times, turns
//!                                            ─► sql: a statement like any other
//!                                            ─► cancel
//! ```
//!
//! A page of another server cannot ask through the user's browser: the `Host` has to be this
//! server's, an `Origin` as well, and a cookie is not sent along from elsewhere. Everything has a
//! bound: connections, heads, bodies, the time to send and to read them, sessions, results.

mod answer;
mod files;
mod live;
mod login;
mod origin;
mod patient;
mod query;
mod requests;
mod sessions;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::access::{Access, is_loopback};
use crate::listener::Listener;
use crate::shared::Shared;

use origin::Hosts;
use requests::Requests;

/// Number of the page's connections at once.
const CONNECTIONS_MAX: usize = 256;

/// Where the page is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UiConfig {
    /// Where browsers connect: all of these addresses. Where they leave the port to the system, it
    /// is the same for all.
    pub listen: Vec<SocketAddr>,
    /// Names by which browsers may call the server, beside the address and `localhost`.
    pub hosts: Vec<String>,
}

impl UiConfig {
    /// A page at this address, called by no further names.
    #[must_use]
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen: vec![listen],
            hosts: Vec::new(),
        }
    }
}

/// A page that listens.
pub(crate) struct Page {
    listener: Listener,
    requests: Arc<Requests>,
    places: Arc<Semaphore>,
}

/// A page that listens, before there is a server.
pub(crate) struct Listening {
    listener: Listener,
    hosts: Hosts,
    needs_tls: bool,
}

impl Page {
    /// Starts to listen.
    ///
    /// # Errors
    ///
    /// If an address needs TLS and passwords that are not there, or cannot be listened on.
    pub(crate) async fn listen(config: &UiConfig, access: &Access) -> anyhow::Result<Listening> {
        let UiConfig { listen, hosts } = config;
        access.check_page(listen).context("--ui")?;
        let listener = Listener::bind(listen).context("--ui")?;
        Ok(Listening {
            listener,
            hosts: Hosts::new(hosts),
            needs_tls: !listen.iter().all(is_loopback),
        })
    }

    pub(crate) fn addresses(&self) -> &[SocketAddr] {
        self.listener.addresses()
    }

    /// Waits for the next connection. May be dropped at any time.
    pub(crate) async fn next(&self) -> (TcpStream, SocketAddr) {
        self.listener.accept("a browser").await
    }

    /// Serves a connection up to its end, or the server's.
    pub(crate) fn accept(&self, connections: &mut JoinSet<()>, stream: TcpStream, peer: SocketAddr) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            tracing::warn!(%peer, "a browser's connection too many");
            return;
        };
        let requests = Arc::clone(&self.requests);
        connections.spawn(async move {
            let _place = place;
            if let Err(error) = requests.serve(stream, peer).await {
                tracing::debug!(%peer, %error, "a browser's connection ended");
            }
        });
    }
}

impl Listening {
    /// The page of a server.
    pub(crate) fn of(self, shared: &Arc<Shared>) -> Page {
        let requests = Requests::new(Arc::clone(shared), self.hosts, self.needs_tls);
        Page {
            listener: self.listener,
            requests: Arc::new(requests),
            places: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
        }
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page")
            .field("listener", &self.listener)
            .finish_non_exhaustive()
    }
}
