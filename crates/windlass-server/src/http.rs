//! Bounds on a request's head, as both HTTP ports have them.

use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;

/// Longest time for the head of a request, and between two requests.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of a request's head.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// Number of headers of a request.
const HEADERS_MAX: usize = 64;

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
