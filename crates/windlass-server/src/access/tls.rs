//! The server's identity: a certificate and its key, as TLS and channel binding need them.
//!
//! TLS 1.2 and 1.3, by rustls on ring. ALPN, if a client uses it as PostgreSQL 17's does, must
//! offer `postgresql`; a browser, `http/1.1`; a node, `h2`. Sessions are not resumed: each
//! connection shows the certificate that its login binds.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow, ensure};
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::server::NoServerSessionStorage;
use tokio_rustls::rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{Error, InconsistentKeys, ServerConfig};

use super::end_point;
use super::file::{self, Readers};
use super::reread::{Current, Reread};

/// PostgreSQL's protocol in ALPN.
pub const ALPN: &[u8] = b"postgresql";

/// HTTP in ALPN, for browsers.
const HTTP_ALPN: &[u8] = b"http/1.1";

/// HTTP/2 in ALPN, for nodes.
pub(crate) const NODE_ALPN: &[u8] = b"h2";

/// A certificate with its key, ready for use.
#[derive(Clone)]
pub struct Identity {
    config: Arc<ServerConfig>,
    http: Arc<ServerConfig>,
    node: Arc<ServerConfig>,
    end_point: Option<Vec<u8>>,
}

impl Identity {
    /// Reads a chain of certificates, the server's own first, and its key, in PEM.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or lacks a certificate or key, if others can read or write the
    /// key's file (on Unix; a group may read what `root` owns), or if the key does not fit. The
    /// error names the file.
    pub fn read(certificate: &Path, key: &Path) -> anyhow::Result<Self> {
        let chain = read_chain(certificate)?;
        let end_point = chain.first().and_then(|own| end_point::hash(own));
        let provider = Arc::new(ring::default_provider());
        let signing = provider
            .key_provider
            .load_private_key(read_key(key)?)
            .map_err(|error| {
                let known = "RSA of 2048 bits or more, ECDSA on P-256 or P-384, Ed25519";
                anyhow!(
                    "{}: the key cannot be used ({known}): {}",
                    key.display(),
                    said(&error)
                )
            })?;
        let certified = CertifiedKey::new(chain, signing);
        match certified.keys_match() {
            Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => {}
            Err(Error::InconsistentKeys(_)) => {
                let (key, certificate) = (key.display(), certificate.display());
                return Err(anyhow!(
                    "{key}: the key does not fit the certificate in {certificate}"
                ));
            }
            Err(error) => {
                let certificate = certificate.display();
                return Err(anyhow!(
                    "{certificate}: the certificate cannot be used: {}",
                    said(&error)
                ));
            }
        }
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13, &TLS12])?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        let speaks = |alpn: &[u8]| {
            let mut config = config.clone();
            config.alpn_protocols = vec![alpn.to_vec()];
            Arc::new(config)
        };
        Ok(Self {
            config: speaks(ALPN),
            http: speaks(HTTP_ALPN),
            node: speaks(NODE_ALPN),
            end_point,
        })
    }

    /// Returns rustls' configuration for a handshake.
    #[must_use]
    pub fn config(&self) -> &Arc<ServerConfig> {
        &self.config
    }

    /// Returns what a browser's handshake needs.
    pub(crate) fn http_config(&self) -> &Arc<ServerConfig> {
        &self.http
    }

    /// Returns what another node's handshake needs.
    pub(crate) fn node_config(&self) -> &Arc<ServerConfig> {
        &self.node
    }

    /// Returns what SCRAM binds a login to, if the certificate's signature defines it.
    #[must_use]
    pub fn end_point(&self) -> Option<&[u8]> {
        self.end_point.as_deref()
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

/// The files of an identity, read again when one changed.
#[derive(Debug)]
pub struct IdentityFiles(Reread<Identity, 2>);

impl IdentityFiles {
    /// Reads the files for the first time.
    ///
    /// # Errors
    ///
    /// As [`Identity::read`].
    pub fn open(certificate: &Path, key: &Path) -> anyhow::Result<Self> {
        let paths = [certificate.to_owned(), key.to_owned()];
        Reread::open(paths, |[certificate, key]| Identity::read(certificate, key)).map(Self)
    }

    /// Returns the identity for a new connection: reads the files if their metadata changed. While
    /// they are bad, the last good identity stays.
    pub fn current(&self) -> Current<Identity> {
        self.0.current()
    }
}

pub(crate) fn read_chain(path: &Path) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let bytes = file::read(path, Readers::Anybody)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let chain = chain.map_err(|error| anyhow!("{}: {}", path.display(), wrong(&error)))?;
    ensure!(
        !chain.is_empty(),
        "{}: no certificate in it; PEM is expected, with BEGIN CERTIFICATE",
        path.display()
    );
    Ok(chain)
}

fn read_key(path: &Path) -> anyhow::Result<PrivateKeyDer<'static>> {
    let bytes = file::read(path, Readers::OwnerOrGroupOfRoot)?;
    match PrivateKeyDer::from_pem_slice(&bytes) {
        // The old form of an encrypted key is an ordinary section with a header.
        Ok(_) | Err(_) if String::from_utf8_lossy(&bytes).contains("ENCRYPTED") => Err(anyhow!(
            "the key is encrypted; decrypt it: openssl pkey -in FILE -out FILE"
        )),
        Ok(key) => Ok(key),
        Err(pem::Error::NoItemsFound) => {
            Err(anyhow!("no key in it; PEM is expected, with BEGIN PRIVATE KEY"))
        }
        Err(error) => Err(anyhow!(wrong(&error))),
    }
    .with_context(|| path.display().to_string())
}

/// rustls' own text would repeat bytes of the file.
fn wrong(error: &pem::Error) -> &'static str {
    match error {
        pem::Error::MissingSectionEnd { .. } => "a section has no END line",
        pem::Error::IllegalSectionStart { .. } => "a BEGIN line is malformed",
        pem::Error::Base64Decode(_) => "a section is not base64",
        _ => "it cannot be read as PEM",
    }
}

fn said(error: &Error) -> String {
    match error {
        Error::General(text) => text.clone(),
        Error::InvalidCertificate(error) => error.to_string(),
        error => error.to_string(),
    }
}

#[cfg(all(test, unix))]
mod tests;
