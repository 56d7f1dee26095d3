//! Passwords and TLS from the clients' side.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_postgres::{Client, NoTls};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use windlass_server::Access;
use windlass_server::access::{ALPN, AccessOptions, Source, passwd};

use super::raw::{TLS_REQUEST, exchange, has_error, message, startup};
use super::served::{Served, block_on, error_of};

/// Users, and a certificate for `localhost` with its key.
pub(crate) struct Secrets {
    folder: TempDir,
    roots: RootCertStore,
}

impl Secrets {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(folder.path().join("cert.pem"), certified.cert.pem()).unwrap();
        private(
            &folder.path().join("key.pem"),
            &certified.signing_key.serialize_pem(),
        );
        let mut roots = RootCertStore::empty();
        roots.add(certified.cert.der().clone()).unwrap();
        let secrets = Self { folder, roots };
        secrets.set("alice", "wonderland");
        secrets
    }

    pub(crate) fn set(&self, user: &str, password: &str) {
        let source = Source::FirstLine(&mut password.as_bytes());
        passwd(&self.folder.path().join("users"), user, source).unwrap();
    }

    /// The policy of `listen`, for a server that the test reaches on loopback.
    pub(crate) fn access(&self, listen: &str, has_tls: bool) -> Access {
        let path = |name: &str| self.folder.path().join(name);
        let options = AccessOptions {
            users: Some(path("users")),
            tls_cert: has_tls.then(|| path("cert.pem")),
            tls_key: has_tls.then(|| path("key.pem")),
        };
        Access::decide(&[listen.parse().unwrap()], &options).unwrap()
    }

    /// A connection as a browser makes it.
    pub(crate) async fn https(&self, address: SocketAddr) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(address).await.unwrap();
        self.handshake(stream, &[b"h2", b"http/1.1"]).await
    }

    async fn tls(&self, address: SocketAddr) -> TlsStream<TcpStream> {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(TLS_REQUEST).await.unwrap();
        assert_eq!(stream.read_u8().await.unwrap(), b'S');
        self.handshake(stream, &[]).await
    }

    async fn handshake(&self, stream: TcpStream, protocols: &[&[u8]]) -> TlsStream<TcpStream> {
        let mut config = ClientConfig::builder()
            .with_root_certificates(self.roots.clone())
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
            .unwrap()
    }
}

