//! How a client gets a connection to a server.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use tower_service::Service;

/// An open connection.
pub trait Io: Read + Write + Send + Unpin {}

impl<T: Read + Write + Send + Unpin> Io for T {}

/// Why there is no connection.
pub type DialError = Box<dyn Error + Send + Sync>;

/// A connection that is being opened.
pub type Dialing = Pin<Box<dyn Future<Output = Result<Box<dyn Io>, DialError>> + Send>>;

/// Opens connections.
pub trait Dial: fmt::Debug + Send + Sync {
    /// Opens a connection to the server of `uri`. The client bounds the wait.
    fn dial(&self, uri: Uri) -> Dialing;
}

/// Plain TCP, to the servers of `http` URLs.
#[derive(Clone, Debug)]
pub struct Sockets(HttpConnector);

impl Sockets {
    /// Waits at most `timeout` for a connection.
    #[must_use]
    pub fn new(timeout: Duration) -> Self {
        let mut sockets = HttpConnector::new();
        sockets.set_connect_timeout(Some(timeout));
        sockets.set_nodelay(true);
        Self(sockets)
    }
}

impl Dial for Sockets {
    fn dial(&self, uri: Uri) -> Dialing {
        let mut sockets = self.0.clone();
        Box::pin(async move {
            let open = sockets.call(uri).await?;
            Ok(Box::new(open) as Box<dyn Io>)
        })
    }
}

/// As the client of `hyper_util` wants it.
#[derive(Clone, Debug)]
pub(crate) struct Connector(pub(crate) Arc<dyn Dial>);

impl Service<Uri> for Connector {
    type Response = Open;
    type Error = DialError;
    type Future = Pin<Box<dyn Future<Output = Result<Open, DialError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let dialing = self.0.dial(uri);
        Box::pin(async move { Ok(Open(dialing.await?)) })
    }
}

pub(crate) struct Open(Box<dyn Io>);

impl Connection for Open {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Open {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl Write for Open {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, bufs)
    }
}
