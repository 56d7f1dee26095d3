//! The server's identity: a certificate and its key, as TLS and channel binding need them.
//!
//! TLS 1.2 and 1.3, by rustls on ring. A client that speaks ALPN, as PostgreSQL 17's does, has to
//! know `postgresql`. Sessions are not resumed: each connection begins with the certificate that
//! its login is bound to.

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

/// A certificate with its key, ready for use.
#[derive(Clone)]
pub struct Identity {
    config: Arc<ServerConfig>,
    end_point: Option<Vec<u8>>,
}

impl Identity {
    /// Reads a chain of certificates, the server's own first, and its key, both in PEM.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or has no certificate or key in it, if others can read or write the
    /// key's file (on Unix; a group may read what `root` owns), or if the key is not that of the
    /// certificate. The error names the file.
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
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        let config = Arc::new(config);
        Ok(Self { config, end_point })
    }

    /// Returns what a connection's handshake needs.
    #[must_use]
    pub fn config(&self) -> &Arc<ServerConfig> {
        &self.config
    }

    /// Returns what SCRAM binds a login to (`tls-server-end-point`), if the certificate has it.
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

/// The files of an identity, which are read again when one changed.
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

    /// Returns the identity as the files have it now: for each connection. It asks for the files'
    /// metadata, and reads them if that changed. If they are bad, the identity is the one before:
    /// so it is between the replacement of one file and that of the other.
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
        // The old form of an encrypted key has its header inside of an ordinary section.
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

/// What is wrong with a file in PEM. rustls' own text would repeat bytes of it.
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
