//! From a new connection to a session: TLS, parameters, password.
//!
//! ```text
//!   TLS asked for ─► S ─► TLS ─► startup ─► password, if one is set ─► parameters, key ─► serve
//!        │                         │
//!        └── N, without TLS ───────┘      a cancel request ends here
//! ```
//!
//! All of it has one time limit and reads messages of at most [`BYTES_MAX`], so a stranger holds a
//! connection for that time and no memory.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::access::{ALPN, Exchange, Refused};
use crate::connection::{Connection, Gone, Stream};
use crate::session::Session;
use crate::shared::Shared;
use crate::tables::CATALOG;
use crate::wire::{Backend, FrameError, Frames, Message, Opening, Parameters, SqlError};

/// Bytes of a message before the login's end, as in PostgreSQL.
const BYTES_MAX: usize = 10_000;

/// First byte of a TLS connection that begins without asking.
const TLS_HANDSHAKE: u8 = 0x16;

/// Serves a connection from its first byte to its end.
pub(crate) async fn serve(stream: TcpStream, peer: SocketAddr, shared: Arc<Shared>) -> Result<(), Gone> {
    let limit = shared.login_timeout;
    let login = shared.logins.run(log_in(stream, peer, Arc::clone(&shared)));
    let logged_in = tokio::select! {
        biased;
        () = shared.draining.cancelled() => return Ok(()),
        logged_in = tokio::time::timeout(limit, login) => logged_in,
    };
    let Ok(logged_in) = logged_in else {
        tracing::info!(%peer, "a login took too long");
        return Ok(());
    };
    let Some((mut connection, mut session)) = logged_in? else {
        return Ok(());
    };
    tracing::debug!(%peer, user = &*session.user, "logged in");
    connection.serve(&mut session).await
}

/// Serves a connection that came after the server was asked to end: takes a cancel request, and
/// refuses all else.
pub(crate) async fn refuse(stream: TcpStream, shared: Arc<Shared>) -> Result<(), Gone> {
    let opened = tokio::time::timeout(shared.login_timeout, opening(stream, &shared)).await;
    let (stream, error) = match opened {
        Ok(Ok(Some((stream, _startup)))) => (stream, SqlError::fatal("57P03", "the server is shutting down")),
        Ok(Err(Failed::Refused(stream, error))) => (stream, error),
        Ok(Err(Failed::Gone(gone))) => return Err(gone),
        Ok(Ok(None)) | Err(_) => return Ok(()),
    };
    tell(stream, &error).await
}

async fn tell(mut stream: Box<dyn Stream>, error: &SqlError) -> Result<(), Gone> {
    let mut out = Backend::default();
    out.error(error);
    stream.write_all(out.as_bytes()).await.map_err(Gone::Io)?;
    stream.shutdown().await.map_err(Gone::Io)
}

/// Returns `None` after a cancel request, and after an error that the client was told.
async fn log_in(
    stream: TcpStream,
    peer: SocketAddr,
    shared: Arc<Shared>,
) -> Result<Option<(Connection, Session)>, Gone> {
    let (stream, opening) = match opening(stream, &shared).await {
        Ok(Some(opened)) => opened,
        Ok(None) => return Ok(None),
        Err(Failed::Gone(gone)) => return Err(gone),
        Err(Failed::Refused(stream, error)) => return tell(stream, &error).await.map(|()| None),
    };
    let (parameters, frames, binding) = opening;
    let mut connection = Connection {
        stream,
        frames,
        out: Backend::default(),
        peer,
        shared,
    };
    match begin(&mut connection, &parameters, binding).await {
        Ok(session) => Ok(Some((connection, session))),
        Err(Refusal::Gone(gone)) => Err(gone),
        Err(Refusal::Sql(error)) => {
            tracing::info!(%peer, %error, "a login was refused");
            connection.fatal(&error).await.map(|()| None)
        }
    }
}

/// What a client has said before its login, and the certificate's hash if that was over TLS.
type Opened = (Parameters, Frames, Option<Binding>);

/// The hash to which a login over TLS is bound, if the certificate has one.
struct Binding(Option<Bytes>);

