//! How every port takes its connections, and how they end with the server.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Time after which an error of the listener, such as too many open files, is tried again.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// Time after the drain in which connections tell the other side why they end.
const FAREWELL: Duration = Duration::from_secs(1);

/// Waits for the next connection of `whom`. May be dropped at any time.
pub(crate) async fn accept(listener: &TcpListener, whom: &str) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept {whom}");
                tokio::time::sleep(ACCEPT_AGAIN).await;
            }
        }
    }
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
