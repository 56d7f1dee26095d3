//! Whether nodes may speak to each other: on one machine as they like, between machines only with
//! TLS and a shared secret.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use hyper::header::HeaderMap;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use url::{Host, Url};

use super::secret::Secret;
use crate::access::{IdentityFiles, NODE_ALPN, is_loopback, read_chain};

/// Options that say how nodes trust each other.
#[derive(Clone, Debug, Default)]
pub struct NodeAccessOptions {
    /// `--node-secret`: the file of the shared secret.
    pub secret: Option<PathBuf>,
    /// `--node-ca`: certificates by which those of workers are checked.
    pub ca: Option<PathBuf>,
    /// `--tls-cert`: a worker's own certificate, with its chain.
    pub tls_cert: Option<PathBuf>,
    /// `--tls-key`: the certificate's key.
    pub tls_key: Option<PathBuf>,
}

/// How a node trusts others.
pub struct NodeAccess {
    secret: Option<Secret>,
    client: Option<Arc<ClientConfig>>,
    identity: Option<IdentityFiles>,
}

impl NodeAccess {
    /// Trusts every process of this machine, and reaches no other machine.
    #[must_use]
    pub fn open_loopback() -> Self {
        Self {
            secret: None,
            client: None,
            identity: None,
        }
    }

    /// For a worker that listens on these addresses. Reads the files that the options name.
    ///
    /// # Errors
    ///
    /// If an address is not loopback and anything is missing, or if a file cannot be used.
    pub fn of_worker(listen: &[SocketAddr], options: &NodeAccessOptions) -> anyhow::Result<Self> {
        if let Some(open) = listen.iter().find(|address| !is_loopback(address)) {
            let missing = options.missing(true);
            ensure!(
                missing.is_empty(),
                "{open} is not a loopback address, so workers there need TLS and a shared secret: {} missing. \
                 Without them a worker listens on loopback only, as on 127.0.0.1:5433",
                missing.join(", ")
            );
        }
        let identity = match (&options.tls_cert, &options.tls_key) {
            (Some(certificate), Some(key)) => Some(IdentityFiles::open(certificate, key)?),
            (None, None) => None,
            _ => bail!("--tls-cert and --tls-key go together"),
        };
        Ok(Self {
            identity,
            ..Self::of_coordinator(options)?
        })
    }

    /// For a node that only asks others.
    ///
    /// # Errors
    ///
    /// If a file cannot be used.
    pub fn of_coordinator(options: &NodeAccessOptions) -> anyhow::Result<Self> {
        let client = options.ca.as_ref().map(|ca| -> anyhow::Result<_> {
            let mut roots = RootCertStore::empty();
            for certificate in read_chain(ca)? {
                let added = roots.add(certificate);
                added.with_context(|| format!("{}: a certificate cannot be used", ca.display()))?;
            }
            let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_protocol_versions(&[&TLS13])?
                .with_root_certificates(roots)
                .with_no_client_auth();
            config.alpn_protocols = vec![NODE_ALPN.to_vec()];
            Ok(Arc::new(config))
        });
        Ok(Self {
            secret: options.secret.as_deref().map(Secret::read).transpose()?,
            client: client.transpose()?,
            identity: None,
        })
    }