enum Failed {
    Gone(Gone),
    Refused(Box<dyn Stream>, SqlError),
}

/// Reads up to the startup message.
async fn opening(
    mut stream: TcpStream,
    shared: &Shared,
) -> Result<Option<(Box<dyn Stream>, Opened)>, Failed> {
    let mut first = [0];
    let peeked = stream
        .peek(&mut first)
        .await
        .map_err(|error| Failed::Gone(Gone::Io(error)))?;
    if peeked == 0 {
        return Ok(None);
    }
    if first[0] == TLS_HANDSHAKE {
        return over_tls(stream, shared, Asked::Directly).await;
    }
    let mut frames = Frames::default();
    let mut asked = (false, false);
    loop {
        match first_message(&mut frames, &mut stream).await {
            Ok(None) => return Ok(None),
            Ok(Some(Opening::Cancel(key))) => {
                shared.connections.cancel(&key);
                return Ok(None);
            }
            Ok(Some(Opening::Startup(_))) if shared.access.needs_tls() => {
                let error = SqlError::fatal("28000", "this server is reached over TLS only: sslmode=require");
                return Err(Failed::Refused(Box::new(stream), error));
            }
            Ok(Some(Opening::Startup(parameters))) => {
                return Ok(Some((Box::new(stream), (parameters, frames, None))));
            }
            Ok(Some(Opening::Tls)) if !asked.0 => {
                asked.0 = true;
                // What came behind the request is clear text that TLS would not cover.
                if frames.has_more() {
                    let error = SqlError::protocol("received unencrypted data after SSL request");
                    return Err(Failed::Refused(Box::new(stream), error));
                }
                let has_tls = shared.access.identity().is_some();
                answer(&mut stream, if has_tls { b'S' } else { b'N' }).await?;
                if has_tls {
                    return over_tls(stream, shared, Asked::First).await;
                }
            }
            Ok(Some(Opening::Gss)) if !asked.1 => {
                asked.1 = true;
                answer(&mut stream, b'N').await?;
            }
            Ok(Some(Opening::Tls | Opening::Gss)) => {
                let error = SqlError::protocol("encryption was asked for twice");
                return Err(Failed::Refused(Box::new(stream), error));
            }
            Err(Refusal::Gone(gone)) => return Err(Failed::Gone(gone)),
            Err(Refusal::Sql(error)) => return Err(Failed::Refused(Box::new(stream), error)),
        }
    }
}

/// How a client began TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    First,
    Directly,
}

async fn over_tls(
    stream: TcpStream,
    shared: &Shared,
    asked: Asked,
) -> Result<Option<(Box<dyn Stream>, Opened)>, Failed> {
    let Some(identity) = shared.access.identity() else {
        let error = SqlError::protocol("this server has no TLS");
        return Err(Failed::Refused(Box::new(stream), error));
    };
    let identity = identity.current().logged("certificate and key");
    let acceptor = TlsAcceptor::from(Arc::clone(identity.config()));
    let stream = acceptor.accept(stream).await;
    let mut stream = stream.map_err(|error| Failed::Gone(Gone::Io(error)))?;
    // Otherwise a client of another protocol could be made to speak to this one (ALPACA).
    if asked == Asked::Directly && stream.get_ref().1.alpn_protocol() != Some(ALPN) {
        let error = SqlError::protocol("TLS without a request for it needs ALPN: postgresql");
        return Err(Failed::Refused(Box::new(stream), error));
    }
    let mut frames = Frames::default();
    match first_message(&mut frames, &mut stream).await {
        Ok(None) => Ok(None),
        Ok(Some(Opening::Startup(parameters))) => {
            let binding = Binding(identity.end_point().map(Bytes::copy_from_slice));
            Ok(Some((Box::new(stream), (parameters, frames, Some(binding)))))
        }
        Ok(Some(Opening::Cancel(key))) => {
            shared.connections.cancel(&key);
            Ok(None)
        }
        Ok(Some(Opening::Tls | Opening::Gss)) => {
            let error = SqlError::protocol("encryption was asked for inside TLS");
            Err(Failed::Refused(Box::new(stream), error))
        }
        Err(Refusal::Gone(gone)) => Err(Failed::Gone(gone)),
        Err(Refusal::Sql(error)) => Err(Failed::Refused(Box::new(stream), error)),
    }
}

