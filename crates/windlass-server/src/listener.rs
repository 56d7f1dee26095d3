//! How every port takes its connections at all of its addresses, and how they end with the server.

use std::fmt;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::{anyhow, bail};
use rustix::io::Errno;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;

/// Time after which an error of the listener, such as too many open files, is tried again.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// Number of connections that wait to be accepted; Linux may lower it. Beyond it Linux answers with
/// SYN cookies, and may lose the first byte of what a connection sends byte by byte. tokio's own
/// number is 128, which a burst of clients exceeds.
const BACKLOG: u32 = 4_096;

/// Time after the drain in which connections tell the other side why they end.
const FAREWELL: Duration = Duration::from_secs(1);

/// A socket for each address of a port.
pub(crate) struct Listener {
    sockets: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
    /// Number of looks at the sockets, which take turns at being the first.
    looks: AtomicUsize,
}

impl Listener {
    /// Listens on all of the addresses. Those of a family that this machine does not have are left
    /// out if there are others. Where the system chooses the port, it is the same for all.
    ///
    /// # Errors
    ///
    /// If an address cannot be listened on.
    pub(crate) fn bind(addresses: &[SocketAddr]) -> anyhow::Result<Self> {
        let mut sockets = Vec::new();
        let mut bound: Vec<SocketAddr> = Vec::new();
        let mut missing = Vec::new();
        for &wanted in addresses {
            let mut address = wanted;
            if let (0, Some(first)) = (wanted.port(), bound.first()) {
                address.set_port(first.port());
            }
            let socket = listen(address);
            match socket.and_then(|socket| Ok((socket.local_addr()?, socket))) {
                Ok((address, socket)) => {
                    bound.push(address);
                    sockets.push(socket);
                }
                Err(error) if is_elsewhere(&error) => missing.push((address, error)),
                Err(error) if wanted.port() != address.port() => bail!(
                    "cannot listen on {address}, at the port that the system has chosen for {}: {error}; \
                     start again, or choose a port",
                    bound[0]
                ),
                Err(error) => return Err(cannot(address, error)),
            }
        }
        if bound.is_empty() && missing.is_empty() {
            bail!("there is no address to listen on");
        }
        for (address, error) in missing {
            let is_alike = |bound: &SocketAddr| bound.is_ipv4() == address.is_ipv4();
            if bound.is_empty() || bound.iter().any(is_alike) {
                return Err(cannot(address, error));
            }
            tracing::warn!(%address, %error, "an address that this machine does not have is left out");
        }
        Ok(Self {
            sockets,
            addresses: bound,
            looks: AtomicUsize::new(0),
        })
    }

    /// The addresses on which it listens: one or more.
    pub(crate) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Waits for the next connection of `whom`. May be dropped at any time.
    pub(crate) async fn accept(&self, whom: &str) -> (TcpStream, SocketAddr) {
        loop {
            match poll_fn(|cx| self.poll_accept(cx)).await {
                Ok(accepted) => return accepted,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept {whom}");
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                }
            }
        }
    }

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        // Ordering: Relaxed. Any order of the sockets is right.
        let first = self.looks.fetch_add(1, Ordering::Relaxed) % self.sockets.len();
        let (last, first) = self.sockets.split_at(first);
        let ready = first.iter().chain(last).find_map(|socket| {
            let accepted = socket.poll_accept(cx);
            accepted.is_ready().then_some(accepted)
        });
        ready.unwrap_or(Poll::Pending)
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // A server that starts again gets its port while old connections are in TIME_WAIT.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Whether the machine has no such address, or none of its family.
fn is_elsewhere(error: &io::Error) -> bool {
    error.kind() == ErrorKind::AddrNotAvailable || Errno::from_io_error(error) == Some(Errno::AFNOSUPPORT)
}

fn cannot(address: SocketAddr, error: io::Error) -> anyhow::Error {
    anyhow!(error).context(format!("cannot listen on {address}"))
}

