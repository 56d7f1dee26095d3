//! Identities from files, good and bad, and handshakes with a client in memory.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use rcgen::{CertificateParams, CertifiedKey, KeyPair};
use rustls_pki_types::ServerName;
use tempfile::TempDir;
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, ProtocolVersion, RootCertStore, ServerConnection,
    SupportedProtocolVersion,
};

use super::super::reread::Change;
use super::*;

struct Files {
    folder: TempDir,
}

impl Files {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = Self { folder };
        let made = made();
        files.write("server.crt", &made.cert.pem(), 0o644);
        files.write("server.key", &made.signing_key.serialize_pem(), 0o600);
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: &str, mode: u32) {
        let new = self.path("new");
        fs::write(&new, content).unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(mode)).unwrap();
        fs::rename(&new, self.path(name)).unwrap();
    }

    fn read(&self) -> anyhow::Result<Identity> {
        Identity::read(&self.path("server.crt"), &self.path("server.key"))
    }

    /// Without the folder.
    fn complaint(&self) -> String {
        let error = format!("{:#}", self.read().unwrap_err());
        error.replace(&format!("{}/", self.folder.path().display()), "")
    }
}

fn made() -> CertifiedKey<KeyPair> {
    rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap()
}

/// A client of these versions and protocols meets the server.
fn handshake(
    identity: &Identity,
    trusted: &Path,
    versions: &[&'static SupportedProtocolVersion],
    alpn: &[&[u8]],
) -> Result<(ClientConnection, ServerConnection), Error> {
    let mut roots = RootCertStore::empty();
    let chain = read_chain(trusted).unwrap();
    roots.add(chain.first().unwrap().clone()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    let name = ServerName::try_from("localhost").unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name)?;
    let mut server = ServerConnection::new(Arc::clone(identity.config()))?;
    while client.is_handshaking() || server.is_handshaking() {
        let mut wire = Vec::new();
        client.write_tls(&mut wire).unwrap();
        server.read_tls(&mut &wire[..]).unwrap();
        server.process_new_packets()?;
        wire.clear();
        server.write_tls(&mut wire).unwrap();
        client.read_tls(&mut &wire[..]).unwrap();
        client.process_new_packets()?;
    }
    Ok((client, server))
}

#[test]
fn clients_meet_the_server_by_tls_1_2_and_1_3_with_and_without_alpn() {
    let files = Files::new();
    let (identity, certificate) = (files.read().unwrap(), files.path("server.crt"));
    for (version, expected) in [
        (&TLS12, ProtocolVersion::TLSv1_2),
        (&TLS13, ProtocolVersion::TLSv1_3),
    ] {
        for alpn in [&[][..], &[ALPN], &[b"http/1.1", ALPN]] {
            let (client, server) = handshake(&identity, &certificate, &[version], alpn).unwrap();
            assert_eq!(client.protocol_version(), Some(expected));
            assert_eq!(server.alpn_protocol(), alpn.last().copied());
        }
    }
    let error = handshake(&identity, &certificate, &[&TLS13], &[b"http/1.1"]).unwrap_err();
    assert!(matches!(error, Error::NoApplicationProtocol), "{error}");
}

#[test]
fn clients_browsers_and_nodes_have_a_protocol_each() {
    let identity = Files::new().read().unwrap();
    for (config, alpn) in [
        (identity.config(), ALPN),
        (identity.http_config(), HTTP_ALPN),
        (identity.node_config(), NODE_ALPN),
    ] {
        assert_eq!(config.alpn_protocols, [alpn]);
        assert_eq!(config.send_tls13_tickets, 0, "no session is resumed");
    }
}

#[test]
fn the_end_point_is_the_hash_of_the_certificate_that_a_client_sees() {
    let files = Files::new();
    let (identity, path) = (files.read().unwrap(), files.path("server.crt"));
    let (client, _) = handshake(&identity, &path, &[&TLS13], &[]).unwrap();
    let seen = client.peer_certificates().unwrap().first().unwrap();
    // rcgen signs by ECDSA with SHA-256 by default.
    let hash = ::ring::digest::digest(&::ring::digest::SHA256, seen);
    assert_eq!(identity.end_point().unwrap(), hash.as_ref());
}

#[test]
fn an_ed25519_certificate_serves_without_channel_binding() {
    let files = Files::new();
    let key = KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
    let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    files.write("server.crt", &params.self_signed(&key).unwrap().pem(), 0o644);
    files.write("server.key", &key.serialize_pem(), 0o600);
    let identity = files.read().unwrap();
    assert_eq!(identity.end_point(), None);
    assert!(handshake(&identity, &files.path("server.crt"), &[&TLS13], &[]).is_ok());
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_name() {
    let files = Files::new();
    let fs_read = |name: &str| fs::read_to_string(files.path(name)).unwrap();
    let (certificate, key) = (fs_read("server.crt"), fs_read("server.key"));
    let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let old =
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----\n";
    let garbage = |kind: &str| format!("-----BEGIN {kind}-----\nAAAA\n-----END {kind}-----\n");
    let cases = [
        ("server.crt", String::new(), "server.crt: no certificate in it"),
        ("server.crt", key.clone(), "server.crt: no certificate in it"),
        (
            "server.crt",
            garbage("CERTIFICATE"),
            "server.crt: the certificate cannot be used",
        ),
        (
            "server.crt",
            certificate.replace("-----END", "#"),
            "server.crt: a section has no END line",
        ),
        (
            "server.crt",
            certificate.replace("\nM", "\n?"),
            "server.crt: a section is not base64",
        ),
        ("server.key", String::new(), "server.key: no key in it"),
        ("server.key", certificate.clone(), "server.key: no key in it"),
        (
            "server.key",
            garbage("PRIVATE KEY"),
            "server.key: the key cannot be used (RSA of 2048 bits",
        ),
        (
            "server.key",
            encrypted.to_owned(),
            "server.key: the key is encrypted",
        ),
        ("server.key", old.to_owned(), "server.key: the key is encrypted"),
        (
            "server.key",
            made().signing_key.serialize_pem(),
            "server.key: the key does not fit the certificate in server.crt",
        ),
    ];
    for (name, content, expected) in cases {
        files.write(name, &content, 0o600);
        let found = files.complaint();
        assert!(found.starts_with(expected), "{expected}: {found}");
        assert!(!found.contains("AAAA"), "{found}");
        files.write("server.crt", &certificate, 0o644);
        files.write("server.key", &key, 0o600);
    }
    fs::remove_file(files.path("server.key")).unwrap();
    assert!(
        files.complaint().starts_with("server.key: No such file"),
        "{}",
        files.complaint()
    );
    files.write("server.key", &key, 0o644);
    assert!(
        files
            .complaint()
            .starts_with("server.key: others can read or write it (mode 0644): chmod")
    );
}

#[test]
fn an_identity_is_read_again_once_both_files_fit() {
    let files = Files::new();
    let identities = IdentityFiles::open(&files.path("server.crt"), &files.path("server.key")).unwrap();
    let first = identities.current().value.end_point().unwrap().to_vec();
    let made = made();
    files.write("server.crt", &made.cert.pem(), 0o644);
    let Current { value, change } = identities.current();
    assert_eq!(value.end_point().unwrap(), first, "the old one stays");
    let Change::Refused(error) = change else {
        panic!("{change:?}")
    };
    assert!(error.to_string().contains("does not fit"), "{error}");
    files.write("server.key", &made.signing_key.serialize_pem(), 0o600);
    let Current { value, change } = identities.current();
    assert!(matches!(change, Change::ReadAgain), "{change:?}");
    assert_ne!(value.end_point().unwrap(), first);
    assert!(handshake(&value, &files.path("server.crt"), &[&TLS13], &[]).is_ok());
}

#[test]
fn debug_shows_no_key() {
    let files = Files::new();
    assert_eq!(format!("{:?}", files.read().unwrap()), "Identity { .. }");
}