async fn answer(stream: &mut TcpStream, answer: u8) -> Result<(), Failed> {
    let answered = stream.write_all(&[answer]).await;
    answered.map_err(|error| Failed::Gone(Gone::Io(error)))
}

enum Refusal {
    Sql(SqlError),
    Gone(Gone),
}

impl From<SqlError> for Refusal {
    fn from(error: SqlError) -> Self {
        Self::Sql(error)
    }
}

impl From<Gone> for Refusal {
    fn from(gone: Gone) -> Self {
        Self::Gone(gone)
    }
}

impl From<FrameError> for Refusal {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Io(error) => Self::Gone(Gone::Io(error)),
            FrameError::Wrong(error) => Self::Sql(error),
        }
    }
}

async fn first_message(frames: &mut Frames, stream: &mut impl Stream) -> Result<Option<Opening>, Refusal> {
    match frames.untyped(stream, BYTES_MAX).await? {
        None => Ok(None),
        Some(body) => Ok(Some(Opening::read(body)?)),
    }
}

/// From the startup message to a session.
async fn begin(
    connection: &mut Connection,
    parameters: &Parameters,
    binding: Option<Binding>,
) -> Result<Session, Refusal> {
    let user = parameters.get("user").filter(|user| !user.is_empty());
    let user =
        user.ok_or_else(|| SqlError::fatal("28000", "no PostgreSQL user name specified in startup packet"))?;
    if parameters
        .get("replication")
        .is_some_and(|value| !["false", "off", "no", "0"].contains(&value))
    {
        return Err(SqlError::fatal("0A000", "this server has no replication").into());
    }
    let unknown = parameters.unknown_options();
    if parameters.minor > 0 || !unknown.is_empty() {
        connection.out.negotiate_version(&unknown);
    }
    authenticate(connection, user, binding).await?;
    // As PostgreSQL does: after the password, so that a stranger cannot ask for names.
    let database = parameters.get("database").unwrap_or(user);
    if ![CATALOG, user, "postgres"].contains(&database) {
        let what = format!("database \"{database}\" does not exist: there is \"{CATALOG}\"");
        return Err(SqlError::fatal("3D000", what).into());
    }
    connection.out.authentication_ok();
    let shared = Arc::clone(&connection.shared);
    let connected = shared.connections.enter()?;
    let mut session = Session::new(shared, connected, Arc::from(user));
    for (name, value) in first_settings(parameters)? {
        session.set(&name.to_lowercase(), &value)?;
    }
    // A statement that fails does not take these back.
    session.end_statement();
    for (name, value) in session.variables.reported() {
        connection.out.parameter_status(name, &value);
    }
    connection.out.parameter_status("session_authorization", user);
    let key = session.connected.key();
    connection.out.backend_key(key.process, &key.secret);
    Ok(session)
}

