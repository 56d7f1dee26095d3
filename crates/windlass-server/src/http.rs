//! What the two HTTP ports share: connections that are taken, and bounds on a request's head.

use std::net::SocketAddr;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;
use tokio::net::{TcpListener, TcpStream};

/// Longest time for the head of a request, and between two requests.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of a request's head.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// Number of headers of a request.
const HEADERS_MAX: usize = 64;

/// Time after which an error of the listener, such as too many open files, is tried again.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// A connection's protocol with its bounds.
pub(crate) fn protocol() -> http1::Builder {
    let mut protocol = http1::Builder::new();
    protocol
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX);
    protocol
}

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