    /// Checks that a node may be asked at `url`.
    ///
    /// # Errors
    ///
    /// If it is no address of a node, or is reached over the network and something is missing.
    pub fn check(&self, url: &Url) -> anyhow::Result<()> {
        ensure!(
            matches!(url.scheme(), "http" | "https")
                && url.host().is_some()
                && url.port().is_some()
                && url.path() == "/"
                && url.query().is_none()
                && url.username().is_empty(),
            "{url}: a worker is http://HOST:PORT or https://HOST:PORT"
        );
        if url.scheme() == "https" {
            ensure!(
                self.client.is_some(),
                "{url}: --node-ca FILE is missing, by which its certificate is checked"
            );
        }
        let is_here = match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.to_canonical().is_loopback(),
            None => false,
        };
        if !is_here {
            ensure!(
                url.scheme() == "https",
                "{url} is not on this machine, so it needs TLS: https://"
            );
            ensure!(
                self.secret.is_some(),
                "{url} is not on this machine, so it needs a shared secret: --node-secret FILE is missing"
            );
        }
        Ok(())
    }

    /// What a connection to another node's TLS begins with.
    pub(crate) fn client(&self) -> Option<&Arc<ClientConfig>> {
        self.client.as_ref()
    }

    /// What a connection from another node's TLS begins with; `None` for no TLS.
    pub(crate) fn server(&self) -> Option<Arc<ServerConfig>> {
        let identity = self.identity.as_ref()?.current().logged("certificate and key");
        Some(Arc::clone(identity.node_config()))
    }

    pub(crate) fn sign(&self, headers: &mut HeaderMap) {
        if let Some(secret) = &self.secret {
            secret.sign(headers);
        }
    }

    /// Whether a request with these headers may come in.
    pub(crate) fn lets_in(&self, headers: &HeaderMap) -> bool {
        let secret = self.secret.as_ref();
        secret.is_none_or(|secret| secret.is_shown_by(headers))
    }

    /// Whether other nodes have to show a secret.
    #[must_use]
    pub fn has_secret(&self) -> bool {
        self.secret.is_some()
    }

    /// Whether other nodes come over TLS.
    #[must_use]
    pub fn has_tls(&self) -> bool {
        self.identity.is_some()
    }
}

impl NodeAccessOptions {
    fn missing(&self, is_worker: bool) -> Vec<&'static str> {
        let options = [
            ("--node-secret FILE", self.secret.is_some()),
            // Workers ask each other.
            ("--node-ca FILE", self.ca.is_some()),
            ("--tls-cert FILE", self.tls_cert.is_some() || !is_worker),
            ("--tls-key FILE", self.tls_key.is_some() || !is_worker),
        ];
        let missing = options.iter().filter(|(_, given)| !given);
        missing.map(|(option, _)| *option).collect()
    }
}

impl fmt::Debug for NodeAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeAccess")
            .field("secret", &self.has_secret())
            .field("tls", &self.has_tls())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> String {
        let checked = NodeAccess::open_loopback().check(&Url::parse(url).unwrap());
        checked.map_or_else(|error| error.to_string(), |()| "let through".to_owned())
    }

    #[test]
    fn a_worker_elsewhere_needs_tls_and_a_secret() {
        assert_eq!(refused("http://127.0.0.1:5433"), "let through");
        assert_eq!(refused("http://[::1]:5433"), "let through");
        assert_eq!(refused("http://localhost:5433"), "let through");
        assert!(refused("http://10.0.0.1:5433").contains("needs TLS"));
        assert!(refused("http://worker.example.org:5433").contains("needs TLS"));
        assert!(refused("https://127.0.0.1:5433").contains("--node-ca"));
        for url in [
            "ftp://127.0.0.1:1",
            "http://127.0.0.1",
            "http://127.0.0.1:1/x",
            "http://a@127.0.0.1:1",
        ] {
            assert!(refused(url).contains("a worker is http://HOST:PORT"), "{url}");
        }
    }

    #[test]
    fn a_worker_on_an_open_address_says_what_is_missing() {
        let open = ["0.0.0.0:5433".parse().unwrap()];
        let error = NodeAccess::of_worker(&open, &NodeAccessOptions::default()).unwrap_err();
        let text = error.to_string();
        for option in ["--node-secret", "--node-ca", "--tls-cert", "--tls-key"] {
            assert!(text.contains(option), "{text}");
        }
        let here = ["127.0.0.1:0".parse().unwrap()];
        NodeAccess::of_worker(&here, &NodeAccessOptions::default()).unwrap();
    }
}