/// The settings of the startup message: its own, and those of `options`.
fn first_settings(parameters: &Parameters) -> Result<Vec<(String, String)>, SqlError> {
    let own = parameters.values.iter().filter(|(name, _)| {
        !["user", "database", "options", "replication"].contains(&name.as_str()) && !name.starts_with("_pq_.")
    });
    let mut settings: Vec<_> = own.map(|(name, value)| (name.clone(), value.clone())).collect();
    let mut words = parameters.get("options").unwrap_or_default().split_whitespace();
    while let Some(word) = words.next() {
        let setting = match word.strip_prefix("-c").or_else(|| word.strip_prefix("--")) {
            Some("") => words.next().unwrap_or_default(),
            Some(setting) => setting,
            None => word,
        };
        let (name, value) = setting.split_once('=').ok_or_else(|| {
            SqlError::fatal(
                "22023",
                format!("the option `{word}` is not understood: -c NAME=VALUE"),
            )
        })?;
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(settings)
}

/// Asks for the password, if the server has users.
async fn authenticate(
    connection: &mut Connection,
    user: &str,
    binding: Option<Binding>,
) -> Result<(), Refusal> {
    let shared = Arc::clone(&connection.shared);
    let Some(users) = shared.access.users() else {
        return Ok(());
    };
    let address = connection.peer.ip();
    let too_many = |refused: &dyn std::fmt::Display| SqlError::fatal("28P01", refused.to_string());
    let attempts = shared.access.attempts();
    attempts
        .look(address, Instant::now())
        .map_err(|refused| too_many(&refused))?;
    let users = users.current().logged("users");
    let hash = binding.and_then(|Binding(hash)| hash);
    let failed = |denied: crate::access::Denied| SqlError::fatal(denied.sqlstate(), denied.to_string());
    let mut exchange = Exchange::begin(&users, user, hash.as_deref()).map_err(failed)?;
    connection.out.sasl_mechanisms(exchange.mechanisms());
    connection.flush().await?;
    let (mechanism, first) = sasl_first(&secret(connection).await?)?;
    let challenge = exchange.first(&mechanism, &first).map_err(failed)?;
    connection.out.sasl_continue(&challenge);
    connection.flush().await?;
    let last = secret(connection).await?;
    match attempts.attempt(address, Instant::now(), || exchange.last(&last)) {
        Ok(proof) => {
            connection.out.sasl_final(&proof);
            Ok(())
        }
        Err(Refused::TooMany(refused)) => Err(too_many(&refused).into()),
        Err(Refused::Failed(denied)) => {
            let what = format!("{denied} for user \"{user}\"");
            Err(SqlError::fatal(denied.sqlstate(), what).into())
        }
    }
}

/// The client's next message, which is a step of its login.
async fn secret(connection: &mut Connection) -> Result<Bytes, Refusal> {
    match connection.frames.next(&mut connection.stream, BYTES_MAX).await? {
        None => Err(Gone::Closed.into()),
        Some((kind, body)) => match Message::read(kind, body)? {
            Message::Secret(secret) => Ok(secret),
            _ => Err(SqlError::protocol("a login continues by its next step").into()),
        },
    }
}

/// Mechanism and data of SASL's first message.
fn sasl_first(message: &Bytes) -> Result<(String, Bytes), SqlError> {
    let wrong = || SqlError::protocol("SASL's first message is broken");
    let end = message.iter().position(|&byte| byte == 0).ok_or_else(wrong)?;
    let mechanism = std::str::from_utf8(&message[..end]).map_err(|_| wrong())?;
    let rest = message.slice(end + 1..);
    let (length, data) = rest.split_at_checked(4).ok_or_else(wrong)?;
    let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]) as usize;
    if length != data.len() {
        return Err(wrong());
    }
    Ok((mechanism.to_owned(), rest.slice(4..)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn options_of_a_client_are_settings() {
        let values = [
            ("user", "alice"),
            ("application_name", "psql"),
            (
                "options",
                "-c statement_timeout=5s --windlass.class=batch -cdatestyle=ISO",
            ),
        ];
        let values: BTreeMap<_, _> = values
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let settings = first_settings(&Parameters { minor: 0, values }).unwrap();
        let settings: Vec<_> = settings
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(
            settings,
            [
                ("application_name", "psql"),
                ("statement_timeout", "5s"),
                ("windlass.class", "batch"),
                ("datestyle", "ISO"),
            ]
        );
    }

    #[test]
    fn a_broken_first_step_is_an_error() {
        let step = |bytes: &'static [u8]| sasl_first(&Bytes::from_static(bytes));
        assert_eq!(
            step(b"SCRAM\0\0\0\0\x02ab").unwrap(),
            ("SCRAM".to_owned(), Bytes::from_static(b"ab"))
        );
        for broken in [
            &b""[..],
            b"SCRAM",
            b"SCRAM\0\0\0",
            b"SCRAM\0\0\0\0\x03ab",
            b"\xff\0\0\0\0\0",
        ] {
            assert!(step(broken).is_err(), "{broken:?}");
        }
    }
}
