//! Connections to the servers of tables: TCP, and TLS for `https`.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use http_store::{Dial, Dialing, HttpClient, Io, Patience};
use hyper::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tonic::codegen::Service;

use crate::access::read_chain;

/// How tables by URL are read.
#[derive(Clone, Debug)]
pub struct UrlOptions {
    /// `--table-ca`: certificates by which those of `https` servers are checked; without it, those
    /// that this machine trusts.
    pub ca: Option<PathBuf>,
    /// Bounds on waits, and retries.
    pub patience: Patience,
}

impl Default for UrlOptions {
    /// A server may be silent for 15 seconds. A request is made up to three times, within 20 seconds.
    fn default() -> Self {
        Self {
            ca: None,
            patience: Patience {
                silence: Duration::from_secs(15),
                retries: 2,
                retry_for: Duration::from_secs(20),
            },
        }
    }
}

/// `with_tls`: a URL is of scheme `https`.
pub(crate) fn client(options: &UrlOptions, with_tls: bool) -> anyhow::Result<HttpClient> {
    let mut sockets = HttpConnector::new();
    sockets.set_connect_timeout(Some(options.patience.silence));
    sockets.set_nodelay(true);
    sockets.enforce_http(false);
    let tls = with_tls.then(|| tls(options)).transpose()?;
    Ok(HttpClient::over(
        Arc::new(Dialer { sockets, tls }),
        options.patience,
    ))
}

fn tls(options: &UrlOptions) -> anyhow::Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    match &options.ca {
        Some(ca) => {
            for certificate in read_chain(ca)? {
                let added = roots.add(certificate);
                added.with_context(|| format!("{}: a certificate cannot be used", ca.display()))?;
            }
        }
        None => {
            let trusted = rustls_native_certs::load_native_certs();
            // A machine's list may have certificates in old forms.
            let (added, _ignored) = roots.add_parsable_certificates(trusted.certs);
            ensure!(
                added > 0,
                "this machine trusts no certificates, so no https server can be checked: --table-ca FILE \
                 names them, or the variable SSL_CERT_FILE"
            );
        }
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

struct Dialer {
    sockets: HttpConnector,
    tls: Option<TlsConnector>,
}

impl Dial for Dialer {
    fn dial(&self, uri: Uri) -> Dialing {
        let (mut sockets, tls) = (self.sockets.clone(), self.tls.clone());
        Box::pin(async move {
            let is_tls = uri.scheme_str() == Some("https");
            let host = uri.host().unwrap_or_default();
            let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
            let plain = sockets.call(uri).await?;
            if !is_tls {
                return Ok(Box::new(plain) as Box<dyn Io>);
            }
            let tls = tls.ok_or_else(|| io::Error::other("TLS is not set up"))?;
            let name = ServerName::try_from(host)?;
            let stream = tls.connect(name, plain.into_inner()).await?;
            Ok(Box::new(TokioIo::new(stream)) as Box<dyn Io>)
        })
    }
}

impl fmt::Debug for Dialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialer")
            .field("tls", &self.tls.is_some())
            .finish_non_exhaustive()
    }
}