/// Lets connections that were told to end say so, and drops those that do not.
pub(crate) async fn farewell(mut connections: JoinSet<()>) {
    let said = tokio::time::timeout(FAREWELL, async {
        while connections.join_next().await.is_some() {}
    });
    if said.await.is_err() {
        connections.shutdown().await;
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Listener").field(&self.addresses).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn bind(addresses: &[&str]) -> Result<Listener, String> {
        let addresses: Vec<_> = addresses.iter().map(|text| text.parse().unwrap()).collect();
        let bound = Listener::bind(&addresses);
        bound.map_err(|error| format!("{error:#}"))
    }

    /// Linux has all of 127.0.0.0/8.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn connections_come_in_at_every_address_and_at_one_port() {
        let listener = bind(&["127.0.0.1:0", "127.0.0.2:0"]).await.unwrap();
        let &[first, second] = listener.addresses() else {
            panic!("{listener:?}");
        };
        assert_ne!(first.ip(), second.ip());
        assert_eq!(first.port(), second.port());
        for address in [first, second, second, first, second] {
            let asks = TcpStream::connect(address).await.unwrap();
            let accepted = tokio::time::timeout(Duration::from_secs(60), listener.accept("a test"));
            let (_, peer) = accepted.await.unwrap();
            assert_eq!(peer, asks.local_addr().unwrap());
        }
    }

    /// Two sockets that are always ready have turns.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn many_connections_at_one_address_do_not_hold_up_the_other() {
        let listener = bind(&["127.0.0.1:0", "127.0.0.2:0"]).await.unwrap();
        let mut asks = Vec::new();
        for _ in 0..8 {
            for address in listener.addresses() {
                asks.push(TcpStream::connect(address).await.unwrap());
            }
        }
        let mut came = [0, 0];
        for _ in 0..8 {
            let (stream, _) = listener.accept("a test").await;
            let local = stream.local_addr().unwrap();
            came[usize::from(local == listener.addresses()[1])] += 1;
        }
        assert!(came.iter().all(|&number| number > 0), "{came:?}");
    }

    #[tokio::test]
    async fn a_family_that_the_machine_does_not_have_is_left_out() {
        // An address for documentation is no machine's.
        for addresses in [
            ["127.0.0.1:0", "[2001:db8::1]:0"],
            ["[2001:db8::1]:0", "127.0.0.1:0"],
        ] {
            let listener = bind(&addresses).await.unwrap();
            let [only] = listener.addresses() else {
                panic!("{listener:?}");
            };
            assert!(only.is_ipv4() && only.port() > 0);
        }
    }

    #[tokio::test]
    async fn every_other_address_is_listened_on_or_named() {
        let of_other_machine = bind(&["127.0.0.1:0", "192.0.2.1:0"]).await.unwrap_err();
        assert!(of_other_machine.contains("cannot listen on 192.0.2.1:"));
        let of_no_family = bind(&["[2001:db8::1]:0", "192.0.2.1:0"]).await.unwrap_err();
        assert!(of_no_family.contains("cannot listen on [2001:db8::1]:0"));
        assert_eq!(bind(&[]).await.unwrap_err(), "there is no address to listen on");
        let listener = bind(&["127.0.0.1:0"]).await.unwrap();
        let taken = listener.addresses()[0].to_string();
        let error = bind(&["[2001:db8::1]:0", &taken]).await.unwrap_err();
        assert!(error.contains(&format!("cannot listen on {taken}")), "{error}");
    }

    #[tokio::test]
    async fn a_port_that_is_taken_at_another_address_is_an_error_that_says_how_it_was_chosen() {
        let error = bind(&["127.0.0.1:0", "127.0.0.1:0"]).await.unwrap_err();
        assert!(
            error.contains("the system has chosen for 127.0.0.1:") && error.contains("choose a port"),
            "{error}"
        );
    }
}