#[cfg(unix)]
pub(crate) fn private(path: &Path, text: &str) {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .mode(0o600)
        .truncate(true)
        .open(path)
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

async fn log_in(server: &Served, user: &str, password: &str) -> Result<Client, tokio_postgres::Error> {
    let mut config = server.config(user);
    let (client, connection) = config.password(password).connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

#[test]
fn a_password_lets_in_its_user_alone() {
    let secrets = Secrets::new();
    let server = Served::over(secrets.access("127.0.0.1:5432", false), &[], |_| {});
    block_on(async {
        let client = log_in(&server, "alice", "wonderland").await.unwrap();
        client.simple_query("select 1").await.unwrap();
        for (user, password) in [("alice", "looking-glass"), ("bob", "wonderland"), ("alice", "")] {
            let Err(error) = log_in(&server, user, password).await else {
                panic!("{user} is let in by {password:?}");
            };
            let (code, text) = error_of(&error);
            assert_eq!(
                (code.as_str(), text),
                (
                    "28P01",
                    format!("password authentication failed for user \"{user}\"")
                )
            );
        }
    });
}

#[test]
fn a_changed_password_holds_from_the_next_login_on() {
    let secrets = Secrets::new();
    let server = Served::over(secrets.access("127.0.0.1:5432", false), &[], |_| {});
    block_on(async {
        let before = log_in(&server, "alice", "wonderland").await.unwrap();
        secrets.set("alice", "looking-glass");
        assert!(log_in(&server, "alice", "wonderland").await.is_err());
        log_in(&server, "alice", "looking-glass").await.unwrap();
        before.simple_query("select 1").await.unwrap();
    });
}

#[test]
fn many_wrong_passwords_slow_their_address_down() {
    let secrets = Secrets::new();
    let server = Served::over(secrets.access("127.0.0.1:5432", false), &[], |_| {});
    block_on(async {
        let mut refused = 0;
        for _ in 0..20 {
            let Err(error) = log_in(&server, "alice", "wrong").await else {
                panic!("let in");
            };
            refused += usize::from(!error_of(&error).1.contains("password authentication failed"));
        }
        assert!(refused > 0, "twenty guesses were checked");
        assert!(
            log_in(&server, "alice", "wonderland").await.is_err(),
            "no password is checked for a while"
        );
    });
}

#[test]
fn guesses_at_once_are_bounded_and_a_session_beside_them_is_answered() {
    let secrets = Secrets::new();
    let server = Served::over(secrets.access("127.0.0.1:5432", false), &[], |_| {});
    block_on(async {
        let client = log_in(&server, "alice", "wonderland").await.unwrap();
        let guesses = (0..200).map(async |number| {
            let guessed = log_in(&server, "alice", &format!("guess {number}")).await;
            let Err(error) = guessed else {
                panic!("let in");
            };
            let (code, text) = error_of(&error);
            assert_eq!(code, "28P01");
            text.contains("password authentication failed")
        });
        let asks = async {
            for _ in 0..10 {
                client.simple_query("select count(*) from cities").await.unwrap();
            }
        };
        let (checked, ()) = tokio::join!(futures_util::future::join_all(guesses), asks);
        // Ten, and one in six seconds.
        let checked = checked.iter().filter(|checked| **checked).count();
        assert!(checked < 50, "{checked} of 200 guesses were checked");
        assert_eq!(server.watch.load().connections, 1);
    });
}

#[test]
fn a_client_that_was_told_of_no_channel_binding_is_refused() {
    let secrets = Secrets::new();
    let server = Served::over(secrets.access("0.0.0.0:5432", true), &[], |_| {});
    block_on(async {
        let mut stream = secrets.tls(server.address).await;
        stream.write_all(&startup("alice")).await.unwrap();
        // The client could bind, and believes that the server cannot: another has taken the offer
        // out.
        let first = b"y,,n=,r=0123456789abcdef";
        let mut body = b"SCRAM-SHA-256\0".to_vec();
        body.extend((first.len() as u32).to_be_bytes());
        body.extend(first);
        stream.write_all(&message(b'p', &body)).await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        let offers = |name: &[u8]| answer.windows(name.len()).any(|window| window == name);
        assert!(offers(b"SCRAM-SHA-256-PLUS\0"));
        assert!(
            has_error(&answer, "28000"),
            "{}",
            String::from_utf8_lossy(&answer)
        );
        assert_eq!(server.watch.load().connections, 0);
    });
}

#[test]
fn an_open_address_is_reached_over_tls_only() {
    let secrets = Secrets::new();
    let server = Served::over(secrets.access("0.0.0.0:5432", true), &[], |_| {});
    block_on(async {
        let answer = exchange(server.address, &startup("alice")).await;
        assert!(has_error(&answer, "28000"));
        let stream = secrets.tls(server.address).await;
        let mut config = server.config("alice");
        let (client, connection) = config
            .password("wonderland")
            .connect_raw(stream, NoTls)
            .await
            .unwrap();
        tokio::spawn(connection);
        client.simple_query("select count(*) from cities").await.unwrap();
        let stream = secrets.tls(server.address).await;
        assert!(config.password("wrong").connect_raw(stream, NoTls).await.is_err());
    });
}

#[test]
fn tls_without_a_request_for_it_names_the_protocol() {
    let secrets = Secrets::new();
    let server = Served::over(secrets.access("127.0.0.1:5432", true), &[], |_| {});
    block_on(async {
        let connect = || async { TcpStream::connect(server.address).await.unwrap() };
        let mut config = server.config("alice");
        let stream = secrets.handshake(connect().await, &[ALPN]).await;
        let (client, connection) = config
            .password("wonderland")
            .connect_raw(stream, NoTls)
            .await
            .unwrap();
        tokio::spawn(connection);
        client.simple_query("select 1").await.unwrap();
        let mut stream = secrets.handshake(connect().await, &[]).await;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        assert!(has_error(&answer, "08P01"));
    });
}

#[test]
fn an_open_address_without_tls_or_users_does_not_start() {
    let address = ["0.0.0.0:5432".parse().unwrap()];
    let error = Access::decide(&address, &AccessOptions::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("--tls-cert") && error.contains("--users"),
        "{error}"
    );
}
