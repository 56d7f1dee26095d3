//! A connection to a node: TCP, and TLS for `https`.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;
use tonic::codegen::Service;

use super::policy::NodeAccess;
use crate::access::is_loopback;

/// Bytes of a node, with TLS or without.
pub(crate) trait NodeIo: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> NodeIo for T {}

#[derive(Clone, Debug)]
pub(crate) struct Connector {
    pub(crate) access: Arc<NodeAccess>,
    pub(crate) timeout: Duration,
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Box<dyn NodeIo>>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let Self { access, timeout } = self.clone();
        Box::pin(async move {
            let connected = tokio::time::timeout(timeout, connect(&access, &uri)).await;
            let late = |_| {
                let what = format!("no connection within {timeout:?}");
                io::Error::new(io::ErrorKind::TimedOut, what)
            };
            connected.map_err(late)?.map(TokioIo::new)
        })
    }
}

async fn connect(access: &NodeAccess, uri: &Uri) -> io::Result<Box<dyn NodeIo>> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("{uri}: {what}"));
    let host = uri.host().ok_or_else(|| wrong("no host"))?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = uri.port_u16().ok_or_else(|| wrong("no port"))?;
    let is_tls = uri.scheme_str() == Some("https");
    let addresses: Vec<SocketAddr> = lookup_host((host, port)).await?.collect();
    if !is_tls && !addresses.iter().all(is_loopback) {
        return Err(wrong("it is not on this machine, so it needs TLS"));
    }
    let stream = TcpStream::connect(&*addresses).await?;
    stream.set_nodelay(true)?;
    if !is_tls {
        return Ok(Box::new(stream));
    }
    let config = access
        .client()
        .ok_or_else(|| wrong("there is no --node-ca to check it"))?;
    let name = ServerName::try_from(host.to_owned()).map_err(|_| wrong("no name of a certificate"))?;
    let stream = TlsConnector::from(Arc::clone(config))
        .connect(name, stream)
        .await?;
    Ok(Box::new(stream))
}
